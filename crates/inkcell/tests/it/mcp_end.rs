//! How soon `inkcell mcp` ends when its client vanishes in the middle of something.

use std::io::{ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};

use inkcell_testkit::wait::until;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::client::Client;
use crate::env;
use crate::http_client::{command, hello};
use crate::running::Process;

/// F-022: a command of `bash` without a waiting client is ended with everything else.
#[test]
fn a_shell_that_runs_does_not_hold_the_end_up() {
    let env = env();
    let mut client = Client::start(&env, &["--tools", "compat"]);
    let call = client
        .begin_call("bash", json!({"command": "echo $$ > pid; exec sleep 600", "timeout": 600}));
    let shell = Process::open(crate::python::wait_for(&env.path("pid")).trim());
    client.leave();
    // The call is cancelled, and not only cut off at the end: a client that still listens gets the error.
    assert!(client.called(call).is_error());
    let status = client.end();
    assert_eq!(status.code(), Some(0));
    shell.is_gone();
}

/// A client that pipes requests in and reads the output gets the answers of quick calls.
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

/// F-022: a client that stops reading is gone, though it has not closed its other end.
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
    // No answer comes for a long time; only progress would be sent.
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let code = "import time\nwhile True: print('.', flush=True); time.sleep(0.1)";
    let arguments = json!({"code": code, "timeout": 600, "wait": 600});
    let params = json!({"name": "python", "arguments": arguments, "_meta": {"progressToken": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    writeln!(stdin, "{ready}\n{call}").expect("it is read");
    until("the end of the server", || child.try_wait().expect("a child"));
    drop(stdin);
}

/// A full pipe. The process that gets it does not know that.
pub(crate) fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let flags = fcntl_getfl(&writer).expect("flags");
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).expect("flags");
    let refused = loop {
        if let Err(error) = writer.write_all(b"x") {
            break error;
        }
    };
    assert_eq!(refused.kind(), ErrorKind::WouldBlock);
    fcntl_setfl(&writer, flags).expect("flags");
    (reader, writer)
}

fn ended(mut child: Child) -> std::process::ExitStatus {
    until("the end of the server", || child.try_wait().expect("a child"))
}

/// F-022 F-023 Issue 21, 24: a client that reads nothing is gone when it has hung up, or when a signal comes, though
/// answers find no room; its kernel is gone with it.
#[test]
fn a_client_that_does_not_read_does_not_keep_the_server() {
    for signal in [None, Some(Signal::TERM)] {
        let env = env();
        let mut command = command(&env, &[]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("started");
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut stdout = child.stdout.take().expect("a pipe");
        writeln!(stdin, "{}", hello()).expect("it is read");
        stdout.read_exact(&mut [0; 1]).expect("an answer");
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let code = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(6000)";
        let arguments = json!({"code": code, "timeout": 600, "wait": 600});
        let params = json!({"name": "python", "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
        writeln!(stdin, "{ready}\n{call}").expect("it is read");
        let kernel = Process::open(&crate::python::wait_for(&env.path("pid")));
        // More than the default capacity of any pipe.
        for id in 3..400 {
            let list = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"});
            writeln!(stdin, "{list}").expect("it is read");
        }
        until("a full pipe", || rustix::io::ioctl_fionread(&stdout).expect("a pipe") > 60_000);
        match signal {
            None => drop(stdin),
            Some(signal) => {
                kill_process(Pid::from_child(&child), signal).expect("a signal");
                // Keep the other end open.
                std::mem::forget(stdin);
            }
        }
        let status = ended(child);
        assert_eq!(status.signal(), signal.map(Signal::as_raw), "{status:?}");
        kernel.is_gone();
        drop(stdout);
    }
}

/// F-022 F-023 Issue 21, 24: the same if not even the first answer, or a refusal, found room. The server reads no more
/// then, and still notices that its client has hung up. With `--keep` as well.
#[test]
fn a_client_that_never_read_does_not_keep_the_server() {
    let hosted = crate::hosts::Hosted::new();
    let refused = r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#;
    let refused = format!("{refused}\n").repeat(500);
    for args in [["mcp"].as_slice(), &["mcp", "--keep"]] {
        for said in [format!("{}\n", hello()), refused.clone()] {
            let (reader, writer) = full_pipe();
            let mut command = hosted.command(args);
            command.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::null());
            let mut child = command.spawn().expect("started");
            drop(command);
            let mut stdin = child.stdin.take().expect("a pipe");
            stdin.write_all(said.as_bytes()).expect("it has room");
            drop(stdin);
            assert_eq!(ended(child).code(), Some(0), "{args:?}");
            drop(reader);
        }
    }
}
