//! Tests of requests that wait, of ids, and of error messages from gateways.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::gateway::transport::lanes::AT_ONCE;

/// F-112: a request is not sent if its caller has given up, or its time has run out, when there is
/// room for it. Interrupts and ends have room all the while.
#[tokio::test(start_paused = true)]
async fn a_kernel_that_nobody_wants_is_not_made() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = GatewayUrl::local(listener.local_addr().unwrap().port());
    let rest = Rest::new(url, None, Whose::External, Dial::new(None));
    let new = NewKernel { name: "a".to_owned(), env: BTreeMap::new(), beside: None };
    for is_late in [true, false] {
        let mut rooms = Vec::new();
        for _ in 0..AT_ONCE {
            rooms.push(rest.lanes.room(Lane::Begin).await.unwrap());
        }
        let is_wanted = AtomicBool::new(true);
        let time = Duration::from_millis(if is_late { 20 } else { 600_000 });
        let deadline = Instant::now() + time;
        let creating = rest.create(&new, deadline, || is_wanted.load(Ordering::SeqCst));
        let (created, ()) = tokio::join!(creating, async {
            for lane in [Lane::Control, Lane::End, Lane::Files] {
                drop(rest.lanes.room(lane).await.unwrap());
            }
            if is_late {
                tokio::time::sleep_until(deadline).await;
            } else {
                is_wanted.store(false, Ordering::SeqCst);
            }
            rooms.clear();
        });
        assert!(matches!(created, Err(GatewayError::Timeout { .. })), "{created:?}");
        let asked = listener.accept();
        assert_eq!(asked.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}

/// S-032: an id chosen by a gateway cannot lead a request elsewhere.
#[test]
fn ids_are_ids() {
    for id in ["", "a/b", "..", "a b", "a?b", "%2e", &"a".repeat(65)] {
        assert_eq!(RemoteId::parse(id), None, "{id:?}");
    }
    let id = "1f2e-ABC_9";
    assert_eq!(RemoteId::parse(id).unwrap().as_str(), id);
}

/// B:G-30: the kernel for Python is the gateway's default, or another one of that language.
#[test]
fn python_is_found_among_the_kernels() {
    let check = |default: &str, kernels: &[(&str, &str)], wanted: Option<&str>| {
        let kernel = |language: &str| RemoteKernel {
            language: language.to_owned(),
            ..RemoteKernel::default()
        };
        let kernels = kernels.iter().map(|(name, language)| ((*name).to_owned(), kernel(language)));
        let found = RemoteKernels { default: default.to_owned(), kernels: kernels.collect() };
        assert_eq!(found.python(), wanted, "{found:?}");
    };
    check("conda", &[("conda", "python"), ("python3", "python")], Some("conda"));
    check("ir", &[("apy", "python"), ("ir", "R"), ("python3", "Python")], Some("python3"));
    check("", &[("ir", "R"), ("spark", "python")], Some("spark"));
    check("ir", &[("ir", "R")], None);
    check("", &[], None);
}

#[test]
fn what_a_gateway_says_is_one_clean_line() {
    assert_eq!(said(br#"{"message": "no\n\u001b[31m such"}"#), "no [31m such");
    assert_eq!(said(br#"{"reason": "Forbidden", "message": null}"#), "Forbidden");
    assert_eq!(said(br#"{"reason": "not you", "message": ""}"#), "not you");
    assert_eq!(said(b"<html>\n  gone"), "");
    assert_eq!(said(b"\n<!DOCTYPE html><title>Jupyter Server</title>"), "");
    assert_eq!(said(b"gone\n<b>"), "gone <b>");
    assert_eq!(said(b""), "");
    assert_eq!(said("x".repeat(5000).as_bytes()).len(), 300);
}

/// S-020: if a server sends back what it received, our token is not shown.
#[test]
fn what_is_said_has_no_token_in_it() {
    let url = GatewayUrl::local(1);
    let token = Token::parse("hunter2").unwrap();
    let rest = Rest::new(url, token, Whose::External, Dial::new(None));
    let problem = rest.of_status(500, b"you sent: Authorization: token hunter2").to_string();
    assert!(problem.contains("token [token]") && !problem.contains("hunter2"), "{problem}");
}
