//! Promised times and sizes. These tests have the machine to themselves.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use inkcell_testkit::wait::until;
use rustix::process::Signal;
use serde_json::json;

use crate::client::Client;
use crate::env;
use crate::mcp_life::busy;
use crate::notebook_runs::notebook;

/// How long a server may take to end with all its processes.
const LIMIT: Duration = Duration::from_secs(5);

/// Ends a server while stubborn code runs, and checks that everything ends with it in time.
fn end(end: impl FnOnce(&mut Client)) -> ExitStatus {
    let env = env();
    let mut client = Client::start(&env, &[]);
    let (idle, running) = busy(&mut client, &env);
    let begun = Instant::now();
    end(&mut client);
    let status = client.end();
    let took = begun.elapsed();
    assert!(took < LIMIT, "{took:?}");
    idle.is_gone();
    running.is_gone();
    status
}

/// The growth of a server over a long run, in KiB above its idle size.
const GROWTH_KIB: u64 = 64 << 10;

/// How much memory a process has, in KiB.
fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches("kB").trim().parse().expect("a number")
}

/// Issue 21, 23: calls leave a bounded amount of memory behind, whatever their output and number.
#[test]
fn a_server_does_not_grow_with_its_calls() {
    let env = env();
    let mut client = Client::start(&env, &[]);
    client.ok("python", json!({"code": "1"}));
    let idle = resident_kib(client.pid());
    for round in 0..400 {
        let much = format!("print(('x' * 99 + '\\n') * 3000)  # {round}");
        client.ok("python", json!({"code": much}));
        for _ in 0..5 {
            client.ok("python", json!({"code": "1+1"}));
        }
    }
    let grown = resident_kib(client.pid()).saturating_sub(idle);
    assert!(grown < GROWTH_KIB, "{grown} KiB more than {idle}");
    client.leave();
    client.end();
}

/// Reads, edits and runs a notebook whose first cell shows this many texts of this size, and checks that the server
/// gives the memory back.
fn use_large_notebook(displays: usize, bytes: usize, rounds: usize) {
    let env = env();
    let shows = format!(
        "from IPython.display import HTML, display\nfor _ in range({displays}): display(HTML('z' * {bytes}))"
    );
    env.put("large.ipynb", notebook(&[&shows, "1"]));
    let mut client = Client::start(&env, &[]);
    client.ok("python", json!({"code": "1"}));
    let idle = resident_kib(client.pid());
    for round in 0..rounds {
        client.ok("notebook_run", json!({"path": "large.ipynb", "cells": "0"}));
        client.ok("notebook_read", json!({"path": "large.ipynb", "outputs": "full"}));
        let source = round.to_string();
        client.ok(
            "notebook_edit",
            json!({"path": "large.ipynb", "op": "replace", "cell": "c1", "source": source}),
        );
    }
    until("memory that is given back", || {
        let grown = resident_kib(client.pid()).saturating_sub(idle);
        if grown < GROWTH_KIB { Ok(()) } else { Err(format!("{grown} KiB more than {idle}")) }
    });
    client.leave();
    client.end();
}

/// Issue 21, 23: the same for the size of notebooks that were read, edited and run.
#[test]
fn a_server_does_not_grow_with_its_notebooks() {
    use_large_notebook(24, 1_000_000, 4);
}

/// Small blocks leave free memory between them.
#[test]
fn a_server_does_not_grow_with_many_small_outputs() {
    use_large_notebook(1200, 20_000, 2);
}

/// F-022: a client that leaves takes everything with it within 5 s.
#[test]
fn the_end_of_the_client_is_the_end() {
    assert_eq!(end(Client::leave).code(), Some(0));
}

/// F-021: a signal does the same.
#[test]
fn a_signal_ends_the_server_and_its_kernels() {
    assert_eq!(end(|client| client.signal(Signal::TERM)).signal(), Some(15));
}
