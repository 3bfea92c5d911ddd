//! The content of logs and traces, their destination, and the text that appears in none of them.

use std::os::unix::fs::PermissionsExt as _;

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::wait::until;
use serde_json::json;

use crate::client::Client;
use crate::env;

fn test_python() -> String {
    std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Runs `inkcell py` with these variables.
fn py(env: &TestEnv, code: &str, variables: &[(&str, &str)]) -> CommandOutput {
    let mut command = env.inkcell();
    command.args(["py", "--python", &test_python(), code]).envs(variables.iter().copied());
    finish(command, b"")
}

/// A server that logs into `log` of the working folder.
fn server(env: &TestEnv, variables: &[(&str, &str)]) -> Client {
    Client::with(env, &[], |command| {
        command.env("INKCELL_LOG_FILE", "log").envs(variables.iter().copied());
    })
}

/// Puts a module `threaded`, which leaves a thread running, and returns its folder for `PYTHONPATH`.
pub(crate) fn put_module_with_a_thread(env: &TestEnv) -> String {
    std::fs::create_dir(env.path("modules")).expect("a folder");
    let code =
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()";
    env.put("modules/threaded.py", code);
    env.path("modules").display().to_string()
}

/// Ends a server and returns its whole log.
fn log(env: &TestEnv, mut client: Client) -> String {
    client.leave();
    let status = client.end();
    assert!(status.success(), "{status}");
    String::from_utf8(env.get("log")).expect("text")
}

/// Lines without the parts that differ from run to run: the time, the process.
fn lines(log: &str) -> Vec<&str> {
    log.lines().map(|line| line.splitn(4, ' ').nth(3).unwrap_or(line).trim_start()).collect()
}

/// B:C-05: the stages of starting go to standard error, of a command and of a server.
#[test]
fn stages_of_starting_are_told_on_standard_error() {
    let env = env();
    let ran = py(&env, "1+1", &[("PI_DEBUG_STARTUP", "1")]).ok();
    assert_eq!(ran.stdout, "2\n");
    let stages: Vec<&str> = ran.stderr.lines().collect();
    let wanted = ["settings read", "interpreter chosen", "kernel started"];
    assert_eq!(stages.len(), wanted.len(), "{stages:?}");
    for (line, stage) in stages.iter().zip(wanted) {
        assert!(line.starts_with(&format!("[startup] {stage} at ")), "{stages:?}");
        assert!(line.ends_with(" ms"), "{stages:?}");
    }
    assert_eq!(py(&env, "1+1", &[("PI_DEBUG_STARTUP", "0")]).ok().stderr, "");

    let mut command = env.inkcell();
    command.arg("mcp").env("INKCELL_DEBUG_STARTUP", "on");
    command.env("INKCELL_PYTHON_INTERPRETER", test_python());
    let ran = finish(command, b"").ok();
    assert_eq!(ran.stdout, "", "the protocol alone");
    for stage in ["settings read", "interpreter looked for", "tools chosen", "serving"] {
        assert!(ran.stderr.contains(&format!("[startup] {stage} at ")), "{}", ran.stderr);
    }
}

/// B:C-05 S-020: every message to and from a kernel has its line, and none has a word of its content.
#[test]
fn messages_are_traced_without_what_they_say() {
    let env = env();
    let code = "import os, sys; x = 'canary-41'; print(x); os.write(1, b'canary-41\\n'); x";
    let ran = py(&env, code, &[("PI_PYTHON_IPC_TRACE", "1")]).ok();
    assert_eq!(ran.stdout.matches("canary-41").count(), 3, "{}", ran.stdout);
    let said = &ran.stderr;
    for wanted in [
        "sent kernel=",
        "type=hello channel=control",
        "type=ready channel=control",
        "type=run id=",
        "type=started id=",
        "type=stream id=",
        "type=bytes id=",
        "channel=stdout",
        "type=done id=",
        "type=exit channel=control",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert!(!said.contains("canary"), "{said}");
    for line in said.lines() {
        let is_message = line.contains(" sent kernel=") || line.contains(" received kernel=");
        assert!(is_message && line.contains(" type=") && line.contains(" channel="), "{line}");
    }
    assert_eq!(py(&env, code, &[]).ok().stderr, "");
}

/// The log of a server records clients, calls and the lives of kernels, in a file for its owner.
#[test]
fn a_server_logs_clients_calls_and_kernels() {
    let env = env();
    let mut client = server(&env, &[("INKCELL_LOG_LEVEL", "info")]);
    client.ok("python", json!({"code": "1+1"}));
    client.call("python", json!({"code": "import os; os._exit(3)"}));
    client.call("notebook_read", json!({"path": "no.ipynb"}));
    client.call("canary-tool", json!({}));
    let log = log(&env, client);
    let lines = lines(&log);
    let at = |wanted: &str| {
        let found = lines.iter().position(|line| line.contains(wanted));
        found.unwrap_or_else(|| panic!("no {wanted:?} in {log}"))
    };
    let order = [
        at("serving version="),
        at("client name=test version=1"),
        at("kernel started kernel="),
        at("call tool=python ms="),
        at("kernel died kernel="),
        at("outcome=failed"),
        at("call tool=notebook_read ms="),
        at("call tool=(unknown) ms="),
        at("the server ends, its client is gone"),
    ];
    assert!(order.is_sorted(), "{order:?} {log}");
    assert!(lines[at("kernel died")].contains("cause="), "{log}");
    assert!(lines[at("call tool=python")].ends_with("outcome=ok"), "{log}");
    assert!(!log.contains("canary"), "{log}");
    let mode = std::fs::metadata(env.path("log")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// B:C-03: the reason why Python is not offered is in the log, and without a log file on standard error.
#[test]
fn why_python_is_not_offered_is_logged() {
    let env = env();
    let missing = ("INKCELL_PYTHON_INTERPRETER", "/no/such/python");
    let log = log(&env, server(&env, &[missing]));
    assert!(log.contains(" WARN ") && log.contains("/no/such/python"), "{log}");
    let started = |variables: &[(&str, &str)]| {
        let mut command = env.inkcell();
        command.arg("mcp").envs(variables.iter().copied());
        finish(command, b"").ok()
    };
    let ran = started(&[missing]);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("/no/such/python"), "{}", ran.stderr);
    assert_eq!(started(&[missing, ("PI_LOG", "off")]).stderr, "");
}

/// Issue 21, 22: if kernels cannot be copies, the log and the first answer name the module that prevents it.
#[test]
fn why_modules_are_not_preloaded_is_logged() {
    let env = env();
    let modules = put_module_with_a_thread(&env);
    let preload = [("PYTHONPATH", &*modules), ("INKCELL_PYTHON_PRELOAD", "threaded")];
    let mut client = server(&env, &preload);
    let why = "importing threaded left 1 thread running in the fork server";
    until("the reason in an answer", || {
        let said = client.ok("python", json!({"code": "1"})).text();
        said.contains(&format!("python.preload cannot be used: {why}")).then_some(()).ok_or(said)
    });
    let log = log(&env, client);
    let is_told = |line: &str| line.contains(" WARN ") && line.contains(why);
    assert!(log.lines().any(is_told), "{log}");
}

/// A log file that cannot be written is an error at once; a command that logs nothing does not even open it.
#[test]
fn a_log_that_cannot_be_written_is_told() {
    let env = env();
    let variables = [("PI_LOG_FILE", "/dev/null/log"), ("INKCELL_LOG", "info")];
    let ran = py(&env, "1", &variables).exits(2);
    assert!(ran.stderr.starts_with("error: log.file: /dev/null/log: "), "{}", ran.stderr);
    py(&env, "1", &variables[..1]).ok();
}

/// S-020: with all logging switched on, no argument, code, output, file or secret appears.
#[test]
fn nothing_that_was_said_is_in_the_log() {
    let env = env();
    let everything = [
        ("INKCELL_LOG", "trace"),
        ("PI_PYTHON_IPC_TRACE", "1"),
        ("PI_DEBUG_STARTUP", "1"),
        ("CANARY_TOKEN", "canary-env"),
        ("INKCELL_GATEWAY_TOKEN", "canary-token"),
    ];
    let mut client = server(&env, &everything);
    let notebook = json!({
        "cells": [{"cell_type": "code", "id": "a", "metadata": {}, "outputs": [],
                   "execution_count": null, "source": "canary = 'canary-cell'"}],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5
    });
    env.put("nb.ipynb", notebook.to_string());
    client.ok("notebook_read", json!({"path": "nb.ipynb"}));
    client.ok("python", json!({"path": "nb.ipynb", "cell": "a"}));
    client.ok("python", json!({"code": "print('canary-out')", "session": "canary-s"}));
    client.call("python", json!({"code": "raise ValueError('canary-error')"}));
    client.call("python", json!({"canary-argument": "canary-value"}));
    client.call("canary-tool", json!({"x": "canary-x"}));
    client.ok("inspect", json!({"name": "canary"}));
    client.ask("canary/method", json!({"canary": "canary-params"}));
    client.ask("resources/read", json!({"uri": "artifact://canary-id"}));
    client.send_line("{\"canary\": \"canary-garbage\"");
    client.send(&json!({"jsonrpc": "2.0", "method": "canary/note", "params": {"c": "canary"}}));
    client.ask("ping", json!({}));
    let log = log(&env, client);
    assert!(log.contains("rmcp::service at service.rs:"), "the places of others are there: {log}");
    assert!(log.contains("call tool=python"), "{log}");
    let told: Vec<&str> = log.lines().filter(|line| line.contains("canary")).collect();
    assert!(told.is_empty(), "{told:?}");
}
