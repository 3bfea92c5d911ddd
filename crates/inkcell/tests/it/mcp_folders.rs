//! The folders of a server: where files may be, and whose interpreter runs code.

use inkcell_testkit::notebooks::small;
use serde_json::{Value, json};

use crate::client::Client;
use crate::env;
use crate::http_client::command;

/// Sends the handshake of a client that has these folders open, and answers the request for them.
fn with_roots(mut client: Client, folders: &[String]) -> Client {
    client.ask(
        "initialize",
        json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {"roots": {"listChanged": true}},
            "clientInfo": {"name": "test", "version": "1"},
        }),
    );
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    tell_roots(&mut client, folders);
    client
}

/// Waits until the server asks for the folders, and sends them.
fn tell_roots(client: &mut Client, folders: &[String]) {
    let asks = |note: &Value| note["method"] == "roots/list";
    let mut tries = 0;
    while !client.notes.iter().any(asks) {
        client.ask("ping", json!({}));
        tries += 1;
        assert!(tries < 1000, "it never asks");
    }
    let at = client.notes.iter().position(asks).expect("it is there");
    let id = client.notes.remove(at)["id"].clone();
    let roots: Vec<Value> = folders.iter().map(|uri| json!({"uri": uri})).collect();
    client.send(&json!({"jsonrpc": "2.0", "id": id, "result": {"roots": roots}}));
}

fn can_read(client: &mut Client, path: &str) -> bool {
    let read = client.call("notebook_read", json!({"path": path}));
    assert!(!read.is_error() || read.text().contains("outside"), "{read:?}");
    !read.is_error()
}

/// S-041: roots of an older client narrow where files may be, with or without `--root`, and never
/// widen it.
#[test]
fn roots_of_a_client_only_narrow() {
    let env = env();
    for folder in ["a", "a/in", "b"] {
        std::fs::create_dir(env.path(folder)).expect("a folder");
        env.put(&format!("{folder}/nb.ipynb"), small());
    }
    let uri = |folder: &str| format!("file://{}", env.path(folder).display());
    let start = |args: &[&str]| Client::bare(command(&env, args));

    let mut open = with_roots(start(&[]), &[uri("a")]);
    assert!(can_read(&mut open, "a/nb.ipynb") && !can_read(&mut open, "b/nb.ipynb"));
    open.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    tell_roots(&mut open, &[uri("b")]);
    let mut tries = 0;
    while can_read(&mut open, "a/nb.ipynb") {
        tries += 1;
        assert!(tries < 1000, "it never changes");
    }
    assert!(can_read(&mut open, "b/nb.ipynb"));

    let mut wider = with_roots(start(&["--root", "a"]), &["file:///".to_owned()]);
    assert!(can_read(&mut wider, "a/nb.ipynb") && !can_read(&mut wider, "b/nb.ipynb"));
    let mut narrower = with_roots(start(&["--root", "a"]), &[uri("a/in"), uri("b")]);
    assert!(can_read(&mut narrower, "a/in/nb.ipynb"));
    assert!(!can_read(&mut narrower, "a/nb.ipynb") && !can_read(&mut narrower, "b/nb.ipynb"));
    let mut silent = with_roots(start(&["--root", "a"]), &[]);
    assert!(can_read(&mut silent, "a/nb.ipynb") && !can_read(&mut silent, "b/nb.ipynb"));
}

/// B:C-08: a project's interpreter is for code inside the project, and not for a path that only
/// looks inside.
#[test]
fn a_projects_interpreter_is_for_the_project() {
    let env = env();
    std::fs::create_dir_all(env.path("project/.inkcell")).expect("a folder");
    std::fs::create_dir_all(env.path("project/sub")).expect("a folder");
    let elsewhere = env.outside("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a folder");
    env.put("project/.inkcell/config.toml", "python.interpreter = \"no/such/python\"\n");
    // No setting names an interpreter outside it, so the first on PATH is used.
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let folder = std::path::Path::new(&python).parent().unwrap_or(std::path::Path::new(""));
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut client = Client::with(&env, &[], |command| {
        command
            .current_dir(env.path("project"))
            .env_remove("INKCELL_PYTHON_INTERPRETER")
            .env("PATH", path)
            .env("PI_PYTHON_SKIP_CHECK", "1");
    });
    let outside = elsewhere.display().to_string();
    assert_eq!(client.ok("python", json!({"code": "6*7", "cwd": outside})).text(), "42");
    for cwd in [".", "sub"] {
        let inside = client.call("python", json!({"code": "6*7", "cwd": cwd}));
        assert!(inside.is_error() && inside.text().contains("no/such/python"), "{inside:?}");
    }
}
