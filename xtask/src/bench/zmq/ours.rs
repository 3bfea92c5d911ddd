//! Samples of our client of Jupyter kernels, taken as a session would use it.
//!
//! Owns launching, driving and ending kernels. Must not know the peer or the goals.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use inkcell_kernel::{
    Backend as _, KernelSpec, Launched, Origin, Prelude, Program, Shell, Startup, Transport,
    ZmqBackend, ZmqConfig,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::task::{Carrier, Job, Task};
use crate::bench::cells::{Cells, ms};
use crate::bench::{memory, orders};

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_secs(2);

pub(super) struct Ours {
    task: Task,
    backend: ZmqBackend,
    spec: KernelSpec,
    /// The kernel that is used again and again, where the job is about one that is there.
    held: Option<Launched>,
    cells: Cells,
}

impl orders::Client for Ours {
    type Task = Task;

    async fn prepare(task: Task) -> Result<Ours> {
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
        let mut ours = Ours { task, backend, spec, held: None, cells: Cells::default() };
        if matches!(ours.task.job, Job::Trip | Job::Output) {
            let mut held = ours.launch().await?;
            ours.check_transport(&mut held).await?;
            ours.held = Some(held);
        }
        ours.backend.warm(&ours.spec);
        ours.wait_for_pool().await?;
        Ok(ours)
    }

    async fn sample(&mut self) -> Result<Value> {
        match self.task.job {
            Job::Start => self.start().await,
            Job::Trip => self.trips().await,
            Job::Output => self.output().await,
            Job::Clients => self.clients().await,
        }
    }

    async fn end(self) {
        if let Some(held) = self.held {
            held.kernel.shutdown(GRACE).await;
        }
    }
}

impl Ours {
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
        self.cells.run(launched, &code, |_| ()).await.context("the kernel has another transport")
    }

    async fn start(&mut self) -> Result<Value> {
        let code = self.task.code.clone();
        let begin = Instant::now();
        let mut launched = self.launch().await?;
        let ready = begin.elapsed();
        let shown = self.cells.value(&mut launched, &code).await? - begin;
        self.check_transport(&mut launched).await?;
        launched.kernel.shutdown(GRACE).await;
        self.wait_for_pool().await?;
        Ok(json!({"ms": ms(shown), "ready_ms": ms(ready)}))
    }

    async fn trips(&mut self) -> Result<Value> {
        let held = self.held.as_mut().context("there is no kernel")?;
        self.cells.trips(held, &self.task.code, self.task.count).await
    }

    async fn output(&mut self) -> Result<Value> {
        let held = self.held.as_mut().context("there is no kernel")?;
        let found = self.cells.output(held, &self.task.code, self.task.bytes).await?;
        if found["lost"].as_f64() != Some(0.0) {
            bail!("{} bytes of {} did not arrive", found["lost"], self.task.bytes);
        }
        Ok(found)
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
        self.cells.run(&mut launched, &code, |_| ()).await?;
        Ok(launched)
    }
}
