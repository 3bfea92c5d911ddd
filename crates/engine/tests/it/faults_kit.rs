//! An engine in a private folder, on real kernels or on scripted ones, and short names for what tests of
//! faults ask of it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use inkcell_engine::Backends;
use inkcell_engine::api::{
    CellKernel, CellSource, KernelMode, PythonReport, PythonRequest, Reading, State, Wanted,
};
use inkcell_engine::artifact::{ArtifactId, ArtifactLimits, ArtifactsConfig, Scope};
use inkcell_engine::kernel::{
    Backend, EnvMode, EnvRules, ForkServer, InputMode, ParentEnv, Prelude, ProjectModules,
    RunnerBackend, RunnerConfig, Shell,
};
use inkcell_engine::output::{ModelOutput, OutputLimits};
use inkcell_engine::registry::{IdleRule, Limits, OwnerId, SessionKey, SessionName};
use inkcell_engine::session::{Policy, Retry};
use inkcell_engine::{Engine, EngineConfig, KernelsConfig, system_random};
use inkcell_testkit::wait::until_async;
use tempfile::TempDir;

pub(crate) const ME: OwnerId = OwnerId(1);

/// Longer than anything here takes on a slow machine.
pub(crate) const LONG: Duration = Duration::from_secs(240);

pub(crate) struct Desk {
    pub(crate) engine: Engine,
    pub(crate) dir: TempDir,
}

fn python() -> String {
    std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// What every engine of these tests is told, with its state below `dir`.
pub(crate) fn config(dir: &Path) -> EngineConfig {
    let state_dir = dir.join("state");
    inkcell_testkit::runner::share(&state_dir);
    let names = ["PATH", "HOME"];
    let parent = std::env::vars_os().filter(|(name, _)| names.iter().any(|known| name == known));
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
        project: None,
    };
    EngineConfig {
        kernels,
        policy: Policy {
            retry: Retry::IfNotStarted,
            interrupt_grace: Duration::from_secs(3),
            max_restarts: 1,
        },
        limits: Limits { sessions: 8, idle: IdleRule::Never, sweep: Duration::from_secs(30) },
        artifacts: ArtifactsConfig {
            state_dir,
            limits: ArtifactLimits::STANDARD,
            random: system_random,
            now: SystemTime::now,
        },
        output: OutputLimits::head_and_tail(),
        call_bytes: 200 << 10,
        keep_results: Duration::from_secs(600),
        random: system_random,
    }
}

/// Code that waits, without using the processor, until a file of this name is in its folder.
pub(crate) fn wait_for(name: &str) -> String {
    format!("import os, time\nwhile not os.path.exists({name:?}): time.sleep(0.005)")
}

impl Desk {
    /// On real kernels, each a process of its own.
    pub(crate) fn new() -> Desk {
        Desk::with(|_| {})
    }

    /// The same with some of its configuration changed.
    pub(crate) fn with(change: impl FnOnce(&mut EngineConfig)) -> Desk {
        Desk::runners(ForkServer::Off, change)
    }

    pub(crate) fn runners(fork_server: ForkServer, change: impl FnOnce(&mut EngineConfig)) -> Desk {
        Desk::on(change, |dir| {
            let runner = RunnerConfig { state_dir: dir.join("state"), fork_server, spares: 0 };
            Arc::new(RunnerBackend::new(runner).expect("a backend"))
        })
    }

    /// On kernels of another sort.
    pub(crate) fn on(
        change: impl FnOnce(&mut EngineConfig),
        backend: impl FnOnce(&Path) -> Arc<dyn Backend>,
    ) -> Desk {
        let dir = tempfile::Builder::new().prefix("inkcell-test-").tempdir().expect("a folder");
        let mut config = config(dir.path());
        change(&mut config);
        let backend = backend(dir.path());
        Desk { engine: Engine::new(config, Backends::only(backend)), dir }
    }

    pub(crate) fn request(&self, cells: &[&str]) -> PythonRequest {
        request(self.dir.path(), cells)
    }

    pub(crate) fn named(&self, session: &str, cells: &[&str]) -> PythonRequest {
        let session = Some(SessionName(session.to_owned()));
        PythonRequest { session, ..self.request(cells) }
    }

    pub(crate) async fn ask(&self, request: PythonRequest) -> PythonReport {
        self.engine.python(request, ME).await.expect("a report")
    }

    /// Runs cells in the session of the folder.
    pub(crate) async fn run(&self, cells: &[&str]) -> PythonReport {
        self.ask(self.request(cells)).await
    }

    /// Begins a call and does not wait for its end.
    pub(crate) async fn begin(&self, cells: &[&str]) -> PythonReport {
        self.ask(PythonRequest { wait: Some(Duration::ZERO), ..self.request(cells) }).await
    }

    /// The end of a call that was begun.
    pub(crate) async fn end(&self, begun: &PythonReport) -> PythonReport {
        let report = self.engine.result(&begun.execution, LONG).await.expect("it is known");
        assert!(report.state.is_end(), "{report:?}");
        report
    }

    pub(crate) fn key(&self) -> SessionKey {
        self.engine.key(None, self.dir.path(), None)
    }

    /// All bytes of the artifact that an output speaks of.
    pub(crate) fn stored(&self, output: &ModelOutput) -> Vec<u8> {
        let stored = output.artifact.as_ref().expect("an artifact");
        let id = ArtifactId::parse(&stored.id).expect("an id");
        let artifact = self.engine.artifacts().find(&id, Scope::All).expect("it is there");
        std::fs::read(&artifact.info().path).expect("its bytes")
    }

    pub(crate) fn touch(&self, name: &str) {
        std::fs::write(self.dir.path().join(name), "").expect("written");
    }

    /// Waits until a file is there that a cell makes.
    pub(crate) async fn seen(&self, name: &str) {
        let path = self.dir.path().join(name);
        until_async(name, async || path.exists()).await;
    }
}

pub(crate) fn request(cwd: &Path, cells: &[&str]) -> PythonRequest {
    let cell = |code: &&str| CellSource {
        code: (*code).to_owned(),
        title: None,
        timeout: None,
        kernel: CellKernel::Same,
    };
    PythonRequest {
        cells: cells.iter().map(cell).collect(),
        session: None,
        cwd: cwd.to_owned(),
        wanted: Wanted::default(),
        mode: KernelMode::Session,
        timeout: Some(LONG),
        wait: Some(LONG),
        reading: Reading::Bounded,
        input: InputMode::Refuse,
    }
}

pub(crate) fn text(report: &PythonReport, cell: usize) -> String {
    report.cells[cell].output.text()
}

/// The text of the only cell of a call that ended well.
pub(crate) fn told(report: &PythonReport) -> String {
    assert_eq!(report.state, State::Done, "{report:?}");
    text(report, 0).trim_end().to_owned()
}
