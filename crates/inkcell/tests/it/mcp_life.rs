//! `inkcell mcp` from its start to its end: the ways to end it, and its leftovers.

use rustix::process::Signal;
use serde_json::json;

use crate::client::Client;
use crate::env;
use crate::running::Process;

/// Code that prints its process id, and runs until it is killed.
const STUBBORN: &str = "import os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n\
                        open('pid', 'w').write(str(os.getpid()))\nwhile True: time.sleep(60)";

pub(crate) fn busy(client: &mut Client, env: &inkcell_testkit::env::TestEnv) -> (Process, Process) {
    let idle =
        client.ok("python", json!({"code": "import os; print(os.getpid())", "session": "idle"}));
    client.begin_call("python", json!({"code": STUBBORN, "timeout": 600}));
    let pid = crate::python::wait_for(&env.path("pid"));
    (Process::open(idle.text().trim()), Process::open(&pid))
}

/// F-020
#[test]
fn a_killed_server_leaves_no_kernel() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let (idle, running) = busy(&mut client, &env);
    client.signal(Signal::KILL);
    client.end();
    idle.is_gone();
    running.is_gone();
}

/// S-030: a malformed request is ignored, and the next one is answered.
#[test]
fn garbage_does_not_end_the_server() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    for line in [
        "",
        "{",
        "[]",
        "null",
        "\"x\"",
        "{\"jsonrpc\": \"2.0\"}",
        "{\"jsonrpc\": \"1.0\", \"id\": 900, \"method\": \"tools/list\"}",
        "{\"jsonrpc\": \"2.0\", \"id\": {\"a\": 1}, \"method\": \"tools/list\"}",
        "\u{0}\u{1}\u{2}",
        &"[".repeat(100_000),
        &format!("{{\"jsonrpc\": \"2.0\", \"x\": \"{}\"}}", "y".repeat(1_000_000)),
    ] {
        client.send_line(line);
        let listed = client.ask("tools/list", json!({}));
        assert!(listed["result"]["tools"].is_array(), "{listed}");
    }
    let unknown = client.ask("no/such/method", json!({}));
    assert!(unknown["error"]["code"].is_i64(), "{unknown}");
}

/// B:C-02 B:C-03 B:C-05: the offer follows the mode and whether a Python exists.
#[test]
fn what_is_offered_depends_on_mode_and_python() {
    let env = env();
    let mut client = Client::with(&env, &[], |command| {
        command.env("PI_PY", "0");
    });
    assert_eq!(client.tools(), ["notebook_read", "notebook_edit", "result"]);
    let refused = client.call("python", json!({"code": "1"}));
    assert!(refused.is_error());
    assert!(refused.text().contains("Python is disabled in this server"), "{refused:?}");
    let without = |command: &mut std::process::Command| {
        command.env("INKCELL_PYTHON_INTERPRETER", "/no/such/python");
    };
    let mut client = Client::with(&env, &["--tools", "compat"], without);
    let wanted = ["notebook", "NotebookEdit", "read", "edit", "write", "bash"];
    assert_eq!(client.tools(), wanted);
    let refused = client.call("eval", json!({"cells": [{"language": "py", "code": "1"}]}));
    assert!(
        refused.text().contains("Python backend is unavailable in this session"),
        "{refused:?}"
    );
    let mut client = Client::with(&env, &["--tools", "compat"], |command| {
        without(command);
        command.env("PI_PYTHON_SKIP_CHECK", "1");
    });
    assert!(client.tools().contains(&"python".to_owned()));
}
