//! The kernel verbs, and the results of calls, on real kernels.

use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::api::{
    ArtifactForm, ArtifactFound, ArtifactPart, Inspect, InspectRequest, InspectionAnswer,
    InterruptFate, KernelReport, KernelRequest, KernelWishes, PythonReport, ResultReport,
    ResultRequest, SessionPhase, SessionRef, SessionReport, State,
};
use inkcell_engine::kernel::{ForkServer, Origin, RunnerBackend, RunnerConfig, ZygoteState};
use inkcell_engine::registry::{IdleRule, Keep, SessionName};
use inkcell_engine::session::{CallNote, CloseReason, Loss};
use inkcell_engine::{EngineError, Kind, SessionError};
use inkcell_testkit::wait::until_async;

use crate::faults_kit::{Desk, LONG, ME, answer, run_code, told, wait_for};

impl Desk {
    fn session(&self, name: &str) -> SessionRef {
        let session = Some(SessionName(name.to_owned()));
        SessionRef { session, cwd: self.dir.path().to_owned(), wanted: KernelWishes::default() }
    }

    async fn verb(&self, request: KernelRequest) -> KernelReport {
        answer(&self.engine, request).await.expect("a report")
    }

    async fn list(&self) -> Vec<SessionReport> {
        match self.verb(KernelRequest::List).await {
            KernelReport::Sessions(all) => all,
            other => panic!("{other:?}"),
        }
    }

    async fn status(&self, name: &str) -> SessionReport {
        match self.verb(KernelRequest::Status(self.session(name))).await {
            KernelReport::Session(report) => *report,
            other => panic!("{other:?}"),
        }
    }

    async fn start(&self, name: &str) -> (SessionReport, Vec<CallNote>) {
        match self.verb(KernelRequest::Start(self.session(name))).await {
            KernelReport::Started { session, notes } => (*session, notes),
            other => panic!("{other:?}"),
        }
    }

    async fn interrupt(&self, name: &str) -> InterruptFate {
        match self.verb(KernelRequest::Interrupt(self.session(name))).await {
            KernelReport::Interrupted { fate, .. } => fate,
            other => panic!("{other:?}"),
        }
    }

    async fn python(&self, session: &str, code: &str) -> PythonReport {
        self.ask(self.named(session, &[code])).await
    }
}

fn pid(report: &SessionReport) -> u32 {
    report.kernel.as_ref().and_then(|kernel| kernel.pid).expect("a process")
}

#[tokio::test]
async fn a_session_is_started_seen_and_stopped() {
    let desk = Desk::new();
    assert_eq!(desk.list().await, []);
    let (started, notes) = desk.start("work").await;
    assert_eq!((started.state, notes), (SessionPhase::Idle, Vec::new()));
    assert_eq!((started.owners, started.keep, started.lost), (1, Keep::WhileUsed, None));
    assert_eq!(started.cwd, desk.dir.path().canonicalize().expect("the folder"));
    // No counted code ran, and a second start changes nothing.
    assert_eq!(
        pid(&desk.start("work").await.0),
        started.kernel.as_ref().and_then(|k| k.pid).expect("it")
    );
    let ran = desk.python("work", "import os\nos.getpid()").await;
    assert_eq!(
        (told(&ran), ran.cells[0].count),
        (pid(&desk.status("work").await).to_string(), Some(1))
    );
    let status = desk.status("work").await;
    let kernel = status.kernel.clone().expect("a kernel");
    assert!(
        matches!(&kernel.origin, Origin::Started { reason } if !reason.is_empty()),
        "{kernel:?}"
    );
    assert!(status.idle.is_some() && status.running.is_none(), "{status:?}");
    desk.start("another").await;
    let names: Vec<String> = desk.list().await.into_iter().map(|session| session.name.0).collect();
    assert_eq!(names, ["another", "work"]);

    let stopped = desk.verb(KernelRequest::Stop(desk.session("work"))).await;
    let KernelReport::Stopped(report) = stopped else { panic!("{stopped:?}") };
    assert_eq!(report.kernel, Some(kernel));
    let request = KernelRequest::Status(desk.session("work"));
    let Err(error) = answer(&desk.engine, request).await else { panic!("it is gone") };
    assert_eq!(error.to_string(), "no session named 'work'; the nearest is another (idle)");
    desk.engine.shutdown().await;
}

/// The status says if a kernel is a copy of the fork server, and if not, why.
#[tokio::test]
async fn the_status_says_how_the_kernel_came_to_be() {
    let desk = Desk::new();
    let (direct, _) = desk.start("a").await;
    let Some(Origin::Started { reason }) = direct.kernel.map(|kernel| kernel.origin) else {
        panic!("direct")
    };
    assert!(reason.contains("off"), "{reason}");
    desk.engine.shutdown().await;
    let mut backend = None;
    let desk = Desk::on(
        |_| {},
        |dir| {
            let state_dir = dir.join("state");
            let config =
                RunnerConfig { state_dir, fork_server: ForkServer::On { wait: LONG }, spares: 0 };
            let made = Arc::new(RunnerBackend::new(config).expect("a backend"));
            backend = Some(Arc::clone(&made));
            made
        },
    );
    let backend = backend.expect("it was made");
    desk.start("first").await;
    until_async("the fork server", async || {
        !backend.fork_servers().await.iter().any(|(.., state)| *state == ZygoteState::Starting)
    })
    .await;
    let (forked, _) = desk.start("second").await;
    assert_eq!(forked.kernel.map(|kernel| kernel.origin), Some(Origin::Forked));
    desk.engine.shutdown().await;
}

/// A kernel with much output during its start still becomes ready.
#[tokio::test]
async fn a_kernel_that_talks_is_started() {
    let desk = Desk::new();
    let modules = desk.dir.path().join("state/modules");
    std::fs::create_dir_all(&modules).expect("a folder");
    let code = "import sys, threading\n\
                def talk():\n    while True:\n        print('out', flush=True)\n        \
                print('err', file=sys.stderr, flush=True)\n\
                threading.Thread(target=talk, daemon=True).start()\n";
    std::fs::write(modules.join("talk.py"), code).expect("written");
    let (started, _) = tokio::time::timeout(LONG, desk.start("work")).await.expect("it is ready");
    assert!(started.kernel.is_some(), "{started:?}");
    desk.engine.shutdown().await;
}

#[tokio::test]
async fn what_runs_is_seen_interrupted_and_restarted() {
    let desk = Desk::new();
    let mut request = desk.named(
        "work",
        &["x = 1", "open('begun', 'w').close()\nimport time\nwhile True: time.sleep(0.01)"],
    );
    request.wait = Some(Duration::ZERO);
    let begun = desk.ask(request).await;
    desk.seen("begun").await;
    let queued = {
        let request = desk.named("work", &["x"]);
        let engine = desk.engine.clone();
        tokio::spawn(async move { run_code(&engine, request, ME).await.expect("a report") })
    };
    let status = desk.status("work").await;
    let running = status.running.expect("what runs");
    assert_eq!((status.state, status.idle), (SessionPhase::Busy, None));
    assert_eq!(
        (running.title.as_str(), running.execution),
        ("open('begun', 'w').close()", Some(begun.execution.clone()))
    );
    // A start does not wait for the cell: the kernel exists.
    assert_eq!(desk.start("work").await.0.state, SessionPhase::Busy);
    assert_eq!(desk.interrupt("work").await, InterruptFate::Interrupted);
    let ended = desk.end(&begun).await;
    assert_eq!((ended.state, &*ended.cells[1].notes), (State::Error, &[CallNote::Interrupted][..]));
    assert_eq!(told(&queued.await.expect("the call")), "1", "and the kernel is the same");

    let before = pid(&desk.status("work").await);
    let KernelReport::Started { session, notes } =
        desk.verb(KernelRequest::Restart(desk.session("work"))).await
    else {
        panic!("started")
    };
    assert!(pid(&session) != before && notes.is_empty(), "{session:?}");
    assert_eq!(desk.python("work", "x").await.state, State::Error);
    let after = desk.python("work", "import os\nos.getpid()").await;
    assert_eq!(told(&after), pid(&session).to_string());
    desk.engine.shutdown().await;
}

/// Issue 21, 6: an interrupt reports its effect on the code.
#[tokio::test]
async fn an_interrupt_tells_what_became_of_the_code() {
    let desk = Desk::new();
    desk.start("work").await;
    assert_eq!(desk.interrupt("work").await, InterruptFate::NothingRan);
    let sleep = |name: &str| format!("open('{name}', 'w').close()\n    {}", "time.sleep(600)");
    let caught = format!("import time\ntry:\n    {}\nexcept KeyboardInterrupt: pass", sleep("a"));
    let failing =
        format!("try:\n    {}\nexcept KeyboardInterrupt: raise OSError from None", sleep("b"));
    let deaf = format!(
        "import signal\nsignal.signal(2, signal.SIG_IGN)\nopen('c', 'w').close()\n{}",
        wait_for("gate")
    );
    let cells = [
        ("a", caught, InterruptFate::Ended(State::Done)),
        ("b", failing, InterruptFate::Ended(State::Error)),
        ("c", deaf, InterruptFate::StillRunning),
    ];
    for (begins, code, fate) in cells {
        let mut request = desk.named("work", &[&code]);
        request.wait = Some(Duration::ZERO);
        let begun = desk.ask(request).await;
        desk.seen(begins).await;
        assert_eq!(desk.interrupt("work").await, fate, "{code}");
        if fate == InterruptFate::StillRunning {
            std::fs::write(desk.dir.path().join("gate"), "").expect("the gate");
        }
        desk.end(&begun).await;
    }
    desk.engine.shutdown().await;
}

/// Issue 21, 6: an interrupt that arrives before the code and its kernel ends the code.
#[tokio::test]
async fn an_interrupt_right_behind_a_call_ends_its_code() {
    let desk = Desk::new();
    for round in 0..10 {
        let mut request = desk.named("work", &["import time\ntime.sleep(600)"]);
        request.wait = Some(Duration::ZERO);
        let begun = desk.ask(request).await;
        let fate = desk.interrupt("work").await;
        assert!(
            matches!(fate, InterruptFate::Interrupted | InterruptFate::StillRunning),
            "{fate:?}"
        );
        // Otherwise it would end in ten minutes, or by force.
        assert_eq!(desk.end(&begun).await.state, State::Error, "{round}");
    }
    desk.engine.shutdown().await;
}

/// Issue 21, 1: calls made before a restart never run in the kernel after it.
#[tokio::test]
async fn a_restart_takes_back_the_calls_before_it() {
    let desk = Desk::new();
    let mut calls = Vec::new();
    for name in ["a", "b"] {
        let code =
            format!("open('{name}', 'a').write('x')\nkept = 1\nimport time\ntime.sleep(600)");
        let mut request = desk.named("work", &[&code]);
        request.wait = Some(Duration::ZERO);
        calls.push(desk.ask(request).await);
    }
    desk.verb(KernelRequest::Restart(desk.session("work"))).await;
    for begun in &calls {
        assert_eq!(desk.end(begun).await.state, State::Cancelled);
    }
    assert!(!desk.dir.path().join("b").exists(), "it waited for the other one");
    let after = desk.ask(desk.named("work", &["assert 'kept' not in globals()"])).await;
    assert_eq!(after.state, State::Done);
    desk.engine.shutdown().await;
}

/// B:K-06: a kept session stays; the next user of the other one is told, even by a start.
#[tokio::test]
async fn a_kept_session_outlives_idle_time() {
    let hour = Duration::from_secs(3600);
    let backend = inkcell_testkit::scripted::ScriptedBackend::new();
    let desk =
        Desk::on(|config| config.limits.idle = IdleRule::Always(hour), |_| Arc::new(backend));
    // The choice of a Python is remembered; it takes real time.
    desk.start("kept").await;
    tokio::time::pause();
    for name in ["kept", "left"] {
        desk.start(name).await;
    }
    let keep = KernelRequest::Keep { session: desk.session("kept"), keep: Keep::Always };
    let KernelReport::Session(report) = desk.verb(keep).await else { panic!("a session") };
    assert_eq!(report.keep, Keep::Always);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(desk.status("left").await.idle >= Some(Duration::from_secs(60)));
    tokio::time::sleep(2 * hour).await;
    let names: Vec<String> = desk.list().await.into_iter().map(|session| session.name.0).collect();
    assert_eq!(names, ["kept"]);
    let status = KernelRequest::Status(desk.session("left"));
    let Err(error) = answer(&desk.engine, status).await else { panic!("it is gone") };
    let wanted = "session 'left' has ended: it was idle for too long (";
    assert!(error.to_string().starts_with(wanted) && error.kind() == Kind::NotFound, "{error}");
    let (_, notes) = desk.start("left").await;
    let [CallNote::StateLost(Loss::Closed { reason: CloseReason::Idle, ago })] = notes[..] else {
        panic!("{notes:?}")
    };
    assert!(ago >= hour / 2, "{ago:?}");
    desk.engine.shutdown().await;
}

/// A session is found only from its own folder, and the error names the folder of the session with
/// that name.
#[tokio::test]
async fn a_session_of_another_folder_is_another_one() {
    let desk = Desk::new();
    desk.start("work").await;
    let elsewhere = SessionRef { cwd: "/".into(), ..desk.session("work") };
    for request in [
        KernelRequest::Status(elsewhere.clone()),
        KernelRequest::Interrupt(elsewhere.clone()),
        KernelRequest::Restart(elsewhere.clone()),
        KernelRequest::Stop(elsewhere.clone()),
        KernelRequest::Keep { session: elsewhere.clone(), keep: Keep::Always },
    ] {
        let Err(error) = answer(&desk.engine, request).await else { panic!("not this one") };
        let EngineError::Session(SessionError::NoSession { known, .. }) = &error else {
            panic!("{error:?}")
        };
        let is_named = known[0].id == "work" && known[0].what.starts_with("idle, in /");
        assert!(is_named && error.kind() == Kind::NotFound, "{known:?}");
    }
    // A session with an explicit interpreter is found without naming it.
    let python = desk.status("work").await.kernel.expect("a kernel").executable;
    let own = SessionRef { wanted: KernelWishes::interpreter(Some(python)), ..desk.session("own") };
    desk.verb(KernelRequest::Start(own.clone())).await;
    assert!(desk.status("own").await.interpreter.is_some());
    desk.verb(KernelRequest::Stop(own)).await;
    desk.engine.shutdown().await;
}

#[tokio::test]
async fn a_call_is_asked_for_and_its_stored_output_read() {
    let desk = Desk::new();
    let code = format!("{}\nfor n in range(100_000): print('line', n)", wait_for("gate"));
    let mut request = desk.request(&[&code]);
    request.wait = Some(Duration::ZERO);
    let begun = desk.ask(request).await;
    desk.touch("gate");
    let stored = |request| desk.engine.stored(request);
    let wait = Some(Duration::from_secs(120));
    let ended =
        stored(ResultRequest::Execution { id: begun.execution.clone(), wait }).await.expect("it");
    let ResultReport::Execution(report) = ended else { panic!("{ended:?}") };
    let id = report.cells[0].output.artifact.as_ref().expect("an artifact").id.clone();
    let part = |part| ResultRequest::Artifact {
        id: format!("artifact://{id}"),
        part,
        form: ArtifactForm::Clean,
        max_bytes: None,
    };
    let found = |report: ResultReport| match report {
        ResultReport::Artifact(report) => report.found,
        other => panic!("{other:?}"),
    };
    let lines = ArtifactPart::Lines { start: 99_999, end: None };
    let ArtifactFound::Lines { pieces, total_lines, .. } =
        found(stored(part(lines)).await.expect("lines"))
    else {
        panic!("lines")
    };
    assert_eq!(
        (pieces[0].bytes.as_slice(), total_lines),
        (b"line 99998\nline 99999\n".as_slice(), 100_000)
    );
    let search = |pattern: &str, lines: &[(usize, Option<usize>)], context| ArtifactPart::Grep {
        pattern: pattern.to_owned(),
        lines: lines.to_vec(),
        context,
    };
    let grep = search("9999$", &[], 0);
    let ArtifactFound::Grep { hits, matching_lines, .. } =
        found(stored(part(grep)).await.expect("hits"))
    else {
        panic!("hits")
    };
    assert_eq!((hits[0].line, matching_lines), (10_000, 10));
    // Only some lines, and what stands around the matches; neighbours share a piece.
    let grep = search("9$", &[(10, Some(20)), (99_990, None)], 5);
    let ArtifactFound::Grep { hits, matching_lines, total_lines, context } =
        found(stored(part(grep)).await.expect("hits"))
    else {
        panic!("hits")
    };
    let numbers: Vec<u64> = hits.iter().map(|hit| hit.line).collect();
    assert_eq!((&*numbers, matching_lines), (&[10, 20, 99_990, 100_000][..], 4));
    assert_eq!(total_lines, 100_000);
    let spans: Vec<(u64, u64)> = context.iter().map(|piece| (piece.first, piece.last)).collect();
    assert_eq!(spans, [(5, 25), (99_985, 100_000)]);
    assert!(context[0].bytes.starts_with(b"line 4\nline 5\n"));
    let whole = ArtifactPart::Whole { offset: 0 };
    let ArtifactFound::Bytes { bytes, next_offset, .. } =
        found(stored(part(whole)).await.expect("bytes"))
    else {
        panic!("bytes")
    };
    assert_eq!(next_offset, Some(bytes.len() as u64));
    let json = stored(part(ArtifactPart::Json { path: ".a".to_owned() })).await;
    assert_eq!(json.expect_err("no JSON").kind(), Kind::Invalid);
    let bad = ResultRequest::Artifact {
        id: "../x".to_owned(),
        part: ArtifactPart::Whole { offset: 0 },
        form: ArtifactForm::Clean,
        max_bytes: None,
    };
    assert_eq!(stored(bad).await.expect_err("no id").kind(), Kind::Invalid);

    let (session, what) = (desk.here(), Inspect::Name { name: "n".to_owned() });
    let look = InspectRequest { session, what, wait: None, behind: None };
    let seen = answer(&desk.engine, look).await.expect("n");
    assert!(
        matches!(seen.seen, InspectionAnswer::Name(digest) if digest.variable.preview.as_deref() == Some("99999"))
    );

    let mut endless = desk.request(&["import time\nwhile True: time.sleep(0.01)"]);
    endless.wait = Some(Duration::ZERO);
    let begun = desk.ask(endless).await;
    desk.engine.find_call(&begun.execution).expect("it is known").cancel();
    assert_eq!(desk.end(&begun).await.state, State::Cancelled);
    desk.engine.shutdown().await;
}
