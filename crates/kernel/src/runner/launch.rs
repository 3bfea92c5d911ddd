//! Starting a runner, and the handle that commands it.
//!
//! Owns what a runner is given: its descriptors, its environment, its first command. What it says is
//! read by `pump.rs`.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, PipeReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as ProcessCommand, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf, pipe};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::cwd::check_cwd;
use crate::error::LaunchError;
use crate::event::{Death, DeathCause, ExecId};
use crate::kernel::{
    Backend, BackendKind, CodeRequest, Gone, History, Kernel, KernelEvents, KernelInfo, KernelSpec,
    Launched,
};
use crate::process::{Process, Spawner, kill_group};
use crate::runner::frames::{Command, Decoder, Frame};
use crate::runner::package;
use crate::runner::pump::{Pump, oom_kills};
use crate::runner::zygote::{Forked, Zygote, ZygoteState};

/// Which helpers a kernel's namespace starts with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prelude {
    /// All of them.
    Full,
    /// Those for the shell and for displays.
    Minimal,
    /// None.
    Off,
}

impl Prelude {
    fn name(self) -> &'static str {
        match self {
            Prelude::Full => "full",
            Prelude::Minimal => "minimal",
            Prelude::Off => "off",
        }
    }
}

/// Everything the backend must be told; there are no defaults.
#[derive(Clone, Debug)]
pub struct RunnerConfig {
    /// Where the runner's files are laid out.
    pub state_dir: PathBuf,
    /// Which helpers kernels start with.
    pub prelude: Prelude,
    /// Extension modules to load, by name and path, in order.
    pub modules: Vec<(String, PathBuf)>,
    /// Whether kernels are forked from a server where that is possible.
    pub fork_server: ForkServer,
    /// Modules the fork server imports ahead of all kernels.
    pub preload: Vec<String>,
}

/// How kernels are started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForkServer {
    /// From a fork server, once it is ready.
    On,
    /// Each by itself.
    Off,
}

/// A fork server serves one interpreter in one environment.
type Key = (PathBuf, BTreeMap<String, String>);

/// Makes kernels that are child processes of this one and need nothing but Python.
pub struct RunnerBackend {
    config: RunnerConfig,
    spawner: Spawner,
    servers: tokio::sync::Mutex<HashMap<Key, Arc<Zygote>>>,
}

/// Imports the runner from the folder in the first argument and runs it on the descriptors in the next.
const BOOT: &str = "import sys;sys.path.insert(0,sys.argv[1]);import inkcell_runner.__main__ as m;\
                    del sys.path[0];m.start(int(sys.argv[2]),int(sys.argv[3]))";

/// How many events may wait for the session; the runner's own writes stall beyond that.
const EVENT_QUEUE: usize = 64;

impl RunnerBackend {
    /// A backend that starts its children from a thread of its own.
    pub fn new(config: RunnerConfig) -> Result<RunnerBackend, LaunchError> {
        let what = "start the thread that starts processes";
        let spawner = Spawner::new().map_err(|source| LaunchError::Resources { what, source })?;
        Ok(RunnerBackend { config, spawner, servers: tokio::sync::Mutex::default() })
    }

    async fn start(
        &self,
        spec: &KernelSpec,
        cancel: &CancellationToken,
    ) -> Result<Launched, LaunchError> {
        check_cwd(&spec.cwd)?;
        let resources = |what| move |source| LaunchError::Resources { what, source };
        let root = package::install(&self.config.state_dir)
            .map_err(resources("lay out the runner's files in the state folder"))?;
        let wires = Wires::new().map_err(resources("make the channel to a kernel"))?;
        let python = spec.python.display().to_string();
        let theirs = wires.theirs;
        let child = match self.fork(spec, &root, &theirs).await {
            Some(forked) => {
                drop(theirs);
                Process::Forked { pid: forked.pid, ended: forked.ended }
            }
            None => Process::Own(
                self.spawn(spec, &root, theirs)
                    .await
                    .map_err(|source| LaunchError::Spawn { python: python.clone(), source })?,
            ),
        };
        let mut starting = Starting {
            pid: child.id(),
            child: Some(child),
            python,
            lifeline: Some(wires.our_lifeline),
        };
        let nonce = nonce().map_err(resources("get randomness"))?;
        let (read, write) = wires.our_control.into_split();
        let link = Link { read, write, stdout: wires.our_stdout, stderr: wires.our_stderr };
        let ready = self.greet(spec, link, &nonce, &mut starting);
        tokio::select! {
            done = tokio::time::timeout(spec.start_timeout, ready) => match done {
                Ok(launched) => launched,
                Err(_) => Err(LaunchError::TimedOut {
                    python: starting.python.clone(),
                    seconds: spec.start_timeout.as_secs(),
                    stderr_tail: String::new(),
                }),
            },
            () = cancel.cancelled() => Err(LaunchError::Cancelled),
        }
    }

    /// Starts a runner of its own.
    async fn spawn(&self, spec: &KernelSpec, root: &Path, theirs: Theirs) -> io::Result<Child> {
        let mut command = ProcessCommand::new(&spec.python);
        command
            .args(["-I", "-c", BOOT])
            .arg(root)
            .arg(theirs.control.as_raw_fd().to_string())
            .arg(theirs.lifeline.as_raw_fd().to_string())
            .env_clear()
            .envs(&spec.env)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::from(theirs.stdout))
            .stderr(Stdio::from(theirs.stderr));
        self.spawner.spawn(command, vec![theirs.control, theirs.lifeline]).await
    }

    /// Takes a runner from the fork server of this interpreter and environment, when there is one that
    /// is ready. The first kernel starts the server and does not wait for it.
    async fn fork(&self, spec: &KernelSpec, root: &Path, theirs: &Theirs) -> Option<Forked> {
        if self.config.fork_server == ForkServer::Off {
            return None;
        }
        let key = (spec.python.clone(), spec.env.clone());
        let mut servers = self.servers.lock().await;
        let is_usable = |server: &Arc<Zygote>| server.state() != ZygoteState::Gone;
        let Some(server) = servers.get(&key).filter(|server| is_usable(server)).cloned() else {
            let preload = &self.config.preload;
            let started =
                Zygote::start(&self.spawner, &spec.python, &spec.env, root, preload).await;
            if let Ok(server) = started {
                servers.insert(key, Arc::new(server));
            }
            return None;
        };
        drop(servers);
        if !matches!(server.state(), ZygoteState::Ready { .. }) {
            return None;
        }
        server.fork(&spec.env, theirs.duplicates().ok()?).await.ok()
    }

    /// The fork servers, with their processes.
    pub async fn fork_servers(&self) -> Vec<(PathBuf, u32, ZygoteState)> {
        let servers = self.servers.lock().await;
        let row = |((python, _), server): (&Key, &Arc<Zygote>)| {
            (python.clone(), server.pid(), server.state())
        };
        servers.iter().map(row).collect()
    }

    /// Sends the first command and waits for the answer.
    async fn greet(
        &self,
        spec: &KernelSpec,
        mut link: Link,
        nonce: &str,
        starting: &mut Starting,
    ) -> Result<Launched, LaunchError> {
        let path: Vec<String> = match spec.env.get("PYTHONPATH") {
            Some(path) => {
                path.split(':').filter(|part| !part.is_empty()).map(str::to_owned).collect()
            }
            None => Vec::new(),
        };
        let module = |(name, path): &(String, PathBuf)| (name.clone(), path.display().to_string());
        let modules: Vec<(String, String)> = self.config.modules.iter().map(module).collect();
        let hello = Command::Hello {
            nonce,
            cwd: &spec.cwd.display().to_string(),
            prelude: self.config.prelude.name(),
            path: &path,
            modules: &modules,
        };
        // A runner that died already is told by its silence below, with what it said.
        let _ = link.write.write_all(&hello.to_line()).await;
        let mut decoder = Decoder::new(nonce.to_owned());
        loop {
            match decoder.next() {
                Ok(Some((Frame::Ready { version, executable, pid }, _))) => {
                    let info = KernelInfo {
                        backend: BackendKind::Runner,
                        pid: Some(pid),
                        python_version: version,
                        executable,
                    };
                    return starting.launched(info, link, decoder);
                }
                Ok(None) => {}
                Ok(Some(_)) | Err(_) => return Err(starting.ended(&mut link).await),
            }
            match link.read.read_buf(decoder.buffer()).await {
                Ok(0) | Err(_) => return Err(starting.ended(&mut link).await),
                Ok(_) => {}
            }
        }
    }
}

impl Backend for RunnerBackend {
    fn kind(&self) -> BackendKind {
        BackendKind::Runner
    }

    fn launch<'a>(
        &'a self,
        spec: &'a KernelSpec,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Launched, LaunchError>> {
        self.start(spec, cancel).boxed()
    }
}

fn nonce() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Both ends of everything a runner is connected by.
struct Wires {
    our_control: UnixStream,
    our_lifeline: OwnedFd,
    our_stdout: pipe::Receiver,
    our_stderr: pipe::Receiver,
    theirs: Theirs,
}

/// The runner's ends.
struct Theirs {
    control: OwnedFd,
    lifeline: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Theirs {
    /// In the order the fork server takes them.
    fn duplicates(&self) -> io::Result<Vec<OwnedFd>> {
        [&self.control, &self.lifeline, &self.stdout, &self.stderr]
            .into_iter()
            .map(|fd| fd.try_clone())
            .collect()
    }
}

impl Wires {
    fn new() -> io::Result<Wires> {
        let (ours, control) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let (lifeline, our_lifeline) = io::pipe()?;
        let (our_stdout, stdout) = io::pipe()?;
        let (our_stderr, stderr) = io::pipe()?;
        let receiver = |pipe: PipeReader| pipe::Receiver::from_owned_fd(pipe.into());
        let theirs = Theirs {
            control: control.into(),
            lifeline: lifeline.into(),
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        Ok(Wires {
            our_control: UnixStream::from_std(ours)?,
            our_lifeline: our_lifeline.into(),
            our_stdout: receiver(our_stdout)?,
            our_stderr: receiver(our_stderr)?,
            theirs,
        })
    }
}

/// Our ends of what the runner says.
pub(crate) struct Link {
    pub(crate) read: OwnedReadHalf,
    pub(crate) write: OwnedWriteHalf,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
}

/// A child that is not a kernel yet; dropped, it is killed.
struct Starting {
    pid: u32,
    child: Option<Process>,
    python: String,
    /// Only we hold this end: when it closes, the runner ends, however we ended.
    lifeline: Option<OwnedFd>,
}

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            child.destroy();
        }
    }
}

impl Starting {
    /// Why it ended before it was ready.
    async fn ended(&mut self, link: &mut Link) -> LaunchError {
        kill_group(self.pid, Signal::KILL);
        let mut said = Vec::new();
        // The pipe ends with the process; a child that inherited it must not hold us up.
        let _ =
            tokio::time::timeout(Duration::from_secs(1), link.stderr.read_to_end(&mut said)).await;
        let cause = match &mut self.child {
            Some(child) => child.cause().await,
            None => None,
        };
        LaunchError::EndedEarly {
            python: self.python.clone(),
            cause: cause.unwrap_or(DeathCause::Unknown),
            stderr_tail: String::from_utf8_lossy(&said).into_owned(),
        }
    }

    fn launched(
        &mut self,
        info: KernelInfo,
        link: Link,
        decoder: Decoder,
    ) -> Result<Launched, LaunchError> {
        let Some(child) = self.child.take() else { return Err(LaunchError::Cancelled) };
        let (sender, events) = KernelEvents::channel(EVENT_QUEUE);
        let (commands, queue) = mpsc::unbounded_channel();
        let (death_sender, death) = watch::channel(None);
        let stop = CancellationToken::new();
        let Link { read, write, stdout, stderr } = link;
        tokio::spawn(write_commands(write, queue));
        let pump =
            Pump::new(child, read, stdout, stderr, decoder, sender, stop.clone(), oom_kills());
        let pump =
            pump.map_err(|source| LaunchError::Resources { what: "watch the kernel", source })?;
        tokio::spawn(pump.run(death_sender));
        let kernel = RunnerKernel {
            info,
            pid: self.pid,
            commands,
            death,
            stop,
            _lifeline: self.lifeline.take(),
        };
        Ok(Launched { kernel: Box::new(kernel), events })
    }
}

/// Writes commands one after the other. At most one request is open, so the queue cannot grow.
async fn write_commands(mut write: OwnedWriteHalf, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        if write.write_all(&line).await.is_err() {
            // The pump sees the end of the channel and reports the death.
            return;
        }
    }
}

/// A runner that can be commanded.
struct RunnerKernel {
    info: KernelInfo,
    pid: u32,
    commands: mpsc::UnboundedSender<Vec<u8>>,
    death: watch::Receiver<Option<Death>>,
    /// Tells the pump that nobody listens any more.
    stop: CancellationToken,
    /// The runner ends when this does.
    _lifeline: Option<OwnedFd>,
}

impl RunnerKernel {
    fn post(&self, command: &Command<'_>) -> Result<(), Gone> {
        if self.death.borrow().is_some() {
            return Err(Gone);
        }
        self.commands.send(command.to_line()).map_err(|_| Gone)
    }

    async fn died_within(&mut self, limit: Duration) -> Option<Death> {
        let died = self.death.wait_for(Option::is_some);
        match tokio::time::timeout(limit, died).await {
            Ok(Ok(death)) => death.clone(),
            _ => None,
        }
    }
}

impl Kernel for RunnerKernel {
    fn info(&self) -> &KernelInfo {
        &self.info
    }

    fn execute(&mut self, request: CodeRequest) -> Result<(), Gone> {
        let env = request.env.into_iter().map(|(name, value)| (name, value.into())).collect();
        self.post(&Command::Run {
            id: request.exec.0,
            code: &request.code,
            silent: request.history == History::Silent,
            env,
            cwd: request.cwd.map(|cwd| cwd.display().to_string()),
        })
    }

    fn reply_input(&mut self, _exec: ExecId, _line: String) -> Result<(), Gone> {
        // The runner refuses input by itself, at once; there is nothing left to answer.
        if self.death.borrow().is_some() { Err(Gone) } else { Ok(()) }
    }

    fn interrupt(&mut self) -> Result<(), Gone> {
        if self.death.borrow().is_some() {
            return Err(Gone);
        }
        kill_group(self.pid, Signal::INT);
        Ok(())
    }

    fn shutdown(mut self: Box<Self>, grace: Duration) -> BoxFuture<'static, Death> {
        async move {
            const RUNG: Duration = Duration::from_secs(1);
            let _ = self.post(&Command::Exit);
            self.stop.cancel();
            if let Some(death) = self.died_within(grace).await {
                return death;
            }
            for signal in [Signal::TERM, Signal::KILL] {
                kill_group(self.pid, signal);
                if let Some(death) = self.died_within(RUNG).await {
                    return death;
                }
            }
            Death { cause: DeathCause::Unknown, stderr_tail: String::new(), survivors: Vec::new() }
        }
        .boxed()
    }
}

impl Drop for RunnerKernel {
    fn drop(&mut self) {
        self.stop.cancel();
        if self.death.borrow().is_none() {
            kill_group(self.pid, Signal::KILL);
        }
    }
}
