//! One run of a cell to its end, with scripted kernels and a simulated clock.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use inkcell_engine::kernel::{
    AskId, Backend, BackendKind, CodeRequest, Death, DeathCause, ExecEvent, ExecId, History,
    InputMode, InputReply, Kernel, KernelEvent, KernelEvents, KernelGone, KernelInfo, KernelSpec,
    LaunchError, LaunchedKernel, Origin, Question, Rung, StopSignal, StreamName,
};
use inkcell_engine::session::{
    CallNote, CellEnd, CellRequest, KernelFate, Loss, NotRun, Retry, RunOutcome, Session,
};
use inkcell_testkit::scripted::{KernelNumber, Launch, ScriptRequest, ScriptedBackend, Step};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::sessions::{run as run_in, session, session_of};

const ROOM: usize = 1000;

/// A finished execution, and the observations about it.
struct Seen {
    end: CellEnd,
    undelivered_bytes: u64,
    /// Standard output as the listener received it.
    text: String,
    /// Interrupts and kills, with the milliseconds since the start.
    done: Vec<(u128, ScriptRequest)>,
    /// The end, in milliseconds since the start.
    millis: u128,
}

fn start(backend: &ScriptedBackend) -> Session {
    session(backend, Retry::IfNotStarted, None)
}

fn cell(timeout: Option<u64>) -> CellRequest {
    CellRequest {
        code: String::new(),
        history: History::Store,
        env: Vec::new(),
        timeout: timeout.map(Duration::from_secs),
        patience: timeout.map(Duration::from_secs),
        input: InputMode::Refuse,
        names: inkcell_kernel::NamesWanted::No,
    }
}

fn text_of(event: &KernelEvent) -> String {
    match event {
        KernelEvent::Exec {
            event: ExecEvent::Stream { name: StreamName::Stdout, data }, ..
        } => String::from_utf8_lossy(data).into_owned(),
        _ => String::new(),
    }
}

/// Runs a script with a listener that takes everything; `cancels` are seconds after the start.
async fn run(steps: Vec<Step>, timeout: Option<u64>, cancels: &[u64]) -> Seen {
    let backend = ScriptedBackend::new();
    backend.plan(steps);
    let mut turn = start(&backend).turn().await.expect("a turn");
    let canceller = turn.canceller();
    let (sender, mut receiver) = mpsc::channel(ROOM);
    let start = Instant::now();
    let cancelling = async {
        for seconds in cancels {
            tokio::time::sleep_until(start + Duration::from_secs(*seconds)).await;
            canceller.cancel();
        }
        std::future::pending::<()>().await;
    };
    let mut done = Vec::new();
    let watching = async {
        let is_wanted = |asked: &ScriptRequest| {
            matches!(asked, ScriptRequest::Interrupt | ScriptRequest::Force(_))
        };
        loop {
            backend.asked_for(done.len() + 1, is_wanted).await;
            let all = backend.asked().into_iter().map(|(_, asked)| asked);
            let new = all.filter(is_wanted).nth(done.len()).expect("it was asked");
            done.push((start.elapsed().as_millis(), new));
        }
    };
    let RunOutcome { end, undelivered_bytes } = tokio::select! {
        // Poll the watcher first, so that an action is seen before the end it causes.
        biased;
        () = watching => unreachable!(),
        () = cancelling => unreachable!(),
        ran = turn.run(cell(timeout), sender) => ran,
    };
    let millis = start.elapsed().as_millis();
    let mut text = String::new();
    while let Some(event) = receiver.recv().await {
        text.push_str(&text_of(&event));
    }
    Seen { end: end.end, undelivered_bytes, text, done, millis }
}

fn ended(by: Rung) -> KernelFate {
    KernelFate::Ended { by, death: Some(death(DeathCause::IgnoredInterrupt)) }
}

fn death(cause: DeathCause) -> Death {
    Death { cause, stderr_tail: String::new(), strays: Vec::new() }
}

fn timed_out(end: &CellEnd, seconds: u64) -> (&KernelFate, Option<&str>) {
    match end {
        CellEnd::TimedOut { after, fate, stopped } if after.as_secs() == seconds => {
            (fate, stopped.as_ref().map(|error| error.name.as_str()))
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn code_that_ends_by_itself_ends_as_it_does() {
    let seen = run(vec![Step::print("a"), Step::print("b")], Some(1), &[]).await;
    assert!(matches!(seen.end, CellEnd::Ok), "{:?}", seen.end);
    assert_eq!(seen.text, "ab");
    let seen = run(vec![Step::fail("ValueError", "no")], Some(1), &[]).await;
    assert!(matches!(seen.end, CellEnd::PythonError(error) if error.value == "no"));
    let steps = vec![Step::print("a"), Step::Die(DeathCause::Exit { code: 3 })];
    let seen = run(steps, Some(1), &[]).await;
    let wanted = death(DeathCause::Exit { code: 3 });
    assert!(matches!(&seen.end, CellEnd::KernelDied(death) if *death == wanted), "{:?}", seen.end);
    assert_eq!((seen.text.as_str(), seen.done.len()), ("a", 0));
}

/// B:R-21 F-005
#[tokio::test(start_paused = true)]
async fn code_that_listens_to_nothing_is_ended_step_by_step() {
    let steps = vec![Step::print("a"), Step::IgnoreTerminate, Step::Hang];
    let seen = run(steps, Some(2), &[]).await;
    let wanted = [
        (2000, ScriptRequest::Interrupt),
        (3500, ScriptRequest::Interrupt),
        (5000, ScriptRequest::Force(StopSignal::Terminate)),
        (6000, ScriptRequest::Force(StopSignal::Kill)),
    ];
    assert_eq!(seen.done, wanted);
    assert_eq!(timed_out(&seen.end, 2), (&ended(Rung::Kill), None));
    assert_eq!((seen.text.as_str(), seen.millis), ("a", 6000));
}

/// B:R-21 F-004
#[tokio::test(start_paused = true)]
async fn the_ladder_ends_where_somebody_listens() {
    let seen = run(vec![Step::Hang], Some(2), &[]).await;
    assert_eq!(timed_out(&seen.end, 2), (&KernelFate::Kept, Some("KeyboardInterrupt")));
    assert_eq!(seen.millis, 2000);
    let seen = run(vec![Step::CatchInterrupt, Step::Hang], Some(2), &[]).await;
    assert_eq!(timed_out(&seen.end, 2), (&KernelFate::Kept, Some("KeyboardInterrupt")));
    assert_eq!(seen.millis, 3500);
    let seen = run(vec![Step::IgnoreInterrupts, Step::Hang], Some(2), &[]).await;
    assert_eq!(timed_out(&seen.end, 2), (&ended(Rung::Terminate), None));
    assert_eq!(seen.millis, 5000);
    // Code that survives the interrupt and then ends well still took too long.
    let seen = run(vec![Step::CatchInterrupt], Some(2), &[]).await;
    assert_eq!(timed_out(&seen.end, 2), (&KernelFate::Kept, None));
}

/// B:X-23
#[tokio::test(start_paused = true)]
async fn output_after_the_time_is_kept_and_so_is_a_death() {
    let steps = vec![Step::print("a"), Step::CatchInterrupt, Step::print("b"), Step::Hang];
    let seen = run(steps, Some(1), &[]).await;
    assert_eq!((seen.text.as_str(), seen.undelivered_bytes), ("ab", 0));
    let steps = vec![Step::CatchInterrupt, Step::Die(DeathCause::Signal { signal: 11 })];
    let seen = run(steps, Some(1), &[]).await;
    let death = Some(death(DeathCause::Signal { signal: 11 }));
    assert_eq!(timed_out(&seen.end, 1), (&KernelFate::Ended { by: Rung::Interrupt, death }, None));
}

/// B:X-25
#[tokio::test(start_paused = true)]
async fn code_that_wants_input_is_refused() {
    let ask = || Step::Ask { prompt: "name? ".into(), password: false };
    let seen = run(vec![ask(), Step::print("went on")], Some(1), &[]).await;
    assert!(matches!(seen.end, CellEnd::InputRefused(None)), "{:?}", seen.end);
    assert_eq!(seen.text, "went on");
    for steps in
        [vec![ask(), Step::fail("EOFError", "")], vec![Step::fail("StdinNotImplementedError", "")]]
    {
        let seen = run(steps, Some(1), &[]).await;
        assert!(matches!(seen.end, CellEnd::InputRefused(Some(_))), "{:?}", seen.end);
    }
}

/// F-021
#[tokio::test(start_paused = true)]
async fn the_second_cancel_kills_at_once() {
    let stubborn = || vec![Step::IgnoreTerminate, Step::Hang];
    let seen = run(vec![Step::Hang], None, &[7]).await;
    assert!(
        matches!(&seen.end, CellEnd::Cancelled { fate: KernelFate::Kept, stopped: Some(_) }),
        "{:?}",
        seen.end
    );
    assert_eq!(seen.millis, 7000);
    let seen = run(stubborn(), None, &[7]).await;
    assert_eq!(seen.millis, 11_000, "one cancel climbs the ladder");
    let seen = run(stubborn(), None, &[7, 8]).await;
    assert!(
        matches!(&seen.end, CellEnd::Cancelled { fate, stopped: None } if *fate == ended(Rung::Kill)),
        "{:?}",
        seen.end
    );
    let wanted = [(7000, ScriptRequest::Interrupt), (8000, ScriptRequest::Force(StopSignal::Kill))];
    assert_eq!(seen.done, wanted);
    // The time limit came first, so the report names it.
    let seen = run(stubborn(), Some(5), &[6, 6]).await;
    assert_eq!(timed_out(&seen.end, 5), (&ended(Rung::Kill), None));
    assert_eq!(seen.millis, 6000);
}

/// A kernel that ignores every signal.
struct Deaf(KernelInfo);

impl Kernel for Deaf {
    fn info(&self) -> &KernelInfo {
        &self.0
    }

    fn execute(&mut self, _request: CodeRequest) -> Result<(), KernelGone> {
        Ok(())
    }

    fn reply_input(&mut self, _exec: ExecId, _reply: InputReply) -> Result<(), KernelGone> {
        Ok(())
    }

    fn ask(&mut self, _id: AskId, _question: Question) -> Result<(), KernelGone> {
        Ok(())
    }

    fn interrupt(&mut self) -> Result<(), KernelGone> {
        Ok(())
    }

    fn force(&mut self, _force: StopSignal) -> Result<(), KernelGone> {
        Ok(())
    }

    fn shutdown(
        self: Box<Self>,
        _grace: Duration,
    ) -> std::pin::Pin<Box<dyn Future<Output = Death> + Send>> {
        Box::pin(std::future::pending())
    }
}

impl Backend for Deaf {
    fn kind(&self) -> BackendKind {
        BackendKind::Runner
    }

    fn launch<'a>(
        &'a self,
        _spec: &'a KernelSpec,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<LaunchedKernel, LaunchError>> {
        // The sender of the events is never dropped, so that they never end.
        let (held, events) = KernelEvents::channel(1);
        std::mem::forget(held);
        Box::pin(
            async move { Ok(LaunchedKernel { kernel: Box::new(Deaf(self.0.clone())), events }) },
        )
    }
}

/// B:R-21
#[tokio::test(start_paused = true)]
async fn there_is_an_answer_though_nothing_helps() {
    let info = KernelInfo {
        backend: BackendKind::Runner,
        pid: None,
        language: KernelInfo::PYTHON.to_owned(),
        version: String::new(),
        executable: String::new(),
        origin: Origin::Forked,
    };
    let session = session_of(Arc::new(Deaf(info)), Retry::IfNotStarted, None);
    let mut turn = session.turn().await.expect("a turn");
    let (sender, _receiver) = mpsc::channel(ROOM);
    let start = Instant::now();
    let ran = turn.run(cell(Some(1)), sender).await;
    let fate = KernelFate::Ended { by: Rung::Answer, death: None };
    assert_eq!(timed_out(&ran.end.end, 1), (&fate, None));
    assert_eq!(start.elapsed().as_secs(), 6);
}

/// F-023: a listener that takes no events holds up the code, but not its time limit.
#[tokio::test(start_paused = true)]
async fn a_stuck_listener_does_not_stop_the_clock() {
    let table = [
        (vec![], KernelFate::Kept),
        (vec![Step::IgnoreInterrupts], ended(Rung::Terminate)),
        (vec![Step::IgnoreTerminate], ended(Rung::Kill)),
    ];
    for (first, wanted) in table {
        let backend = ScriptedBackend::new();
        // More than all queues can hold together.
        let flood = (0..500).map(|_| Step::print("0123456789"));
        backend.plan(first.into_iter().chain(flood).chain([Step::Hang]));
        let mut turn = start(&backend).turn().await.expect("a turn");
        let (sender, receiver) = mpsc::channel(2);
        let start = Instant::now();
        let ran = turn.run(cell(Some(60)), sender).await;
        assert_eq!(timed_out(&ran.end.end, 60).0, &wanted);
        assert!(start.elapsed() <= Duration::from_secs(65), "{:?}", start.elapsed());
        assert!(ran.undelivered_bytes > 0);
        drop(receiver);
    }
}

/// A listener that is slow but not stuck loses nothing.
#[tokio::test(start_paused = true)]
async fn a_slow_listener_gets_everything() {
    let backend = ScriptedBackend::new();
    let flood = (0..100).map(|_| Step::print("x"));
    backend.plan(flood.chain([Step::CatchInterrupt, Step::print("y")]));
    let mut turn = start(&backend).turn().await.expect("a turn");
    let (sender, mut receiver) = mpsc::channel(1);
    let listening = async {
        let mut text = String::new();
        while let Some(event) = receiver.recv().await {
            tokio::time::sleep(Duration::from_millis(30)).await;
            text.push_str(&text_of(&event));
        }
        text
    };
    let running = turn.run(cell(Some(1)), sender);
    let (ran, text) = tokio::join!(running, listening);
    assert_eq!(ran.undelivered_bytes, 0);
    assert_eq!(text.len(), 101, "{text}");
}

/// F-001: a call does not wait beyond its own limit for a slow kernel, which then serves the next run.
#[tokio::test(start_paused = true)]
async fn a_kernel_that_is_late_is_left_to_the_next_run() {
    let backend = ScriptedBackend::new();
    let gate = Arc::new(Notify::new());
    backend.plan_launch(Launch::Gate(Arc::clone(&gate)));
    backend.plan([Step::print("a")]);
    let mut turn = start(&backend).turn().await.expect("a turn");
    let (sender, _receiver) = mpsc::channel(ROOM);
    let ran = turn.run(cell(Some(2)), sender).await;
    let late =
        |end: &CellEnd| matches!(end, CellEnd::NotRun(NotRun::Late(after)) if after.as_secs() == 2);
    assert!(late(&ran.end.end), "{:?}", ran.end);
    gate.notify_one();
    let (ran, text) = run_in(&mut turn, "2").await;
    assert!(matches!(ran.end.end, CellEnd::Ok), "{:?}", ran.end);
    let is_launch = |(_, asked): &(_, ScriptRequest)| matches!(asked, ScriptRequest::Launch(_));
    assert_eq!(backend.asked().iter().filter(|asked| is_launch(asked)).count(), 1);
    assert_eq!(text, "a");
}

/// The start of a slow kernel does not count toward a cell's time.
#[tokio::test(start_paused = true)]
async fn the_start_of_a_kernel_is_no_time_of_its_cell() {
    let backend = ScriptedBackend::new();
    let gate = Arc::new(Notify::new());
    backend.plan_launch(Launch::Gate(Arc::clone(&gate)));
    backend.plan([Step::print("a")]);
    let mut turn = start(&backend).turn().await.expect("a turn");
    let (sender, _receiver) = mpsc::channel(ROOM);
    let opened = async {
        tokio::time::sleep(Duration::from_secs(8)).await;
        gate.notify_one();
    };
    let (ran, ()) =
        tokio::join!(turn.run(CellRequest { patience: None, ..cell(Some(2)) }, sender), opened);
    assert!(matches!(ran.end.end, CellEnd::Ok), "{:?}", ran.end);
}

/// Events of a kernel during its shutdown are delivered, and so is its end.
#[tokio::test(start_paused = true)]
async fn the_last_words_of_a_kernel_are_heard() {
    let backend = ScriptedBackend::new();
    backend.plan([Step::print("a")]);
    let session = start(&backend);
    let mut turn = session.turn().await.expect("a turn");
    let (ran, _) = run_in(&mut turn, "1").await;
    assert!(matches!(ran.end.end, CellEnd::Ok));
    drop(turn);
    let (sender, _receiver) = mpsc::channel(ROOM);
    let death = session.close_heard(sender).await.expect("there was a kernel");
    assert_eq!(death.cause, DeathCause::Shutdown);
    let (sender, _receiver) = mpsc::channel(ROOM);
    assert_eq!(session.close_heard(sender).await, None, "it is over");
}

/// F-003: a kernel that died while idle is replaced, and the reader is told.
#[tokio::test(start_paused = true)]
async fn a_kernel_that_is_gone_is_replaced_and_told() {
    let backend = ScriptedBackend::new();
    let session = start(&backend);
    let mut turn = session.turn().await.expect("a turn");
    let (ran, _) = run_in(&mut turn, "1").await;
    assert!(matches!(ran.end.end, CellEnd::Ok));
    backend.kill(KernelNumber(1), DeathCause::Signal { signal: 9 });
    session.watch().wait_for(|state| state.kernel.is_none()).await.expect("it is there");
    let (ran, _) = run_in(&mut turn, "2").await;
    assert!(matches!(ran.end.end, CellEnd::Ok), "{:?}", ran.end);
    let wanted = CallNote::StateLost(Loss::Died(death(DeathCause::Signal { signal: 9 })));
    assert_eq!(ran.end.notes, [wanted]);
}
