//! A kernel between its process and its first cell: met, given what it begins with, or given up.
//!
//! Owns the ways in which a start can fail. Dropped, it leaves nothing behind.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::error::LaunchError;
use crate::event::DeathCause;
use crate::jupyter::kernelspec::InterruptMode;
use crate::kernel::{BackendKind, KernelEvents, KernelInfo, KernelSpec, Launched, Origin};
use crate::process::{Mark, Process, kill_group, watch_exit};
use crate::runner::oom_kills;
use crate::trace::{MessageTrace, Trace};
use crate::zmq::connection::{Connection, Home};
use crate::zmq::guest::{self, Guest, Wires};
use crate::zmq::handle::{Intent, ZmqKernel};
use crate::zmq::lines::{self, Lines, Speaker};
use crate::zmq::meet::{self, About, Oddity, Unmet};
use crate::zmq::own::{Children, Own};
use crate::zmq::pump::{Pump, State};
use crate::zmq::tail::Tail;

/// How many events may wait for the session.
const EVENT_QUEUE: usize = 64;

/// A process that is no kernel yet.
pub(crate) struct Young {
    pub(crate) process: Process,
    pub(crate) mark: Mark,
    pub(crate) tail: Tail,
    pub(crate) lifeline: OwnedFd,
    pub(crate) wires: Wires,
}

/// A kernel on its way; dropped, it is killed.
pub(crate) struct Starting {
    /// What is started, for messages.
    pub(crate) name: String,
    pub(crate) own: Option<Young>,
    pub(crate) home: Option<Home>,
    pub(crate) trace: Option<Arc<dyn Trace>>,
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(young) = self.own.take() {
            young.process.destroy();
        }
    }
}

impl Starting {
    /// Waits until it is ready, in the time there is.
    pub(crate) async fn meet(
        mut self,
        spec: &KernelSpec,
        connection: &Connection,
        root: Option<&Path>,
        mode: InterruptMode,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Launched, LaunchError> {
        let pid = self.own.as_ref().map(|young| young.process.id());
        let exit = match pid.map(watch_exit).transpose() {
            Ok(exit) => exit,
            // One that cannot be watched has ended already.
            Err(_) => return Err(self.ended().await),
        };
        let trace = MessageTrace::new(self.trace.as_ref(), pid);
        let mut odd = Oddity::default();
        let met = {
            let first_words = self.first_words(spec, connection, root, &trace, &mut odd);
            tokio::select! {
                met = first_words => Some(met),
                () = is_over(exit.as_ref()) => None,
                () = is_stolen_from(self.own.as_ref()) => None,
                () = tokio::time::sleep_until(deadline) => {
                    return Err(self.late(spec.start_timeout, odd));
                }
                () = cancel.cancelled() => return Err(LaunchError::Cancelled),
            }
        };
        match met {
            Some(Ok(met)) => self.launched(met, mode, exit),
            Some(Err(Unmet::Startup { name, value })) => {
                // Our own code says why in words; whatever else is raised there is known by its name.
                let reason = match name.as_str() {
                    "ModuleLoadError" => value,
                    _ => format!("what the kernel begins with failed: {name}: {value}"),
                };
                Err(LaunchError::Startup { reason })
            }
            // The process ends in this moment, or has closed its sockets for some other reason.
            Some(Err(Unmet::Closed)) | None => Err(self.ended().await),
        }
    }

    /// Connects, and waits until the kernel is what it is to be.
    async fn first_words(
        &self,
        spec: &KernelSpec,
        connection: &Connection,
        root: Option<&Path>,
        trace: &MessageTrace,
        odd: &mut Oddity,
    ) -> Result<Met, Unmet> {
        let folder = self.home.as_ref().map_or(Path::new(""), Home::folder);
        let connected = lines::connect(connection, folder, trace).await;
        let (mut lines, speaker) = connected.map_err(|_| Unmet::Closed)?;
        let about = meet::meet(&mut lines, &speaker, odd).await?;
        let mut guest = Guest::Absent;
        if let (Some(root), Some(young)) = (root, &self.own)
            && about.language_info.name.eq_ignore_ascii_case("python")
        {
            let code = guest::startup(root, spec, young.wires);
            meet::run_at_start(&mut lines, &speaker, &code).await?;
            guest = Guest::Present;
        }
        Ok(Met { lines, speaker, about, guest })
    }

    fn launched(
        mut self,
        met: Met,
        interrupt_mode: InterruptMode,
        exit: Option<AsyncFd<OwnedFd>>,
    ) -> Result<Launched, LaunchError> {
        let Met { lines, speaker, about, guest } = met;
        let pid = self.own.as_ref().map(|young| young.process.id());
        let reason = match pid {
            Some(_) => "a Jupyter kernel is started for each session".to_owned(),
            None => format!("{} was running already", self.name),
        };
        let info = KernelInfo {
            backend: BackendKind::Zmq,
            pid,
            language: about.language_info.name,
            version: about.language_info.version,
            executable: self.name.clone(),
            origin: Origin::Started { reason },
        };
        let (events, receiver) = KernelEvents::channel(EVENT_QUEUE);
        let (died, death) = watch::channel(None);
        let (posts, posted) = mpsc::unbounded_channel();
        let intent = Intent::default();
        let mut home = self.home.take();
        let own = match (self.own.take(), exit) {
            (Some(young), Some(exit)) => Some(Own {
                process: young.process,
                exit,
                mark: young.mark,
                tail: young.tail,
                home: home.take(),
                _lifeline: young.lifeline,
                oom_kills: oom_kills(),
                children: Children::default(),
            }),
            _ => None,
        };
        let pump = Pump {
            state: State::new(speaker.session()),
            lines,
            speaker: speaker.clone(),
            own,
            _home: home,
            guest,
            events,
            intent: intent.clone(),
            posts: posted,
            trace: self.trace.clone(),
        };
        tokio::spawn(pump.run(died));
        let kernel = ZmqKernel { info, pid, interrupt_mode, speaker, posts, death, intent };
        Ok(Launched { kernel: Box::new(kernel), events: receiver })
    }

    /// The time is up; what it has said so far may tell why.
    fn late(&self, limit: Duration, odd: Oddity) -> LaunchError {
        let said = self.own.as_ref().map(|young| young.tail.text()).unwrap_or_default();
        let odd = odd.0.map(|odd| format!("{odd}\n")).unwrap_or_default();
        LaunchError::TimedOut {
            python: self.name.clone(),
            seconds: limit.as_secs_f64(),
            stderr_tail: format!("{odd}{said}"),
        }
    }

    /// Why it ended before it was ready.
    async fn ended(&mut self) -> LaunchError {
        let (cause, stderr_tail) = match &mut self.own {
            None => (DeathCause::Unknown, String::new()),
            Some(young) => {
                let pid = young.process.id();
                if let Ok(exit) = watch_exit(pid) {
                    // Its sockets close a moment before its process ends.
                    let _ = tokio::time::timeout(Duration::from_secs(1), exit.readable()).await;
                }
                kill_group(pid, Signal::KILL);
                let cause = young.process.cause().await;
                (cause.unwrap_or(DeathCause::Unknown), young.tail.last_words().await)
            }
        };
        if stderr_tail.contains("No module named ipykernel") {
            let python = &self.name;
            let reason = format!(
                "ipykernel is not installed in {python}: install it there with `{python} -m pip install \
                 ipykernel`, or make an environment that has it with `inkcell env setup`"
            );
            return LaunchError::Startup { reason };
        }
        LaunchError::EndedEarly { python: self.name.clone(), cause, stderr_tail }
    }
}

/// A kernel that is ready.
struct Met {
    lines: Lines,
    speaker: Speaker,
    about: About,
    guest: Guest,
}

async fn is_over(exit: Option<&AsyncFd<OwnedFd>>) {
    match exit {
        // Whatever it says, there is nothing more to wait for.
        Some(exit) => drop(exit.readable().await),
        None => std::future::pending().await,
    }
}

/// Waits until a kernel says that somebody else has one of its ports. It need not end of that, but has not all
/// of its sockets.
async fn is_stolen_from(young: Option<&Young>) {
    let Some(young) = young else { return std::future::pending().await };
    while !says_stolen(&young.tail.text()) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Whether somebody took a port between our choice and the kernel's use of it.
pub(crate) fn says_stolen(said: &str) -> bool {
    ["Address already in use", "EADDRINUSE"].iter().any(|words| said.contains(words))
}
