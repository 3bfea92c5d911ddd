//! Samples of our client of Jupyter kernels, taken as a session would use it.
//!
//! Owns launching, driving and ending kernels. Must not know the peer or the goals.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use inkcell_kernel::{
    Backend as _, CodeRequest, ExecEvent, ExecId, History, KernelEvent, KernelSpec, Launched,
    Origin, Outcome, Prelude, Program, Shell, Startup, StreamName, Transport, ZmqBackend,
    ZmqConfig,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::task::{Carrier, Job, Task};
use crate::bench::memory;

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_secs(2);

pub(super) struct Ours {
    task: Task,
    backend: ZmqBackend,
    spec: KernelSpec,
    /// The kernel that is used again and again, where the job is about one that is there.
    held: Option<Launched>,
    next: u64,
}

impl Ours {
    pub(super) async fn prepare(task: Task) -> Result<Ours> {
        let transport = match task.transport {
            Carrier::Ipc => Transport::Ipc,
            Carrier::Tcp => Transport::Tcp,
        };
        let (state_dir, runtime_dir) = (task.state_dir.clone(), task.runtime_dir.clone());
        let pool = task.pool;
        let backend = ZmqBackend::new(ZmqConfig { state_dir, runtime_dir, transport, pool })?;
        let startup = Startup {
            shell: Shell::IPython,
            prelude: Prelude::Full,
            modules: Vec::new(),
            preload: Vec::new(),
        };
        // The coordinator has cleaned the environment of this process already.
        let env: BTreeMap<String, String> = std::env::vars().collect();
        let (python, cwd) = (task.python.clone(), task.cwd.clone());
        let spec = KernelSpec { python, cwd, env, start_timeout: LIMIT, startup };
        let mut ours = Ours { task, backend, spec, held: None, next: 0 };
        if matches!(ours.task.job, Job::Trip | Job::Output) {
            let mut held = ours.launch().await?;
            ours.check_transport(&mut held).await?;
            ours.held = Some(held);
        }
        ours.backend.warm(&ours.spec);
        ours.wait_for_pool().await?;
        Ok(ours)
    }

    /// A kernel that came to be in the way the task names, or none.
    async fn launch(&self) -> Result<Launched> {
        let launched = self.backend.launch(&self.spec, &CancellationToken::new()).await?;
        match (&launched.kernel.info().origin, self.task.pool) {
            (Origin::Started { .. }, 0) | (Origin::Spare { .. }, 1..) => Ok(launched),
            (other, _) => bail!("the kernel came to be in another way: {other:?}"),
        }
    }

    /// Waits until as many kernels wait as may: one that is just started would slow down everybody's samples.
    async fn wait_for_pool(&self) -> Result<()> {
        let full = async {
            while self.backend.pooled() < self.task.pool {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(LIMIT, full).await.context("the pool was not filled in time")
    }

    /// A folder with a long name would have made ports of sockets in silence.
    async fn check_transport(&mut self, launched: &mut Launched) -> Result<()> {
        let name = self.task.transport.name();
        let code = format!("assert get_ipython().kernel.parent.transport == {name:?}");
        self.run(launched, &code, |_| ()).await.context("the kernel has another transport")
    }

    pub(super) async fn sample(&mut self) -> Result<Value> {
        match self.task.job {
            Job::Start => self.start().await,
            Job::Trip => self.trips().await,
            Job::Output => self.output().await,
            Job::Clients => self.clients().await,
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
        self.check_transport(&mut launched).await?;
        launched.kernel.shutdown(GRACE).await;
        self.wait_for_pool().await?;
        let shown = shown.context("the cell showed no value")?;
        Ok(json!({"ms": ms(shown), "ready_ms": ms(ready)}))
    }

    async fn trips(&mut self) -> Result<Value> {
        let mut held = self.held.take().context("there is no kernel")?;
        let code = self.task.code.clone();
        let mut times = Vec::with_capacity(self.task.count);
        let cpu = own_cpu_ms()?;
        for _ in 0..self.task.count {
            let begin = Instant::now();
            self.run(&mut held, &code, |_| ()).await?;
            times.push(begin.elapsed().as_secs_f64() * 1e6);
        }
        let cpu = (own_cpu_ms()? - cpu) * 1e3 / self.task.count as f64;
        self.held = Some(held);
        Ok(json!({"us": times, "cpu_us": cpu}))
    }

    async fn output(&mut self) -> Result<Value> {
        let mut held = self.held.take().context("there is no kernel")?;
        let (code, wanted) = (self.task.code.clone(), self.task.bytes);
        let (mut bytes, mut parts) = (0, 0);
        let cpu = own_cpu_ms()?;
        let begin = Instant::now();
        self.run(&mut held, &code, |event| {
            if let ExecEvent::Stream { name: StreamName::Stdout, data } = event {
                bytes += data.len();
                parts += 1;
            }
        })
        .await?;
        let took = begin.elapsed();
        let cpu = own_cpu_ms()? - cpu;
        self.held = Some(held);
        if bytes != wanted {
            bail!("{bytes} bytes arrived of {wanted}");
        }
        let rate = bytes as f64 / 1e6 / took.as_secs_f64();
        Ok(json!({"ms": ms(took), "cpu_ms": cpu, "messages": parts, "mb_s": rate, "lost": 0}))
    }

    async fn clients(&mut self) -> Result<Value> {
        let connections = self.task.connections.clone();
        let (first, rest) = connections.split_first().context("there are kernels")?;
        // The first brings in what all of them share.
        let mut held = vec![self.met(first).await?];
        let before = memory::own_resident_mib()?;
        for file in rest {
            held.push(self.met(file).await?);
        }
        let after = memory::own_resident_mib()?;
        drop(held);
        Ok(json!({"before_mib": before, "mib": after, "grown_mib": after - before}))
    }

    /// A kernel that was there before us, after its first cell.
    async fn met(&mut self, file: &Path) -> Result<Launched> {
        let backend = self.backend.running(Program::Existing(file.to_owned()));
        let mut launched = backend.launch(&self.spec, &CancellationToken::new()).await?;
        let code = self.task.code.clone();
        self.run(&mut launched, &code, |_| ()).await?;
        Ok(launched)
    }

    /// Runs code to its end; an error of the cell is an error here.
    async fn run(
        &mut self,
        launched: &mut Launched,
        code: &str,
        mut see: impl FnMut(&ExecEvent),
    ) -> Result<()> {
        self.next += 1;
        launched.kernel.execute(CodeRequest {
            exec: ExecId(self.next),
            code: code.to_owned(),
            history: History::Store,
            env: Vec::new(),
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
                KernelEvent::Died(death) => {
                    bail!("the kernel {}: {}", death.cause, death.stderr_tail)
                }
                KernelEvent::Orphan(_) | KernelEvent::Notice(_) | KernelEvent::Answer { .. } => {}
            }
        }
    }
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

/// What this process has made the processor do; how busy others keep it matters little to that.
#[cfg(unix)]
fn own_cpu_ms() -> Result<f64> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(micros as f64 / 1e3)
}

#[cfg(not(unix))]
fn own_cpu_ms() -> Result<f64> {
    bail!("the processor time of a process is only known how to read on Unix")
}
