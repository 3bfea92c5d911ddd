//! Measures a trivial cell: through the backend alone, and as a request to the engine.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use inkcell_engine::kernel::{
    Backend as _, CodeRequest, ExecEvent, ExecId, ForkServer, History, InputMode, KernelEvent,
    KernelSpec, LaunchedKernel, Outcome, Prelude, Shell, Startup,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::host::Task;
use crate::bench::measure::Row;

pub(super) async fn measure(task: &Task) -> Result<Value> {
    let (rounds, count) = (task.pick(9, 3), task.pick(400, 40));
    let mut bare = launch(task).await?;
    let engine = task.engine(task.backend(ForkServer::Off)?, 4);
    task.cell(&engine, "trip", "1").await?;
    let (mut bare_us, mut engine_us, mut next) = (Vec::new(), Vec::new(), 0);
    for round in 0..=rounds {
        for _ in 0..count {
            next += 1;
            let begin = Instant::now();
            drive(&mut bare, next).await?;
            let took = begin.elapsed().as_secs_f64() * 1e6;
            // The first round only warms up.
            if round > 0 {
                bare_us.push(took);
            }
        }
        for _ in 0..count {
            let begin = Instant::now();
            task.cell(&engine, "trip", "1").await?;
            let took = begin.elapsed().as_secs_f64() * 1e6;
            if round > 0 {
                engine_us.push(took);
            }
        }
    }
    bare.kernel.shutdown(std::time::Duration::from_secs(2)).await;
    engine.shutdown().await;
    let mut row = Row::default();
    row.add(&json!({"bare us": bare_us, "engine us": engine_us}));
    Ok(row.medians())
}

async fn launch(task: &Task) -> Result<LaunchedKernel> {
    let startup = Startup {
        shell: Shell::Lite,
        prelude: Prelude::Full,
        modules: Vec::new(),
        preload: Vec::new(),
    };
    let env: BTreeMap<String, String> = std::env::vars().collect();
    let spec = KernelSpec {
        python: task.python.clone(),
        cwd: task.work(),
        env,
        start_timeout: std::time::Duration::from_secs(60),
        startup,
    };
    let backend = task.backend(ForkServer::Off)?;
    Ok(backend.launch(&spec, &CancellationToken::new()).await?)
}

async fn drive(launched: &mut LaunchedKernel, number: u64) -> Result<()> {
    let request = CodeRequest {
        input: InputMode::Refuse,
        names: inkcell_kernel::NamesWanted::No,
        exec: ExecId(number),
        code: "1".to_owned(),
        history: History::Store,
        env: Vec::new(),
        cwd: None,
    };
    launched.kernel.execute(request)?;
    loop {
        match launched.events.next().await.context("the events ended")? {
            KernelEvent::Exec { event: ExecEvent::Finished(Outcome::Ok), .. } => return Ok(()),
            KernelEvent::Exec { event: ExecEvent::Finished(other), .. } => bail!("{other:?}"),
            KernelEvent::Died(death) => bail!("the kernel {}", death.cause),
            _ => {}
        }
    }
}
