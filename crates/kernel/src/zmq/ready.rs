//! A kernel that answers, before its first cell: its startup code, and the change into a usable
//! kernel.
//!
//! Owns that step, for fresh kernels and for waiting ones. `starting.rs` explains failed starts.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use tokio::io::unix::AsyncFd;

use crate::error::LaunchError;
use crate::jupyter::guest::{self, Guest, Machine, Setup, Variables, Wires};
use crate::jupyter::handshake::{self, About, MeetError, StartPhase};
use crate::jupyter::home::Home;
use crate::jupyter::pump::{self, Opening};
use crate::kernel::{BackendKind, KernelInfo, KernelSpec, LaunchedKernel, Origin, Startup};
use crate::kernelspec::InterruptMode;
use crate::process::{oom_kills, watch_exit_if_there};
use crate::trace::MessageTrace;
use crate::zmq::child::{Children, KernelChild};
use crate::zmq::connection::Connection;
use crate::zmq::control::ZmqControl;
use crate::zmq::drain::Drains;
use crate::zmq::handshake::{Oddity, ZmqNewcomer};
use crate::zmq::lines::{self, Lines, Speaker};
use crate::zmq::link::ZmqLink;
use crate::zmq::starting::{self, Patience, Starting};

/// A kernel that answers and has no settings of a launch yet. Dropping this kills it.
pub(crate) struct Ready {
    pub(crate) starting: Starting,
    pub(crate) exit: Option<AsyncFd<OwnedFd>>,
    pub(crate) lines: Lines,
    pub(crate) speaker: Speaker,
    pub(crate) about: About,
    pub(crate) start_phase: StartPhase,
    pub(crate) mode: InterruptMode,
    /// Folder for the files that go into the kernel, if it is Python.
    pub(crate) root: Option<PathBuf>,
}

impl Ready {
    /// Waits until a kernel answers, within the time limit.
    pub(crate) async fn meet(
        mut starting: Starting,
        connection: &Connection,
        drains: &Drains,
        root: Option<PathBuf>,
        mode: InterruptMode,
        patience: Patience<'_>,
    ) -> Result<Ready, LaunchError> {
        let pid = starting.child.as_ref().map(|child| child.process.id());
        let unwatched = LaunchError::resources("watch the kernel");
        let exit = match pid {
            Some(pid) => match watch_exit_if_there(pid).map_err(unwatched)? {
                Some(exit) => Some(exit),
                None => return Err(starting.ended().await),
            },
            None => None,
        };
        let trace = MessageTrace::new(starting.trace.as_ref(), pid);
        let folder = starting.home.as_ref().map_or(Path::new(""), Home::folder);
        let mut odd = Oddity::default();
        let is_watched = exit.is_some();
        let words = first_words(connection, drains, folder, &trace, &mut odd, is_watched);
        let watched =
            starting::watch(words, exit.as_ref(), starting.child.as_ref(), patience).await;
        let (lines, speaker, about, start_phase) = starting.settle(watched, odd, patience).await?;
        Ok(Ready { starting, exit, lines, speaker, about, start_phase, mode, root })
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        self.starting.child.as_mut().is_some_and(|child| child.process.is_running())
    }

    /// Returns the folder of our files and the kernel's pipes, if it is a Python kernel and our
    /// child.
    fn python(&self) -> Option<(&Path, Wires)> {
        let wires = self.starting.child.as_ref()?.wires;
        self.root.as_deref().filter(|_| self.about.is_python()).map(|root| (root, wires))
    }

    /// Returns `true` if a launch can change its settings later.
    pub(crate) fn can_be_changed(&self) -> bool {
        self.python().is_some()
    }

    /// Runs the slow part of the startup that is the same for every launch.
    pub(crate) async fn prepare(
        &mut self,
        startup: &Startup,
        patience: Patience<'_>,
    ) -> Result<(), LaunchError> {
        let Some((root, wires)) = self.python() else { return Ok(()) };
        let code = guest::preparation(root, startup, wires);
        self.run(&code, patience).await
    }

    /// Applies the settings of a launch, these variables first.
    pub(crate) async fn begin(
        mut self,
        spec: &KernelSpec,
        env: &BTreeMap<String, String>,
        origin: Origin,
        patience: Patience<'_>,
    ) -> Result<LaunchedKernel, LaunchError> {
        let mut guest = Guest::Absent;
        if let Some((root, wires)) = self.python() {
            let (cwd, env, wires) = (Some(&*spec.cwd), Variables::Add(env), Some(wires));
            let machine = Machine::Here { root, cwd, env, wires };
            let setup = Setup { startup: &spec.startup, machine, keeps_history: true };
            let code = setup.code();
            self.run(&code, patience).await?;
            guest = Guest::Present;
        }
        Ok(self.launched(guest, origin))
    }

    async fn run(&mut self, code: &str, patience: Patience<'_>) -> Result<(), LaunchError> {
        let mut newcomer = ZmqNewcomer {
            lines: &mut self.lines,
            speaker: &self.speaker,
            odd: &mut Oddity::default(),
            needs_output: false,
        };
        let work = handshake::run_at_start(&mut newcomer, code, None);
        let child = self.starting.child.as_ref();
        let watched = starting::watch(work, self.exit.as_ref(), child, patience).await;
        let settled = self.starting.settle(watched, Oddity::default(), patience).await?;
        self.start_phase = settled.1;
        Ok(())
    }

    fn launched(self, guest: Guest, origin: Origin) -> LaunchedKernel {
        let Ready { mut starting, exit, lines, speaker, about, start_phase, mode, .. } = self;
        let pid = starting.child.as_ref().map(|child| child.process.id());
        let info = KernelInfo {
            backend: BackendKind::Zmq,
            pid,
            language: about.language_info.name,
            version: about.language_info.version,
            executable: starting.program.clone(),
            origin,
        };
        let mut home = starting.home.take();
        let child = match (starting.child.take(), exit) {
            // Output from the start does not explain a later death.
            (Some(child), Some(exit)) => Some(KernelChild {
                process: child.process,
                exit,
                mark: child.mark,
                tail: child.tail.forgetful(),
                home: home.take(),
                _lifeline: child.lifeline,
                oom_kills: oom_kills(),
                children: Children::default(),
            }),
            _ => None,
        };
        let takes_settings = guest == Guest::Present;
        let trace = starting.trace.clone();
        let opening = Opening { guest, takes_settings, start_phase, trace };
        let control = ZmqControl { mode, pid, speaker };
        let link = ZmqLink::new(lines, control.clone(), child, home);
        pump::launch(info, link, control, opening)
    }
}

/// Connects, and waits until the kernel answers.
///
/// A port may have belonged to another program, which has ended since. While the process of the
/// kernel lives, a closed connection is therefore opened again. Without a process to watch, it is
/// the end.
async fn first_words(
    connection: &Connection,
    drains: &Drains,
    folder: &Path,
    trace: &MessageTrace,
    odd: &mut Oddity,
    is_watched: bool,
) -> Result<(Lines, Speaker, About, StartPhase), MeetError> {
    loop {
        let connected = lines::connect(connection, drains, folder, trace).await;
        let (mut lines, speaker) =
            connected.map_err(|error| MeetError::Closed(error.to_string()))?;
        let mut newcomer = ZmqNewcomer {
            lines: &mut lines,
            speaker: &speaker,
            odd: &mut *odd,
            needs_output: true,
        };
        match handshake::meet(&mut newcomer).await {
            Ok((about, start_phase)) => return Ok((lines, speaker, about, start_phase)),
            Err(MeetError::Closed(_)) if is_watched => tokio::time::sleep(lines::AGAIN).await,
            Err(unmet) => return Err(unmet),
        }
    }
}
