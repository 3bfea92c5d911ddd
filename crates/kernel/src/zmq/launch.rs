//! Starting a Jupyter kernel, or meeting one that runs: which program, where it listens, its process.
//!
//! Owns what a kernel is started with. What becomes of its process until it is ready is in `starting.rs`.

use std::collections::BTreeMap;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::net::unix::pipe;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cwd::check_cwd;
use crate::error::LaunchError;
use crate::jupyter::guest::Wires;
use crate::jupyter::home::{Home, random_hex};
use crate::jupyter::kernelspec::{InterruptMode, Kernelspec, MEMORY_HISTORY, safely};
use crate::kernel::{Backend, BackendKind, KernelSpec, Launched, Origin};
use crate::process::{Mark, Process, Spawner, own_pidfd};
use crate::runner::install;
use crate::trace::Trace;
use crate::zmq::connection::{Connection, Ports};
use crate::zmq::drain::Drains;
use crate::zmq::pool::{self, Kind, Pool};
use crate::zmq::ready::Ready;
use crate::zmq::starting::{Patience, Starting, Young, says_stolen};
use crate::zmq::tail::Tail;

/// How often a kernel is started whose ports somebody else took.
const ATTEMPTS: usize = 5;

/// How long after a kernel was taken the next is started in its place.
const REFILL_AFTER: Duration = Duration::from_millis(100);

/// How often it is looked whether kernels that were being started are gone, a hundred times a second.
const CLOSING: usize = 100;

/// Everything the backend must be told; there are no defaults.
#[derive(Clone, Debug)]
pub struct ZmqConfig {
    /// Where the files lie that are put into Python kernels.
    pub state_dir: PathBuf,
    /// Where connection files and sockets are made. Sockets have short names, so this must be short too.
    pub runtime_dir: PathBuf,
    /// What carries messages.
    pub transport: Transport,
    /// How many kernels wait, started ahead of time, for whoever wants one like the last.
    pub pool: usize,
}

/// What carries messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// Sockets in a private folder for kernels that are known to take them, else ports.
    Auto,
    /// Sockets in a private folder.
    Ipc,
    /// Ports of this machine.
    Tcp,
}

/// Which kernel is started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Program {
    /// IPython's, in the chosen interpreter.
    Ipykernel,
    /// An installed one.
    Spec(Box<Kernelspec>),
    /// None: the one with this connection file runs already. It is not ended with us.
    Existing(PathBuf),
}

/// Makes kernels that speak Jupyter's protocol.
#[derive(Clone)]
pub struct ZmqBackend {
    shared: Arc<Shared>,
    program: Program,
    /// With the last of these end the kernels that wait.
    wanted: Arc<Wanted>,
}

/// Whether anybody still has the backend.
#[derive(Default)]
struct Wanted(CancellationToken);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What all backends made of one share.
struct Shared {
    config: ZmqConfig,
    spawner: Spawner,
    ports: Ports,
    drains: Drains,
    pool: Pool,
    trace: Option<Arc<dyn Trace>>,
}

impl ZmqBackend {
    /// A backend for IPython's kernel that starts its children from a thread of its own.
    pub fn new(config: ZmqConfig) -> Result<ZmqBackend, LaunchError> {
        ZmqBackend::with(config, None)
    }

    /// The same, and somebody is told what it does.
    pub fn traced(config: ZmqConfig, trace: Arc<dyn Trace>) -> Result<ZmqBackend, LaunchError> {
        ZmqBackend::with(config, Some(trace))
    }

    fn with(config: ZmqConfig, trace: Option<Arc<dyn Trace>>) -> Result<ZmqBackend, LaunchError> {
        let what = "start the thread that starts processes";
        let spawner = Spawner::new().map_err(|source| LaunchError::Resources { what, source })?;
        let pool = Pool::new(config.pool);
        let wanted = Arc::default();
        let (ports, drains) = (Ports::default(), Drains::default());
        let shared = Shared { config, spawner, ports, drains, pool, trace };
        Ok(ZmqBackend { shared: Arc::new(shared), program: Program::Ipykernel, wanted })
    }

    /// The same backend for another program.
    pub fn running(&self, program: Program) -> ZmqBackend {
        ZmqBackend { program, ..self.clone() }
    }

    /// Starts kernels ahead of time, as many as may wait, for launches like this one.
    pub fn warm(&self, spec: &KernelSpec) {
        if let Some(kind) = self.kind(spec) {
            self.refill(kind, spec);
        }
    }

    /// Ends the kernels that wait, and starts no more ahead of time. Those that are in use are nothing to it.
    pub async fn close(&self) {
        self.wanted.0.cancel();
        self.shared.pool.close();
        // One that was just being started takes its files along when it is let go of.
        for _ in 0..CLOSING {
            if !self.shared.pool.is_filling() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// How many kernels wait to be used.
    pub fn pooled(&self) -> usize {
        self.shared.pool.len()
    }

    /// What a kernel must have been started as to wait for this launch; none where none may wait.
    fn kind(&self, spec: &KernelSpec) -> Option<Kind> {
        if self.shared.config.pool == 0 || matches!(self.program, Program::Existing(_)) {
            return None;
        }
        Kind::of(&self.program, spec, &self.environment(spec))
    }

    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<Launched, LaunchError> {
        let began = Instant::now();
        let patience = Patience::new(spec.start_timeout, cancel);
        let kind = self.kind(spec);
        let launched = match self.waiting(spec, kind.as_ref(), patience).await {
            Some(launched) => launched,
            None => self.fresh(spec, patience).await,
        };
        if let Ok(launched) = &launched {
            if let Some(trace) = &self.shared.trace {
                trace.started(launched.kernel.info(), began.elapsed());
            }
            if let Some(kind) = kind {
                self.refill(kind, spec);
            }
        }
        launched
    }

    /// A kernel that waited, made what is wanted; none where there is none, or it ended in this moment.
    async fn waiting(
        &self,
        spec: &KernelSpec,
        kind: Option<&Kind>,
        patience: Patience<'_>,
    ) -> Option<Result<Launched, LaunchError>> {
        let ready = self.shared.pool.take(kind?)?;
        let reason = "a Jupyter kernel is started for each session".to_owned();
        let mut env = self.environment(spec);
        env.retain(|name, _| pool::varies(name));
        let launched = ready.begin(spec, &env, Origin::Spare { reason }, patience).await;
        // Should it be the wish that ends kernels, a fresh one tells so better.
        Some(launched).filter(|it| !matches!(it, Err(LaunchError::EndedEarly { .. })))
    }

    /// A kernel that is started now.
    async fn fresh(
        &self,
        spec: &KernelSpec,
        patience: Patience<'_>,
    ) -> Result<Launched, LaunchError> {
        let ready = self.ready(spec, &self.environment(spec), patience).await?;
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

    /// Starts kernels until as many wait as may. Nobody waits for this.
    fn refill(&self, kind: Kind, spec: &KernelSpec) {
        let Some(filling) = self.shared.pool.fill(kind) else { return };
        let (spec, wanted) = (spec.clone(), self.wanted.0.clone());
        // The task must not keep alive what it works for.
        let mut backend = self.clone();
        backend.wanted = Arc::default();
        tokio::spawn(async move {
            let work = async {
                // The kernel that was just taken has its first cell to run, which is waited for.
                tokio::time::sleep(REFILL_AFTER).await;
                while filling.is_short() {
                    // One that cannot be started is no loss: the next launch says why.
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

    /// A kernel that is ready for any launch of this kind.
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

    /// A kernel that answers, with this environment.
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
        let home = home.map_err(resources("make a folder for the kernel's sockets"))?;
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
                own: None,
                home: Some(home),
                trace: self.shared.trace.clone(),
            };
            return starting
                .meet(&connection, drains, None, InterruptMode::Message, patience)
                .await;
        }
        check_cwd(&spec.cwd)?;
        let key = random_hex::<32>().map_err(resources("get randomness"))?;
        let reserved;
        let connection = if self.wants_ipc() && home.is_short_enough() {
            Connection::ipc(&home, key)
        } else {
            reserved = ports.reserve().map_err(resources("find free ports"))?;
            Connection::tcp(reserved.numbers, key)
        };
        let file = home.write(&connection).map_err(resources("write the connection file"))?;
        let root = install(&config.state_dir).map_err(|source| {
            let folder = config.state_dir.display().to_string();
            LaunchError::StateFolder { folder, source }
        })?;
        let (argv, mode) = match &self.program {
            Program::Spec(kernelspec) => {
                (kernelspec.command(&spec.python, &file), kernelspec.interrupt_mode)
            }
            _ => (ipykernel(&spec.python, &file), InterruptMode::Signal),
        };
        let starting = self.spawn(spec, &argv, env, home).await?;
        starting.meet(&connection, drains, Some(root), mode, patience).await
    }

    /// What a kernel's environment is to be.
    fn environment(&self, spec: &KernelSpec) -> BTreeMap<String, String> {
        match &self.program {
            Program::Spec(kernelspec) => kernelspec.environment(&spec.env),
            _ => spec.env.clone(),
        }
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
        let pipes = resources("make pipes for the kernel");
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
            // By this kernels know that they have a host, which they end with and which reads what they print.
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
            own: None,
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
        starting.own = Some(Young { process, mark, tail, lifeline: our_lifeline.into(), wires });
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
    ) -> BoxFuture<'a, Result<Launched, LaunchError>> {
        self.start(spec, cancel).boxed()
    }
}

fn resources(what: &'static str) -> impl Fn(io::Error) -> LaunchError + Copy {
    move |source| LaunchError::Resources { what, source }
}

/// The command of IPython's kernel.
fn ipykernel(python: &Path, file: &Path) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let rest = ["-m", "ipykernel_launcher", MEMORY_HISTORY, "-f"];
    let mut argv = vec![text(python)];
    argv.extend(rest.map(str::to_owned));
    argv.push(text(file));
    safely(argv)
}

/// Whether it failed because somebody else had a port.
fn is_stolen(error: &LaunchError) -> bool {
    matches!(error, LaunchError::EndedEarly { stderr_tail, .. } if says_stolen(stderr_tail))
}
