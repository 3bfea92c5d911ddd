//! Samples of our own kernels, taken as a session would use them.
//!
//! Owns launching, driving and ending kernels. Must not know the peers or the goals.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures_util::future::try_join_all;
use inkcell_kernel::{
    Backend as _, CodeRequest, ExecEvent, ExecId, ForkServer, History, InputMode, KernelEvent,
    KernelSpec, Launched, Origin, Outcome, Prelude, RunnerBackend, RunnerConfig, Startup,
    StreamName, ZygoteState,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::lines::{self, Arrived};
use super::task::{Hashing, Job, Shell, Start, Task};
use crate::bench::memory;

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_secs(2);

/// Fails unless the cell is run by the interpreter's own IPython.
const IS_IPYTHON: &str = "from IPython.core.interactiveshell import InteractiveShell as _Shell\n\
     assert isinstance(get_ipython(), _Shell), 'the shell is not IPython'\n\
     assert 'site-packages' in __import__('IPython').__file__, 'IPython is the stand-in'";

pub(super) struct Ours {
    task: Task,
    backend: RunnerBackend,
    spec: KernelSpec,
    /// The kernel that is used again and again, where the job is about one that is there.
    held: Option<Launched>,
    next: u64,
    digest: Option<blake3::Hash>,
    samples: usize,
}

impl Ours {
    pub(super) async fn prepare(task: Task) -> Result<Ours> {
        // A host that forks keeps one copy ahead.
        let (fork_server, spares) = match task.start {
            Start::Direct => (ForkServer::Off, 0),
            Start::Forked => (ForkServer::USUAL, 1),
        };
        let config = RunnerConfig { state_dir: task.state_dir.clone(), fork_server, spares };
        let backend = RunnerBackend::new(config)?;
        let shell = match task.shell {
            Shell::Lite => inkcell_kernel::Shell::Lite,
            Shell::IPython => inkcell_kernel::Shell::IPython,
        };
        let preload = task.preload.clone();
        let startup = Startup { shell, prelude: Prelude::Full, modules: Vec::new(), preload };
        // The coordinator has cleaned the environment of this process already.
        let env: BTreeMap<String, String> = std::env::vars().collect();
        let (python, cwd) = (task.python.clone(), task.cwd.clone());
        let spec = KernelSpec { python, cwd, env, start_timeout: LIMIT, startup };
        let digest = match task.job {
            Job::Output => Some(lines::digest(task.count, task.width)?),
            _ => None,
        };
        let mut ours = Ours { task, backend, spec, held: None, next: 0, digest, samples: 0 };
        // The first kernel starts the fork server, does not wait for it, and shows that code runs.
        let first = ours.backend.launch(&ours.spec, &CancellationToken::new()).await?;
        first.kernel.shutdown(GRACE).await;
        if ours.task.start == Start::Forked {
            ours.wait_for_fork_server().await?;
        }
        let mut second = ours.launch().await?;
        if ours.task.shell == Shell::IPython {
            ours.run(&mut second, IS_IPYTHON, |_| ()).await?;
        }
        match ours.task.job {
            Job::Trip | Job::Output => ours.held = Some(second),
            _ => drop(second.kernel.shutdown(GRACE).await),
        }
        Ok(ours)
    }

    async fn wait_for_fork_server(&self) -> Result<()> {
        let deadline = Instant::now() + LIMIT;
        while Instant::now() < deadline {
            match self.backend.fork_servers().await.as_slice() {
                [(_, _, ZygoteState::Ready { failed })] if failed.is_empty() => return Ok(()),
                [(_, _, ZygoteState::Starting)] => {}
                other => bail!("the fork server is not to be used: {other:?}"),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bail!("the fork server was not ready in time")
    }

    /// A kernel that came to be in the way the task names, or none.
    async fn launch(&self) -> Result<Launched> {
        let launched = self.backend.launch(&self.spec, &CancellationToken::new()).await?;
        match (&launched.kernel.info().origin, self.task.start) {
            (Origin::Forked, Start::Forked) | (Origin::Started { .. }, Start::Direct) => {}
            (other, _) => bail!("the kernel came to be in another way: {other:?}"),
        }
        Ok(launched)
    }

    pub(super) async fn sample(&mut self) -> Result<Value> {
        self.samples += 1;
        match self.task.job {
            Job::Start => self.start().await,
            Job::Trip => self.trips().await,
            Job::Output => self.output().await,
            Job::Many => self.many().await,
            Job::Report => self.report().await,
            Job::Process => bail!("a kernel is no whole process"),
        }
    }

    /// Leaves no process behind.
    pub(super) async fn end(self) {
        if let Some(held) = self.held {
            held.kernel.shutdown(GRACE).await;
        }
    }

    async fn start(&mut self) -> Result<Value> {
        let code = self.task.code.clone();
        let begin = Instant::now();
        let mut launched = self.launch().await?;
        let ready = begin.elapsed();
        let mut shown = None;
        self.run(&mut launched, &code, |event| {
            if matches!(event, ExecEvent::Result { .. }) {
                shown = Some(begin.elapsed());
            }
        })
        .await?;
        let done = begin.elapsed();
        launched.kernel.shutdown(GRACE).await;
        let shown = shown.context("the cell showed no value")?;
        Ok(json!({"ms": ms(shown), "ready_ms": ms(ready), "done_ms": ms(done)}))
    }

    async fn trips(&mut self) -> Result<Value> {
        let mut held = self.held.take().context("there is no kernel")?;
        let code = self.task.code.clone();
        let mut times = Vec::with_capacity(self.task.count);
        for _ in 0..self.task.count {
            let begin = Instant::now();
            self.run(&mut held, &code, |_| ()).await?;
            times.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        self.held = Some(held);
        Ok(json!({"us": times}))
    }

    async fn output(&mut self) -> Result<Value> {
        let mut held = self.held.take().context("there is no kernel")?;
        let code = self.task.code.clone();
        let is_hashed = self.task.hashing == Hashing::Always || self.samples == 1;
        let digest = self.digest.filter(|_| is_hashed);
        let bytes = self.task.count * self.task.width;
        let mut arrived = Arrived::new(digest);
        let idle = memory::own_resident_mib()?;
        memory::forget_peak()?;
        let begin = Instant::now();
        self.run(&mut held, &code, |event| {
            if let ExecEvent::Stream { name: StreamName::Stdout, data } = event {
                arrived.take(data);
            }
        })
        .await?;
        let took = begin.elapsed();
        let grown = memory::own_peak_mib()? - idle;
        self.held = Some(held);
        arrived.check(bytes, digest)?;
        let rate = bytes as f64 / 1e6 / took.as_secs_f64();
        Ok(json!({"ms": ms(took), "mb_s": rate, "idle_mib": idle, "grown_mib": grown}))
    }

    async fn many(&mut self) -> Result<Value> {
        let code = self.task.code.clone();
        let begin = Instant::now();
        let kernels = (0..self.task.count).map(|_| self.answering(&code));
        let kernels = try_join_all(kernels).await?;
        let took = begin.elapsed();
        let servers = self.backend.fork_servers().await;
        let servers: Vec<u32> = servers.iter().map(|(_, pid, _)| *pid).collect();
        let pids: Option<Vec<u32>> =
            kernels.iter().map(|launched| launched.kernel.info().pid).collect();
        let runners = memory::pss_mib(&pids.context("a runner is on this machine")?)?;
        let server = memory::pss_mib(&servers)?;
        let own = memory::own_resident_mib()?;
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

    async fn answering(&self, code: &str) -> Result<Launched> {
        let mut launched = self.launch().await?;
        let mut is_shown = false;
        drive(&mut launched, ExecId(1), code, |event| {
            is_shown |= matches!(event, ExecEvent::Result { .. });
        })
        .await?;
        if !is_shown {
            bail!("the cell showed no value");
        }
        Ok(launched)
    }

    async fn report(&mut self) -> Result<Value> {
        let code = self.task.code.clone();
        let mut launched = self.launch().await?;
        let mut text = Vec::new();
        self.run(&mut launched, &code, |event| {
            if let ExecEvent::Stream { name: StreamName::Stdout, data } = event {
                text.extend_from_slice(data);
            }
        })
        .await?;
        launched.kernel.shutdown(GRACE).await;
        serde_json::from_slice(&text).context("the cell printed no JSON")
    }

    async fn run(
        &mut self,
        launched: &mut Launched,
        code: &str,
        see: impl FnMut(&ExecEvent),
    ) -> Result<()> {
        self.next += 1;
        drive(launched, ExecId(self.next), code, see).await
    }
}

/// Runs code to its end; an error of the cell is an error here.
async fn drive(
    launched: &mut Launched,
    exec: ExecId,
    code: &str,
    mut see: impl FnMut(&ExecEvent),
) -> Result<()> {
    let (code, env) = (code.to_owned(), Vec::new());
    launched.kernel.execute(CodeRequest {
        input: InputMode::Refuse,
        names: inkcell_kernel::NamesWanted::No,
        exec,
        code,
        history: History::Store,
        env,
        cwd: None,
    })?;
    loop {
        match launched.events.next().await.context("the events ended")? {
            KernelEvent::Exec { event: ExecEvent::Finished(outcome), .. } => match outcome {
                Outcome::Ok => return Ok(()),
                Outcome::Error(error) => bail!("{}: {}", error.name, error.value),
                Outcome::Aborted => bail!("the cell was not run"),
            },
            KernelEvent::Exec { event, .. } => see(&event),
            KernelEvent::Died(death) => bail!("the kernel {}: {}", death.cause, death.stderr_tail),
            KernelEvent::Orphan(_) | KernelEvent::Notice(_) | KernelEvent::Answer { .. } => {}
        }
    }
}

pub(super) fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}
