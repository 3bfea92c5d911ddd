//! Calls of the engine, on real kernels.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use inkcell_engine::Backends;
use inkcell_engine::api::{
    CellKernel, CellSource, EndReport, ExecutionId, KernelMode, KernelRequest, KernelWishes,
    PythonReport, PythonRequest, Reading, State,
};
use inkcell_engine::artifact::{ArtifactId, ArtifactLimits, ArtifactsConfig, Scope};
use inkcell_engine::kernel::{
    EnvMode, EnvRules, ExecEvent, ForkServer, InputMode, KernelEvent, ParentEnv, Prelude,
    ProjectModules, RunnerBackend, RunnerConfig, Shell,
};
use inkcell_engine::output::{ModelOutput, OutputLimits};
use inkcell_engine::registry::{IdleRule, Limits, OwnerId, SessionName};
use inkcell_engine::session::{CallNote, Policy, Retry};
use inkcell_engine::{
    CallOptions, Engine, EngineConfig, EngineError, KernelsConfig, Kind, system_random,
};
use tempfile::TempDir;
use tokio::sync::mpsc;

use crate::faults_kit::{answer, run_code};

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
        Desk::with(Retry::IfNotStarted)
    }

    fn with(retry: Retry) -> Desk {
        let dir = TempDir::new().expect("a folder");
        let state_dir = dir.path().join("state");
        inkcell_testkit::runner::share(&state_dir);
        let names = ["PATH", "HOME"];
        let parent =
            std::env::vars_os().filter(|(name, _)| names.iter().any(|known| name == known));
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
        let config = EngineConfig {
            kernels,
            policy: Policy { retry, interrupt_grace: Duration::from_secs(3), max_restarts: 1 },
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
        Desk { engine: Engine::new(config, Backends::only(backend)), dir }
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
            wanted: KernelWishes::default(),
            mode: KernelMode::Session,
            timeout: Some(Duration::from_secs(60)),
            wait: Some(Duration::from_secs(60)),
            reading: Reading::default(),
            input: InputMode::Refuse,
        }
    }

    fn stored(&self) -> usize {
        self.engine.artifacts().list(Scope::All).map_or(0, |found| found.len())
    }

    fn session_files(&self) -> usize {
        std::fs::read_dir(self.dir.path().join("state/sessions")).map_or(0, Iterator::count)
    }

    async fn run(&self, cells: &[&str]) -> PythonReport {
        run_code(&self.engine, self.request(cells), ME).await.expect("a report")
    }
}

fn texts(report: &PythonReport) -> Vec<String> {
    report.cells.iter().map(|cell| cell.output.text()).collect()
}

fn states(report: &PythonReport) -> Vec<State> {
    report.cells.iter().map(|cell| cell.state).collect()
}

/// B:X-04: cells run in order in one kernel that keeps its state, and the first failing cell stops the call.
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

/// Two clocks: the caller's wait ends before the code, which goes on, can be polled, and can be stopped.
#[tokio::test]
async fn a_call_outlives_its_waiting() {
    let desk = Desk::new();
    let gate = desk.dir.path().join("gate");
    let code = "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('gate'): time.sleep(0.01)\n'over'";
    let mut request = desk.request(&[code]);
    request.wait = Some(Duration::from_millis(200));
    let report = run_code(&desk.engine, request, ME).await.expect("a report");
    assert_eq!(report.state, State::Running);
    // Output so far is there, although none followed it.
    let id = report.execution.clone();
    let mut seen = texts(&report);
    for _ in 0..600 {
        if seen == ["begun\n"] {
            break;
        }
        let later = desk.engine.find_call(&id).expect("it").wait(Duration::from_millis(100)).await;
        seen = texts(&later);
    }
    assert_eq!(seen, ["begun\n"]);
    std::fs::write(gate, "").expect("written");
    let report =
        desk.engine.find_call(&report.execution).expect("it").wait(Duration::from_secs(60)).await;
    assert_eq!((report.state, texts(&report)), (State::Done, vec!["begun\n'over'\n".to_owned()]));

    let mut request = desk.request(&["import time\nwhile True: time.sleep(0.01)"]);
    request.wait = Some(Duration::from_millis(200));
    let report = run_code(&desk.engine, request, ME).await.expect("a report");
    desk.engine.find_call(&report.execution).expect("it is known").cancel();
    let report =
        desk.engine.find_call(&report.execution).expect("it").wait(Duration::from_secs(60)).await;
    assert_eq!(report.state, State::Cancelled);
    let unknown = desk.engine.find_call(&ExecutionId("x0".to_owned())).err();
    assert_eq!(unknown.as_ref().map(EngineError::kind), Some(Kind::NotFound));
    desk.engine.shutdown().await;
}

/// B:O-08 Output beyond the budget is stored completely, and the report says where.
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

/// B:K-01 B:K-02
#[tokio::test]
async fn a_kernel_of_one_call_is_gone_after_it() {
    let desk = Desk::new();
    let mut request = desk.request(&["import os\nos.getpid()"]);
    request.mode = KernelMode::PerCall;
    let report = run_code(&desk.engine, request, ME).await.expect("a report");
    assert_eq!(report.state, State::Done);
    assert!(desk.engine.sessions().is_empty());
    desk.engine.shutdown().await;
}

/// A tap receives every event of a call, even if it is slow; no event is lost, and no artifact is stored.
#[tokio::test]
async fn a_caller_that_taps_gets_everything() {
    let desk = Desk::new();
    let mut request = desk.request(&["for n in range(50_000): print('line', n)", "print('end')"]);
    (request.mode, request.reading) = (KernelMode::PerCall, Reading::Elsewhere);
    let chosen =
        desk.engine.choose(&request.cwd, &KernelWishes::default()).await.expect("a kernel");
    let (sender, mut receiver) = mpsc::channel(1);
    let options = CallOptions { tap: Some(sender), ..CallOptions::of(ME) };
    let call = desk.engine.submit(request.on(&chosen), options).await.expect("an id");
    let mut texts = [Vec::new(), Vec::new()];
    while let Some((cell, event)) = receiver.recv().await {
        if let KernelEvent::Exec { event: ExecEvent::Stream { data, .. }, .. } = event {
            texts[cell].extend_from_slice(&data);
        }
    }
    let wanted: String = (0..50_000).map(|n| format!("line {n}\n")).collect();
    assert!(texts[0] == wanted.as_bytes(), "{} bytes", texts[0].len());
    assert_eq!(texts[1], b"end\n");
    let report = call.settled().await;
    assert_eq!((report.state, report.undelivered_bytes), (State::Done, 0));
    assert_eq!(report.cells[0].output, ModelOutput::default());
    assert!(!desk.dir.path().join("state/artifacts").exists() || desk.stored() == 0);
    desk.engine.shutdown().await;
}

/// F-023: code without a listener is stopped.
#[tokio::test]
async fn a_caller_that_goes_away_ends_its_call() {
    let desk = Desk::new();
    let mut request = desk.request(&["while True: print('y' * 1000)"]);
    (request.mode, request.timeout) = (KernelMode::PerCall, None);
    let chosen =
        desk.engine.choose(&request.cwd, &KernelWishes::default()).await.expect("a kernel");
    let (sender, mut receiver) = mpsc::channel(1);
    let options = CallOptions { tap: Some(sender), ..CallOptions::of(ME) };
    let call = desk.engine.submit(request.on(&chosen), options).await.expect("an id");
    receiver.recv().await.expect("something");
    drop(receiver);
    let report = call.settled().await;
    assert_eq!(report.state, State::Cancelled);
    assert!(report.undelivered_bytes > 0);
    desk.engine.shutdown().await;
}

/// F-091 B:K-08 B:X-21: a call that waits for its turn is cancelled at once.
#[tokio::test]
async fn a_call_that_waits_is_taken_back_at_once() {
    let desk = Desk::new();
    let mut long = desk.request(&["import time\nwhile True: time.sleep(0.01)"]);
    long.wait = Some(Duration::from_millis(100));
    let first = run_code(&desk.engine, long, ME).await.expect("a report");
    let mut waiting = desk.request(&["print('never')"]);
    waiting.wait = Some(Duration::from_millis(100));
    let second = run_code(&desk.engine, waiting, ME).await.expect("a report");
    assert_eq!(second.state, State::Queued);
    desk.engine.find_call(&second.execution).expect("it is known").cancel();
    let second = desk.engine.find_call(&second.execution).expect("it").settled().await;
    assert_eq!((second.state, texts(&second)), (State::Cancelled, vec![String::new()]));
    let first = desk.engine.find_call(&first.execution).expect("it").wait(Duration::ZERO).await;
    assert_eq!(first.state, State::Running, "the other call goes on");
    desk.engine.shutdown().await;
}

/// After the engine has ended no kernel is left, even if a call was under way.
#[tokio::test]
async fn nothing_is_left_after_the_engine() {
    let code = "import os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n\
                print(os.getpid(), flush=True)\nwhile True: time.sleep(1)";
    for mode in [KernelMode::PerCall, KernelMode::Session] {
        let desk = Desk::new();
        let mut request = desk.request(&[code]);
        request.mode = mode;
        let chosen =
            desk.engine.choose(&request.cwd, &KernelWishes::default()).await.expect("a kernel");
        let (sender, mut receiver) = mpsc::channel(8);
        let options = CallOptions { tap: Some(sender), ..CallOptions::of(ME) };
        let call = desk.engine.submit(request.on(&chosen), options).await.expect("an id");
        let pid = loop {
            let (_, event) = receiver.recv().await.expect("an event");
            if let KernelEvent::Exec { event: ExecEvent::Stream { data, .. }, .. } = event {
                break String::from_utf8_lossy(&data).trim().to_owned();
            }
        };
        assert!(Path::new(&format!("/proc/{pid}")).exists());
        let shutdown = desk.engine.shutdown();
        let (report, ()) = tokio::join!(call.settled(), shutdown);
        assert!(report.state.is_end());
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{mode:?}");
        assert_eq!(desk.session_files(), 0);
    }
}

/// B:E-30: programs that a cell starts can find their session.
#[tokio::test]
async fn a_session_has_a_file_that_goes_with_it() {
    let desk = Desk::new();
    let code = "import json, os\npath = os.environ['PI_SESSION_FILE']\n\
                told = json.load(open(path))\n\
                print(told['id'], told['backend'], told['cwd'] == os.path.realpath(os.getcwd()),\n\
                      told['artifacts'] == os.environ['PI_ARTIFACTS_DIR'] == os.environ['ARTIFACTS'],\n\
                      oct(os.stat(path).st_mode & 0o777))";
    for mode in [KernelMode::Session, KernelMode::PerCall] {
        let mut request = desk.request(&[code]);
        request.mode = mode;
        let report = run_code(&desk.engine, request, ME).await.expect("a report");
        assert_eq!(texts(&report), ["default runner True True 0o600\n"], "{report:?}");
    }
    // Two calls of one session see the same file.
    let report = desk
        .run(&["del os.environ['PI_SESSION_FILE']", "os.environ['PI_SESSION_FILE'] == path"])
        .await;
    assert_eq!(texts(&report)[1], "True\n");
    assert_eq!(desk.session_files(), 1);
    desk.engine.shutdown().await;
    assert_eq!(desk.session_files(), 0);
}

/// B:E-30: a session that replaces one just closed has a file as well.
#[tokio::test]
async fn the_next_session_of_the_same_name_has_its_file_too() {
    let desk = Desk::new();
    let engine = desk.engine.clone();
    let request = desk.request(&["import os\nos.path.exists(os.environ['PI_SESSION_FILE'])"]);
    // A separate task: the order in which tasks waiting for the same end wake is not fixed.
    let often = tokio::spawn(async move {
        for _ in 0..20 {
            let report = run_code(&engine, request.clone(), ME).await.expect("a report");
            assert_eq!(texts(&report), ["True\n"]);
            let stop = KernelRequest::Stop(request.session_ref());
            answer(&engine, stop).await.expect("it is there");
        }
    });
    often.await.expect("they all have");
    assert_eq!(desk.session_files(), 0);
    desk.engine.shutdown().await;
}

/// B:K-12 B:K-13: a cell may begin with a new kernel, even in the middle of a call.
#[tokio::test]
async fn a_reset_forgets_and_the_rest_of_the_call_goes_on() {
    let desk = Desk::new();
    desk.run(&["x = 1"]).await;
    let mut request = desk.request(&["x += 1", "'x' in globals()", "y = 5", "y"]);
    request.cells[1].kernel = CellKernel::Fresh;
    let report = run_code(&desk.engine, request, ME).await.expect("a report");
    assert_eq!(report.state, State::Done);
    assert_eq!(texts(&report)[1..], ["False\n", "", "5\n"]);
    assert_eq!(report.cells[1].count, Some(1), "the count begins anew");
    assert!(report.cells.iter().all(|cell| cell.notes.is_empty()), "who asks for it is not told");
    desk.engine.shutdown().await;
}

/// B:K-03 B:K-18: another name, folder or interpreter is another session, and a new engine has none.
#[tokio::test]
async fn sessions_are_told_apart_by_name_folder_and_interpreter() {
    let desk = Desk::new();
    desk.run(&["x = 1"]).await;
    let other = desk.dir.path().join("other");
    std::fs::create_dir(&other).expect("a folder");
    let code = ["'x' in globals()"];
    let mut named = desk.request(&code);
    named.session = Some(SessionName("mine".to_owned()));
    let mut elsewhere = desk.request(&code);
    elsewhere.cwd = other.clone();
    let mut explicit = desk.request(&code);
    explicit.wanted = KernelWishes::interpreter(Some(python()));
    for request in [named, elsewhere, explicit] {
        let report = run_code(&desk.engine, request, ME).await.expect("a report");
        assert_eq!(texts(&report), ["False\n"]);
    }
    // Any spelling of the same folder means the same session.
    let mut spelled = desk.request(&code);
    spelled.cwd = other.join("..");
    let report = run_code(&desk.engine, spelled, ME).await.expect("a report");
    assert_eq!(texts(&report), ["True\n"]);
    assert_eq!(desk.engine.sessions().len(), 4);
    desk.engine.shutdown().await;
    assert!(Desk::new().engine.sessions().is_empty());
}

/// B:K-10 B:K-11 F-002: the policy decides about code whose kernel dies; the next call works.
#[tokio::test]
async fn code_whose_kernel_dies_is_run_again_as_the_policy_says() {
    // Dies once for each file it can remove.
    let code = "import os\nfor name in ('a', 'b'):\n    if os.path.exists(name):\n        \
                os.remove(name)\n        os.kill(os.getpid(), 9)\nprint('went well')";
    let table: [(Retry, &[&str], State, bool); 5] = [
        (Retry::Once, &["a"], State::Done, true),
        (Retry::Once, &["a", "b"], State::KernelDied, true),
        (Retry::IfNotStarted, &["a"], State::KernelDied, false),
        (Retry::Never, &["a"], State::KernelDied, false),
        (Retry::Never, &[], State::Done, false),
    ];
    for (retry, deaths, wanted, is_twice) in table {
        let desk = Desk::with(retry);
        for name in deaths {
            std::fs::write(desk.dir.path().join(name), "").expect("a file");
        }
        let report = desk.run(&[code]).await;
        let what = format!("{retry:?} {deaths:?}: {report:?}");
        assert_eq!(report.state, wanted, "{what}");
        let notes = &report.cells[0].notes;
        assert_eq!(
            notes.iter().any(|note| matches!(note, CallNote::RanTwice(_))),
            is_twice,
            "{what}"
        );
        let is_given_up =
            matches!(report.cells[0].end, Some(EndReport::GivenUp { has_begun: true, .. }));
        assert_eq!(is_given_up, deaths.len() == 2, "{what}");
        let next = desk.run(&["'again'"]).await;
        assert_eq!(texts(&next), ["'again'\n"], "{next:?}");
        desk.engine.shutdown().await;
    }
}
