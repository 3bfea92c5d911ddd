//! Provides runners: a spare made ahead of time, a copy of a fork server, or a new process.
//!
//! Owns the fork servers and the spares, one set for each kind of runner. A runner from here has started
//! but has not received its first command; `launch.rs` sends that.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use tokio_util::task::TaskTracker;

use crate::kernel::Origin;
use crate::process::{Mark, Process, Spawner, adopt_orphans};
use crate::runner::boot::{self, Kind, Role};
use crate::runner::wires::{self, Wires};
use crate::runner::zygote::Zygote;
use crate::trace::{KernelTrace, ZygoteState};
use crate::widgets::Widgets;

/// The way kernels are started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForkServer {
    /// As copies of a fork server, once it is ready.
    On {
        /// The time for one copy before the server counts as stuck.
        wait: Duration,
    },
    /// Each as a new process.
    Off,
}

impl ForkServer {
    /// The default: a stuck server delays a launch by two seconds.
    pub const USUAL: ForkServer = ForkServer::On { wait: Duration::from_secs(2) };
}

/// A runner that waits for its first command.
pub(crate) struct Fresh {
    pub(crate) process: Process,
    pub(crate) wires: Wires,
    pub(crate) mark: Mark,
    pub(crate) origin: Origin,
    /// The widgets that already exist in its process.
    pub(crate) widgets: Widgets,
    /// The notice for its user, once it is known.
    pub(crate) notice: Option<BoxFuture<'static, Option<String>>>,
}

pub(crate) struct Supply {
    spawner: Spawner,
    fork_server: ForkServer,
    spares_wanted: usize,
    servers: tokio::sync::Mutex<HashMap<Kind, Server>>,
    spares: Mutex<Spares>,
    /// The tasks that make spares.
    refills: TaskTracker,
    /// Set once nothing more may be made ahead of time.
    is_closed: AtomicBool,
    trace: Option<Arc<dyn KernelTrace>>,
}

struct Server {
    zygote: Arc<Zygote>,
    used: Instant,
    /// A kernel has delivered the notice about modules that could not be imported.
    is_told: bool,
}

#[derive(Default)]
struct Spares {
    waiting: HashMap<Kind, Vec<Fresh>>,
    /// Kinds whose spares a task is making.
    filling: HashSet<Kind>,
}

/// The most fork servers; a new one takes the place of the least recently used.
const MOST_SERVERS: usize = 4;

/// The delay between taking a runner and making the next spare.
const REFILL_AFTER: Duration = Duration::from_millis(10);

impl Supply {
    pub(crate) fn new(
        fork_server: ForkServer,
        spares_wanted: usize,
        trace: Option<Arc<dyn KernelTrace>>,
    ) -> io::Result<Supply> {
        adopt_orphans();
        Ok(Supply {
            spawner: Spawner::new()?,
            fork_server,
            spares_wanted,
            servers: tokio::sync::Mutex::default(),
            spares: Mutex::default(),
            refills: TaskTracker::new(),
            is_closed: AtomicBool::new(false),
            trace,
        })
    }

    /// A runner of this kind, by the quickest way available.
    pub(crate) async fn take(self: &Arc<Self>, kind: &Kind) -> io::Result<Fresh> {
        let mut taken = match self.spare(kind) {
            Some(fresh) => Ok(fresh),
            None => match self.fork(kind).await {
                Ok(fresh) => Ok(fresh),
                Err(reason) => self.start(kind, &[], Origin::Started { reason: reason.text }).await,
            },
        };
        if let Ok(fresh) = &mut taken {
            fresh.notice = self.notice(kind).await;
        }
        if self.spares_wanted > 0 && !self.is_closed() {
            let (supply, kind) = (Arc::clone(self), kind.clone());
            self.refills.spawn(async move {
                // The kernel just taken has its first cell to run, and its user waits for that.
                tokio::time::sleep(REFILL_AFTER).await;
                supply.refill(kind).await;
            });
        }
        taken
    }

    /// Ends and reaps the fork servers and the spares. A later kernel starts as a new process.
    pub(crate) async fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        let servers = std::mem::take(&mut *self.servers.lock().await);
        join_all(servers.values().map(|server| server.zygote.end())).await;
        self.refills.close();
        self.refills.wait().await;
        let spares = std::mem::take(&mut self.waiting().waiting);
        for fresh in spares.into_values().flatten() {
            fresh.process.destroy();
        }
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }

    /// The fork servers: interpreter, process id and state of each.
    pub(crate) async fn fork_servers(&self) -> Vec<(PathBuf, u32, ZygoteState)> {
        let servers = self.servers.lock().await;
        let row = |(kind, server): (&Kind, &Server)| {
            (kind.python.clone(), server.zygote.pid(), server.zygote.state())
        };
        servers.iter().map(row).collect()
    }

    /// The number of runners that wait for use.
    pub(crate) fn spares(&self) -> usize {
        self.waiting().waiting.values().map(Vec::len).sum()
    }

    /// Forks the server of this kind. The first request only starts the server and does not wait for it. A
    /// server that has died is started again.
    async fn fork(&self, kind: &Kind) -> Result<Fresh, Reason> {
        let ForkServer::On { wait } = self.fork_server else {
            return Err(Reason::lasting("the fork server is turned off"));
        };
        let server = self.server(kind).await?;
        match server.state() {
            ZygoteState::Ready { .. } => {}
            ZygoteState::Starting => return Err(Reason::passing("the fork server is starting")),
            ZygoteState::Refused(reason) => return Err(Reason::lasting(&reason)),
            ZygoteState::Gone => return Err(Reason::passing("the fork server has just ended")),
        }
        let failed =
            |error: io::Error| Reason::passing(&format!("it could not be forked: {error}"));
        let (wires, theirs) = wires::pair().map_err(failed)?;
        let copy = tokio::time::timeout(wait, server.fork(theirs.in_order())).await;
        let Ok(copy) = copy else {
            // The removal drops its last handle, which ends it.
            self.servers.lock().await.remove(kind);
            return Err(Reason::passing("the fork server did not answer"));
        };
        let forked = copy.map_err(failed)?;
        let process = Process::forked(forked.pid, forked.ended);
        let mark = Mark::new(forked.pid, &wires.inodes).map_err(failed)?;
        Ok(Fresh {
            process,
            wires,
            mark,
            origin: Origin::Forked,
            widgets: Widgets::default(),
            notice: None,
        })
    }

    /// The fork server of this kind. A missing one is started in the background, and the call fails.
    async fn server(&self, kind: &Kind) -> Result<Arc<Zygote>, Reason> {
        let mut servers = self.servers.lock().await;
        // Checked under the lock, so that no server is added after `close` took them all.
        if self.is_closed() {
            return Err(Reason::passing("everything ends"));
        }
        servers.retain(|_, server| server.zygote.state() != ZygoteState::Gone);
        if let Some(server) = servers.get_mut(kind) {
            server.used = Instant::now();
            return Ok(Arc::clone(&server.zygote));
        }
        if servers.len() >= MOST_SERVERS
            && let Some(oldest) = servers.iter().min_by_key(|(_, server)| server.used)
        {
            let oldest = oldest.0.clone();
            servers.remove(&oldest);
        }
        let started =
            Zygote::start(&self.spawner, kind, self.trace.clone()).await.map_err(|error| {
                Reason::lasting(&format!("the fork server could not be started: {error}"))
            })?;
        let server = Server { zygote: Arc::new(started), used: Instant::now(), is_told: false };
        servers.insert(kind.clone(), server);
        Err(Reason::passing("the fork server is starting"))
    }

    /// The notice about modules that could not be preloaded, once the fork server has tried. Every kernel gets it until
    /// one had it from its start: earlier kernels may have ended before it was known.
    async fn notice(&self, kind: &Kind) -> Option<BoxFuture<'static, Option<String>>> {
        if kind.preload.is_empty() {
            return None;
        }
        let mut servers = self.servers.lock().await;
        let server = servers.get_mut(kind).filter(|server| !server.is_told)?;
        server.is_told = server.zygote.state() != ZygoteState::Starting;
        let (settled, kind) = (server.zygote.settled(), kind.clone());
        Some(async move { preload_notice(&settled.await, &kind) }.boxed())
    }

    /// Takes a spare that is still alive.
    fn spare(&self, kind: &Kind) -> Option<Fresh> {
        let mut spares = self.waiting();
        let waiting = spares.waiting.get_mut(kind)?;
        while let Some(mut fresh) = waiting.pop() {
            if fresh.process.is_running() {
                return Some(fresh);
            }
        }
        None
    }

    /// Makes spares until the wanted number waits.
    async fn refill(&self, kind: Kind) {
        if !self.waiting().filling.insert(kind.clone()) {
            return;
        }
        while self.is_short_of(&kind) {
            let fresh = match self.fork(&kind).await {
                Ok(fresh) => fresh,
                // A later kernel tries again, once the fork server is ready.
                Err(reason) if reason.is_passing => break,
                Err(reason) => {
                    let origin = Origin::Spare { reason: reason.text };
                    match self.start(&kind, &kind.preload, origin).await {
                        Ok(fresh) => fresh,
                        // The failure of a spare costs nothing: the next kernel reports the error.
                        Err(_) => break,
                    }
                }
            };
            self.waiting().waiting.entry(kind.clone()).or_default().push(fresh);
        }
        self.waiting().filling.remove(&kind);
    }

    fn is_short_of(&self, kind: &Kind) -> bool {
        !self.is_closed()
            && self.waiting().waiting.get(kind).map_or(0, Vec::len) < self.spares_wanted
    }

    fn waiting(&self) -> MutexGuard<'_, Spares> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a new process.
    async fn start(&self, kind: &Kind, preload: &[String], origin: Origin) -> io::Result<Fresh> {
        let (wires, theirs) = wires::pair()?;
        let keep: Vec<OwnedFd> = vec![theirs.control, theirs.lifeline, theirs.host];
        let mark = Mark::new(0, &wires.inodes)?;
        let numbers = keep.iter().map(AsRawFd::as_raw_fd);
        let mut command = boot::command(Role::Runner, kind, numbers, preload);
        command
            .env(Mark::VARIABLE, mark.value())
            .stdout(Stdio::from(theirs.stdout))
            .stderr(Stdio::from(theirs.stderr));
        let child = self.spawner.spawn(command, keep).await?;
        let mark = mark.with_leader(child.id());
        Ok(Fresh {
            process: Process::own(child),
            wires,
            mark,
            origin,
            widgets: Widgets::default(),
            notice: None,
        })
    }
}

impl Drop for Supply {
    fn drop(&mut self) {
        let spares = self.spares.get_mut().unwrap_or_else(PoisonError::into_inner);
        for fresh in spares.waiting.drain().flat_map(|(_, waiting)| waiting) {
            fresh.process.destroy();
        }
    }
}

/// The notice about modules that could not be preloaded.
fn preload_notice(state: &ZygoteState, kind: &Kind) -> Option<String> {
    Some(match state {
        ZygoteState::Refused(reason) => format!(
            "python.preload cannot be used: {reason}. Each kernel imports these modules itself, which takes more \
             time and memory: {}.",
            kind.preload.join(", ")
        ),
        ZygoteState::Ready { failed } if !failed.is_empty() => {
            let each = |(module, why): (&String, &String)| format!("{module} ({why})");
            let modules: Vec<String> = failed.iter().map(each).collect();
            format!(
                "could not preload modules: {}. Kernels start without them. Install them for {}, or remove them from \
                 python.preload.",
                modules.join(", "),
                kind.python.display()
            )
        }
        ZygoteState::Ready { .. } | ZygoteState::Starting | ZygoteState::Gone => return None,
    })
}

/// Why no copy of a fork server could be made.
struct Reason {
    text: String,
    /// A later request may succeed.
    is_passing: bool,
}

impl Reason {
    fn passing(text: &str) -> Reason {
        Reason { text: text.to_owned(), is_passing: true }
    }

    fn lasting(text: &str) -> Reason {
        Reason { text: text.to_owned(), is_passing: false }
    }
}
