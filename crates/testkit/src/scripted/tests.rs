use std::collections::BTreeMap;

use inkcell_kernel::{
    History, InputMode, KernelEvent, Ladder, NamesWanted, Prelude, Rung, Shell, Startup,
};

use super::*;

fn spec() -> KernelSpec {
    KernelSpec {
        python: PathBuf::from("python3"),
        cwd: PathBuf::from("/"),
        env: BTreeMap::new(),
        start_timeout: Duration::from_secs(30),
        startup: Startup {
            shell: Shell::Lite,
            prelude: Prelude::Off,
            modules: Vec::new(),
            preload: Vec::new(),
        },
    }
}

async fn launch(backend: &ScriptedBackend) -> LaunchedKernel {
    backend.launch(&spec(), &CancellationToken::new()).await.expect("a kernel")
}

fn request(exec: u64, code: &str) -> CodeRequest {
    let (exec, code) = (ExecId(exec), code.to_owned());
    let (history, input) = (History::Store, InputMode::Refuse);
    CodeRequest { exec, code, history, env: Vec::new(), cwd: None, input, names: NamesWanted::No }
}

/// Collects the events up to the end of the execution or of the kernel.
async fn collect(events: &mut KernelEvents) -> Vec<KernelEvent> {
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        let is_end = matches!(
            event,
            KernelEvent::Died(_) | KernelEvent::Exec { event: ExecEvent::Finished(_), .. }
        );
        seen.push(event);
        if is_end {
            break;
        }
    }
    seen
}

fn cause(seen: &[KernelEvent]) -> Option<&DeathCause> {
    match seen.last() {
        Some(KernelEvent::Died(death)) => Some(&death.cause),
        _ => None,
    }
}

fn outcome(seen: &[KernelEvent]) -> &Outcome {
    match seen.last() {
        Some(KernelEvent::Exec { event: ExecEvent::Finished(outcome), .. }) => outcome,
        other => panic!("no end: {other:?}"),
    }
}

fn error_name(seen: &[KernelEvent]) -> &str {
    match outcome(seen) {
        Outcome::Error(error) => &error.name,
        other => panic!("no error: {other:?}"),
    }
}

/// Rule 1: every execution has one end, whatever its script.
#[tokio::test(start_paused = true)]
async fn every_execution_has_one_end() {
    let backend = ScriptedBackend::new();
    backend.plan([]);
    backend.plan([Step::print("a"), Step::Take(Duration::from_secs(3600)), Step::print("b")]);
    backend.plan([Step::fail("ValueError", "no"), Step::print("never")]);
    backend.plan_code("ends", Script::new([Step::Die(DeathCause::Exit { code: 3 })]));
    let LaunchedKernel { mut kernel, mut events } = launch(&backend).await;
    for (exec, wanted) in [(1, 2), (2, 4), (3, 2), (4, 2)] {
        kernel.execute(request(exec, "x")).expect("the kernel is there");
        let seen = collect(&mut events).await;
        assert_eq!(seen.len(), wanted, "{seen:?}");
        let started = ExecEvent::Started { count: Some(u32::try_from(exec).expect("few")) };
        assert_eq!(seen[0], KernelEvent::Exec { exec: ExecId(exec), event: started });
        outcome(&seen);
    }
    kernel.execute(request(5, "ends")).expect("the kernel is there");
    assert_eq!(cause(&collect(&mut events).await), Some(&DeathCause::Exit { code: 3 }));
    assert!(events.next().await.is_none(), "rule 3: nothing follows a death");
    assert_eq!(kernel.execute(request(6, "x")), Err(KernelGone));
}

/// Rule 3, second half: dropping the handle ends a kernel, even in the middle of a script.
#[tokio::test(start_paused = true)]
async fn dropping_the_kernel_ends_the_stream() {
    let backend = ScriptedBackend::new();
    backend.plan([Step::IgnoreTerminate, Step::Hang]);
    // More events than the queue holds, so that the actor waits for room.
    backend.plan(std::iter::repeat_n(Step::print("x"), 2 * EVENT_QUEUE));
    for exec in 1..3 {
        let LaunchedKernel { mut kernel, mut events } = launch(&backend).await;
        kernel.execute(request(exec, "x")).expect("the kernel is there");
        assert!(events.next().await.is_some(), "it began");
        drop(kernel);
        let end = async { while events.next().await.is_some() {} };
        tokio::time::timeout(Duration::from_secs(1), end).await.expect("the stream ends");
    }
    let LaunchedKernel { kernel, mut events } = launch(&backend).await;
    backend.plan_shutdown(Duration::from_secs(1));
    let death = kernel.shutdown(Duration::from_secs(2)).await;
    assert_eq!(death.cause, DeathCause::Shutdown);
    assert_eq!(cause(&collect(&mut events).await), Some(&DeathCause::Shutdown));
}

/// Rule 4: an interrupt ends the running code and nothing else.
#[tokio::test(start_paused = true)]
async fn an_interrupt_is_for_what_runs() {
    let backend = ScriptedBackend::new();
    let LaunchedKernel { mut kernel, mut events } = launch(&backend).await;
    for exec in 0..10 {
        kernel.interrupt().expect("the kernel is there");
        kernel.execute(request(exec, "x")).expect("the kernel is there");
        assert_eq!(outcome(&collect(&mut events).await), &Outcome::Ok);
        kernel.interrupt().expect("the kernel is there");
    }
    backend.plan([Step::Hang]);
    kernel.execute(request(20, "x")).expect("the kernel is there");
    kernel.interrupt().expect("the kernel is there");
    assert_eq!(error_name(&collect(&mut events).await), "KeyboardInterrupt");
    backend.plan([Step::CatchInterrupt, Step::print("caught")]);
    kernel.execute(request(21, "x")).expect("the kernel is there");
    kernel.interrupt().expect("the kernel is there");
    let seen = collect(&mut events).await;
    assert_eq!((seen.len(), outcome(&seen)), (3, &Outcome::Ok));
    let asked = backend.asked();
    assert_eq!(asked[0], (KernelNumber(1), ScriptRequest::Launch(PathBuf::from("/"))));
    assert_eq!(asked[1], (KernelNumber(1), ScriptRequest::Interrupt));
    assert_eq!(asked[2], (KernelNumber(1), ScriptRequest::Execute(request(0, "x"))));
}

/// Rule 6: the stream reports an unrequested death, idle or not; the ladder ends any kernel.
#[tokio::test(start_paused = true)]
async fn every_death_is_told() {
    let backend = ScriptedBackend::new();
    for (number, steps) in [(1, None), (2, Some([Step::Hang]))] {
        let LaunchedKernel { mut kernel, mut events } = launch(&backend).await;
        if let Some(steps) = steps {
            backend.plan(steps);
            kernel.execute(request(1, "x")).expect("the kernel is there");
        }
        backend.kill(KernelNumber(number), DeathCause::OutOfMemory);
        assert_eq!(cause(&collect(&mut events).await), Some(&DeathCause::OutOfMemory));
        assert!(events.next().await.is_none());
    }
    let (deaf, deafer) =
        ([Step::IgnoreInterrupts, Step::Hang], [Step::IgnoreTerminate, Step::Hang]);
    for (steps, rung) in [(deaf, Rung::Terminate), (deafer, Rung::Kill)] {
        backend.plan(steps);
        let LaunchedKernel { mut kernel, mut events } = launch(&backend).await;
        kernel.execute(request(1, "x")).expect("the kernel is there");
        let begun = tokio::time::Instant::now();
        let mut seen = Vec::new();
        for (at, rung) in Ladder::new(Ladder::GRACE).rungs() {
            match tokio::time::timeout_at(begun + at, collect(&mut events)).await {
                Ok(events) => {
                    seen = events;
                    break;
                }
                Err(_) => match rung {
                    Rung::Interrupt => kernel.interrupt().expect("the kernel is there"),
                    Rung::Terminate => kernel.force(StopSignal::Terminate).expect("it is there"),
                    Rung::Kill => kernel.force(StopSignal::Kill).expect("the kernel is there"),
                    Rung::Answer => panic!("it lives"),
                },
            }
        }
        assert_eq!(cause(&seen), Some(&DeathCause::IgnoredInterrupt));
        let force = if rung == Rung::Kill { StopSignal::Kill } else { StopSignal::Terminate };
        let last = backend.asked().pop().expect("something was asked");
        assert_eq!(last.1, ScriptRequest::Force(force));
    }
}

#[tokio::test(start_paused = true)]
async fn input_gates_and_launches_follow_the_plan() {
    let backend = ScriptedBackend::new();
    let no_cwd = LaunchError::NoCwd { cwd: "/gone".to_owned() };
    backend.plan_launch(Launch::Fail(no_cwd));
    backend.plan_launch(Launch::Slow(Duration::from_secs(31)));
    let cancel = CancellationToken::new();
    let failed = backend.launch(&spec(), &cancel).await.err().expect("no kernel");
    assert!(matches!(failed, LaunchError::NoCwd { .. }), "{failed:?}");
    let failed = backend.launch(&spec(), &cancel).await.err().expect("no kernel");
    assert!(matches!(failed, LaunchError::TimedOut { .. }), "{failed:?}");
    backend.plan_launch(Launch::Gate(Arc::default()));
    cancel.cancel();
    let failed = backend.launch(&spec(), &cancel).await.err().expect("no kernel");
    assert!(matches!(failed, LaunchError::Cancelled), "{failed:?}");

    let gate = Arc::new(Notify::new());
    let ask = Step::Ask { prompt: "name? ".to_owned(), password: false };
    backend.plan([ask, Step::Gate(Arc::clone(&gate)), Step::display("d", "shown")]);
    let LaunchedKernel { mut kernel, mut events } = launch(&backend).await;
    kernel.execute(request(1, "x")).expect("the kernel is there");
    kernel
        .reply_input(ExecId(1), InputReply::Line("Ada\n".to_owned()))
        .expect("the kernel is there");
    backend.asked_for(1, |asked| matches!(asked, ScriptRequest::ReplyInput(..))).await;
    gate.notify_one();
    let seen = collect(&mut events).await;
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert_eq!(outcome(&seen), &Outcome::Ok);
}

/// Rule 7: a question has one answer, planned or not, and never waits for running code.
#[tokio::test(start_paused = true)]
async fn questions_are_answered_as_planned() {
    let backend = ScriptedBackend::new();
    backend.plan_answer(Answer::Failed("no such name".to_owned()));
    backend.plan([Step::Hang]);
    let LaunchedKernel { mut kernel, mut events } = launch(&backend).await;
    let question = Question::Variables { limit: None };
    let empty = Answer::Json("{}".to_owned());
    let planned = [Answer::Failed("no such name".to_owned()), empty.clone()];
    for (id, answer) in (1..).map(AskId).zip(planned) {
        kernel.ask(id, question.clone()).expect("the kernel is there");
        assert_eq!(events.next().await, Some(KernelEvent::Answer { id, answer }));
    }
    kernel.execute(request(1, "x")).expect("the kernel is there");
    kernel.ask(AskId(3), question.clone()).expect("the kernel is there");
    kernel.interrupt().expect("the kernel is there");
    let seen = collect(&mut events).await;
    assert!(seen.contains(&KernelEvent::Answer { id: AskId(3), answer: Answer::Busy }), "{seen:?}");
    kernel.ask(AskId(4), question.clone()).expect("the kernel is there");
    assert_eq!(events.next().await, Some(KernelEvent::Answer { id: AskId(4), answer: empty }));
    backend.kill(KernelNumber(1), DeathCause::Unknown);
    collect(&mut events).await;
    assert_eq!(kernel.ask(AskId(5), question.clone()), Err(KernelGone));
    let asked =
        backend.asked().into_iter().filter(|(_, asked)| matches!(asked, ScriptRequest::Ask(..)));
    assert_eq!(asked.count(), 5);
}
