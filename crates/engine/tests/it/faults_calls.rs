//! Faults between calls, as callers see them: many at once, cancelled, reset, evicted, and random sequences compared
//! with a small model.

use std::collections::BTreeMap;
use std::time::Duration;

use inkcell_engine::api::{
    CellKernel, EndReport, ExecutionId, KernelRequest, KernelWishes, PythonReport, PythonRequest,
    SessionRef, State,
};
use inkcell_engine::kernel::ForkServer;
use inkcell_engine::registry::{IdleRule, SessionName};
use inkcell_engine::session::{CallNote, CloseReason, Loss};
use inkcell_engine::{EngineError, Kind};
use inkcell_testkit::need::stride;
use inkcell_testkit::scripted::{ScriptRequest, ScriptedBackend, Step};

use crate::faults_kit::{Desk, ME, run_code, told, wait_for};

const SECOND: Duration = Duration::from_secs(1);

fn scripted(
    backend: &ScriptedBackend,
    change: impl FnOnce(&mut inkcell_engine::EngineConfig),
) -> Desk {
    let backend = std::sync::Arc::new(backend.clone());
    Desk::on(change, |_| backend)
}

/// Finds the interpreter before the clock stops.
async fn warm(desk: &Desk, backend: &ScriptedBackend) {
    desk.engine.choose(desk.dir.path(), &KernelWishes::default()).await.expect("an interpreter");
    tokio::time::pause();
    assert!(backend.asked().is_empty());
}

/// F-090: fifty calls at once run one after the other, in order of arrival, each with its own answer.
#[tokio::test]
async fn fifty_calls_at_once_come_in_order() {
    let desk = Desk::new();
    desk.run(&["order = []"]).await;
    let calls = (0..50)
        .map(|n| desk.ask(desk.request(&[&format!("order.append({n})"), &format!("{n} * 2")])));
    let reports = futures_util::future::join_all(calls).await;
    for (n, report) in reports.iter().enumerate() {
        assert_eq!(report.cells[1].output.text().trim_end(), (n * 2).to_string());
    }
    assert_eq!(told(&desk.run(&["order == list(range(50))"]).await), "True");
    desk.engine.shutdown().await;
}

/// F-091: a waiting call is cancelled and never starts, a running one is interrupted, and a finished one stays as it
/// was. A second cancel changes nothing, an unknown call is an error, and later calls work.
#[tokio::test]
async fn calls_are_taken_back_wherever_they_are() {
    let desk = Desk::new();
    let over = desk.run(&["kept = 1\nkept"]).await;
    let code = format!("open('begun', 'w').close()\n{}", wait_for("never"));
    let running = desk.begin(&[&code, "after = 1"]).await;
    let queued = desk.begin(&["queued = 1"]).await;
    desk.seen("begun").await;
    for id in [&queued.execution, &queued.execution, &over.execution] {
        desk.engine.find_call(id).expect("it is known").cancel();
    }
    // It is answered although another call still runs.
    let report = desk.end(&queued).await;
    assert_eq!(report.state, State::Cancelled);
    let still =
        desk.engine.find_call(&running.execution).expect("known").wait(Duration::ZERO).await;
    assert_eq!(still.state, State::Running);
    desk.engine.find_call(&running.execution).expect("it is known").cancel();
    let report = desk.end(&running).await;
    assert_eq!(report.state, State::Cancelled);
    assert_eq!(report.cells[1].state, State::NeverRun);
    assert_eq!(desk.end(&over).await.cells, over.cells);
    let unknown = desk.engine.find_call(&ExecutionId("x0".to_owned())).expect_err("unknown");
    assert_eq!(unknown.kind(), Kind::NotFound);
    let names = "(kept, 'after' in globals(), 'queued' in globals())";
    assert_eq!(told(&desk.run(&[names]).await), "(1, False, False)");
    desk.engine.shutdown().await;
}

/// F-092: of many resets at once one succeeds and the others are told. The running code is ended, and one kernel
/// remains.
#[tokio::test]
async fn of_many_resets_at_once_one_wins() {
    let desk = Desk::new();
    desk.run(&["kept = 1"]).await;
    let begun = desk.begin(&[&format!("open('begun', 'w').close()\n{}", wait_for("never"))]).await;
    desk.seen("begun").await;
    let resets = (0..20).map(|_| desk.act(KernelRequest::Restart));
    let resets = futures_util::future::join_all(resets).await;
    let won = resets.iter().filter(|reset| reset.is_ok()).count();
    assert_eq!(won, 1, "{resets:?}");
    for refused in resets.iter().filter_map(|reset| reset.as_ref().err()) {
        assert_eq!(refused.kind(), Kind::Busy);
        assert!(refused.to_string().starts_with("Python session reset already in progress"));
    }
    assert_eq!(desk.end(&begun).await.state, State::Cancelled);
    assert_eq!(told(&desk.run(&["'kept' in globals()"]).await), "False");
    assert_eq!(desk.engine.sessions().len(), 1);
    desk.engine.shutdown().await;
}

/// F-093: a watched session is not closed for another. An unwatched one is closed, and the caller is told.
#[tokio::test]
async fn a_watched_session_stays_and_an_idle_one_is_named() {
    let backend = ScriptedBackend::new();
    let desk = scripted(&backend, |config| config.limits.sessions = 1);
    warm(&desk, &backend).await;
    desk.ask(desk.named("a", &["1"])).await;
    let a = SessionRef {
        session: Some(SessionName("a".to_owned())),
        cwd: desk.dir.path().to_owned(),
        wanted: KernelWishes::default(),
    };
    let watch = desk.engine.watch_session(&a, None).await.expect("it is there");
    let other = PythonRequest { wait: Some(SECOND), ..desk.named("b", &["1"]) };
    let full = run_code(&desk.engine, other.clone(), ME).await.expect_err("no place");
    let said = full.to_string();
    assert_eq!((full.kind(), &*said), (Kind::Busy, "all 1 sessions are busy or attached: a"));
    drop(watch);
    let report = desk.ask(other).await;
    let (session, reason) = (SessionName("a".to_owned()), CloseReason::Evicted);
    assert_eq!(report.cells[0].notes, [CallNote::MadeRoom { session, reason }]);
    desk.engine.shutdown().await;
}

/// F-093: if all places are busy, the next session waits for one and names those in the way. Running code is never
/// ended for it.
#[tokio::test]
async fn work_is_never_ended_for_another_session() {
    let backend = ScriptedBackend::new();
    let desk = scripted(&backend, |config| config.limits.sessions = 4);
    warm(&desk, &backend).await;
    for _ in 0..4 {
        backend.plan([Step::Take(10 * SECOND)]);
    }
    let mut busy = Vec::new();
    for name in ["a", "b", "c", "d"] {
        let request = PythonRequest { wait: Some(Duration::ZERO), ..desk.named(name, &["work"]) };
        busy.push(desk.ask(request).await);
    }
    tokio::time::sleep(SECOND).await;
    let fifth = PythonRequest { wait: Some(SECOND), ..desk.named("e", &["1"]) };
    let full = run_code(&desk.engine, fifth.clone(), ME).await.expect_err("no place");
    assert_eq!(
        (full.kind(), full.to_string().as_str()),
        (Kind::Busy, "all 4 sessions are busy: a, b, c, d")
    );
    let report = desk.ask(PythonRequest { wait: Some(60 * SECOND), ..fifth }).await;
    assert_eq!(report.state, State::Done);
    for begun in &busy {
        assert_eq!(desk.end(begun).await.state, State::Done);
    }
    desk.engine.shutdown().await;
}

/// F-094: a call that arrives just as its idle session closes still runs: in the old kernel, or in a new one with a
/// note.
#[tokio::test]
async fn a_call_at_the_edge_of_idleness_runs() {
    for millis in -3_i64..=3 {
        let backend = ScriptedBackend::new();
        // Ending a kernel takes a while, and calls may arrive meanwhile.
        backend.plan_shutdown(Duration::from_millis(2));
        let desk = scripted(&backend, |config| {
            config.limits.idle = IdleRule::Always(60 * SECOND);
            config.limits.sweep = 30 * SECOND;
        });
        warm(&desk, &backend).await;
        let first = desk.run(&["first"]).await;
        assert_eq!(first.state, State::Done);
        let edge = 60_000 + millis;
        tokio::time::sleep(Duration::from_millis(u64::try_from(edge).expect("positive"))).await;
        let next = desk.run(&["next"]).await;
        assert_eq!(next.state, State::Done, "{millis}: {next:?}");
        let launches =
            backend.asked().iter().filter(|(_, a)| matches!(a, ScriptRequest::Launch(_))).count();
        let is_new = matches!(
            next.cells[0].notes[..],
            [CallNote::StateLost(Loss::Closed { reason: CloseReason::Idle, .. })]
        );
        assert_eq!(
            is_new,
            launches == 2,
            "{millis}: {launches} launches, {:?}",
            next.cells[0].notes
        );
        desk.engine.shutdown().await;
        tokio::time::resume();
    }
}

/// F-025: time during which the host was suspended does not count as idle.
#[tokio::test]
async fn a_jump_of_the_clock_closes_no_session() {
    let backend = ScriptedBackend::new();
    let desk = scripted(&backend, |config| config.limits.idle = IdleRule::Always(3600 * SECOND));
    warm(&desk, &backend).await;
    assert_eq!(desk.run(&["first"]).await.state, State::Done);
    tokio::time::sleep(60 * SECOND).await;
    tokio::time::advance(8 * 3600 * SECOND).await;
    tokio::time::sleep(60 * SECOND).await;
    let next = desk.run(&["next"]).await;
    assert_eq!((next.state, &next.cells[0].notes[..]), (State::Done, &[][..]));
    // Idle time of a running host counts.
    tokio::time::sleep(2 * 3600 * SECOND).await;
    assert!(desk.engine.sessions().is_empty());
    desk.engine.shutdown().await;
}

/// One action of a caller in the model test.
#[derive(Clone, Copy, Debug)]
enum Op {
    Set(usize, u64),
    Get(usize),
    Fail,
    Exit,
    Reset,
    FreshSet(usize, u64),
    TimeOut,
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Expected state of a session: its variables, its count, and a loss that its reader must hear of.
#[derive(Default)]
struct Model {
    values: BTreeMap<usize, u64>,
    count: u32,
    has_lost: bool,
    /// Kernels since the last run that left one alive (B:K-11).
    restarts: u32,
    /// True if the previous call was given up.
    given_up: bool,
}

/// F-097: random sequences on a real kernel match a model of a few lines.
#[tokio::test]
async fn random_sequences_do_what_the_model_says() {
    let desk = Desk::runners(ForkServer::USUAL, |_| {});
    let sequences = 300 / u64::from(stride(10, 3));
    let first = inkcell_engine::system_random();
    for seed in (0..sequences).map(|n| first.wrapping_add(n)) {
        let mut dice = seed;
        let mut roll = |sides: u64| {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) % sides
        };
        let (mut model, mut done) = (Model::default(), Vec::new());
        let session = format!("s{}", seed % 3);
        // Remove the state of an earlier sequence.
        let mut begin = desk.named(&session, &["pass"]);
        begin.cells[0].kernel = CellKernel::Fresh;
        assert_eq!(desk.ask(begin).await.state, State::Done);
        model.count = 1;
        for _ in 0..8 {
            let (name, value) = (usize::try_from(roll(3)).expect("small"), roll(1000));
            let op = match roll(24) {
                0..9 => Op::Set(name, value),
                9..17 => Op::Get(name),
                17..20 => Op::Fail,
                20 => Op::Exit,
                21 => Op::Reset,
                22 => Op::FreshSet(name, value),
                _ => Op::TimeOut,
            };
            done.push(op);
            step(&desk, &session, &mut model, op).await.unwrap_or_else(|problem| {
                panic!("seed {seed}, {done:?}: {problem}");
            });
        }
    }
    desk.engine.shutdown().await;
}

async fn step(desk: &Desk, session: &str, model: &mut Model, op: Op) -> Result<(), String> {
    let code = match op {
        Op::Set(name, value) | Op::FreshSet(name, value) => format!("{} = {value}", NAMES[name]),
        Op::Get(name) => NAMES[name].to_owned(),
        Op::Fail => "1 / 0".to_owned(),
        Op::Exit => "import os\nos._exit(3)".to_owned(),
        Op::TimeOut => "import time\ntime.sleep(60)".to_owned(),
        Op::Reset => {
            let session = Some(SessionName(session.to_owned()));
            let verb = |here| KernelRequest::Restart(SessionRef { session, ..here });
            desk.act(verb).await.map_err(|error| error.to_string())?;
            *model = Model::default();
            return Ok(());
        }
    };
    if matches!(op, Op::TimeOut) && (model.has_lost || model.count == 0) {
        // The time could end before a kernel exists; another test covers that.
        return Ok(());
    }
    let mut request = desk.named(session, &[&code]);
    if matches!(op, Op::FreshSet(..)) {
        request.cells[0].kernel = CellKernel::Fresh;
        *model = Model::default();
    }
    if matches!(op, Op::TimeOut) {
        request.timeout = Some(Duration::from_millis(30));
    }
    let report = run_code(&desk.engine, request, ME).await.map_err(|error| error.to_string())?;
    let had_lost = std::mem::take(&mut model.has_lost);
    if had_lost {
        (model.values, model.count) = (BTreeMap::new(), 0);
        model.restarts += 1;
        if std::mem::take(&mut model.given_up) {
            model.restarts = 0;
        }
        if model.restarts > 1 {
            // The session is given up once, with a report. The next call starts a new kernel and hears of the loss.
            (model.restarts, model.has_lost) = (0, true);
            let end = &report.cells[0].end;
            let is_told = matches!(end, Some(EndReport::GivenUp { has_begun: false, .. }));
            model.given_up = true;
            return if is_told { Ok(()) } else { Err(format!("not given up: {report:?}")) };
        }
    }
    model.count += 1;
    if report.state != State::KernelDied {
        model.restarts = 0;
    }
    let expected = match op {
        Op::Set(name, value) | Op::FreshSet(name, value) => {
            model.values.insert(name, value);
            (State::Done, String::new())
        }
        Op::Get(name) => match model.values.get(&name) {
            Some(value) => (State::Done, value.to_string()),
            None => (State::Error, "NameError".to_owned()),
        },
        Op::Fail => (State::Error, "ZeroDivisionError".to_owned()),
        Op::TimeOut => (State::TimedOut, String::new()),
        Op::Exit => {
            model.has_lost = true;
            (State::KernelDied, String::new())
        }
        Op::Reset => (State::Done, String::new()),
    };
    compare(&report, had_lost, model.count, &expected)
}

fn compare(
    report: &PythonReport,
    had_lost: bool,
    count: u32,
    (state, shown): &(State, String),
) -> Result<(), String> {
    let cell = &report.cells[0];
    let text = match &cell.end {
        Some(EndReport::Exception(error)) => error.name.clone(),
        _ => cell.output.text(),
    };
    let is_told = cell.notes.iter().any(|note| matches!(note, CallNote::StateLost(Loss::Died(_))));
    let is_same = report.state == *state && text.contains(shown.as_str()) && is_told == had_lost;
    // A call whose time ends before it begins has no number.
    let is_counted = cell.count == Some(count) || *state == State::TimedOut;
    if is_same && is_counted {
        return Ok(());
    }
    Err(format!(
        "expected {state:?} {shown:?}, count {count}, told of a loss: {had_lost}; got {report:?}"
    ))
}

/// F-028: with any garbage in the state folder, calls run and their output is stored; unusable files are created again.
#[tokio::test]
async fn what_lies_in_the_state_folder_harms_no_call() -> Result<(), EngineError> {
    let garbage: [&[u8]; 4] = [b"", b"\x00\xff{", b"{\"format\": 99, \"entries\": []}", b"[1, 2"];
    for (n, bytes) in garbage.into_iter().enumerate() {
        let desk = Desk::new();
        let state = desk.dir.path().join("state");
        let flood = "for n in range(20_000): print('line', n)";
        desk.run(&[flood]).await;
        desk.engine.shutdown().await;
        let mut spoilt = 0;
        for entry in walk(&state) {
            // Keep the output itself; spoil all files about it.
            if entry.extension().is_some_and(|ending| ending == "json" || ending == "lines") {
                std::fs::write(&entry, bytes).expect("written");
                spoilt += 1;
            }
        }
        assert!(spoilt >= 2, "{spoilt} files in {:?}", walk(&state));
        let again = crate::faults_kit::config(desk.dir.path());
        let runner = inkcell_engine::kernel::RunnerConfig {
            state_dir: state.clone(),
            fork_server: ForkServer::Off,
            spares: 0,
        };
        let backend = inkcell_engine::kernel::RunnerBackend::new(runner).expect("a backend");
        let engine = inkcell_engine::Engine::new(
            again,
            inkcell_engine::Backends::only(std::sync::Arc::new(backend)),
        );
        let report = run_code(&engine, desk.request(&[flood, "1 + 1"]), ME).await?;
        assert_eq!(report.state, State::Done, "{n}: {report:?}");
        let listed = engine.artifacts().list(inkcell_engine::artifact::Scope::All).expect("a list");
        let stored = report.cells[0].output.artifact.as_ref().expect("stored");
        assert!(listed.iter().any(|info| info.id.as_str() == stored.id), "{n}: {listed:?}");
        engine.shutdown().await;
    }
    Ok(())
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a folder").map(|entry| entry.expect("an entry")) {
        match entry.file_type().expect("a type").is_dir() {
            true => found.extend(walk(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}
