//! Where runners come from: a spare that was made ahead of time, a fork server, or a new process.
//!
//! Owns the fork servers and the spares, one set for each kind of runner. A runner from here has started
//! but has not been told what it is to be; `launch.rs` does that.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use tokio_util::task::TaskTracker;

use crate::environ::MANAGED;
use crate::jupyter::widgets::Widgets;
use crate::kernel::{KernelSpec, Origin};
use crate::process::{Mark, Process, Spawner, adopt_orphans};
use crate::runner::boot::{self, Role};
use crate::runner::launch::ForkServer;
use crate::runner::wires::{self, Wires};
use crate::runner::zygote::{Zygote, ZygoteState};
use crate::startup::Shell;
use crate::trace::Trace;

/// What a runner can be made ready with before it is known who will use it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Kind {
    pub(crate) python: PathBuf,
    /// Without what is set anew for each kernel or cell, or differs from shell to shell.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) shell: Shell,
    pub(crate) preload: Vec<String>,
    pub(crate) root: PathBuf,
}

impl Kind {
    pub(crate) fn of(spec: &KernelSpec, root: &Path) -> Kind {
        let mut env = spec.env.clone();
        let varies =
            |name: &str| MANAGED.contains(&name) || ["PWD", "OLDPWD", "SHLVL", "_"].contains(&name);
        env.retain(|name, _| !varies(name));
        let (shell, preload) = (spec.startup.shell, spec.startup.preload.clone());
        Kind { python: spec.python.clone(), env, shell, preload, root: root.to_owned() }
    }
}

/// A runner that waits for its first command.
pub(crate) struct Fresh {
    pub(crate) process: Process,
    pub(crate) wires: Wires,
    pub(crate) mark: Mark,
    pub(crate) origin: Origin,
    /// The widgets that its process holds already.
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
    /// Set when nothing more is made ahead of time.
    is_closed: AtomicBool,
    trace: Option<Arc<dyn Trace>>,
}

struct Server {
    zygote: Arc<Zygote>,
    used: Instant,
    /// Somebody was told which modules it could not import.
    is_told: bool,
}

#[derive(Default)]
struct Spares {
    waiting: HashMap<Kind, Vec<Fresh>>,
    /// Kinds of which spares are being started.
    filling: HashSet<Kind>,
}

/// How many fork servers there are at most; the one that was not used longest makes room.
const MOST_SERVERS: usize = 4;

/// How long after a runner was taken the next spare is made.
const REFILL_AFTER: Duration = Duration::from_millis(10);

impl Supply {
    pub(crate) fn new(
        fork_server: ForkServer,
        spares_wanted: usize,
        trace: Option<Arc<dyn Trace>>,
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

    /// A runner of this kind, got in the quickest way there is.
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
                // The kernel that was just taken has its first cell to run, which is waited for.
                tokio::time::sleep(REFILL_AFTER).await;
                supply.refill(kind).await;
            });
        }
        taken
    }

    /// Ends the fork servers and the spares, and reaps them. A kernel that is wanted later is started by itself.
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

    /// The fork servers, with their processes.
    pub(crate) async fn fork_servers(&self) -> Vec<(PathBuf, u32, ZygoteState)> {
        let servers = self.servers.lock().await;
        let row = |(kind, server): (&Kind, &Server)| {
            (kind.python.clone(), server.zygote.pid(), server.zygote.state())
        };
        servers.iter().map(row).collect()
    }

    /// How many runners wait to be used.
    pub(crate) fn spares(&self) -> usize {
        self.waiting().waiting.values().map(Vec::len).sum()
    }

    /// Takes a copy of the fork server of this kind. The first request starts the server and does not
    /// wait for it; one that died is started again.
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
            // Without anybody who wants it, it ends.
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

    /// The fork server of this kind. One that is not there is started, and not waited for.
    async fn server(&self, kind: &Kind) -> Result<Arc<Zygote>, Reason> {
        let mut servers = self.servers.lock().await;
        // Checked with the lock held, so that no server is added after all were taken out.
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

    /// The notice about modules that could not be preloaded, once the fork server has tried. It goes to every kernel
    /// until one had it from its start: other kernels may be gone before it is known.
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

    /// A runner that is there already and still alive.
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

    /// Starts spares until there are as many as are wanted.
    async fn refill(&self, kind: Kind) {
        if !self.waiting().filling.insert(kind.clone()) {
            return;
        }
        while self.is_short_of(&kind) {
            let fresh = match self.fork(&kind).await {
                Ok(fresh) => fresh,
                // The next kernel comes when the fork server is there.
                Err(reason) if reason.is_passing => break,
                Err(reason) => {
                    let origin = Origin::Spare { reason: reason.text };
                    match self.start(&kind, &kind.preload, origin).await {
                        Ok(fresh) => fresh,
                        // A spare that cannot be started is no loss: the next kernel says why.
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

    /// A new process.
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

/// The notice about preloading, if it failed.
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

/// Why there is no copy of a fork server.
struct Reason {
    text: String,
    /// Whether the next request may get one.
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
