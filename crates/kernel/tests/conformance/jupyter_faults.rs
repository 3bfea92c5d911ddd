//! Kernels that misbehave, and the effects: `bad_kernel.py`, started as a kernelspec.

use std::time::Duration;

use inkcell_kernel::{
    Answer, AskId, DeathCause, ExecEvent, History, InterruptMode, KernelEvent, KernelSpec,
    Kernelspec, Ladder, LaunchError, MimeData, Outcome, Program, Question, Rung,
};
use inkcell_testkit::wait::until_async;
use serde_json::json;

use crate::bench::{Bench, LIMIT, Start};

const KERNEL: &str = include_str!("bad_kernel.py");

/// A kernel with few features that starts at once.
const LIGHT_KERNEL: &str = include_str!("light_kernel.py");

/// A bench whose kernels run `bad_kernel.py` in this mode.
pub(crate) fn bad(start: Start, mode: &str) -> Bench {
    scripted(start, KERNEL, &["python", "{resource_dir}/kernel.py", mode, "{connection_file}"])
}

/// A bench whose kernels run a Python script.
fn scripted(start: Start, script: &str, argv: &[&str]) -> Bench {
    let mut bench = Bench::empty(start);
    std::fs::write(bench.cwd().join("kernel.py"), script).expect("a file");
    let spec = Kernelspec {
        name: "scripted".to_owned(),
        resource_dir: bench.cwd().to_owned(),
        argv: argv.iter().map(|part| (*part).to_owned()).collect(),
        display_name: "Scripted".to_owned(),
        language: "toy".to_owned(),
        env: std::collections::BTreeMap::new(),
        interrupt_mode: InterruptMode::Signal,
        metadata: String::new(),
    };
    let zmq = bench.zmq.take().expect("a backend");
    bench.zmq = Some(zmq.running(Program::Spec(Box::new(spec))));
    bench
}

/// A bench of this kind with a kernel that started well.
async fn started(start: Start) -> Bench {
    let mut bench = bad(start, "well");
    bench.relaunch().await;
    bench
}

async fn fails(bench: &Bench, limit: Duration) -> LaunchError {
    let spec = KernelSpec { start_timeout: limit, ..bench.spec.clone() };
    bench.launch(&spec).await.err().expect("no kernel")
}

/// Trap 3, F-008: a kernel that dies at its start ends the start at once, with its output.
async fn a_kernel_that_dies_at_its_start_says_why(start: Start) {
    match fails(&bad(start, "dies"), LIMIT).await {
        LaunchError::EndedEarly { cause, stderr_tail, .. } => {
            assert_eq!(
                (cause, stderr_tail.as_str()),
                (DeathCause::Exit { code: 3 }, "broken build\n")
            );
        }
        other => panic!("{other:?}"),
    }
}

/// B:Z-04 F-008: a slow kernel starts; one that never answers is given up.
async fn a_slow_kernel_is_waited_for_and_a_deaf_one_given_up(start: Start) {
    let mut bench = bad(start, "slow");
    bench.relaunch().await;
    assert_eq!(bench.run("well").await.outcome(), &Outcome::Ok);
    // On a busy machine Python itself may need more than the first limit.
    for seconds in [2, 10, 30] {
        match fails(&bad(start, "deaf"), Duration::from_secs(seconds)).await {
            LaunchError::TimedOut { stderr_tail, .. } if stderr_tail.is_empty() => {}
            LaunchError::TimedOut { stderr_tail, .. } => {
                assert_eq!(stderr_tail, "waiting for nothing\n");
                return;
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("its words do not come");
}

/// F-014: a kernel whose port was taken is started again, even if it lives on without the port.
async fn a_stolen_port_is_no_failure(start: Start) {
    let mut bench = bad(start, "stolen");
    bench.relaunch().await;
    assert!(bench.cwd().join("again").exists());
    bench.run("well").await.ok();
}

/// B:Z-05: messages of a kernel with another key are not believed, and the error says so.
async fn a_kernel_with_the_wrong_key_is_never_ready(start: Start) {
    for seconds in [3, 10, 30] {
        match fails(&bad(start, "wrong key"), Duration::from_secs(seconds)).await {
            LaunchError::TimedOut { stderr_tail, .. } if stderr_tail.is_empty() => {}
            LaunchError::TimedOut { stderr_tail, .. } => {
                assert!(stderr_tail.contains("its signature is wrong"), "{stderr_tail}");
                return;
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("its messages do not come");
}

/// Issue 7, 6: inkcell puts nothing into a kernel that is not Python, and asks it only what it can answer.
async fn a_kernel_of_another_language_is_left_as_it_is(start: Start) {
    let mut bench = started(start).await;
    assert_eq!(bench.kernel().info().version, "7");
    let mut request = bench.request("executed");
    request.env = vec![("PI_SESSION_FILE".to_owned(), Some("x".to_owned()))];
    assert_eq!(bench.run_request(request).await.ok().stdout(), "1 {}");
    let questions = [
        (
            Question::Complete { code: "ab".to_owned(), cursor: 2 },
            r#""matches":[{"text":"abc","type":""}]"#,
        ),
        (Question::Help { name: "abc".to_owned() }, r#""doc":"about it""#),
        (Question::Variables { limit: None }, "Only a Python kernel"),
    ];
    for (at, (question, wanted)) in questions.into_iter().enumerate() {
        bench.kernel().ask(AskId(at as u64), question).expect("it is there");
        let next = tokio::time::timeout(LIMIT, bench.events.next()).await.expect("in time");
        match next {
            Some(KernelEvent::Answer {
                answer: Answer::Json(text) | Answer::Failed(text), ..
            }) => {
                assert!(text.contains(wanted), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(bench.run("executed").await.ok().stdout(), "2 {}", "a question is no execution");
}

/// B:Z-05: messages with a wrong signature, without one, or repeated are dropped, with a notice.
async fn forged_messages_are_dropped(start: Start) {
    let mut bench = started(start).await;
    let ran = bench.run("forge").await.ok();
    assert_eq!(ran.stdout(), "once");
    for wanted in
        ["its signature is wrong", "it is not signed", "it came before", "without its delimiter"]
    {
        assert!(ran.notices.iter().any(|notice| notice.contains(wanted)), "{:?}", ran.notices);
    }
    assert_eq!(bench.run("well").await.ok().notices, [""; 0]);
}

/// B:Z-08: messages for other clients end nothing.
async fn messages_of_others_end_nothing(start: Start) {
    let mut bench = started(start).await;
    for _ in 0..5 {
        let ran = bench.run("strangers").await.ok();
        assert_eq!((ran.stdout().as_str(), ran.orphaned().as_str()), ("own", "strangestrange"));
    }
}

/// Issue 7, 3: if a kernel reports idle before its last output, the client waits for it from the second time on.
async fn output_behind_the_end_is_not_lost(start: Start) {
    let mut bench = started(start).await;
    let mut is_in_time = async || {
        let ran = bench.run("early idle").await.ok();
        ran.result().as_deref() == Some("late") && ran.stdout() == "late"
    };
    // The reply comes by another socket. While it is slower than the output, nothing seems late.
    for _ in 0..50 {
        if !is_in_time().await {
            break;
        }
    }
    assert!(is_in_time().await, "it is known to be late by now");
}

/// Trap 1: the client gives up on a missing end, with a notice; the kernel goes on.
async fn an_end_that_does_not_come_is_given_up(start: Start) {
    let mut bench = started(start).await;
    for (code, wanted) in
        [("never idle", "say that it was idle"), ("never replies", "reply to the cell")]
    {
        let ran = bench.run(code).await.ok();
        assert_eq!(ran.stdout(), "said", "{code}");
        assert!(ran.notices.iter().any(|notice| notice.contains(wanted)), "{:?}", ran.notices);
        bench.run("well").await.ok();
    }
}

/// B:Z-07 F-013: the shell hangs while the heartbeat works: the cell can be ended. Without a heartbeat cells still run.
async fn no_channel_alone_decides_about_life(start: Start) {
    let mut bench = started(start).await;
    let exec = bench.post("stuck", History::Store);
    bench.wait_for_output("go").await;
    // The kernel takes the interrupt as the end of the cell, but never reports it.
    let (ran, rung) = bench.climb(exec, Ladder::new(Duration::from_millis(600))).await;
    assert_eq!((rung, ran.cause()), (Rung::Terminate, &DeathCause::IgnoredInterrupt));
    let mut bench = bad(start, "no heartbeat");
    bench.relaunch().await;
    let next = tokio::time::timeout(LIMIT, bench.events.next()).await.expect("in time");
    let Some(KernelEvent::Notice(text)) = next else { panic!("{next:?}") };
    assert!(text.contains("heartbeat"), "{text}");
    // Trap 6: the client asks again after a heartbeat without an answer.
    let beats = bench.run("beats").await.ok().stdout();
    assert!(beats.parse::<u32>().expect("a number") >= 2, "{beats}");
}

/// F-005
async fn a_kernel_that_ignores_everything_is_killed(start: Start) {
    let mut bench = started(start).await;
    let exec = bench.post("stubborn", History::Store);
    bench.wait_for_output("go").await;
    let (ran, rung) = bench.climb(exec, Ladder::new(Duration::from_millis(600))).await;
    assert_eq!((rung, ran.cause()), (Rung::Kill, &DeathCause::IgnoredInterrupt));
}

/// Trap 2: a death is reported at once, and so is a connection that only its kernel closed.
async fn a_death_in_a_cell_is_told_at_once(start: Start) {
    let mut bench = started(start).await;
    let ran = bench.run("dies").await;
    assert_eq!((ran.stdout().as_str(), ran.cause()), ("a", &DeathCause::Exit { code: 3 }));
    bench.relaunch().await;
    let ran = bench.run("closes").await;
    assert!(matches!(ran.cause(), DeathCause::Protocol { .. }), "{:?}", ran.cause());
}

/// Issue 7, 3: 20,000 messages a second all arrive, although the reader pauses for a while.
async fn a_flood_of_messages_is_not_dropped(start: Start) {
    let mut bench = started(start).await;
    let exec = bench.post("flood", History::Store);
    let halfway = bench.cwd().join("halfway");
    until_async("half of the flood", async || halfway.exists()).await;
    let ran = bench.collect(exec).await.ok();
    let wanted: String = (0..40_000).map(|number| format!("{number}\n")).collect();
    assert!(ran.stdout() == wanted, "{} of {} bytes", ran.stdout().len(), wanted.len());
}

/// B:X-25: a kernel that asks for input against its orders gets an empty line, and the request is reported.
async fn a_kernel_that_asks_gets_an_empty_line(start: Start) {
    let mut bench = started(start).await;
    let ran = bench.run("ask").await.ok();
    let wanted = ExecEvent::InputRequested { prompt: "name? ".to_owned(), password: false };
    assert!(ran.events.contains(&wanted), "{:?}", ran.events);
    assert_eq!(ran.stdout(), "got ''");
}

/// B:Z-09: a request has exactly the fields of the protocol.
async fn a_request_says_what_the_protocol_wants(start: Start) {
    let mut bench = started(start).await;
    let wanted = |silent: bool| {
        json!({"code": "content", "silent": silent, "store_history": !silent, "user_expressions": {},
            "allow_stdin": false, "stop_on_error": false})
    };
    for (history, silent) in [(History::Store, false), (History::Silent, true)] {
        let exec = bench.post("content", history);
        let text = bench.collect(exec).await.ok().stdout();
        let sent: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(sent, wanted(silent));
    }
}

/// B:Z-11
async fn every_status_has_its_outcome(start: Start) {
    let mut bench = started(start).await;
    assert_eq!(bench.run("fails").await.error().traceback, ["Wrong: "]);
    assert_eq!(bench.run("aborts").await.outcome(), &Outcome::Aborted);
    assert_eq!(bench.run("well").await.outcome(), &Outcome::Ok);
}

/// F-014: eight starts at once, fifty times: all succeed, and each kernel is its own. The choice of ports does
/// not depend on the program that listens there, so this test uses a kernel that starts at once. `faults_start`
/// starts eight of IPython's kernels at once.
async fn many_starts_at_once_never_fail(start: Start) {
    let argv = ["python", "-I", "-S", "{resource_dir}/kernel.py", "{connection_file}"];
    let bench = scripted(start, LIGHT_KERNEL, &argv);
    for round in 0..start.times(50) {
        let launches = (0..8).map(|_| bench.launch(&bench.spec));
        let launched = futures_util::future::join_all(launches).await;
        let pids: std::collections::BTreeSet<_> =
            launched.into_iter().map(|one| one.expect("a kernel").kernel.info().pid).collect();
        assert_eq!(pids.len(), 8, "round {round}");
    }
}

/// Trap 4: a connection that is reset during its start is made again.
async fn a_connection_that_is_reset_is_tried_again(start: Start) {
    let mut bench = bad(start, "resets");
    bench.relaunch().await;
    assert!(bench.cwd().join("reset").exists());
    bench.run("well").await.ok();
}

/// F-014: if a port belonged to a dying kernel, the client connects again.
async fn a_connection_that_closes_before_an_answer_is_made_anew(start: Start) {
    let mut bench = bad(start, "hangs up");
    bench.relaunch().await;
    assert!(bench.cwd().join("hung up").exists());
    bench.run("well").await.ok();
}

/// Trap 5: a welcome to every subscriber proves nothing about our own subscription; one for our own topic does.
async fn only_our_own_welcome_counts(start: Start) {
    let mut bench = bad(start, "welcomes");
    bench.relaunch().await;
    assert!(bench.cwd().join("welcomed").exists(), "it was not waited for");
    bench.run("well").await.ok();
}

/// Trap 7: an odd message causes a notice and harms no other message.
async fn odd_messages_harm_no_other(start: Start) {
    let mut bench = started(start).await;
    let ran = bench.run("odd").await.ok();
    assert_eq!(ran.stdout(), "after");
    let shown = ran.events.iter().find_map(|event| match event {
        ExecEvent::Display { data, .. } => data.get("text/plain").cloned(),
        _ => None,
    });
    assert_eq!(shown, Some(MimeData::Json("5".to_owned())));
    assert_eq!(ran.notices.len(), 2, "{:?}", ran.notices);
    bench.run("well").await.ok();
}

crate::on_jupyter!(
    a_kernel_that_dies_at_its_start_says_why,
    a_slow_kernel_is_waited_for_and_a_deaf_one_given_up,
    a_stolen_port_is_no_failure,
    a_kernel_with_the_wrong_key_is_never_ready,
    a_kernel_of_another_language_is_left_as_it_is,
    forged_messages_are_dropped,
    messages_of_others_end_nothing,
    output_behind_the_end_is_not_lost,
    an_end_that_does_not_come_is_given_up,
    no_channel_alone_decides_about_life,
    a_kernel_that_ignores_everything_is_killed,
    a_death_in_a_cell_is_told_at_once,
    a_flood_of_messages_is_not_dropped,
    a_kernel_that_asks_gets_an_empty_line,
    a_request_says_what_the_protocol_wants,
    every_status_has_its_outcome,
    many_starts_at_once_never_fail,
    a_connection_that_is_reset_is_tried_again,
    a_connection_that_closes_before_an_answer_is_made_anew,
    only_our_own_welcome_counts,
    odd_messages_harm_no_other,
);
