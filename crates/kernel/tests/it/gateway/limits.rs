//! Limits of the client: the length of a message, the time of each request, and its retries.

use std::time::Duration;

use inkcell_kernel::Outcome;
use inkcell_testkit::wait::on_skipping_clock;

use super::desk::{Desk, LIMIT, collect, request, run};
use super::fake_kernel::{Step, busy, cell, idle, input, reply, stream};
use super::scripted::{Act, PREFIX, Scripted, Seen};

/// F-113: the header of a message that is too long closes the connection with a clear error, in both encodings of
/// the length. The client reconnects and the cell ends.
#[tokio::test]
async fn a_message_that_is_too_long_is_told() {
    let mut giant = vec![0x82, 127];
    giant.extend((600u64 << 20).to_be_bytes());
    let steps = move |code: &str| match code {
        "giant" => vec![busy(), input(), Step::Break(giant.clone()), stream("b"), reply(), idle()],
        _ => cell(vec![stream("after")]),
    };
    let gateway = Scripted::start(|_| Act::Usual, steps).await;
    let desk = Desk::at(gateway.url());
    let mut launched = desk.launch().await.unwrap();
    let ran = run(&mut launched, "giant").await;
    assert!(ran.is_ok() && ran.text == "b", "{ran:?}");
    let told = &ran.notices[0];
    assert!(told.contains("a message of 600 MB") && told.contains("512 MB"), "{told}");
    assert_eq!(run(&mut launched, "").await.text, "after");
}

/// F-113: a websocket that breaks the protocol does not hang the cell.
#[tokio::test]
async fn a_broken_websocket_is_opened_again() {
    for bytes in [&[0x83, 0][..], &[0xff; 20], b"HTTP/1.1 200 OK\r\n\r\n"] {
        let steps = move |_: &str| {
            vec![busy(), input(), Step::Break(bytes.to_vec()), stream("b"), reply(), idle()]
        };
        let gateway = Scripted::start(|_| Act::Usual, steps).await;
        let desk = Desk::at(gateway.url());
        let ran = run(&mut desk.launch().await.unwrap(), "").await;
        assert!(ran.is_ok() && ran.text == "b", "{bytes:?}: {ran:?}");
        assert!(ran.notices[0].contains("protocol of websockets"), "{ran:?}");
    }
}

/// B:G-38 B:G-39 F-114: each request has its own limit.
#[tokio::test]
async fn requests_that_are_not_answered_are_given_up() {
    let hangs = |seen: &Seen| seen.path.ends_with("/interrupt") || seen.method == "DELETE";
    let script = move |seen: &Seen| if hangs(seen) { Act::Hang } else { Act::Usual };
    let gateway = Scripted::start(script, |_| vec![busy(), input()]).await;
    let desk = Desk::at(gateway.url());
    let mut launched = desk.launch().await.unwrap();
    launched.kernel.execute(request(1, "")).unwrap();
    launched.kernel.interrupt().unwrap();
    loop {
        let next = tokio::time::timeout(LIMIT, launched.events.next()).await.unwrap().unwrap();
        let next = format!("{next:?}");
        if next.contains("did not interrupt") {
            assert!(next.contains("timeout"), "{next}");
            break;
        }
    }
    let ended = tokio::time::timeout(LIMIT, launched.kernel.shutdown(Duration::ZERO)).await;
    assert!(ended.is_ok(), "a gateway that does not answer holds nobody up");
}

/// F-116: a redirect opens no websocket elsewhere, and makes no kernel there.
#[tokio::test]
async fn websockets_do_not_follow_either() {
    let other = Scripted::start(|_| Act::Usual, |_| vec![]).await;
    let to = other.address;
    let script = move |seen: &Seen| {
        if seen.path.contains("/channels") {
            let to = format!("location: http://{to}{}\r\n", seen.path);
            return Act::Reply(307, to, String::new());
        }
        Act::Usual
    };
    let gateway = Scripted::start(script, |_| vec![]).await;
    let refusal = Desk::at(gateway.url()).refusal().await;
    assert!(refusal.contains("was not followed"), "{refusal}");
    assert!(other.inside.seen.lock().unwrap().is_empty());
    assert!(gateway.is_empty_soon().await);
}

/// F-112: a request that may have made a kernel is not repeated.
#[tokio::test]
async fn what_may_have_begun_is_not_tried_again() {
    let is_create = |seen: &Seen| seen.method == "POST" && seen.path == "/api/kernels";
    for bytes in [&b""[..], b"HTTP/1.1 201 Created\r\ncontent-le", b"nonsense\r\n\r\n"] {
        let script = move |seen: &Seen| match is_create(seen) {
            true => Act::Bytes(bytes.to_vec()),
            false => Act::Usual,
        };
        let gateway = Scripted::start(script, |_| vec![]).await;
        Desk::at(gateway.url()).refusal().await;
        assert_eq!(gateway.count("POST", "/api/kernels"), 1, "{bytes:?}");
    }
}

/// B:G-01 If a Hub adds a prefix to paths, every path has it.
#[tokio::test]
async fn a_prefix_is_before_every_path() {
    let gateway = Scripted::start(|_| Act::Usual, |code| cell(vec![stream(code)])).await;
    let desk = Desk::at(gateway.url_below());
    let mut launched = desk.launch().await.unwrap();
    assert_eq!(run(&mut launched, "x").await.text, "x");
    launched.kernel.shutdown(LIMIT).await;
    assert_eq!(gateway.kernels(), [""; 0]);
    for seen in gateway.inside.seen.lock().unwrap().iter() {
        assert!(seen.path.starts_with(&format!("{PREFIX}/api/")), "{seen:?}");
    }
}

/// B:G-38: an interrupted cell ends as interrupted, even if its reply never comes.
#[tokio::test]
async fn an_interrupt_is_waited_for() {
    let gateway = Scripted::start(|_| Act::Usual, |_| vec![busy(), input(), stream("a")]).await;
    let desk = Desk::at(gateway.url());
    let mut launched = desk.launch().await.unwrap();
    launched.kernel.execute(request(1, "")).unwrap();
    loop {
        let next = tokio::time::timeout(LIMIT, launched.events.next()).await.unwrap();
        if format!("{next:?}").contains("Stream") {
            break;
        }
    }
    launched.kernel.interrupt().unwrap();
    let ran = collect(&mut launched.events).await;
    assert_eq!(ran.ends.len(), 1, "{ran:?}");
    assert!(!matches!(ran.ends[0], Outcome::Ok), "{ran:?}");
    assert_eq!(gateway.count("POST", "/api/kernels/k1/interrupt"), 1);
}

/// F-114: a connection that is silent, even to pings, is detected within half a minute.
#[tokio::test]
async fn a_silent_connection_is_missed() {
    let steps = |_: &str| vec![busy(), input(), Step::Mute, stream("b"), reply(), idle()];
    let gateway = Scripted::start(|_| Act::Usual, steps).await;
    let desk = Desk::at(gateway.url());
    let mut launched = desk.launch().await.unwrap();
    launched.kernel.execute(request(1, "")).unwrap();
    let begun = tokio::time::timeout(LIMIT, launched.events.next()).await.unwrap();
    assert!(format!("{begun:?}").contains("Started"), "{begun:?}");
    let silent = async {
        loop {
            let next = format!("{:?}", launched.events.next().await.unwrap());
            if next.contains("Notice") {
                return next;
            }
        }
    };
    let silent = tokio::time::timeout(Duration::from_secs(40), silent);
    let told = on_skipping_clock(silent).await.expect("it is missed");
    assert!(told.contains("silent for too long"), "{told}");
    let ran = collect(&mut launched.events).await;
    assert!(ran.is_ok() && ran.text == "b", "{ran:?}");
}
