//! Samples of our client of gateways, taken as a session would use it.
//!
//! Owns launching, driving and ending kernels. Must not know the peers or the goals.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use inkcell_kernel::{
    Backend as _, GatewayBackend, GatewayConfig, GatewayUrl, KernelSpec, Launched, Place,
    PlainHttp, Prelude, Shell, Startup, Token, Whose,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::task::{Job, Task};
use crate::bench::cells::{Cells, ms};
use crate::bench::{memory, orders};

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_secs(2);

pub(super) struct Ours {
    task: Task,
    backend: GatewayBackend,
    spec: KernelSpec,
    /// The kernel that is used again and again, where the job is about one that is there.
    held: Option<Launched>,
    cells: Cells,
}

impl orders::Client for Ours {
    type Task = Task;

    async fn prepare(task: Task) -> Result<Ours> {
        let url = format!("http://127.0.0.1:{}", task.port);
        let (url, _) = GatewayUrl::parse(&url, PlainHttp::OnlyHere)?;
        let token = Token::parse(&task.token).ok().flatten().context("the token is none")?;
        let backend = GatewayBackend::new(GatewayConfig {
            url,
            token: Some(token),
            whose: Whose::External,
            place: Place::Unknown,
            kernel_name: Some("python3".to_owned()),
            env: BTreeMap::new(),
            user: None,
            beside: None,
            start_limit: None,
            authorities: None,
            state_dir: task.state_dir.clone(),
            runtime_dir: task.runtime_dir.clone(),
        });
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
            ours.held = Some(ours.launch().await?);
        }
        Ok(ours)
    }

    async fn sample(&mut self) -> Result<Value> {
        match self.task.job {
            Job::Start => self.start().await,
            Job::Trip => {
                let held = self.held.as_mut().context("there is no kernel")?;
                self.cells.trips(held, &self.task.code, self.task.count).await
            }
            Job::Output => {
                let held = self.held.as_mut().context("there is no kernel")?;
                self.cells.output(held, &self.task.code, self.task.bytes).await
            }
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
    async fn launch(&self) -> Result<Launched> {
        Ok(self.backend.launch(&self.spec, &CancellationToken::new()).await?)
    }

    async fn start(&mut self) -> Result<Value> {
        let begin = Instant::now();
        let mut launched = self.launch().await?;
        let ready = begin.elapsed();
        let shown = self.cells.value(&mut launched, &self.task.code).await? - begin;
        launched.kernel.shutdown(GRACE).await;
        Ok(json!({"ms": ms(shown), "ready_ms": ms(ready)}))
    }

    async fn clients(&mut self) -> Result<Value> {
        // The first brings in what all of them share.
        let mut held = vec![self.met().await?];
        let before = memory::own_resident_mib()?;
        for _ in 0..self.task.count {
            held.push(self.met().await?);
        }
        let after = memory::own_resident_mib()?;
        for launched in held {
            launched.kernel.shutdown(GRACE).await;
        }
        Ok(json!({"before_mib": before, "mib": after, "grown_mib": after - before}))
    }

    /// A kernel after its first cell.
    async fn met(&mut self) -> Result<Launched> {
        let mut launched = self.launch().await?;
        self.cells.run(&mut launched, &self.task.code, |_| ()).await?;
        Ok(launched)
    }
}
