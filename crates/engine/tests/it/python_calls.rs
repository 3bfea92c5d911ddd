//! Calls of the engine, on real kernels.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use inkcell_engine::api::{
    CellKernel, CellSource, EndReport, ExecutionId, KernelMode, PythonReport, PythonRequest, State,
};
use inkcell_engine::artifact::{ArtifactId, ArtifactLimits, ArtifactsConfig, Scope};
use inkcell_engine::kernel::{
    EnvMode, EnvRules, ForkServer, ParentEnv, Prelude, ProjectModules, RunnerBackend, RunnerConfig,
    Shell,
};
use inkcell_engine::output::OutputLimits;
use inkcell_engine::registry::{IdleRule, Limits, OwnerId};
use inkcell_engine::session::{Policy, Retry};
use inkcell_engine::{Engine, EngineConfig, EngineError, KernelsConfig, Kind, system_random};
use tempfile::TempDir;

const ME: OwnerId = OwnerId(1);

struct Desk {
    engine: Engine,
    dir: TempDir,
}

fn python() -> String {
    std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

impl Desk {
    fn new() -> Desk {
        let dir = TempDir::new().expect("a folder");
        let state_dir = dir.path().join("state");
        let names = ["PATH", "HOME"];
        let parent =
            std::env::vars_os().filter(|(name, _)| names.iter().any(|known| name == known));
        let kernels = KernelsConfig {
            state_dir: state_dir.clone(),
            home: None,
            interpreter: Some(python()),
            parent_env: ParentEnv::from_os(parent),
            env_rules: EnvRules { mode: EnvMode::Filtered, pass: Vec::new() },
            start_timeout: Duration::from_secs(30),
            shell: Shell::Lite,
            prelude: Prelude::Full,
            preload: Vec::new(),
            project_modules: ProjectModules::Off,
        };
        let config = EngineConfig {
            kernels,
            policy: Policy {
                retry: Retry::IfNotStarted,
                interrupt_grace: Duration::from_secs(3),
                max_restarts: 1,
            },
            limits: Limits { sessions: 4, idle: IdleRule::Never, sweep: Duration::from_secs(30) },
            artifacts: ArtifactsConfig {
                state_dir: state_dir.clone(),
                limits: ArtifactLimits::STANDARD,
                random: system_random,
                now: SystemTime::now,
            },
            output: OutputLimits::head_and_tail(),
            call_bytes: 200 << 10,
            keep_results: Duration::from_secs(600),
            random: system_random,
        };
        let runner = RunnerConfig { state_dir, fork_server: ForkServer::Off, spares: 0 };
        let backend = Arc::new(RunnerBackend::new(runner).expect("a backend"));
        Desk { engine: Engine::new(config, backend), dir }
    }

    fn request(&self, cells: &[&str]) -> PythonRequest {
        let cell = |code: &&str| CellSource {
            code: (*code).to_owned(),
            title: None,
            timeout: None,
            kernel: CellKernel::Same,
        };
        PythonRequest {
            cells: cells.iter().map(cell).collect(),
            session: None,
            cwd: self.dir.path().to_owned(),
            interpreter: None,
            mode: KernelMode::Session,
            timeout: Some(Duration::from_secs(60)),
            wait: Some(Duration::from_secs(60)),
        }
    }

    async fn run(&self, cells: &[&str]) -> PythonReport {
        self.engine.python(self.request(cells), ME).await.expect("a report")
    }
}

fn texts(report: &PythonReport) -> Vec<String> {
    report.cells.iter().map(|cell| cell.output.text()).collect()
}

fn states(report: &PythonReport) -> Vec<State> {
    report.cells.iter().map(|cell| cell.state).collect()
}

/// B:X-04: cells run in order in one kernel that remembers, and the first that fails stops the call.
#[tokio::test]
async fn a_session_remembers_and_a_failing_cell_stops_the_call() {
    let desk = Desk::new();
    let report = desk.run(&["x = 20", "print('a'); x + 1"]).await;
    assert_eq!(
        (report.state, texts(&report)),
        (State::Done, vec![String::new(), "a\n21\n".to_owned()])
    );
    let report = desk.run(&["x", "1/0", "print('never')"]).await;
    assert_eq!(states(&report), [State::Done, State::Error, State::NeverRun]);
    assert_eq!(report.cells[0].count, Some(3));
    let Some(EndReport::Exception(error)) = &report.cells[1].end else { panic!("{report:?}") };
    assert_eq!(error.name, "ZeroDivisionError");
    assert_eq!(desk.engine.sessions().len(), 1);
    desk.engine.shutdown().await;
    assert!(desk.engine.sessions().is_empty());
}

/// Two clocks: the caller's waiting ends before the work, which goes on and can be asked for, and stopped.
#[tokio::test]
async fn a_call_outlives_its_waiting() {
    let desk = Desk::new();
    let gate = desk.dir.path().join("gate");
    let code = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('gate'): time.sleep(0.01)\n'over'";
    let mut request = desk.request(&[code]);
    request.wait = Some(Duration::from_millis(200));
    let report = desk.engine.python(request, ME).await.expect("a report");
    assert_eq!(report.state, State::Running);
    std::fs::write(gate, "").expect("written");
    let report = desk.engine.result(&report.execution, Duration::from_secs(60)).await.expect("it");
    assert_eq!((report.state, texts(&report)), (State::Done, vec!["begun\n'over'\n".to_owned()]));

    let mut request = desk.request(&["import time\nwhile True: time.sleep(0.01)"]);
    request.wait = Some(Duration::from_millis(200));
    let report = desk.engine.python(request, ME).await.expect("a report");
    desk.engine.cancel(&report.execution).expect("it is known");
    let report = desk.engine.result(&report.execution, Duration::from_secs(60)).await.expect("it");
    assert_eq!(report.state, State::Cancelled);
    let unknown = desk.engine.result(&ExecutionId("x0".to_owned()), Duration::ZERO).await.err();
    assert_eq!(unknown.as_ref().map(EngineError::kind), Some(Kind::NotFound));
    desk.engine.shutdown().await;
}

/// B:O-08 Output beyond the budget is stored whole, and the report says where.
#[tokio::test]
async fn what_does_not_fit_is_stored_whole() {
    let desk = Desk::new();
    let report = desk.run(&["for n in range(100_000): print('line', n)"]).await;
    let output = &report.cells[0].output;
    assert!(output.is_truncated);
    let stored = output.artifact.as_ref().expect("an artifact");
    let id = ArtifactId::parse(&stored.id).expect("an id");
    let artifact = desk.engine.artifacts().find(&id, Scope::All).expect("it is there");
    let wanted: u64 = (0..100_000).map(|n| format!("line {n}\n").len() as u64).sum();
    assert_eq!(artifact.info().bytes, wanted);
    let path: PathBuf = desk.dir.path().join("state/artifacts");
    assert!(path.is_dir());
    desk.engine.shutdown().await;
}

/// B:K-02
#[tokio::test]
async fn a_kernel_of_one_call_is_gone_after_it() {
    let desk = Desk::new();
    let mut request = desk.request(&["import os\nos.getpid()"]);
    request.mode = KernelMode::PerCall;
    let report = desk.engine.python(request, ME).await.expect("a report");
    assert_eq!(report.state, State::Done);
    assert!(desk.engine.sessions().is_empty());
    desk.engine.shutdown().await;
}
