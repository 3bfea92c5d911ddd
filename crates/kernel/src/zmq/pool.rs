//! Kernels that were started ahead of time and wait to be wanted.
//!
//! Owns which of them fits a launch, and how many there are. One is only given to a launch that it is for as if
//! it had been started for it: what cannot be changed in a kernel that runs must be the same. How kernels are
//! started is for others.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::environ::MANAGED;
use crate::kernel::KernelSpec;
use crate::zmq::launch::Program;
use crate::zmq::ready::Ready;

/// What cannot be changed in a kernel that runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kind {
    program: Program,
    python: PathBuf,
    cwd: PathBuf,
    /// Which folder that was; another may have got its name.
    folder: (u64, u64),
    /// In Python without what is set anew for each kernel.
    env: BTreeMap<String, String>,
    preload: Vec<String>,
}

/// Whether a variable is set anew for each kernel or cell, or differs from shell to shell.
pub(crate) fn varies(name: &str) -> bool {
    MANAGED.contains(&name) || ["PWD", "OLDPWD", "SHLVL", "_"].contains(&name)
}

impl Kind {
    /// What a kernel for this launch must have been started as, with this environment; none where there is no
    /// folder to start it in.
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

    /// Whether we can change what it was started with: variables of a kernel of another language are its own.
    pub(crate) fn is_python(&self) -> bool {
        match &self.program {
            Program::Ipykernel => true,
            Program::Spec(spec) => spec.language.eq_ignore_ascii_case("python"),
            Program::Existing(_) => false,
        }
    }

    /// What it is started with.
    pub(crate) fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }
}

/// The kernels that wait, the oldest first.
pub(crate) struct Pool(Arc<Inner>);

struct Inner {
    /// How many there may be in all.
    room: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    kernels: Vec<(Kind, Ready)>,
    /// Kinds of which some are being started.
    filling: Vec<Kind>,
    is_closed: bool,
}

impl Inner {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of those that have ended.
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

    /// Ends those that wait; nobody is let in any more.
    pub(crate) fn close(&self) {
        let mut waiting = self.0.waiting();
        waiting.is_closed = true;
        let all = std::mem::take(&mut waiting.kernels);
        drop(waiting);
        drop(all);
    }

    /// Whether kernels are being started.
    pub(crate) fn is_filling(&self) -> bool {
        !self.0.waiting().filling.is_empty()
    }

    /// One of this kind that lives.
    pub(crate) fn take(&self, kind: &Kind) -> Option<Ready> {
        self.0.bury();
        let mut waiting = self.0.waiting();
        let at = waiting.kernels.iter().position(|(of, _)| of == kind)?;
        Some(waiting.kernels.remove(at).1)
    }

    /// The right to add kernels of this kind; only one has it at a time.
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

    /// Whether there is need of another.
    pub(crate) fn is_short(&self) -> bool {
        self.pool.bury();
        let waiting = self.pool.waiting();
        !waiting.is_closed
            && waiting.kernels.iter().filter(|(of, _)| *of == self.kind).count() < self.pool.room
    }

    /// Adds one. The oldest make room: kinds that nobody has asked for lately.
    pub(crate) fn put(&self, ready: Ready) {
        let mut waiting = self.pool.waiting();
        waiting.kernels.push((self.kind.clone(), ready));
        let room = if waiting.is_closed { 0 } else { self.pool.room };
        let extra = waiting.kernels.len().saturating_sub(room);
        let old: Vec<_> = waiting.kernels.drain(..extra).collect();
        drop(waiting);
        // Their ends are waited for, which is nothing to do under a lock.
        drop(old);
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.pool.waiting().filling.retain(|kind| *kind != self.kind);
    }
}
