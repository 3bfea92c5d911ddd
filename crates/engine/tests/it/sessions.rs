//! Sessions on a scripted kernel with a simulated clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::kernel::{
    Backend, DeathCause, ExecEvent, History, InputMode, KernelEvent, KernelSpec, Outcome, Prelude,
    Rung, Shell, Startup,
};
use inkcell_engine::session::{
    CallNote, CellEnd, CellRequest, CloseReason, KernelFate, Loss, NotRun, Policy, ResetEnd, Retry,
    RunOutcome, Session, Turn,
};
use inkcell_testkit::scripted::{Launch, ScriptRequest, ScriptedBackend, Step};
use tokio::sync::{Notify, mpsc};

pub(crate) fn session(backend: &ScriptedBackend, retry: Retry, loss: Option<Loss>) -> Session {
    session_of(Arc::new(backend.clone()), retry, loss)
}

pub(crate) fn session_of(backend: Arc<dyn Backend>, retry: Retry, loss: Option<Loss>) -> Session {
    let startup = Startup {
        shell: Shell::Lite,
        prelude: Prelude::Off,
        modules: Vec::new(),
        preload: Vec::new(),
    };
    let spec = KernelSpec {
        python: "python3".into(),
        cwd: "/".into(),
        env: BTreeMap::new(),
        start_timeout: Duration::from_secs(10),
        startup,
    };
    let policy = Policy { retry, interrupt_grace: Duration::from_secs(3), max_restarts: 1 };
    Session::start(backend, spec, policy, loss)
}

fn cell(code: &str) -> CellRequest {
    let timeout = Some(Duration::from_secs(10));
    CellRequest {
        code: code.to_owned(),
        history: History::Store,
        env: Vec::new(),
        timeout,
        patience: timeout,
        input: InputMode::Refuse,
        names: inkcell_kernel::NamesWanted::No,
    }
}

/// Runs a cell and collects its output.
pub(crate) async fn run(turn: &mut Turn, code: &str) -> (RunOutcome, String) {
    let (sender, mut events) = mpsc::channel(8);
    let ran = turn.run(cell(code), sender);
    let read = async {
        let mut text = String::new();
        while let Some(event) = events.recv().await {
            if let KernelEvent::Exec { event: ExecEvent::Stream { data, .. }, .. } = event {
                text.push_str(&String::from_utf8_lossy(&data));
            }
        }
        text
    };
    tokio::join!(ran, read)
}

fn codes(backend: &ScriptedBackend) -> Vec<String> {
    let code = |(_, asked): (_, ScriptRequest)| match asked {
        ScriptRequest::Execute(request) => Some(request.code),
        _ => None,
    };
    backend.asked().into_iter().filter_map(code).collect()
}

/// F-090 B:X-03: cells of two calls never interleave, and calls run in order.
#[tokio::test(start_paused = true)]
async fn fifty_calls_run_one_after_the_other() {
    let backend = ScriptedBackend::new();
    let session = session(&backend, Retry::IfNotStarted, None);
    let mut calls = Vec::new();
    for call in 0..50 {
        let session = session.clone();
        calls.push(tokio::spawn(async move {
            let mut turn = session.turn().await.expect("a turn");
            for part in ["a", "b"] {
                let (ran, _) = run(&mut turn, &format!("{call}{part}")).await;
                assert!(matches!(ran.end.end, CellEnd::Ok));
                tokio::task::yield_now().await;
            }
        }));
        tokio::task::yield_now().await;
    }
    for call in calls {
        call.await.expect("a call");
    }
    let wanted: Vec<String> =
        (0..50).flat_map(|call| [format!("{call}a"), format!("{call}b")]).collect();
    assert_eq!(codes(&backend), wanted);
}

/// F-004 B:X-23
#[tokio::test(start_paused = true)]
async fn code_that_ignores_everything_is_answered_in_time_with_its_output() {
    let backend = ScriptedBackend::new();
    backend.plan([
        Step::print("so far"),
        Step::IgnoreInterrupts,
        Step::IgnoreTerminate,
        Step::Hang,
    ]);
    let session = session(&backend, Retry::IfNotStarted, None);
    let mut turn = session.turn().await.expect("a turn");
    let began = tokio::time::Instant::now();
    let (ran, text) = run(&mut turn, "stuck").await;
    let CellEnd::TimedOut { fate, .. } = ran.end.end else { panic!("{ran:?}") };
    assert!(matches!(fate, KernelFate::Ended { by: Rung::Kill, death: Some(_) }), "{fate:?}");
    assert_eq!((text.as_str(), began.elapsed().as_secs()), ("so far", 14));
    let (ran, _) = run(&mut turn, "next").await;
    assert!(matches!(ran.end.end, CellEnd::Ok));
    assert!(matches!(ran.end.notes[..], [CallNote::StateLost(_)]), "{ran:?}");
}

/// F-091
#[tokio::test(start_paused = true)]
async fn a_cancelled_run_stops_and_the_session_goes_on() {
    let backend = ScriptedBackend::new();
    backend.plan([Step::Hang]);
    let session = session(&backend, Retry::IfNotStarted, None);
    let mut turn = session.turn().await.expect("a turn");
    let canceller = turn.canceller();
    let cancel = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        canceller.cancel();
    };
    let ((ran, _), ()) = tokio::join!(run(&mut turn, "long"), cancel);
    let CellEnd::Cancelled { fate: KernelFate::Kept, stopped } = ran.end.end else {
        panic!("{ran:?}")
    };
    assert_eq!(stopped.map(|error| error.name).as_deref(), Some("KeyboardInterrupt"));
    let (ran, _) = run(&mut turn, "next").await;
    assert!(matches!(ran.end.end, CellEnd::Ok) && ran.end.notes.is_empty(), "{ran:?}");
}

/// F-002 B:K-10
#[tokio::test(start_paused = true)]
async fn code_is_run_again_only_when_told_to() {
    for (retry, times) in [(Retry::IfNotStarted, 1), (Retry::Never, 1), (Retry::Once, 2)] {
        let backend = ScriptedBackend::new();
        backend.plan([Step::Die(DeathCause::Exit { code: 1 })]);
        let session = session(&backend, retry, None);
        let mut turn = session.turn().await.expect("a turn");
        let (ran, _) = run(&mut turn, "append").await;
        assert_eq!(codes(&backend).len(), times, "{retry:?}");
        match ran.end.end {
            CellEnd::Ok => assert!(matches!(ran.end.notes[..], [CallNote::RanTwice(_)])),
            CellEnd::KernelDied(death) => assert_eq!(death.cause, DeathCause::Exit { code: 1 }),
            other => panic!("{other:?}"),
        }
    }
}

/// F-092
#[tokio::test(start_paused = true)]
async fn of_twenty_resets_at_once_one_wins() {
    let backend = ScriptedBackend::new();
    backend.plan_shutdown(Duration::from_millis(100));
    let session = session(&backend, Retry::IfNotStarted, None);
    let mut turn = session.turn().await.expect("a turn");
    run(&mut turn, "1").await;
    drop(turn);
    let resets = (0..20).map(|_| session.reset());
    let ends = futures_util::future::join_all(resets).await;
    let won = ends.iter().filter(|end| **end == ResetEnd::Done).count();
    assert_eq!(won, 1, "{ends:?}");
    let mut turn = session.turn().await.expect("a turn");
    let (ran, _) = run(&mut turn, "2").await;
    assert!(matches!(ran.end.end, CellEnd::Ok) && ran.end.notes.is_empty());
    let launches =
        backend.asked().into_iter().filter(|(_, a)| matches!(a, ScriptRequest::Launch(_)));
    assert_eq!(launches.count(), 2);
}

/// B:X-23: output written before the kernel was taken away is delivered, even if it was still queued.
#[tokio::test(start_paused = true)]
async fn a_kernel_that_is_taken_away_is_heard_to_its_end() {
    let backend = ScriptedBackend::new();
    backend.plan_shutdown(Duration::from_millis(100));
    backend.plan(["a", "b", "c", "d"].map(Step::print).into_iter().chain([Step::Hang]));
    let session = session(&backend, Retry::IfNotStarted, None);
    let mut turn = session.turn().await.expect("a turn");
    let (sender, mut events) = mpsc::channel(1);
    let ran = tokio::spawn(async move { turn.run(cell("long"), sender).await });
    // By then everything is written, and most of it waits for the listener.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let reset = tokio::spawn(async move { session.reset().await });
    let mut text = String::new();
    while let Some(event) = events.recv().await {
        if let KernelEvent::Exec { event: ExecEvent::Stream { data, .. }, .. } = event {
            text.push_str(&String::from_utf8_lossy(&data));
        }
        // Read slowly, so that the kernel shuts down before all output is read.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(text, "abcd");
    let ran = ran.await.expect("a run");
    assert!(matches!(ran.end.end, CellEnd::Cancelled { .. }), "{ran:?}");
    assert_eq!((ran.undelivered_bytes, reset.await.expect("a reset")), (0, ResetEnd::Done));
}

/// A slow listener holds up the code and loses nothing, even if the code has a time limit.
#[tokio::test(start_paused = true)]
async fn a_listener_that_is_slow_loses_nothing() {
    let backend = ScriptedBackend::new();
    backend
        .plan(["a", "b", "c", "d"].map(Step::print).into_iter().chain([Step::Finish(Outcome::Ok)]));
    let session = session(&backend, Retry::IfNotStarted, None);
    let mut turn = session.turn().await.expect("a turn");
    let (sender, mut events) = mpsc::channel(1);
    let patient = CellRequest { timeout: Some(Duration::from_secs(600)), ..cell("long") };
    let ran = tokio::spawn(async move { turn.run(patient, sender).await });
    let mut text = String::new();
    while let Some(event) = events.recv().await {
        if let KernelEvent::Exec { event: ExecEvent::Stream { data, .. }, .. } = event {
            text.push_str(&String::from_utf8_lossy(&data));
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    let ran = ran.await.expect("a run");
    assert_eq!((text.as_str(), ran.undelivered_bytes), ("abcd", 0), "{ran:?}");
}

/// A listener that stops reading holds up the code, but not its time limit.
#[tokio::test(start_paused = true)]
async fn a_listener_that_is_stuck_does_not_keep_the_session() {
    let backend = ScriptedBackend::new();
    let mut steps: Vec<Step> = (0..500).map(|_| Step::print("xxxxxxxxxx")).collect();
    steps.push(Step::Hang);
    backend.plan(steps);
    let session = session(&backend, Retry::IfNotStarted, None);
    let mut turn = session.turn().await.expect("a turn");
    let (sender, _kept) = mpsc::channel(4);
    let ran = turn.run(cell("flood"), sender).await;
    assert!(matches!(ran.end.end, CellEnd::TimedOut { .. }), "{ran:?}");
    assert!(ran.undelivered_bytes > 0);
}

#[tokio::test(start_paused = true)]
async fn closing_answers_everybody_and_returns_when_the_kernel_is_gone() {
    let backend = ScriptedBackend::new();
    let gate = Arc::new(Notify::new());
    backend.plan([Step::Gate(Arc::clone(&gate)), Step::Finish(Outcome::Ok)]);
    let session = session(&backend, Retry::IfNotStarted, None);
    let mut turn = session.turn().await.expect("a turn");
    let waiting = session.clone();
    let queued = tokio::spawn(async move { waiting.turn().await.err() });
    let closer = session.clone();
    let close = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        closer.close(CloseReason::Shutdown).await;
    };
    let ((ran, _), ()) = tokio::join!(run(&mut turn, "gated"), close);
    assert!(
        matches!(ran.end.end, CellEnd::Cancelled { fate: KernelFate::TakenAway, .. }),
        "{ran:?}"
    );
    assert!(matches!(queued.await.expect("a task"), Some(NotRun::Closed)));
    assert!(session.state().is_over && session.state().kernel.is_none());
    assert!(matches!(session.turn().await.err(), Some(NotRun::Closed)));
}

/// B:K-16
#[tokio::test(start_paused = true)]
async fn a_call_that_gives_up_while_the_kernel_starts_leaves_it_to_the_next() {
    let backend = ScriptedBackend::new();
    backend.plan_launch(Launch::Slow(Duration::from_secs(5)));
    let session = session(&backend, Retry::IfNotStarted, None);
    let mut turn = session.turn().await.expect("a turn");
    let gave_up = tokio::time::timeout(Duration::from_secs(1), run(&mut turn, "first")).await;
    assert!(gave_up.is_err());
    drop(turn);
    let mut turn = session.turn().await.expect("a turn");
    let (ran, _) = run(&mut turn, "second").await;
    assert!(matches!(ran.end.end, CellEnd::Ok), "{ran:?}");
    assert_eq!(codes(&backend), ["second"]);
    let launches =
        backend.asked().into_iter().filter(|(_, a)| matches!(a, ScriptRequest::Launch(_)));
    assert_eq!(launches.count(), 1);
}
