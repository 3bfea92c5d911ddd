//! Several clients of one `inkcell mcp --http`, and what each sees of the others.

use std::io::Write;

use inkcell_testkit::wait::until;
use serde_json::{Value, json};

use crate::env;
use crate::http_client::{
    HttpServer, ONE, OTHER, Session, hello, protocol_head, stateless_call, text_of,
};

/// The id after a word in an answer.
fn id_after(text: &str, word: &str) -> String {
    let at = text.find(word).unwrap_or_else(|| panic!("no {word} in {text}"));
    let rest = &text[at + word.len()..];
    rest.chars().take_while(char::is_ascii_alphanumeric).collect()
}

/// S-017: the same names, and nothing in common.
#[test]
fn clients_with_different_tokens_share_nothing() {
    let env = env();
    let server = HttpServer::with_two_tokens(&env, &[]);
    let (one, other) = (Session::open(&server, ONE), Session::open(&server, OTHER));
    let name = json!("shared");
    one.ok("python", json!({"code": "secret = 'of one'", "session": name}));
    let (text, is_error) = other.call("python", json!({"code": "secret", "session": name}));
    assert!(is_error && text.contains("NameError"), "{text}");
    let listed = other.ok("kernel", json!({"action": "list"}));
    assert_eq!(listed.matches("shared").count(), 1, "{listed}");
    one.ok("python", json!({"code": "1", "session": "only of one"}));
    let listed = other.ok("kernel", json!({"action": "list"}));
    assert!(!listed.contains("only of one"), "{listed}");
    let (text, _) = other.call("kernel", json!({"action": "status", "session": "nothing"}));
    assert!(!text.contains("only of one"), "{text}");

    // A call that goes on, by its id.
    let code = json!({"code": "import time; time.sleep(600)", "timeout": 600, "wait": 0.2});
    let going = one.ok("python", code);
    let id = id_after(&going, "execution ");
    assert!(!one.call("result", json!({"id": id, "wait": 0})).1, "{going}");
    let (text, is_error) = other.call("result", json!({"id": id, "wait": 0}));
    assert!(is_error, "{text}");
    assert_eq!(text.matches(&*id).count(), 1, "only what was asked for is named: {text}");

    // Stored output, by its id and in the list.
    let long = one.ok("python", json!({"code": "print('canary\\n' * 100000)", "session": name}));
    let artifact = id_after(&long, "artifact://");
    let mine = one.ok("result", json!({"id": format!("artifact://{artifact}"), "lines": "1-2"}));
    assert!(mine.contains("canary"), "{mine}");
    for wanted in [artifact.clone(), artifact[..8].to_owned()] {
        let (text, is_error) = other.call("result", json!({"id": format!("artifact://{wanted}")}));
        assert!(is_error && !text.contains("canary"), "{text}");
        assert!(!text.replacen(&wanted, "", 1).contains(&artifact[8..]), "{text}");
    }
    let uri = format!("artifact://{artifact}");
    let read = |session: &Session| session.ask("resources/read", json!({"uri": uri}));
    assert!(read(&one)["result"]["contents"].is_array());
    assert!(read(&other)["error"].is_object(), "{}", read(&other));
    let listed = |session: &Session| session.ask("resources/list", json!({}))["result"].to_string();
    assert!(listed(&one).contains(&artifact) && !listed(&other).contains(&artifact));
    // The owner of the state folder sees everything.
    assert!(env.run(&["artifacts", "list"]).stdout.contains(&artifact));
}

/// S-017: the id of a session is useless with another token, and is not a small number.
#[test]
fn a_session_belongs_to_its_token() {
    let env = env();
    let server = HttpServer::with_two_tokens(&env, &[]);
    let one = Session::open(&server, ONE);
    assert!(one.id.len() >= 32, "{}", one.id);
    let stolen = Session { server: &server, token: OTHER.to_owned(), id: one.id.clone() };
    let listing = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"});
    assert_eq!(stolen.post(&listing).status, 404);
    let id = format!("Mcp-Session-Id: {}", one.id);
    let delete = |token: &str| {
        let head = [&protocol_head(token)[..], std::slice::from_ref(&id)].concat();
        server.ask("DELETE", "/mcp", &head, "").status
    };
    delete(OTHER);
    assert_eq!(one.post(&listing).status, 200, "it is still there");
    assert_eq!(delete(ONE), 204);
    assert_eq!(one.post(&listing).status, 404, "it is over");
}

/// S-017: clients that share a token count as one, whether their revision has sessions or not.
#[test]
fn clients_with_the_same_token_share_their_sessions() {
    let env = env();
    let server = HttpServer::with_two_tokens(&env, &[]);
    let first = Session::open(&server, ONE);
    first.ok("python", json!({"code": "x = 41"}));
    let second = Session::open(&server, ONE);
    assert_eq!(second.ok("python", json!({"code": "x + 1"})), "42");
    let stateless = |token: &str| {
        let (head, message) = stateless_call("python", json!({"code": "x + 2"}));
        let reply = server.post(token, &head, &message);
        assert_eq!(reply.status, 200, "{reply:?}");
        text_of(&reply.message())
    };
    assert_eq!(stateless(ONE), ("43".to_owned(), false));
    let (text, is_error) = stateless(OTHER);
    assert!(is_error && text.contains("NameError"), "{text}");
}

/// S-017: twenty clients at once, with the same ids, and each gets its own answer.
#[test]
fn answers_do_not_cross() {
    let env = env();
    let server = HttpServer::with_two_tokens(&env, &[]);
    let (one, other) = (Session::open(&server, ONE), Session::open(&server, OTHER));
    std::thread::scope(|scope| {
        for n in 0..20 {
            let session = if n % 2 == 0 { &one } else { &other };
            scope.spawn(move || {
                let session = Session::open(session.server, &session.token);
                let said = session.ok("python", json!({"code": format!("'answer {n}'")}));
                assert_eq!(said, format!("'answer {n}'"));
            });
        }
    });
}

/// The number of protocol sessions is limited, and the end of one makes room for another.
#[test]
fn sessions_are_bounded() {
    let env = env();
    let server = HttpServer::with_two_tokens(&env, &[]);
    let first = Session::open(&server, ONE);
    for _ in 1..64 {
        assert_eq!(server.post(ONE, &[], &hello()).status, 200);
    }
    let refused = server.post(ONE, &[], &hello());
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(first.post(&json!({"jsonrpc": "2.0", "id": 7, "method": "ping"})).status, 200);
    Session::open(&server, OTHER);
    let id = format!("Mcp-Session-Id: {}", first.id);
    let head = [&protocol_head(ONE)[..], &[id]].concat();
    server.ask("DELETE", "/mcp", &head, "");
    Session::open(&server, ONE);
}

/// A client that hangs up on a call without sessions cancels the call; earlier variables stay.
#[test]
fn hanging_up_ends_the_call_and_not_the_session() {
    let env = env();
    let server = HttpServer::with_two_tokens(&env, &[]);
    let watcher = Session::open(&server, ONE);
    watcher.ok("python", json!({"code": "x = 41", "session": "s"}));
    let code = "open('begun', 'w').write('yes')\nimport time\ntime.sleep(600)";
    let arguments = json!({"code": code, "session": "s", "timeout": 600, "wait": 600});
    let (head, message): (Vec<String>, Value) = stateless_call("python", arguments);
    let body = message.to_string();
    let head = [&protocol_head(ONE)[..], &head].concat().join("\r\n");
    let mut stream = server.connect();
    let (at, length) = (server.at, body.len());
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {at}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("it is read");
    crate::python::wait_for(&env.path("begun"));
    drop(stream);
    until("the end of the call", || {
        !watcher.ok("kernel", json!({"action": "status", "session": "s"})).contains("busy")
    });
    assert_eq!(watcher.ok("python", json!({"code": "x + 1", "session": "s"})), "42");
}
