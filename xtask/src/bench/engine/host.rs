//! The process that is measured: an engine set up as in the product, one family at a time.
//!
//! Owns the engine and its configuration, which every family needs. Must not know goals.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail};
use inkcell_engine::Backends;
use inkcell_engine::api::{
    CellKernel, CellSource, KernelMode, KernelWishes, PythonReport, PythonRequest, Reading, State,
};
use inkcell_engine::artifact::{ArtifactLimits, ArtifactsConfig};
use inkcell_engine::kernel::{
    EnvMode, EnvRules, ForkServer, InputMode, ParentEnv, Prelude, ProjectModules, RunnerBackend,
    RunnerConfig, Shell,
};
use inkcell_engine::output::OutputLimits;
use inkcell_engine::registry::{IdleRule, Limits, OwnerId, SessionName};
use inkcell_engine::session::{Policy, Retry};
use inkcell_engine::{CallOptions, Engine, EngineConfig, KernelsConfig, system_random};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{many, output, trip};

/// The time limit of a step; only a hang takes longer.
const LIMIT: Duration = Duration::from_secs(120);

/// Instructions of the coordinator to this process.
#[derive(Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) family: String,
    pub(super) python: PathBuf,
    /// The folder for all files that this process writes.
    pub(super) root: PathBuf,
    pub(super) is_quick: bool,
}

impl Task {
    pub(super) fn pick(&self, full: usize, quick: usize) -> usize {
        if self.is_quick { quick } else { full }
    }

    pub(super) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    pub(super) fn artifacts(&self) -> ArtifactsConfig {
        ArtifactsConfig {
            state_dir: self.root.join("state"),
            limits: ArtifactLimits::STANDARD,
            random: system_random,
            now: SystemTime::now,
        }
    }

    pub(super) fn backend(&self, fork_server: ForkServer) -> Result<RunnerBackend> {
        let state_dir = self.root.join("state");
        Ok(RunnerBackend::new(RunnerConfig { state_dir, fork_server, spares: 0 })?)
    }

    /// Makes an engine that allows this many sessions.
    pub(super) fn engine(&self, backend: RunnerBackend, sessions: usize) -> Engine {
        let kernels = KernelsConfig {
            state_dir: self.root.join("state"),
            home: None,
            program: None,
            interpreter: Some(self.python.display().to_string()),
            parent_env: ParentEnv::from_os(std::env::vars_os()),
            env_rules: EnvRules { mode: EnvMode::Filtered, pass: Vec::new() },
            start_timeout: LIMIT,
            shell: Shell::Lite,
            prelude: Prelude::Full,
            preload: Vec::new(),
            project_modules: ProjectModules::Off,
            project: None,
        };
        let second = Duration::from_secs(1);
        let config = EngineConfig {
            kernels,
            policy: Policy {
                retry: Retry::IfNotStarted,
                interrupt_grace: 3 * second,
                max_restarts: 1,
            },
            limits: Limits { sessions, idle: IdleRule::Never, sweep: 30 * second },
            artifacts: self.artifacts(),
            output: OutputLimits::head_and_tail(),
            call_bytes: 200 << 10,
            keep_results: second,
            random: system_random,
        };
        Engine::new(config, Backends::only(Arc::new(backend)))
    }

    /// Runs one cell in a session; any end but success is an error.
    pub(super) async fn cell(
        &self,
        engine: &Engine,
        session: &str,
        code: &str,
    ) -> Result<PythonReport> {
        let cell = CellSource {
            code: code.to_owned(),
            title: None,
            timeout: None,
            kernel: CellKernel::Same,
        };
        let request = PythonRequest {
            input: InputMode::Refuse,
            cells: vec![cell],
            session: Some(SessionName(session.to_owned())),
            cwd: self.work(),
            wanted: KernelWishes::default(),
            mode: KernelMode::Session,
            timeout: Some(LIMIT),
            wait: Some(LIMIT),
            reading: Reading::default(),
        };
        let resolved = engine.resolve(&request.session_ref(), request.mode).await?;
        let options = CallOptions::of(OwnerId(1));
        let call = engine.submit(request.on(&resolved.chosen), options).await?;
        let report = call.wait(LIMIT).await;
        if report.state != State::Done {
            bail!("the cell ended as {:?}: {:?}", report.state, report.cells[0].end);
        }
        Ok(report)
    }
}

/// Measures and prints one line of JSON.
pub(in crate::bench) fn run(args: &[String]) -> Result<()> {
    let [task] = args else { bail!("a host is told what to do") };
    let task: Task = serde_json::from_str(task).context("the task cannot be read")?;
    // One thread drives all kernels, as in the product.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let figures: Value = match task.family.as_str() {
        "trip" => runtime.block_on(trip::measure(&task))?,
        "output" => output::measure(&task)?,
        _ => runtime.block_on(many::measure(&task))?,
    };
    println!("{figures}");
    Ok(())
}
