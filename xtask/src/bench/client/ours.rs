//! Takes samples of our own kernels, used as a session uses them.
//!
//! Owns the launch, use and end of kernels of every backend. Must not know the peers or the goals.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures_util::future::try_join_all;
use inkcell_kernel::{
    Backend as _, ExecEvent, ForkServer, GatewayBackend, GatewayConfig, GatewayLocation,
    GatewayUrl, KernelEvent, KernelSpec, LaunchedKernel, Origin, PlainHttp, Prelude, Program,
    RunnerBackend, RunnerConfig, Startup, StreamName, Token, Transport, Whose, ZmqBackend,
    ZmqConfig, ZygoteState,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::cells::{Cells, mark_memory};
use super::lines::ArrivedOutput;
use super::ms;
use super::task::{Backend, Carrier, Job, Shell, Start, Task};
use crate::bench::measure::usage;

/// The time limit of a step; only a hang takes longer.
const LIMIT: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_secs(2);

/// Fails unless the interpreter's own IPython runs the cell.
const IS_IPYTHON: &str = "from IPython.core.interactiveshell import InteractiveShell as _Shell\n\
     assert isinstance(get_ipython(), _Shell), 'the shell is not IPython'\n\
     assert 'site-packages' in __import__('IPython').__file__, 'IPython is the stand-in'";

pub(super) struct Ours {
    task: Task,
    kernels: Kernels,
    spec: KernelSpec,
    /// The kernel for all samples, if the job uses an existing kernel.
    held: Option<LaunchedKernel>,
    cells: Cells,
    digest: Option<blake3::Hash>,
    samples: usize,
}

/// A backend, with the kind of kernels that the task requires of it.
enum Kernels {
    Runner(RunnerBackend, Start),
    Zmq { backend: ZmqBackend, carrier: Carrier, pool: usize },
    Gateway(Box<GatewayBackend>),
}

impl Kernels {
    fn new(task: &Task) -> Result<Kernels> {
        let state_dir = task.state_dir.clone();
        Ok(match &task.backend {
            Backend::Plain { .. } => bail!("a plain process is no kernel"),
            Backend::Runner { start, .. } => {
                // A host that forks keeps one copy ready.
                let (fork_server, spares) = match start {
                    Start::Direct => (ForkServer::Off, 0),
                    Start::Forked => (ForkServer::USUAL, 1),
                };
                let config = RunnerConfig { state_dir, fork_server, spares };
                Kernels::Runner(RunnerBackend::new(config)?, *start)
            }
            Backend::Zmq { transport, pool, runtime_dir, .. } => {
                let (carrier, pool, runtime_dir) = (*transport, *pool, runtime_dir.clone());
                let transport = match carrier {
                    Carrier::Ipc => Transport::Ipc,
                    Carrier::Tcp => Transport::Tcp,
                };
                let config = ZmqConfig { state_dir, runtime_dir, transport, pool };
                Kernels::Zmq { backend: ZmqBackend::new(config)?, carrier, pool }
            }
            Backend::Gateway { port, token, runtime_dir } => {
                let url = format!("http://127.0.0.1:{port}");
                let (url, _) = GatewayUrl::parse(&url, PlainHttp::OnlyHere)?;
                let token = Token::parse(token).ok().flatten().context("the token is none")?;
                Kernels::Gateway(Box::new(GatewayBackend::new(GatewayConfig {
                    url,
                    token: Some(token),
                    whose: Whose::External,
                    place: GatewayLocation::Unknown,
                    kernel_name: Some("python3".to_owned()),
                    env: BTreeMap::new(),
                    user: None,
                    beside: None,
                    start_limit: None,
                    authorities: None,
                    state_dir,
                    runtime_dir: runtime_dir.clone(),
                })))
            }
        })
    }

    async fn launch(&self, spec: &KernelSpec) -> Result<LaunchedKernel> {
        let cancel = CancellationToken::new();
        Ok(match self {
            Kernels::Runner(backend, _) => backend.launch(spec, &cancel).await?,
            Kernels::Zmq { backend, .. } => backend.launch(spec, &cancel).await?,
            Kernels::Gateway(backend) => backend.launch(spec, &cancel).await?,
        })
    }

    /// True if the kernel was started in the way that the task requires.
    fn gives(&self, origin: &Origin) -> bool {
        match self {
            Kernels::Runner(_, Start::Forked) => matches!(origin, Origin::Forked),
            Kernels::Runner(_, Start::Direct) | Kernels::Zmq { pool: 0, .. } => {
                matches!(origin, Origin::Started { .. })
            }
            Kernels::Zmq { .. } => matches!(origin, Origin::Spare { .. }),
            Kernels::Gateway(_) => true,
        }
    }
}

impl Ours {
    pub(super) async fn prepare(task: Task) -> Result<Ours> {
        let kernels = Kernels::new(&task)?;
        let (shell, preload) = match &task.backend {
            Backend::Runner { shell: Shell::Lite, preload, .. } => {
                (inkcell_kernel::Shell::Lite, preload.clone())
            }
            Backend::Runner { preload, .. } => (inkcell_kernel::Shell::IPython, preload.clone()),
            _ => (inkcell_kernel::Shell::IPython, Vec::new()),
        };
        let startup = Startup { shell, prelude: Prelude::Full, modules: Vec::new(), preload };
        // The coordinator has cleaned the environment of this process already.
        let env: BTreeMap<String, String> = std::env::vars().collect();
        let (python, cwd) = (task.python.clone(), task.cwd.clone());
        let spec = KernelSpec { python, cwd, env, start_timeout: LIMIT, startup };
        let digest = task.digest()?;
        let cells = Cells::default();
        let mut ours = Ours { task, kernels, spec, held: None, cells, digest, samples: 0 };
        match &ours.kernels {
            Kernels::Runner(..) => ours.warm_runner().await?,
            _ if ours.is_held() => {
                let mut held = ours.launch().await?;
                ours.check_transport(&mut held).await?;
                ours.held = Some(held);
            }
            _ => {}
        }
        if let Kernels::Zmq { backend, .. } = &ours.kernels {
            backend.warm(&ours.spec);
        }
        ours.wait_for_pool().await?;
        Ok(ours)
    }

    /// True if the job uses an existing kernel.
    fn is_held(&self) -> bool {
        matches!(self.task.job, Job::Trip | Job::Output)
    }

    async fn warm_runner(&mut self) -> Result<()> {
        // The first kernel starts the fork server without waiting for it, and shows that code runs.
        let first = self.kernels.launch(&self.spec).await?;
        first.kernel.shutdown(GRACE).await;
        if let Kernels::Runner(backend, Start::Forked) = &self.kernels {
            wait_for_fork_server(backend).await?;
        }
        let mut second = self.launch().await?;
        if matches!(self.task.backend, Backend::Runner { shell: Shell::IPython, .. }) {
            self.cells.run(&mut second, IS_IPYTHON, |_| ()).await?;
        }
        if self.is_held() {
            self.held = Some(second);
        } else {
            second.kernel.shutdown(GRACE).await;
        }
        Ok(())
    }

    /// Launches a kernel; fails if it was started in another way than the task requires.
    async fn launch(&self) -> Result<LaunchedKernel> {
        let launched = self.kernels.launch(&self.spec).await?;
        let origin = &launched.kernel.info().origin;
        if !self.kernels.gives(origin) {
            bail!("the kernel came to be in another way: {origin:?}");
        }
        Ok(launched)
    }

    /// Waits until the pool of waiting kernels is full: a kernel that is just starting would slow down every
    /// contender's samples.
    async fn wait_for_pool(&self) -> Result<()> {
        let Kernels::Zmq { backend, pool, .. } = &self.kernels else { return Ok(()) };
        let full = async {
            while backend.pooled() < *pool {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(LIMIT, full).await.context("the pool was not filled in time")
    }

    /// Checks the carrier: a path too long for sockets silently switches to ports.
    async fn check_transport(&mut self, launched: &mut LaunchedKernel) -> Result<()> {
        let Kernels::Zmq { carrier, .. } = &self.kernels else { return Ok(()) };
        let name = carrier.name();
        let code = format!("assert get_ipython().kernel.parent.transport == {name:?}");
        self.cells.run(launched, &code, |_| ()).await.context("the kernel has another transport")
    }

    pub(super) async fn sample(&mut self) -> Result<Value> {
        self.samples += 1;
        match self.task.job {
            Job::Start => self.start().await,
            Job::Trip => {
                let held = self.held.as_mut().context("there is no kernel")?;
                self.cells.trips(held, &self.task.code, self.task.count).await
            }
            Job::Output => self.output().await,
            Job::Many => self.many().await,
            Job::Report => self.report().await,
            Job::Clients => self.clients().await,
            Job::Process => bail!("a kernel is no whole process"),
        }
    }

    /// Ends all kernels and the backend, so that no process is left.
    pub(super) async fn end(self) {
        if let Some(held) = self.held {
            held.kernel.shutdown(GRACE).await;
        }
    }

    async fn start(&mut self) -> Result<Value> {
        let begin = Instant::now();
        let mut launched = self.launch().await?;
        let ready = begin.elapsed();
        let shown = self.cells.value(&mut launched, &self.task.code).await? - begin;
        let done = begin.elapsed();
        self.check_transport(&mut launched).await?;
        launched.kernel.shutdown(GRACE).await;
        self.wait_for_pool().await?;
        Ok(json!({"ms": ms(shown), "ready_ms": ms(ready), "done_ms": ms(done)}))
    }

    async fn output(&mut self) -> Result<Value> {
        let held = self.held.as_mut().context("there is no kernel")?;
        let (code, bytes) = (&self.task.code, self.task.bytes());
        let digest = self.task.digest_for(self.samples, self.digest);
        let mut arrived = ArrivedOutput::new(digest);
        // No table shows the memory of a Jupyter client during output.
        let mark = match self.kernels {
            Kernels::Runner(..) => Some(mark_memory()?),
            _ => None,
        };
        let mut found = self.cells.output(held, code, bytes, &mut arrived).await?;
        if let Some(mark) = mark {
            let (idle, grown) = mark.grown()?;
            (found["idle_mib"], found["grown_mib"]) = (idle.into(), grown.into());
        }
        // A server may drop output; the table shows how much.
        if !matches!(self.kernels, Kernels::Gateway(_)) {
            arrived.check(bytes, digest)?;
        }
        Ok(found)
    }

    async fn many(&mut self) -> Result<Value> {
        let Kernels::Runner(backend, _) = &self.kernels else {
            bail!("many kernels are started by the runner alone")
        };
        let begin = Instant::now();
        let kernels = (0..self.task.count).map(|_| self.launch_answering());
        let kernels = try_join_all(kernels).await?;
        let took = begin.elapsed();
        let servers = backend.fork_servers().await;
        let servers: Vec<u32> = servers.iter().map(|(_, pid, _)| *pid).collect();
        let pids: Option<Vec<u32>> =
            kernels.iter().map(|launched| launched.kernel.info().pid).collect();
        let runners = usage::pss_mib(&pids.context("a runner is on this machine")?)?;
        let server = usage::pss_mib(&servers)?;
        let own = usage::own_resident_mib()?;
        for launched in kernels {
            launched.kernel.shutdown(GRACE).await;
        }
        Ok(json!({
            "ms": ms(took),
            "pss_mib": runners + server,
            "server_mib": server,
            "client_mib": own,
        }))
    }

    async fn launch_answering(&self) -> Result<LaunchedKernel> {
        let mut launched = self.launch().await?;
        Cells::default().value(&mut launched, &self.task.code).await?;
        Ok(launched)
    }

    async fn report(&mut self) -> Result<Value> {
        let mut launched = self.launch().await?;
        let mut text = Vec::new();
        let code = &self.task.code;
        let written = |event: &KernelEvent| {
            if let KernelEvent::Exec {
                event: ExecEvent::Stream { name: StreamName::Stdout, data },
                ..
            } = event
            {
                text.extend_from_slice(data);
            }
        };
        self.cells.run(&mut launched, code, written).await?;
        launched.kernel.shutdown(GRACE).await;
        serde_json::from_slice(&text).context("the cell printed no JSON")
    }

    async fn clients(&mut self) -> Result<Value> {
        // The first kernel loads what all of them share.
        let mut held = vec![self.connect(0).await?];
        let before = usage::own_resident_mib()?;
        for further in 0..self.task.count {
            held.push(self.connect(further + 1).await?);
        }
        let after = usage::own_resident_mib()?;
        if let Kernels::Gateway(_) = self.kernels {
            for launched in held {
                launched.kernel.shutdown(GRACE).await;
            }
        }
        Ok(json!({"before_mib": before, "mib": after, "grown_mib": after - before}))
    }

    /// Connects to a kernel and runs a first cell; uses the existing kernel of this number, if the task has
    /// existing kernels.
    async fn connect(&mut self, number: usize) -> Result<LaunchedKernel> {
        let mut launched = match (&self.kernels, &self.task.backend) {
            (Kernels::Zmq { backend, .. }, Backend::Zmq { connections, .. }) => {
                let file = connections.get(number).context("there are enough kernels")?;
                let backend = backend.running(Program::Existing(file.clone()));
                backend.launch(&self.spec, &CancellationToken::new()).await?
            }
            _ => self.launch().await?,
        };
        self.cells.run(&mut launched, &self.task.code, |_| ()).await?;
        Ok(launched)
    }
}

async fn wait_for_fork_server(backend: &RunnerBackend) -> Result<()> {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        match backend.fork_servers().await.as_slice() {
            [(_, _, ZygoteState::Ready { failed })] if failed.is_empty() => return Ok(()),
            [(_, _, ZygoteState::Starting)] => {}
            other => bail!("the fork server is not to be used: {other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bail!("the fork server was not ready in time")
}
