//! Gateways that answer requests with any status, with nonsense, slowly, or from another address.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use inkcell_kernel::{Backend as _, KernelSpec};
use inkcell_testkit::wait::{skip_time, until_async};
use tokio_util::sync::CancellationToken;

use super::desk::{Desk, LIMIT, run};
use super::fake_kernel::{busy, cell, input, stream};
use super::scripted::{Act, Scripted, Seen};

fn is_create(seen: &Seen) -> bool {
    seen.method == "POST" && seen.path == "/api/kernels"
}

/// A gateway that gives this answer wherever `when` holds.
async fn answering(
    when: impl Fn(&Seen) -> bool + Send + Sync + 'static,
    status: u16,
    headers: &'static str,
    body: &'static str,
) -> Scripted {
    let act = move |seen: &Seen| {
        if when(seen) {
            Act::Reply(status, headers.to_owned(), body.to_owned())
        } else {
            Act::Usual
        }
    };
    Scripted::start(act, |_| cell(vec![])).await
}

/// B:G-30 B:G-35 B:G-39 S-020 In both protocols; the token is in headers and never in an address.
#[tokio::test]
async fn a_cell_runs_and_the_kernel_is_removed() {
    for v1 in [true, false] {
        let gateway = Scripted::speaking(v1, |_| Act::Usual, |code| cell(vec![stream(code)])).await;
        let desk = Desk::at(gateway.url());
        let mut launched = desk.launch().await.unwrap();
        assert_eq!(launched.kernel.info().executable, "/fake/python");
        let ran = run(&mut launched, "hello").await;
        assert!(ran.is_ok() && ran.text == "hello", "{ran:?}");
        launched.kernel.shutdown(LIMIT).await;
        assert_eq!(gateway.kernels(), [""; 0]);
        for seen in gateway.inside.seen.lock().unwrap().iter() {
            assert!(!seen.path.contains("secret"), "{seen:?}");
            assert_eq!(seen.headers["authorization"], "token secret", "{seen:?}");
        }
        assert!(
            !desk.folder.path().join("state/gateway-kernels").read_dir().unwrap().any(|_| true)
        );
    }
}

/// B:G-41 F-112
#[tokio::test]
async fn each_status_of_the_first_question_has_its_sentence() {
    for status in [400, 401, 403, 404, 409, 418, 429, 500, 502, 503] {
        let is_specs = |seen: &Seen| seen.path == "/api/kernelspecs";
        let gateway = answering(is_specs, status, "", "").await;
        let url = gateway.url();
        let wanted = match status {
            401 | 403 => format!(
                "External gateway at {url} requires authentication. Set PI_PYTHON_GATEWAY_TOKEN."
            ),
            status => format!("External gateway at {url} returned status {status}"),
        };
        assert_eq!(Desk::at(url).refusal().await, wanted);
        assert_eq!(gateway.count("GET", "/api/kernelspecs"), 1, "asked once");
    }
}

/// B:G-31 F-112 Retries once if the gateway itself failed, after the given time if it is busy, else never: a proxy
/// does not know whether a kernel was made.
#[tokio::test]
async fn a_kernel_that_is_not_made_has_its_sentence() {
    for (status, tries) in
        [(400, 1), (401, 1), (403, 1), (404, 1), (409, 1), (500, 2), (502, 1), (504, 1)]
    {
        let gateway = answering(is_create, status, "", r#"{"message":"no room"}"#).await;
        let refusal = Desk::at(gateway.url()).refusal().await;
        match status {
            401 | 403 => assert!(refusal.contains("PI_PYTHON_GATEWAY_TOKEN"), "{refusal}"),
            502 | 504 => {
                assert!(refusal.contains("no room (it may have started a kernel"), "{refusal}");
            }
            _ => assert_eq!(refusal, "Failed to create kernel on external gateway: no room"),
        }
        assert_eq!(gateway.count("POST", "/api/kernels"), tries, "{status}");
    }
    for (header, tries) in [("retry-after: 0\r\n", 2), ("retry-after: 3600\r\n", 1)] {
        let gateway = answering(is_create, 429, header, "later").await;
        let refusal = Desk::at(gateway.url()).refusal().await;
        assert_eq!(refusal, "Failed to create kernel on external gateway: later");
        assert_eq!(gateway.count("POST", "/api/kernels"), tries);
    }
}

/// F-112: one failure of a gateway does not end the start.
#[tokio::test]
async fn a_gateway_may_fail_once() {
    let tries = Arc::new(AtomicUsize::new(0));
    let script = move |seen: &Seen| {
        if is_create(seen) && tries.fetch_add(1, Ordering::SeqCst) == 0 {
            return Act::Reply(503, "retry-after: 0\r\n".to_owned(), String::new());
        }
        Act::Usual
    };
    let gateway = Scripted::start(script, |_| cell(vec![])).await;
    let desk = Desk::at(gateway.url());
    assert!(run(&mut desk.launch().await.unwrap(), "").await.is_ok());
}

/// F-112: each status on the websocket and on the end. A kernel that dies before its start is replaced.
#[tokio::test]
async fn each_status_of_the_other_requests_is_borne() {
    for status in [401, 403, 404, 409, 429, 500, 502, 503] {
        let is_socket = |seen: &Seen| seen.path.contains("/channels");
        let gateway = answering(is_socket, status, "", "").await;
        let refusal = Desk::at(gateway.url()).refusal().await;
        let wanted = if status < 404 { "TOKEN" } else { &format!("status {status}") };
        assert!(refusal.contains(wanted), "{refusal}");
        assert!(gateway.is_empty_soon().await, "what was made is removed");
        assert_eq!(gateway.count("POST", "/api/kernels"), if status == 404 { 2 } else { 1 });

        let is_delete = |seen: &Seen| seen.method == "DELETE";
        let gateway = answering(is_delete, status, "", "").await;
        let desk = Desk::at(gateway.url());
        let mut launched = desk.launch().await.unwrap();
        assert!(run(&mut launched, "").await.is_ok());
        launched.kernel.shutdown(LIMIT).await;

        let is_interrupt = |seen: &Seen| seen.path.ends_with("/interrupt");
        let script = move |seen: &Seen| match is_interrupt(seen) {
            true => Act::Reply(status, String::new(), String::new()),
            false => Act::Usual,
        };
        // A cell that begins and stays silent until the interrupt, which fails.
        let gateway = Scripted::start(script, |_| vec![busy(), input()]).await;
        let desk = Desk::at(gateway.url());
        let mut launched = desk.launch().await.unwrap();
        launched.kernel.execute(super::desk::request(1, "")).unwrap();
        launched.kernel.interrupt().unwrap();
        loop {
            let next = tokio::time::timeout(LIMIT, launched.events.next()).await.unwrap().unwrap();
            if format!("{next:?}").contains("did not interrupt") {
                break;
            }
        }
    }
}

/// F-113: every malformed answer gives an error, soon and without harm.
#[tokio::test]
async fn nonsense_is_an_error() {
    let bodies = [
        "<html>It works!</html>",
        "{\"kernelspecs\": {\"python3\"",
        "[]",
        "null",
        "{\"kernelspecs\": 5}",
        "",
    ];
    for body in bodies {
        let is_specs = |seen: &Seen| seen.path == "/api/kernelspecs";
        let gateway = answering(is_specs, 200, "", body).await;
        let refusal = Desk::at(gateway.url()).refusal().await;
        assert!(refusal.contains("does not answer like a Jupyter server"), "{body}: {refusal}");
    }
    for body in ["{}", "{\"id\": 5}", "{\"id\": \"../../etc\"}", "{\"id\": \"\"}", "[[[["] {
        let gateway = answering(is_create, 201, "", body).await;
        let refusal = Desk::at(gateway.url()).refusal().await;
        assert!(refusal.contains("does not answer like a Jupyter server"), "{body}: {refusal}");
    }
    for bytes in [&b"nonsense\r\n\r\n"[..], b"HTTP/1.1 200 OK\r\n", b"\0\xff", b""] {
        let gateway = Scripted::start(|_| Act::Bytes(bytes.to_vec()), |_| vec![]).await;
        let refusal = Desk::at(gateway.url()).refusal().await;
        assert!(refusal.starts_with("External gateway at"), "{bytes:?}: {refusal}");
    }
}

/// F-113: an endless answer does not fill the memory.
#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n";
    let mut endless = head.as_bytes().to_vec();
    endless.resize(40 << 20, b' ');
    let gateway = Scripted::start(move |_| Act::Bytes(endless.clone()), |_| vec![]).await;
    let refusal = Desk::at(gateway.url()).refusal().await;
    assert!(refusal.contains("length limit exceeded"), "{refusal}");
}

/// Advances the clock instead of waiting, once the gateway gets a request.
async fn skip_after(gateway: &Scripted, path: &str, time: Duration) {
    let is_asked =
        || gateway.inside.seen.lock().unwrap().iter().any(|seen| seen.path.contains(path));
    until_async("a request", async || is_asked()).await;
    skip_time(time).await;
}

/// F-114: the client gives up in time on a gateway that never ends an answer, or never begins one.
#[tokio::test]
async fn a_slow_gateway_is_given_up() {
    for hangs in [true, false] {
        let script = move |_: &Seen| match hangs {
            true => Act::Hang,
            false => Act::Drip(b"HTTP/1.1 200 OK\r\nx: y\r\n".to_vec()),
        };
        let gateway = Scripted::start(script, |_| vec![]).await;
        let url = gateway.url();
        let wanted = format!("External gateway at {url} is not reachable (timeout)");
        let desk = Desk::at(url);
        let (refusal, ()) =
            tokio::join!(desk.refusal(), skip_after(&gateway, "/", Duration::from_secs(5)));
        assert_eq!(refusal, wanted);
    }
}

/// F-116 S-016: the client follows no redirect and sends the token nowhere else.
#[tokio::test]
async fn redirects_are_not_followed() {
    let other = Scripted::start(|_| Act::Usual, |_| vec![]).await;
    for status in [301, 302, 303, 307, 308] {
        let to = format!("location: http://{}/api/kernelspecs?token=x\r\n", other.address);
        let script = move |_: &Seen| Act::Reply(status, to.clone(), String::new());
        let gateway = Scripted::start(script, |_| vec![]).await;
        let refusal = Desk::at(gateway.url()).refusal().await;
        assert!(refusal.contains("was not followed") && !refusal.contains("token="), "{refusal}");
        let script =
            |_: &Seen| Act::Reply(302, "location: /hub/login?next=x\r\n".to_owned(), String::new());
        let gateway = Scripted::start(script, |_| vec![]).await;
        assert!(Desk::at(gateway.url()).refusal().await.contains("requires authentication"));
    }
    assert!(other.inside.seen.lock().unwrap().is_empty());
}

/// B:G-41
#[tokio::test]
async fn nobody_there_has_its_sentence() {
    let mut gateway = Scripted::start(|_| Act::Usual, |_| vec![]).await;
    let url = gateway.url();
    gateway.kill();
    while tokio::net::TcpStream::connect(gateway.address).await.is_ok() {}
    let refusal = Desk::at(url.clone()).refusal().await;
    let wanted = format!("External gateway at {url} is not reachable: Connection refused");
    assert!(refusal.starts_with(&wanted), "{refusal}");
}

/// A cancelled start leaves no kernel, whether the gateway is making it or the client is meeting it.
#[tokio::test]
async fn a_start_that_is_cancelled_leaves_nothing() {
    for moment in ["/api/kernels", "/channels"] {
        let cancel = CancellationToken::new();
        let script = {
            let cancel = cancel.clone();
            move |seen: &Seen| {
                if seen.path.contains(moment)
                    && seen.method != "DELETE"
                    && !seen.path.ends_with("specs")
                {
                    cancel.cancel();
                }
                Act::Usual
            }
        };
        let gateway = Scripted::start(script, |_| vec![]).await;
        let desk = Desk::at(gateway.url());
        drop(desk.backend.launch(&desk.spec(), &cancel).await);
        assert_eq!(gateway.count("POST", "/api/kernels"), 1, "{moment}");
        let removals = || gateway.count("DELETE", "/api/kernels/k1");
        until_async("the removal of the kernel", async || removals() > 0).await;
        assert!(gateway.is_empty_soon().await, "{moment}");
        assert_eq!(removals(), 1, "{moment}");
    }
}

/// B:G-30 An unknown kernel name gives an error that lists the known ones.
#[tokio::test]
async fn a_name_that_there_is_not_is_an_error() {
    let gateway = Scripted::start(|_| Act::Usual, |_| vec![]).await;
    let mut desk = Desk::at(gateway.url());
    let mut config = super::desk::config(gateway.url(), &desk.folder);
    config.kernel_name = Some("julia".to_owned());
    desk.backend = inkcell_kernel::GatewayBackend::new(config);
    let refusal = desk.refusal().await;
    assert!(refusal.ends_with("has no kernel named \"julia\"; it has: python3"), "{refusal}");
}

/// B:G-32: a websocket that never opens, and one that closes before it is open.
#[tokio::test]
async fn a_websocket_that_does_not_open_has_its_sentence() {
    let is_socket = |seen: &Seen| seen.path.contains("/channels");
    let script = move |seen: &Seen| if is_socket(seen) { Act::Hang } else { Act::Usual };
    let gateway = Scripted::start(script, |_| vec![]).await;
    let desk = Desk::at(gateway.url());
    let (refusal, ()) = tokio::join!(desk.refusal(), skip_after(&gateway, "/channels", LIMIT));
    assert_eq!(refusal, "WebSocket connection timeout");
    assert!(gateway.is_empty_soon().await);
    let script = move |seen: &Seen| match is_socket(seen) {
        true => Act::Bytes(Vec::new()),
        false => Act::Usual,
    };
    let gateway = Scripted::start(script, |_| vec![]).await;
    let refusal = Desk::at(gateway.url()).refusal().await;
    assert!(refusal.starts_with("WebSocket closed before connection"), "{refusal}");
    assert!(gateway.is_empty_soon().await);
}

/// B:G-34: any failure after the gateway made a kernel removes it; an error of our startup code keeps its words.
#[tokio::test]
async fn a_kernel_that_cannot_begin_is_removed() {
    for (name, value, wanted) in [
        (
            "ImportError",
            "no module",
            "Failed to initialize Python kernel environment: ImportError: no module",
        ),
        ("ModuleLoadError", "cannot load a.py", "cannot load a.py"),
    ] {
        let gateway = Scripted::start(|_| Act::Usual, |_| vec![]).await;
        *gateway.inside.startup.lock().unwrap() = Some((name, value));
        assert_eq!(Desk::at(gateway.url()).refusal().await, wanted);
        assert!(gateway.is_empty_soon().await);
        assert_eq!(gateway.count("POST", "/api/kernels"), 1, "it would fail again");
    }
}

/// A kernel that never becomes ready is given up at the end of the time, and removed.
#[tokio::test]
async fn a_kernel_that_is_never_ready_is_removed() {
    let is_socket = |seen: &Seen| seen.path.contains("/channels");
    let script = move |seen: &Seen| if is_socket(seen) { Act::Hang } else { Act::Usual };
    let gateway = Scripted::start(script, |_| vec![]).await;
    let desk = Desk::at(gateway.url());
    let spec = KernelSpec { start_timeout: Duration::from_millis(500), ..desk.spec() };
    let launched = desk.backend.launch(&spec, &CancellationToken::new()).await;
    assert!(matches!(launched, Err(inkcell_kernel::LaunchError::TimedOut { .. })));
    assert!(gateway.is_empty_soon().await);
}

/// A kernel that dies during its start gives an error at once, not at the end of the time. The backend does not
/// repeat the start, because it does not know how far the kernel came.
#[tokio::test]
async fn a_kernel_that_dies_while_it_begins_is_told() {
    for request in ["kernel_info_request", "execute_request"] {
        let gateway = Scripted::start(|_| Act::Usual, |_| vec![]).await;
        *gateway.inside.dies_of.lock().unwrap() = Some(request);
        let refusal = Desk::at(gateway.url()).refusal().await;
        let wanted =
            "the kernel died, and its gateway started another in its place, before it was ready";
        assert_eq!(refusal, wanted, "{request}");
        assert!(gateway.is_empty_soon().await);
        assert_eq!(gateway.count("POST", "/api/kernels"), 1);
    }
}

/// A server opens the websocket of a slow kernel only once the kernel has answered, so the websocket has the
/// whole start time.
#[tokio::test]
async fn a_websocket_that_opens_late_is_waited_for() {
    let long = Duration::from_secs(11);
    let script = move |seen: &Seen| match seen.path.contains("/channels") {
        true => Act::After(long),
        false => Act::Usual,
    };
    let gateway = Scripted::start(script, |_| vec![]).await;
    let desk = Desk::at(gateway.url());
    let (launched, ()) = tokio::join!(desk.launch(), skip_after(&gateway, "/channels", long));
    launched.expect("a kernel");
}
