//! A command leaves no process or status for others to reap. Many containers have no process that reaps.

use std::process::Command;

use inkcell_testkit::env::{TestEnv, finish};
use serde_json::{Value, json};

use crate::client::Client;
use crate::env;
use crate::http_client::{command, hello};
use crate::notebook_runs::notebook;

/// A program that adopts the orphans of a command, and lists them in a file.
const ADOPTING: &str = "\
import ctypes, json, os, subprocess, sys
assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0
code = subprocess.run(sys.argv[2:]).returncode
left = []
try:
    while True:
        left.append(os.waitpid(-1, 0))
except ChildProcessError:
    pass
with open(sys.argv[1], 'w') as file:
    json.dump(left, file)
sys.exit(code)";

/// The command, run below a process that adopts its orphans.
fn adopted(env: &TestEnv, command: &Command) -> Command {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut adopting = env.command(python);
    adopting.args(["-c", ADOPTING]).arg(env.outside("left"));
    adopting.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        adopting.env(name, value.expect("a value"));
    }
    adopting
}

fn left(env: &TestEnv) -> Value {
    let text = std::fs::read_to_string(env.outside("left")).expect("it ended");
    serde_json::from_str(&text).expect("JSON")
}

/// F-022 Issue 21, 24: a server waits for its kernels, its fork server and the kernels made ahead of time before it
/// ends.
#[test]
fn a_server_leaves_no_process_and_no_status() {
    let env = env();
    let mut client = Client::bare(adopted(&env, &command(&env, &["--tools", "all"])));
    let greeted = client.ask("initialize", hello()["params"].clone());
    assert_eq!(greeted["result"]["serverInfo"]["name"], "inkcell", "{greeted}");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    for session in ["one", "other"] {
        client.ok("python", json!({"code": "import os; os.getpid()", "session": session}));
    }
    client.begin_call("bash", json!({"command": "echo $$ > pid; sleep 600 & sleep 600"}));
    crate::python::wait_for(&env.path("pid"));
    client.leave();
    client.end();
    assert_eq!(left(&env), json!([]));
}

/// F-021 Issue 21, 24: the same for commands, also those that use a fork server.
#[test]
fn a_command_leaves_no_process_and_no_status() {
    let env = env();
    for name in ["a.ipynb", "b.ipynb"] {
        env.put(name, notebook(&["6 * 7"]));
    }
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let commands = [
        ["py", "--no-host", "1"].as_slice(),
        &["run", "--in-place", "-j", "2", "a.ipynb", "b.ipynb"],
        &["verify", "a.ipynb", "b.ipynb"],
        &["doctor"],
    ];
    for args in commands {
        let mut command = env.inkcell();
        command.args(args).env("INKCELL_PYTHON_INTERPRETER", &python);
        finish(adopted(&env, &command), b"");
        assert_eq!(left(&env), json!([]), "{args:?}");
    }
}
