//! How soon `inkcell mcp` ends when its client is gone in the middle of something.

use std::io::{Read, Write};
use std::process::Stdio;

use inkcell_testkit::wait::until;
use serde_json::json;

use crate::client::Client;
use crate::env;
use crate::http_client::{command, hello};
use crate::running::Process;

/// F-022: a command of `bash` that nobody waits for is ended with everything else.
#[test]
fn a_shell_that_runs_does_not_hold_the_end_up() {
    let env = env();
    let mut client = Client::start(&env, &["--tools", "compat"]);
    let call = client
        .begin_call("bash", json!({"command": "echo $$ > pid; exec sleep 600", "timeout": 600}));
    let shell = Process::open(crate::python::wait_for(&env.path("pid")).trim());
    client.leave();
    // It is given up, and not only cut off at the end: whoever still listens is told.
    assert!(client.called(call).is_error());
    let status = client.end();
    assert_eq!(status.code(), Some(0));
    shell.is_gone();
}

/// Whoever writes requests into a pipe and reads what comes out gets the answers of what is quick.
#[test]
fn what_was_asked_before_the_end_is_answered() {
    let env = env();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let call = json!({"name": "notebook_read", "arguments": {"path": "none.ipynb"}});
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let input = format!("{}\n{ready}\n{list}\n{call}\n", hello());
    let ran = inkcell_testkit::env::finish(command(&env, &[]), input).exits(0);
    for id in 1..=3 {
        assert!(ran.stdout.contains(&format!("\"id\":{id}")), "{id}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("none.ipynb"), "{}", ran.stdout);
}

/// F-022: a client that reads no more is gone, though it has not closed its other end.
#[test]
fn a_client_that_reads_no_more_is_gone() {
    let env = env();
    let mut command = command(&env, &[]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("started");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = child.stdout.take().expect("a pipe");
    writeln!(stdin, "{}", hello()).expect("it is read");
    stdout.read_exact(&mut [0; 1]).expect("an answer");
    drop(stdout);
    // Nothing is answered for a long time; only how far it is would be told.
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let code = "import time\nwhile True: print('.', flush=True); time.sleep(0.1)";
    let arguments = json!({"code": code, "timeout": 600, "wait": 600});
    let params = json!({"name": "python", "arguments": arguments, "_meta": {"progressToken": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    writeln!(stdin, "{ready}\n{call}").expect("it is read");
    until("the end of the server", || child.try_wait().expect("a child"));
    drop(stdin);
}
