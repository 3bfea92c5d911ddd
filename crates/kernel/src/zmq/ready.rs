//! A kernel that answers, before its first cell: given what it begins with, and made one that can be used.
//!
//! Owns that step, for kernels that were just started and for those that waited. How it came to answer is in
//! `starting.rs`.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, watch};

use crate::error::LaunchError;
use crate::jupyter::about::About;
use crate::jupyter::beginning::Beginning;
use crate::jupyter::guest::{self, Guest, Wires};
use crate::jupyter::kernelspec::InterruptMode;
use crate::kernel::{BackendKind, KernelEvents, KernelInfo, KernelSpec, Launched, Origin};
use crate::runner::oom_kills;
use crate::startup::Startup;
use crate::zmq::handle::{Intent, ZmqKernel};
use crate::zmq::interrupts::Interrupts;
use crate::zmq::lines::{Lines, Speaker};
use crate::zmq::meet::{self, Oddity};
use crate::zmq::own::{Children, Own};
use crate::zmq::pump::{Pump, State};
use crate::zmq::starting::{self, Patience, Starting};

/// How many events may wait for the session.
const EVENT_QUEUE: usize = 64;

/// A kernel that answers and has not been told yet what it is to be; dropped, it is killed.
pub(crate) struct Ready {
    pub(crate) starting: Starting,
    pub(crate) exit: Option<AsyncFd<OwnedFd>>,
    pub(crate) lines: Lines,
    pub(crate) speaker: Speaker,
    pub(crate) about: About,
    pub(crate) beginning: Beginning,
    pub(crate) mode: InterruptMode,
    /// Where the files lie that are put into it, should it be Python.
    pub(crate) root: Option<PathBuf>,
}

impl Ready {
    pub(crate) fn is_alive(&mut self) -> bool {
        self.starting.own.as_mut().is_some_and(|young| young.process.is_running())
    }

    /// Where our files are and what it was given, where it is a kernel of Python that is ours.
    fn python(&self) -> Option<(&Path, Wires)> {
        let is_python = self.about.language_info.name.eq_ignore_ascii_case("python");
        let wires = self.starting.own.as_ref()?.wires;
        self.root.as_deref().filter(|_| is_python).map(|root| (root, wires))
    }

    /// Whether what a kernel is to begin with can be put into it later.
    pub(crate) fn can_be_changed(&self) -> bool {
        self.python().is_some()
    }

    /// Does what takes time and is the same for everybody.
    pub(crate) async fn prepare(
        &mut self,
        startup: &Startup,
        patience: Patience<'_>,
    ) -> Result<(), LaunchError> {
        let Some((root, wires)) = self.python() else { return Ok(()) };
        let code = guest::preparation(root, startup, wires);
        self.run(&code, patience).await
    }

    /// Makes it the kernel that is wanted. These variables are set first.
    pub(crate) async fn begin(
        mut self,
        spec: &KernelSpec,
        env: &BTreeMap<String, String>,
        origin: Origin,
        patience: Patience<'_>,
    ) -> Result<Launched, LaunchError> {
        let mut guest = Guest::Absent;
        if let Some((root, wires)) = self.python() {
            let code = guest::startup(root, spec, env, wires);
            self.run(&code, patience).await?;
            guest = Guest::Present;
        }
        Ok(self.launched(guest, origin))
    }

    async fn run(&mut self, code: &str, patience: Patience<'_>) -> Result<(), LaunchError> {
        let work = meet::run_at_start(&mut self.lines, &self.speaker, code);
        let young = self.starting.own.as_ref();
        let watched = starting::watch(work, self.exit.as_ref(), young, patience).await;
        self.beginning = self.starting.settle(watched, Oddity::default(), patience).await?;
        Ok(())
    }

    fn launched(self, guest: Guest, origin: Origin) -> Launched {
        let Ready { mut starting, exit, lines, speaker, about, beginning, mode, .. } = self;
        let pid = starting.own.as_ref().map(|young| young.process.id());
        let info = KernelInfo {
            backend: BackendKind::Zmq,
            pid,
            language: about.language_info.name,
            version: about.language_info.version,
            executable: starting.program.clone(),
            origin,
        };
        let (events, receiver) = KernelEvents::channel(EVENT_QUEUE);
        let (died, death) = watch::channel(None);
        let (posts, posted) = mpsc::unbounded_channel();
        let intent = Intent::default();
        let mut home = starting.home.take();
        let own = match (starting.own.take(), exit) {
            // What it said while it was started has nothing to do with its end.
            (Some(young), Some(exit)) => Some(Own {
                process: young.process,
                exit,
                mark: young.mark,
                tail: young.tail.forgetful(),
                home: home.take(),
                _lifeline: young.lifeline,
                oom_kills: oom_kills(),
                children: Children::default(),
            }),
            _ => None,
        };
        let turn = Arc::default();
        let interrupts = Interrupts { mode, pid, speaker: speaker.clone(), turn };
        let pump = Pump {
            state: State::new(speaker.session(), beginning),
            lines,
            speaker: speaker.clone(),
            interrupts: interrupts.clone(),
            own,
            _home: home,
            guest,
            events,
            intent: intent.clone(),
            posts: posted,
            trace: starting.trace.clone(),
        };
        tokio::spawn(pump.run(died));
        let kernel = ZmqKernel { info, pid, interrupts, speaker, posts, death, intent };
        Launched { kernel: Box::new(kernel), events: receiver }
    }
}
