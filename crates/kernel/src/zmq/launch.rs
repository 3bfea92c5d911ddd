//! The start of a Jupyter kernel, or the connection to a running one: program, addresses, process.
//!
//! Owns the command and the environment of a start. `starting.rs` follows the process until it is
//! ready.

use std::collections::BTreeMap;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::{self, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use crate::error::LaunchError;
use crate::jupyter::guest::Wires;
use crate::jupyter::home::{Home, random_hex};
use crate::jupyter::start::start;
use crate::kernel::{Backend, BackendKind, KernelSpec, LaunchedKernel, Origin};
use crate::kernelspec::InterruptMode;
use crate::process::{Mark, Process, Spawner, check_cwd, own_pidfd};
use crate::python::package::install;
use crate::trace::KernelTrace;
use crate::zmq::connection::{Connection, Ports};
use crate::zmq::drain::Drains;
use crate::zmq::pool::{self, Kind, Pool};
use crate::zmq::program::Program;
use crate::zmq::ready::Ready;
use crate::zmq::starting::{Patience, Starting, StartingChild, says_stolen};
use crate::zmq::tail::Tail;

/// Number of starts when other programs keep taking the ports.
const ATTEMPTS: usize = 5;

/// Pause between the use of a waiting kernel and the start of its replacement.
const REFILL_AFTER: Duration = Duration::from_millis(100);

/// Number of checks, 10 ms apart, for the end of unfinished starts.
const CLOSING: usize = 100;

/// Configuration of the backend, without defaults.
#[derive(Clone, Debug)]
pub struct ZmqConfig {
    /// Folder for the files that go into Python kernels.
    pub state_dir: PathBuf,
    /// Folder for connection files and sockets. Paths of sockets are limited to 107 bytes, so this
    /// must be short.
    pub runtime_dir: PathBuf,
    /// Transport of messages: Unix sockets or ports.
    pub transport: Transport,
    /// Number of kernels that are started ahead of time for launches like the last one.
    pub pool: usize,
}

/// Choice of the transport of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// Unix sockets for kernels that are known to support them, else ports.
    Auto,
    /// Unix sockets in a private folder.
    Ipc,
    /// Ports on the loopback address.
    Tcp,
}

/// Starts kernels that speak Jupyter's protocol.
#[derive(Clone)]
pub struct ZmqBackend {
    shared: Arc<Shared>,
    program: Program,
    /// Drop guard: the last clone of the backend ends the waiting kernels.
    wanted: Arc<BackendLifetime>,
}

/// Cancelled when the last clone of the backend is dropped.
#[derive(Default)]
struct BackendLifetime(CancellationToken);

impl Drop for BackendLifetime {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// State that all clones of a backend share.
struct Shared {
    config: ZmqConfig,
    spawner: Spawner,
    ports: Ports,
    drains: Drains,
    pool: Pool,
    trace: Option<Arc<dyn KernelTrace>>,
}

impl ZmqBackend {
    /// Creates a backend for IPython's kernel. A thread of its own starts the child processes.
    pub fn new(config: ZmqConfig) -> Result<ZmqBackend, LaunchError> {
        ZmqBackend::traced(config, None)
    }

    /// Creates a backend that reports its traffic to `trace`.
    pub fn traced(
        config: ZmqConfig,
        trace: Option<Arc<dyn KernelTrace>>,
    ) -> Result<ZmqBackend, LaunchError> {
        let what = "start the thread that starts processes";
        let spawner = Spawner::new().map_err(LaunchError::resources(what))?;
        let pool = Pool::new(config.pool);
        let wanted = Arc::default();
        let (ports, drains) = (Ports::default(), Drains::default());
        let shared = Shared { config, spawner, ports, drains, pool, trace };
        Ok(ZmqBackend { shared: Arc::new(shared), program: Program::Ipykernel, wanted })
    }

    /// Returns the same backend for another program.
    pub fn running(&self, program: Program) -> ZmqBackend {
        ZmqBackend { program, ..self.clone() }
    }

    /// Starts kernels ahead of time for launches like this one, as many as may wait.
    pub fn warm(&self, spec: &KernelSpec) {
        if let Some(kind) = self.kind(spec) {
            self.refill(kind, spec);
        }
    }

    /// Ends the waiting kernels and starts no more ahead of time. Kernels in use go on.
    pub async fn close(&self) {
        self.wanted.0.cancel();
        self.shared.pool.close();
        // An unfinished start removes its files when it is dropped; wait for that.
        for _ in 0..CLOSING {
            if !self.shared.pool.is_filling() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns the number of kernels that wait for a launch.
    pub fn pooled(&self) -> usize {
        self.shared.pool.len()
    }

    /// Returns the kind of a waiting kernel that would fit this launch, or `None` if no kernel may
    /// wait for it.
    fn kind(&self, spec: &KernelSpec) -> Option<Kind> {
        if self.shared.config.pool == 0 || matches!(self.program, Program::Existing(_)) {
            return None;
        }
        Kind::of(&self.program, spec, &self.program.environment(spec))
    }

    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<LaunchedKernel, LaunchError> {
        let patience = Patience::new(spec.start_timeout, cancel);
        let kind = self.kind(spec);
        let launched = match self.waiting(spec, kind.as_ref(), patience).await {
            Some(launched) => launched,
            None => self.fresh(spec, patience).await,
        };
        if let (Ok(_), Some(kind)) = (&launched, kind) {
            self.refill(kind, spec);
        }
        launched
    }

    /// Prepares a waiting kernel for this launch. Returns `None` if none fits, or if it ended just
    /// now.
    async fn waiting(
        &self,
        spec: &KernelSpec,
        kind: Option<&Kind>,
        patience: Patience<'_>,
    ) -> Option<Result<LaunchedKernel, LaunchError>> {
        let ready = self.shared.pool.take(kind?)?;
        let reason = "a Jupyter kernel is started for each session".to_owned();
        let mut env = self.program.environment(spec);
        env.retain(|name, _| pool::varies(name));
        let launched = ready.begin(spec, &env, Origin::Spare { reason }, patience).await;
        // If the launch itself makes kernels end, a fresh kernel reports that better.
        Some(launched).filter(|it| !matches!(it, Err(LaunchError::EndedEarly { .. })))
    }

    /// Starts a kernel now, or connects to a running one.
    async fn fresh(
        &self,
        spec: &KernelSpec,
        patience: Patience<'_>,
    ) -> Result<LaunchedKernel, LaunchError> {
        let ready = self.ready(spec, &self.program.environment(spec), patience).await?;
        let origin = match &self.program {
            Program::Existing(file) => {
                let reason = format!("the kernel of {} was running already", file.display());
                Origin::Joined { reason }
            }
            _ => {
                let reason = "a Jupyter kernel is started for each session".to_owned();
                Origin::Started { reason }
            }
        };
        ready.begin(spec, &BTreeMap::new(), origin, patience).await
    }

    /// Starts kernels in the background until as many of this kind wait as may.
    fn refill(&self, kind: Kind, spec: &KernelSpec) {
        let Some(filling) = self.shared.pool.fill(kind) else { return };
        let (spec, wanted) = (spec.clone(), self.wanted.0.clone());
        // The task must not keep the backend alive.
        let mut backend = self.clone();
        backend.wanted = Arc::default();
        tokio::spawn(async move {
            let work = async {
                // Let the kernel just taken run its first cell, for which a caller waits.
                tokio::time::sleep(REFILL_AFTER).await;
                while filling.is_short() {
                    // Ignore a failure: the next launch reports the reason.
                    let Ok(ready) = backend.ahead(filling.kind(), &spec, &wanted).await else {
                        break;
                    };
                    filling.put(ready);
                }
            };
            tokio::select! {
                () = work => {}
                () = wanted.cancelled() => {}
            }
        });
    }

    /// Starts a kernel that is ready for any launch of this kind.
    async fn ahead(
        &self,
        kind: &Kind,
        spec: &KernelSpec,
        wanted: &CancellationToken,
    ) -> Result<Ready, LaunchError> {
        let patience = Patience::new(spec.start_timeout, wanted);
        let mut ready = self.ready(spec, kind.env(), patience).await?;
        if kind.is_python() && !ready.can_be_changed() {
            let reason = "a kernel that says it is Python is not".to_owned();
            return Err(LaunchError::Startup { reason });
        }
        ready.prepare(&spec.startup, patience).await?;
        Ok(ready)
    }

    /// Starts a kernel with this environment and waits until it answers.
    async fn ready(
        &self,
        spec: &KernelSpec,
        env: &BTreeMap<String, String>,
        patience: Patience<'_>,
    ) -> Result<Ready, LaunchError> {
        let mut ready = Err(LaunchError::Cancelled);
        for _ in 0..ATTEMPTS {
            ready = self.attempt(spec, env, patience).await;
            if !matches!(&ready, Err(error) if is_stolen(error)) {
                break;
            }
        }
        ready
    }

    async fn attempt(
        &self,
        spec: &KernelSpec,
        env: &BTreeMap<String, String>,
        patience: Patience<'_>,
    ) -> Result<Ready, LaunchError> {
        let Shared { config, ports, drains, .. } = &*self.shared;
        let home = Home::make(&config.runtime_dir);
        let home =
            home.map_err(LaunchError::resources("make a folder for the kernel's sockets"))?;
        if let Program::Existing(file) = &self.program {
            let connection =
                Connection::read(file).map_err(|reason| LaunchError::Startup { reason })?;
            if !connection.is_listened_on().await {
                let reason = format!(
                    "no kernel listens where {} says; the kernel has ended, or runs on another machine",
                    file.display()
                );
                return Err(LaunchError::Startup { reason });
            }
            let name = format!("the kernel of {}", file.display());
            let starting = Starting {
                program: name.clone(),
                name,
                cwd: spec.cwd.clone(),
                child: None,
                home: Some(home),
                trace: self.shared.trace.clone(),
            };
            let mode = InterruptMode::Message;
            return Ready::meet(starting, &connection, drains, None, mode, patience).await;
        }
        check_cwd(&spec.cwd)?;
        let key = random_hex::<32>().map_err(LaunchError::resources("get randomness"))?;
        let reserved;
        let connection = if self.wants_ipc() && home.is_short_enough() {
            Connection::ipc(&home, key)
        } else {
            reserved = ports.reserve().map_err(LaunchError::resources("find free ports"))?;
            Connection::tcp(reserved.numbers, key)
        };
        let file =
            home.write(&connection).map_err(LaunchError::resources("write the connection file"))?;
        let root = install(&config.state_dir).map_err(|source| {
            let folder = config.state_dir.display().to_string();
            LaunchError::StateFolder { folder, source }
        })?;
        let (argv, mode) = self.program.command(&spec.python, &file);
        let starting = self.spawn(spec, &argv, env, home).await?;
        Ready::meet(starting, &connection, drains, Some(root), mode, patience).await
    }

    fn wants_ipc(&self) -> bool {
        match (self.shared.config.transport, &self.program) {
            (Transport::Ipc, _) => true,
            (Transport::Tcp, _) => false,
            (Transport::Auto, Program::Spec(spec)) => spec.is_ipykernel(),
            (Transport::Auto, _) => true,
        }
    }

    async fn spawn(
        &self,
        spec: &KernelSpec,
        argv: &[String],
        env: &BTreeMap<String, String>,
        home: Home,
    ) -> Result<Starting, LaunchError> {
        let name = argv.first().cloned().unwrap_or_default();
        let shown = match &self.program {
            Program::Spec(spec) => format!("the kernel {} ({name})", spec.name),
            _ => name.clone(),
        };
        let failed = |source| LaunchError::Spawn { python: shown.clone(), source };
        let pipes = LaunchError::resources("make pipes for the kernel");
        let (lifeline, our_lifeline) = io::pipe().map_err(pipes)?;
        let (our_stdout, stdout) = io::pipe().map_err(pipes)?;
        let (our_stderr, stderr) = io::pipe().map_err(pipes)?;
        let keep: Vec<OwnedFd> = vec![lifeline.into(), own_pidfd().map_err(pipes)?];
        let wires = Wires { lifeline: keep[0].as_raw_fd(), host: keep[1].as_raw_fd() };
        let inode = |fd: &io::PipeWriter| rustix::fs::fstat(fd.as_fd()).map(|stat| stat.st_ino);
        let inodes = [&stdout, &stderr].into_iter().map(inode).collect::<Result<Vec<u64>, _>>();
        let mark = Mark::new(0, &inodes.map_err(|error| pipes(error.into()))?).map_err(pipes)?;
        let mut command = Command::new(&name);
        command
            .args(&argv[1..])
            .env_clear()
            .envs(env)
            // This variable tells a kernel that it has a host: the kernel ends with the host, and
            // the host reads what it prints.
            .env("JPY_PARENT_PID", process::id().to_string())
            .env(Mark::VARIABLE, mark.value())
            .current_dir(&spec.cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::from(stdout))
            .stderr(Stdio::from(stderr));
        let child = self.shared.spawner.spawn(command, keep).await.map_err(failed)?;
        let mark = mark.with_leader(child.id());
        let process = Process::own(child);
        let receiver = |pipe: PipeReader| pipe::Receiver::from_owned_fd(pipe.into());
        let mut starting = Starting {
            name: shown,
            program: name,
            cwd: spec.cwd.clone(),
            child: None,
            home: Some(home),
            trace: self.shared.trace.clone(),
        };
        let tail = receiver(our_stdout).and_then(|out| Ok([out, receiver(our_stderr)?]));
        let tail = match tail {
            Ok(pipes) => Tail::of(pipes),
            Err(source) => {
                process.destroy();
                return Err(pipes(source));
            }
        };
        starting.child =
            Some(StartingChild { process, mark, tail, lifeline: our_lifeline.into(), wires });
        Ok(starting)
    }
}

impl Backend for ZmqBackend {
    fn kind(&self) -> BackendKind {
        BackendKind::Zmq
    }

    fn launch<'a>(
        &'a self,
        spec: &'a KernelSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LaunchedKernel, LaunchError>> {
        let Shared { config, trace, .. } = &*self.shared;
        let try_once = move || self.start(spec, cancel);
        start(&config.state_dir, trace.as_ref(), try_once).boxed()
    }
}

/// Returns `true` if the start failed because another program had a port.
fn is_stolen(error: &LaunchError) -> bool {
    matches!(error, LaunchError::EndedEarly { stderr_tail, .. } if says_stolen(stderr_tail))
}
