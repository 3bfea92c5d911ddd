//! Access to `inkcell mcp --http`, over bare sockets.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::env;
use crate::http_client::{HttpServer, ONE, Session, bearer, hello, protocol_head, read};

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"];

/// S-010: only our own name counts, whatever names point at our address.
#[test]
fn a_request_names_us_exactly() {
    let env = env();
    let mut server = HttpServer::start(&env, &[]);
    let token = server.token();
    let port = server.at.port();
    let ask = |hosts: &[String]| {
        let hosts = hosts.iter().map(|host| format!("Host: {host}"));
        let head: Vec<String> = hosts.chain(protocol_head(&token)).collect();
        server.ask_bare("POST", "/mcp", &head, &hello().to_string()).status
    };
    assert_eq!(ask(&[format!("127.0.0.1:{port}")]), 200);
    assert_eq!(ask(&[format!("localhost:{port}")]), 200);
    let strange = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("localhost.evil:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        format!("[::1]:{port}"),
        format!("LOCALHOST:{port}"),
        format!("localhost.:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
        String::new(),
    ];
    for host in strange {
        assert_eq!(ask(std::slice::from_ref(&host)), 403, "{host:?}");
    }
    assert_eq!(ask(&[]), 403, "none");
    let ours = format!("127.0.0.1:{port}");
    assert_eq!(ask(&[ours.clone(), ours.clone()]), 403, "two");
    let line = format!(
        "GET http://evil.example/mcp HTTP/1.1\r\nHost: {ours}\r\n{}\r\n\r\n",
        bearer(&token)
    );
    assert_eq!(server.raw(line.as_bytes()).status, 403);
    let old = format!("GET /mcp HTTP/1.0\r\n{}\r\n\r\n", bearer(&token));
    assert_eq!(server.raw(old.as_bytes()).status, 403, "an old client that names nobody");
}

/// S-011: only our own pages are allowed, and none exists.
#[test]
fn an_origin_is_our_own_or_none() {
    let env = env();
    let mut server = HttpServer::start(&env, &[]);
    let token = server.token();
    let ask = |origin: &str| {
        let head = [&protocol_head(&token)[..], &[format!("Origin: {origin}")]].concat();
        server.ask("POST", "/mcp", &head, &hello().to_string())
    };
    assert_eq!(ask(&format!("http://{}", server.at)).status, 200);
    let strange = [
        "null".to_owned(),
        "http://localhost:1".to_owned(),
        "http://127.0.0.1.evil".to_owned(),
        format!("https://{}", server.at),
        format!("http://{}.evil", server.at),
    ];
    for origin in strange {
        let refused = ask(&origin);
        assert_eq!(refused.status, 403, "{origin}");
        assert!(!refused.head.contains("access-control"), "{refused:?}");
    }
}

/// S-012, S-015: every path and method, without the token and with it in the wrong place.
#[test]
fn without_the_token_there_is_nothing() {
    let env = env();
    let mut server = HttpServer::start(&env, &[]);
    let token = server.token();
    let paths =
        ["/mcp", "/", "/mcp/", "//mcp", "/x", "/health/../mcp", "//evil.example", "/%2f%2fevil"];
    let misplaced = [
        Vec::new(),
        vec![format!("Cookie: token={token}")],
        vec![format!("X-Token: {token}")],
        vec![format!("Authorization: Basic {token}")],
        vec!["Connection: Upgrade".to_owned(), "Upgrade: websocket".to_owned()],
    ];
    for path in paths {
        for method in METHODS {
            for head in &misplaced {
                let reply = server.ask(method, path, head, "");
                assert_eq!(reply.status, 401, "{method} {path} {head:?}: {reply:?}");
                assert!(reply.field("www-authenticate").is_some(), "{reply:?}");
                assert!(reply.field("location").is_none(), "{reply:?}");
            }
        }
    }
    let in_address = server.ask("GET", &format!("/mcp?token={token}"), &[], "");
    assert_eq!(in_address.status, 401);
    for method in ["GET", "HEAD"] {
        let health = server.ask(method, "/health", &[], "");
        let length = health.field("content-length");
        assert_eq!((health.status, &*health.body, length), (204, "", None), "{method}");
    }
    // The answer to `HEAD` has the length of that to `GET` and no body.
    let (get, head) = (server.ask("GET", "/mcp", &[], ""), server.ask("HEAD", "/mcp", &[], ""));
    assert!(!get.body.is_empty() && head.body.is_empty(), "{get:?} {head:?}");
    let length = get.body.len().to_string();
    for reply in [get, head] {
        assert_eq!((reply.status, reply.field("content-length")), (401, Some(&*length)));
    }
    let lost = server.ask("GET", "/x", &[bearer(&token)], "");
    assert_eq!(lost.status, 404);
}

/// S-013: a request that a page can send without asking first does nothing, and reading has no
/// effect.
#[test]
fn a_simple_request_does_nothing() {
    let env = env();
    let mut server = HttpServer::start(&env, &[]);
    let token = server.token();
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
    {
        let head = [bearer(&token), format!("Content-Type: {kind}")];
        let refused = server.ask("POST", "/mcp", &head, &hello().to_string());
        assert_eq!(refused.status, 415, "{kind}");
    }
    for method in ["GET", "HEAD", "OPTIONS"] {
        let head = [bearer(&token), "Accept: text/event-stream".to_owned()];
        let reply = server.ask(method, "/mcp", &head, "");
        assert!(reply.status >= 400, "{method}: {reply:?}");
        assert!(reply.field("mcp-session-id").is_none(), "{reply:?}");
    }
}

/// S-018: guesses are slowed down, and a client with the token does not notice.
#[test]
fn guesses_are_limited() {
    let env = env();
    let server = HttpServer::with_two_tokens(&env, &[]);
    let guess = |n: usize| server.ask("GET", "/mcp", &[bearer(&format!("{n:064}"))], "");
    let limited = (0..100).map(guess).find(|reply| reply.status != 401).expect("a limit");
    assert_eq!(limited.status, 429, "{limited:?}");
    assert!(limited.field("retry-after").is_some(), "{limited:?}");
    let session = Session::open(&server, ONE);
    assert!(session.ask("tools/list", json!({}))["result"]["tools"].is_array());
}

/// S-018 Issue 21, 30: more silent connections than there are places do not delay a client with a
/// token until their time is over.
#[test]
fn silent_connections_keep_nobody_out() {
    let env = env();
    let server = HttpServer::with_two_tokens(&env, &[]);
    let silent: Vec<_> = (0..300).map(|_| server.connect()).collect();
    let began = Instant::now();
    let session = Session::open(&server, ONE);
    assert!(session.ask("tools/list", json!({}))["result"]["tools"].is_array());
    // The head may take thirty seconds after a token was shown.
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    drop(silent);
}

/// F-032: a message has a largest size, whether it is announced or comes in pieces.
#[test]
fn a_large_message_is_refused() {
    let env = env();
    let mut server = HttpServer::start(&env, &[]);
    let token = server.token();
    let head = protocol_head(&token).join("\r\n");
    let announced = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\n{head}\r\nContent-Length: 99999999\r\n\r\n",
        server.at
    );
    assert_eq!(server.raw(announced.as_bytes()).status, 413);
    let mut stream = server.connect();
    let pieces = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\n{head}\r\nTransfer-Encoding: chunked\r\n\r\n",
        server.at
    );
    stream.write_all(pieces.as_bytes()).expect("it is read");
    let piece = format!("{:x}\r\n{}\r\n", 1 << 20, " ".repeat(1 << 20));
    for _ in 0..6 {
        if stream.write_all(piece.as_bytes()).is_err() {
            break;
        }
    }
    let reply = read(stream);
    assert!([413, 0].contains(&reply.status), "{reply:?}");
    // The server still serves the next client.
    Session::open(&server, &token);
}

/// S-031: a message means one thing here as on standard input.
#[test]
fn a_message_with_two_meanings_is_refused() {
    let env = env();
    let mut server = HttpServer::start(&env, &[]);
    let token = server.token();
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"initialize"}"#;
    let refused = server.ask("POST", "/mcp", &protocol_head(&token), twice);
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(refused.body.contains("given twice"), "{refused:?}");
}
