//! An engine in a private folder, on real or scripted kernels, with short names for the requests of fault tests.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use inkcell_engine::Backends;
use inkcell_engine::api::{
    CellKernel, CellSource, KernelMode, KernelRequest, KernelWishes, PythonReport, PythonRequest,
    Reading, RunRequest, SessionRef, State,
};
use inkcell_engine::artifact::{ArtifactId, ArtifactLimits, ArtifactsConfig, Scope};
use inkcell_engine::kernel::{
    Backend, EnvMode, EnvRules, ForkServer, InputMode, ParentEnv, Prelude, ProjectModules,
    RunnerBackend, RunnerConfig, Shell,
};
use inkcell_engine::output::{ModelOutput, OutputLimits};
use inkcell_engine::registry::{IdleRule, Limits, OwnerId, SessionKey, SessionName};
use inkcell_engine::session::{Policy, Retry};
use inkcell_engine::{
    AnswerHandle, CallOptions, Engine, EngineConfig, EngineError, KernelsConfig, Request, RunFiles,
    opened_run, prepared, system_random,
};
use inkcell_testkit::wait::until_async;
use tempfile::TempDir;

pub(crate) const ME: OwnerId = OwnerId(1);

/// Longer than any step here takes on a slow machine.
pub(crate) const LONG: Duration = Duration::from_secs(240);

pub(crate) struct Desk {
    pub(crate) engine: Engine,
    pub(crate) dir: TempDir,
}

/// Runs code, and waits as long as the request says.
pub(crate) async fn run_code(
    engine: &Engine,
    request: PythonRequest,
    owner: OwnerId,
) -> Result<PythonReport, EngineError> {
    let (began, wait) = (tokio::time::Instant::now(), request.wait);
    let resolved = engine.resolve(&request.session_ref(), request.mode).await?;
    let call = engine.submit(request.on(&resolved.chosen), CallOptions::of(owner)).await?;
    Ok(match wait {
        // The wait for a place in the registry counts too.
        Some(wait) => call.wait(wait.saturating_sub(began.elapsed())).await,
        None => call.settled().await,
    })
}

/// Submits a question or a kernel verb, and waits for its answer.
pub(crate) async fn answer<T: Send + 'static>(
    engine: &Engine,
    request: impl Request<Handle = AnswerHandle<T>>,
) -> Result<T, EngineError> {
    engine.submit(request, CallOptions::of(ME)).await?.answer().await
}

/// Runs cells of a notebook, and waits as long as the request says.
pub(crate) async fn run_notebook(
    engine: &Engine,
    request: RunRequest,
    files: &RunFiles,
    owner: OwnerId,
) -> Result<PythonReport, EngineError> {
    let wait = request.wait;
    let opened = opened_run(request, files).await?;
    let resolved = engine.resolve(&opened.session_ref(), opened.mode()).await?;
    let run = prepared(opened, &resolved.chosen, files).await?;
    let call = engine.submit(run.on(&resolved.chosen), CallOptions::of(owner)).await?;
    Ok(match wait {
        Some(wait) => call.wait(wait).await,
        None => call.settled().await,
    })
}

fn python() -> String {
    std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// The configuration of every engine in these tests, with its state below `dir`.
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
        program: None,
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

/// Code that waits, without busy looping, until its folder has a file of this name.
pub(crate) fn wait_for(name: &str) -> String {
    format!("import os, time\nwhile not os.path.exists({name:?}): time.sleep(0.005)")
}

impl Desk {
    /// A desk with real kernels, each a process of its own.
    pub(crate) fn new() -> Desk {
        Desk::with(|_| {})
    }

    /// A desk with a changed configuration.
    pub(crate) fn with(change: impl FnOnce(&mut EngineConfig)) -> Desk {
        Desk::runners(ForkServer::Off, change)
    }

    pub(crate) fn runners(fork_server: ForkServer, change: impl FnOnce(&mut EngineConfig)) -> Desk {
        Desk::on(change, |dir| {
            let runner = RunnerConfig { state_dir: dir.join("state"), fork_server, spares: 0 };
            Arc::new(RunnerBackend::new(runner).expect("a backend"))
        })
    }

    /// A desk with another kernel backend.
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
        run_code(&self.engine, request, ME).await.expect("a report")
    }

    /// The session of the folder.
    pub(crate) fn here(&self) -> SessionRef {
        SessionRef {
            session: None,
            cwd: self.dir.path().to_owned(),
            wanted: KernelWishes::default(),
        }
    }

    /// Lets a kernel verb act on the session of the folder, and waits for nothing that follows.
    pub(crate) async fn act(
        &self,
        verb: impl FnOnce(SessionRef) -> KernelRequest,
    ) -> Result<(), EngineError> {
        self.engine.submit(verb(self.here()), CallOptions::of(ME)).await.map(drop)
    }

    /// Runs cells in the session of the folder.
    pub(crate) async fn run(&self, cells: &[&str]) -> PythonReport {
        self.ask(self.request(cells)).await
    }

    /// Begins a call without waiting for its end.
    pub(crate) async fn begin(&self, cells: &[&str]) -> PythonReport {
        self.ask(PythonRequest { wait: Some(Duration::ZERO), ..self.request(cells) }).await
    }

    /// The end of a call that was begun.
    pub(crate) async fn end(&self, begun: &PythonReport) -> PythonReport {
        let report = self.engine.find_call(&begun.execution).expect("it is known").wait(LONG).await;
        assert!(report.state.is_end(), "{report:?}");
        report
    }

    pub(crate) fn key(&self) -> SessionKey {
        self.engine.key(None, self.dir.path(), None)
    }

    /// All bytes of the artifact that an output names.
    pub(crate) fn stored(&self, output: &ModelOutput) -> Vec<u8> {
        let stored = output.artifact.as_ref().expect("an artifact");
        let id = ArtifactId::parse(&stored.id).expect("an id");
        let artifact = self.engine.artifacts().find(&id, Scope::All).expect("it is there");
        std::fs::read(&artifact.info().path).expect("its bytes")
    }

    pub(crate) fn touch(&self, name: &str) {
        std::fs::write(self.dir.path().join(name), "").expect("written");
    }

    /// Waits until a cell has created this file.
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
        wanted: KernelWishes::default(),
        mode: KernelMode::Session,
        timeout: Some(LONG),
        wait: Some(LONG),
        reading: Reading::default(),
        input: InputMode::Refuse,
    }
}

pub(crate) fn text(report: &PythonReport, cell: usize) -> String {
    report.cells[cell].output.text()
}

/// The text of the only cell of a successful call.
pub(crate) fn told(report: &PythonReport) -> String {
    assert_eq!(report.state, State::Done, "{report:?}");
    text(report, 0).trim_end().to_owned()
}
