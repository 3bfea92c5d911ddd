//! Websockets that drop, lie and reorder, and kernels that vanish.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use inkcell_kernel::{Outcome, StreamName};
use inkcell_testkit::wait::skip_time;
use serde_json::json;

use super::desk::{Desk, LIMIT, collect, request, run};
use super::fake_kernel::{Step, another, busy, cell, idle, input, reply, stream};
use super::scripted::{Act, Scripted, Seen};

async fn gateway(cell: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> (Scripted, Desk) {
    let gateway = Scripted::start(|_| Act::Usual, cell).await;
    let desk = Desk::at(gateway.url());
    (gateway, desk)
}

/// F-111: the client reconnects with the same session and collects the messages kept for it.
#[tokio::test]
async fn a_dropped_websocket_is_opened_again() {
    let drop = |code: &str| match code {
        "drop" => vec![busy(), input(), stream("a"), Step::Drop, stream("b"), reply(), idle()],
        _ => cell(vec![stream("after")]),
    };
    let (gateway, desk) = gateway(drop).await;
    let mut launched = desk.launch().await.unwrap();
    let ran = run(&mut launched, "drop").await;
    assert!(ran.is_ok() && ran.text == "ab", "{ran:?}");
    assert!(ran.notices[0].contains("lost for a moment"), "{ran:?}");
    assert_eq!(run(&mut launched, "").await.text, "after");
    let kernel = gateway.inside.kernels.lock().unwrap().values().next().cloned().unwrap();
    let sessions = kernel.sessions.lock().unwrap().clone();
    assert_eq!(sessions.len(), 2);
    assert_eq!(sessions[0], sessions[1]);
}

/// F-111: a lost reply makes the outcome unknown, neither success nor failure; the kernel stays.
#[tokio::test]
async fn a_reply_that_was_lost_is_an_unknown_outcome() {
    let forget = |code: &str| match code {
        "lose" => vec![busy(), input(), stream("a"), Step::Forget],
        _ => cell(vec![stream("after")]),
    };
    let (_gateway, desk) = gateway(forget).await;
    let mut launched = desk.launch().await.unwrap();
    let ran = run(&mut launched, "lose").await;
    let [Outcome::Error(error)] = &ran.ends[..] else { panic!("{ran:?}") };
    assert_eq!(error.name, "OutcomeUnknown");
    assert!(error.value.contains("output may be incomplete"), "{error:?}");
    assert_eq!(ran.text, "a");
    assert_eq!(run(&mut launched, "").await.text, "after");
}

/// F-111: after a lost reply, a published error decides the outcome. The absence of an error decides
/// nothing: it may be lost as well.
#[tokio::test]
async fn only_what_was_published_tells_the_outcome() {
    for failed in [true, false] {
        let error = json!({"ename": "E", "evalue": "v", "traceback": ["E: v"]});
        let steps = move |code: &str| match code {
            "lose" => {
                let mut steps = vec![busy(), input(), Step::Drop, stream("a")];
                if failed {
                    steps.push(Step::Say("iopub", "error", error.clone()));
                }
                steps.push(idle());
                steps
            }
            _ => cell(vec![stream("after")]),
        };
        let (_gateway, desk) = gateway(steps).await;
        let mut launched = desk.launch().await.unwrap();
        let ran = run(&mut launched, "lose").await;
        let [Outcome::Error(error)] = &ran.ends[..] else { panic!("{ran:?}") };
        assert_eq!(error.name, if failed { "E" } else { "OutcomeUnknown" }, "{ran:?}");
        assert_eq!(ran.text, "a");
        assert_eq!(run(&mut launched, "").await.text, "after");
    }
}

/// F-112: each status of the requests on a reconnect, once and for good. The client waits for a passing failure,
/// reports a lasting one at once, and runs nothing again.
#[tokio::test]
async fn each_status_on_the_way_back_has_its_meaning() {
    for status in [401, 403, 404, 409, 429, 500, 502, 503] {
        for what in ["/api/kernels/k1", "/api/kernels/k1/channels"] {
            let left = AtomicUsize::new(if what.ends_with("k1") { 1 } else { 2 });
            let script = move |seen: &Seen| {
                let path = seen.path.split('?').next().unwrap_or("");
                // The first websocket is the one that drops.
                let is_it = seen.method == "GET" && path == what;
                if is_it && left.fetch_sub(1, Ordering::SeqCst) == 1 {
                    return Act::Reply(status, String::new(), String::new());
                }
                Act::Usual
            };
            let steps =
                vec![busy(), input(), stream("a"), Step::Drop, stream("b"), reply(), idle()];
            let gateway = Scripted::start(script, move |_| steps.clone()).await;
            let desk = Desk::at(gateway.url());
            let mut launched = desk.launch().await.unwrap();
            let ran = run(&mut launched, "").await;
            let shown = format!("{status} {what}: {ran:?}");
            match status {
                404 => assert_eq!(ran.cause(), "was removed by its gateway", "{shown}"),
                401 | 403 => {
                    assert!(ran.cause().contains("the outcome of the cell is unknown"), "{shown}");
                    assert!(ran.cause().contains("TOKEN"), "{shown}");
                }
                _ => assert!(ran.is_ok() && ran.text == "ab", "{shown}"),
            }
            assert_eq!(gateway.count("POST", "/api/kernels"), 1);
        }
    }
}

/// F-111: between cells the connection may be lost for longer. The client gets the kernel back, and makes no
/// new one.
#[tokio::test]
async fn a_kernel_that_nobody_uses_is_waited_for() {
    let (mut gateway, desk) = gateway(|_| cell(vec![stream("here")])).await;
    let mut launched = desk.launch().await.unwrap();
    assert_eq!(run(&mut launched, "").await.text, "here");
    gateway.kill();
    // Longer than a cell would wait for a lost gateway.
    skip_time(Duration::from_secs(60)).await;
    gateway.come_back().await;
    let ran = run(&mut launched, "").await;
    assert!(ran.is_ok() && ran.text == "here", "{ran:?}");
    assert_eq!((gateway.count("POST", "/api/kernels"), gateway.kernels().len()), (1, 1));
}

/// F-110: a gateway that restarted empty does not have the kernel.
/// F-117: nor does one that removed it between cells.
#[tokio::test]
async fn a_kernel_that_was_removed_is_dead() {
    let (gateway, desk) = gateway(|_| vec![busy(), input(), Step::Vanish]).await;
    let mut launched = desk.launch().await.unwrap();
    let ran = run(&mut launched, "").await;
    assert_eq!(ran.cause(), "was removed by its gateway");
    let mut launched = desk.launch().await.expect("the next one is made");
    launched.kernel.execute(request(1, "")).unwrap();
    assert_eq!(collect(&mut launched.events).await.cause(), "was removed by its gateway");
    assert_eq!(gateway.count("POST", "/api/kernels"), 2, "nothing was run again");
}

/// A kernel that its gateway restarts has lost its state, so every pending request ends.
#[tokio::test]
async fn a_restart_is_a_death() {
    for state in ["restarting", "autorestarting", "dead"] {
        let die = move |_: &str| {
            let status = json!({"execution_state": state});
            vec![busy(), input(), stream("a"), Step::SayTo(json!({}), "iopub", "status", status)]
        };
        let (gateway, desk) = gateway(die).await;
        let mut launched = desk.launch().await.unwrap();
        let ran = run(&mut launched, "").await;
        assert!(ran.cause().contains("died"), "{}", ran.cause());
        assert_eq!(ran.text, "a");
        assert!(gateway.is_empty_soon().await, "what the gateway made anew is nobody's");
    }
}

/// F-001: output of the process that took the place of a dead kernel does not belong to the cell, whether it comes
/// before, after or without the gateway's report.
#[tokio::test]
async fn what_follows_a_dead_kernel_is_not_its_output() {
    let warning = || another("stream", json!({"name": "stderr", "text": "a warning at start"}));
    let starting = || another("status", json!({"execution_state": "starting"}));
    let word = || {
        let status = json!({"execution_state": "restarting"});
        Step::SayTo(json!({}), "iopub", "status", status)
    };
    let unnamed = || {
        let text = json!({"name": "stderr", "text": "a warning at start"});
        Step::SayTo(json!({}), "iopub", "stream", text)
    };
    let ways = [
        vec![warning(), word()],
        vec![warning(), starting(), warning(), word()],
        vec![word(), warning(), starting(), warning()],
        vec![warning(), starting(), warning()],
        // If the kernels cannot be told apart, only the gateway's report shows the death.
        vec![word(), unnamed()],
    ];
    for way in ways {
        let shown = format!("{way:?}");
        let die = move |_: &str| {
            let mut steps = vec![busy(), input(), stream("last words")];
            steps.extend(way.clone());
            steps
        };
        let (_gateway, desk) = gateway(die).await;
        let mut launched = desk.launch().await.unwrap();
        let ran = run(&mut launched, "").await;
        let wanted = "died, and its gateway started another in its place";
        assert_eq!(ran.cause(), wanted, "{shown}");
        assert_eq!((ran.text.as_str(), ran.orphaned.as_str()), ("last words", ""), "{shown}");
    }
}

/// F-111: a kernel replaced while no client was connected has lost its state. Its answer to the next question
/// reveals that.
#[tokio::test]
async fn a_kernel_that_was_replaced_unseen_is_dead() {
    let replaced = |_: &str| {
        let answers = [busy(), input(), stream("x"), reply(), idle()];
        answers.into_iter().map(|step| Step::Another(Box::new(step))).collect()
    };
    let (_gateway, desk) = gateway(replaced).await;
    let mut launched = desk.launch().await.unwrap();
    let ran = run(&mut launched, "").await;
    assert_eq!(ran.cause(), "died, and its gateway started another in its place");
    assert_eq!(ran.ends, [], "its outcome is not the one that was asked for");
}

/// F-115: messages in every order, twice, and for other clients.
#[tokio::test]
async fn messages_in_any_order_end_a_cell_once() {
    let other = || json!({"msg_id": "other", "session": "other", "msg_type": "execute_request"});
    let foreign = move || {
        let text = json!({"name": "stdout", "text": "foreign"});
        Step::SayTo(other(), "iopub", "stream", text)
    };
    let orders: Vec<(Vec<Step>, &str)> = vec![
        (vec![busy(), input(), stream("a"), reply(), idle()], "a"),
        (vec![busy(), input(), stream("a"), idle(), reply()], "a"),
        (vec![reply(), busy(), input(), stream("a"), idle()], "a"),
        (vec![busy(), reply(), input(), stream("a"), idle(), idle(), reply()], "a"),
        (vec![busy(), foreign(), input(), stream("a"), foreign(), idle(), reply()], "a"),
        (vec![busy(), busy(), input(), input(), stream("a"), stream("b"), reply(), idle()], "ab"),
    ];
    for (steps, text) in orders {
        let shown = format!("{steps:?}");
        let (_gateway, desk) = gateway(move |_| steps.clone()).await;
        let mut launched = desk.launch().await.unwrap();
        for _ in 0..3 {
            let ran = run(&mut launched, "").await;
            assert!(ran.is_ok() && ran.text == text && ran.orphaned.is_empty(), "{shown}: {ran:?}");
        }
    }
}

/// F-115: a reply far ahead of the output ends nothing. A missing end is waited for only until the kernel proves
/// that it has passed.
#[tokio::test]
async fn a_reply_may_be_far_ahead_of_the_output() {
    for says_idle in [true, false] {
        let steps = move |_: &str| {
            let mut steps = vec![busy(), input(), reply(), Step::Later, stream("late")];
            if says_idle {
                steps.push(idle());
            }
            steps
        };
        let (_gateway, desk) = gateway(steps).await;
        let mut launched = desk.launch().await.unwrap();
        let ran = run(&mut launched, "").await;
        assert!(ran.is_ok() && ran.text == "late", "{ran:?}");
        let told = ran.notices.iter().any(|it| it.contains("did not say that it was idle"));
        assert_eq!(told, !says_idle, "{ran:?}");
    }
}

/// F-113: malformed frames cause a notice, and nothing more.
#[tokio::test]
async fn garbage_on_the_websocket_is_survived() {
    let mut table = 6u64.to_le_bytes().to_vec();
    table.extend([u64::MAX; 6].iter().flat_map(|offset| offset.to_le_bytes()));
    let garbage = [b"nonsense".to_vec(), Vec::new(), vec![0xff; 100], table];
    let steps = move |_: &str| {
        let mut steps: Vec<Step> = garbage.iter().cloned().map(Step::Raw).collect();
        for kind in ["stream", "display_data", "execute_result", "error", "status", "execute_input"]
        {
            steps.push(Step::Say("iopub", kind, json!({"data": 5, "text": [], "name": {}})));
        }
        steps.push(Step::Say("side", "stream", json!({})));
        steps.push(stream("a"));
        cell(steps)
    };
    let (_gateway, desk) = gateway(steps).await;
    let mut launched = desk.launch().await.unwrap();
    for _ in 0..3 {
        let ran = run(&mut launched, "").await;
        assert!(ran.is_ok() && ran.text == "a", "{ran:?}");
    }
}

/// A notice reports output that a server dropped.
#[tokio::test]
async fn a_rate_limit_is_a_notice() {
    let limited = |_: &str| {
        let text =
            "\n                    IOPub data rate exceeded.\n                    The Jupyter";
        let name = StreamName::Stderr.as_str();
        cell(vec![Step::Say("iopub", "stream", json!({"name": name, "text": text}))])
    };
    let (_gateway, desk) = gateway(limited).await;
    let mut launched = desk.launch().await.unwrap();
    let ran = run(&mut launched, "").await;
    assert!(ran.is_ok() && ran.notices[0].contains("dropped output"), "{ran:?}");
}

/// B:X-25 A request for a line gets an empty line at once, on the input channel.
#[tokio::test]
async fn a_cell_that_asks_gets_an_empty_line() {
    let ask = |_: &str| {
        let prompt = json!({"prompt": "name? ", "password": false});
        vec![busy(), input(), Step::Say("stdin", "input_request", prompt), reply(), idle()]
    };
    let (_gateway, desk) = gateway(ask).await;
    let mut launched = desk.launch().await.unwrap();
    launched.kernel.execute(request(1, "")).unwrap();
    let mut asked = false;
    loop {
        let next = tokio::time::timeout(LIMIT, launched.events.next()).await.unwrap();
        let next = format!("{:?}", next.unwrap());
        asked |= next.contains("InputRequested");
        if next.contains("Finished") {
            break;
        }
    }
    assert!(asked);
}
