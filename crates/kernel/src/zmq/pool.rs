//! Kernels that were started ahead of time and wait for a launch.
//!
//! Owns which of them fits a launch, and how many there are. A launch gets a waiting kernel only if
//! it cannot tell the difference: everything that cannot change in a running kernel must be the
//! same. Other modules start kernels.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::environ::MANAGED;
use crate::kernel::KernelSpec;
use crate::zmq::program::Program;
use crate::zmq::ready::Ready;

/// Properties that cannot change in a running kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    program: Program,
    python: PathBuf,
    cwd: PathBuf,
    /// Device and inode of the folder, because another folder may have taken its name since.
    folder: (u64, u64),
    /// Environment of the process. For Python, without the variables that each launch sets again.
    env: BTreeMap<String, String>,
    preload: Vec<String>,
}

/// Returns `true` if the variable is set for each kernel or cell, or differs from shell to shell.
pub(crate) fn varies(name: &str) -> bool {
    MANAGED.contains(&name) || ["PWD", "OLDPWD", "SHLVL", "_"].contains(&name)
}

impl Kind {
    /// Returns the kind of kernel that fits this launch with this environment, or `None` if the
    /// folder to start in does not exist.
    pub(crate) fn of(
        program: &Program,
        spec: &KernelSpec,
        env: &BTreeMap<String, String>,
    ) -> Option<Kind> {
        let folder = fs::metadata(&spec.cwd).ok()?;
        let mut kind = Kind {
            program: program.clone(),
            python: spec.python.clone(),
            cwd: spec.cwd.clone(),
            folder: (folder.dev(), folder.ino()),
            env: env.clone(),
            preload: spec.startup.preload.clone(),
        };
        if kind.is_python() {
            kind.env.retain(|name, _| !varies(name));
        }
        Some(kind)
    }

    /// Returns `true` for Python, where variables can be changed after the start.
    pub(crate) fn is_python(&self) -> bool {
        self.program.is_python()
    }

    /// Returns the environment of a kernel of this kind.
    pub(crate) fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }
}

/// The waiting kernels, the oldest first.
pub(crate) struct Pool(Arc<Inner>);

struct Inner {
    /// Largest number of waiting kernels.
    room: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    kernels: Vec<(Kind, Ready)>,
    /// Kinds of which kernels are being started.
    filling: Vec<Kind>,
    is_closed: bool,
}

impl Inner {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops kernels that have ended.
    fn bury(&self) {
        let is_dead = |(_, ready): &mut (Kind, Ready)| !ready.is_alive();
        let mut waiting = self.waiting();
        let dead: Vec<_> = waiting.kernels.extract_if(.., is_dead).collect();
        drop(waiting);
        drop(dead);
    }
}

impl Pool {
    pub(crate) fn new(room: usize) -> Pool {
        Pool(Arc::new(Inner { room, waiting: Mutex::default() }))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.bury();
        self.0.waiting().kernels.len()
    }

    /// Ends the waiting kernels; the pool accepts no more.
    pub(crate) fn close(&self) {
        let mut waiting = self.0.waiting();
        waiting.is_closed = true;
        let all = std::mem::take(&mut waiting.kernels);
        drop(waiting);
        drop(all);
    }

    /// Returns `true` while kernels are being started.
    pub(crate) fn is_filling(&self) -> bool {
        !self.0.waiting().filling.is_empty()
    }

    /// Takes a living kernel of this kind.
    pub(crate) fn take(&self, kind: &Kind) -> Option<Ready> {
        self.0.bury();
        let mut waiting = self.0.waiting();
        let at = waiting.kernels.iter().position(|(of, _)| of == kind)?;
        Some(waiting.kernels.remove(at).1)
    }

    /// Returns the right to add kernels of this kind, unless another task holds it.
    pub(crate) fn fill(&self, kind: Kind) -> Option<Filling> {
        let mut waiting = self.0.waiting();
        if waiting.filling.contains(&kind) {
            return None;
        }
        waiting.filling.push(kind.clone());
        drop(waiting);
        Some(Filling { pool: Arc::clone(&self.0), kind })
    }
}

/// The right to add kernels of one kind.
pub(crate) struct Filling {
    pool: Arc<Inner>,
    kind: Kind,
}

impl Filling {
    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Returns `true` while the pool needs another kernel of this kind.
    pub(crate) fn is_short(&self) -> bool {
        self.pool.bury();
        let waiting = self.pool.waiting();
        !waiting.is_closed
            && waiting.kernels.iter().filter(|(of, _)| *of == self.kind).count() < self.pool.room
    }

    /// Adds a kernel. The oldest kernels make room: no launch has asked for their kind lately.
    pub(crate) fn put(&self, ready: Ready) {
        let mut waiting = self.pool.waiting();
        waiting.kernels.push((self.kind.clone(), ready));
        let room = if waiting.is_closed { 0 } else { self.pool.room };
        let extra = waiting.kernels.len().saturating_sub(room);
        let old: Vec<_> = waiting.kernels.drain(..extra).collect();
        drop(waiting);
        // Dropping a kernel waits for its end, so do it outside the lock.
        drop(old);
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.pool.waiting().filling.retain(|kind| *kind != self.kind);
    }
}
