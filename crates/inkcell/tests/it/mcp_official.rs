//! `inkcell mcp` as the official Python client of the protocol sees it.
//!
//! Owns starting the scenarios in `tests/python` and the check after such a client is killed. The requests and the
//! expected answers are written there, in the client's own language.

use std::path::{Path, PathBuf};
use std::process::Command;

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::need;
use rustix::process::Signal;

use crate::env;
use crate::running::{Process, Running};

/// A scenario in a private environment; none, with a loud note, if the client is not installed.
fn scenario(env: &TestEnv, script: &str, words: &[&str]) -> Option<Command> {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    if !need::python_package(words[0], &python, "mcp") {
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
    let mut command = env.command(&python);
    command
        .arg("-B")
        .arg(folder.join(script))
        .args(words)
        .env("INKCELL", env.program())
        .env("INKCELL_PYTHON_INTERPRETER", PathBuf::from(python));
    Some(command)
}

/// Runs a scenario to its end; the test fails with the scenario's own message.
fn passes(script: &str, words: &[&str]) {
    let env = env();
    if let Some(command) = scenario(&env, script, words) {
        finish(command, b"").ok();
    }
}

/// The whole session of an agent, in the oldest supported revision.
#[test]
fn an_agent_of_2025_06_18_has_its_session() {
    passes("agent.py", &["whole_session", "2025-06-18"]);
}

/// The same, in the newest revision with a handshake.
#[test]
fn an_agent_of_2025_11_25_has_its_session() {
    passes("agent.py", &["whole_session", "2025-11-25"]);
}

/// The same, in the newest revision that the client knows, which has no handshake.
#[test]
fn an_agent_of_2026_07_28_has_its_session() {
    passes("agent.py", &["whole_session", "2026-07-28"]);
}

/// F-090 B:X-03
#[test]
fn twenty_calls_of_one_client_get_their_own_answers() {
    passes("agent.py", &["twenty_at_once"]);
}

#[test]
fn schemas_and_hints_of_the_default_profile_hold() {
    passes("agent.py", &["offers", "default"]);
}

#[test]
fn schemas_and_hints_of_both_profiles_hold() {
    passes("agent.py", &["offers", "all"]);
}

/// B:N-11 B:N-12 B:N-13 B:N-14 B:N-17 B:N-18 B:N-19
#[test]
fn notebook_says_what_the_source_documents_say() {
    passes("compat.py", &["notebook_by_index"]);
}

/// B:N-31 B:N-32 B:N-33 B:N-34 B:N-35 B:N-41
#[test]
fn notebook_edit_says_what_the_source_documents_say() {
    passes("compat.py", &["notebook_by_id"]);
}

/// B:V-03 B:V-08 B:V-15 B:V-16 B:V-17 B:V-20
#[test]
fn read_edit_and_write_say_what_the_source_documents_say() {
    passes("compat.py", &["notebooks_as_text"]);
}

/// B:X-05 B:X-06 B:X-08 B:X-20 B:X-22 B:X-23 B:O-30
#[test]
fn python_eval_and_bash_say_what_the_source_documents_say() {
    passes("compat.py", &["running"]);
}

/// B:X-07
#[test]
fn a_call_that_is_taken_away_says_so() {
    passes("compat.py", &["taken_away"]);
}

/// B:V-09 B:V-11
#[test]
fn a_notebook_is_read_tried_and_written_back() {
    passes("compat.py", &["read_eval_write"]);
}

#[test]
fn code_that_writes_everywhere_does_not_reach_the_client() {
    passes("life.py", &["only_the_protocol"]);
}

/// The whole session over HTTP, in the oldest supported revision.
#[test]
fn an_agent_of_2025_06_18_has_its_session_over_http() {
    passes("over_http.py", &["whole_session", "2025-06-18"]);
}

/// The same over HTTP in the newest revision.
#[test]
fn an_agent_of_2026_07_28_has_its_session_over_http() {
    passes("over_http.py", &["whole_session", "2026-07-28"]);
}

/// An answer larger than an event that the client accepts comes in part, and says how to get the rest.
#[test]
fn large_text_reaches_a_client_of_2025_11_25_over_http() {
    passes("over_http.py", &["large_text", "2025-11-25"]);
}

/// The same for pictures.
#[test]
fn large_pictures_reach_a_client_of_2025_11_25_over_http() {
    passes("over_http.py", &["large_pictures", "2025-11-25"]);
}

/// The same in the newest.
#[test]
fn large_text_reaches_a_client_of_2026_07_28_over_http() {
    passes("over_http.py", &["large_text", "2026-07-28"]);
}

/// The same for pictures.
#[test]
fn large_pictures_reach_a_client_of_2026_07_28_over_http() {
    passes("over_http.py", &["large_pictures", "2026-07-28"]);
}

/// S-010 S-011 S-012: as the client's own stack sends them; raw requests are tested elsewhere.
#[test]
fn strangers_are_refused_over_http() {
    passes("over_http.py", &["strangers_are_refused"]);
}

/// S-017
#[test]
fn clients_of_two_tokens_do_not_see_each_other() {
    passes("over_http.py", &["two_tokens"]);
}

/// F-090
#[test]
fn twenty_calls_over_http_get_their_own_answers() {
    passes("over_http.py", &["twenty_at_once"]);
}

/// Issue 21, 1: random bursts (200 with `--all`), with every tool that runs code or changes a file.
#[test]
fn requests_sent_together_are_done_in_order() {
    passes("bursts.py", &["over_stdio"]);
}

/// Issue 21, 1: the same over HTTP.
#[test]
fn requests_sent_together_over_http_are_done_in_order() {
    passes("bursts.py", &["over_http"]);
}

/// Issue 21, 1: different sessions and files do not wait for each other.
#[test]
fn what_is_busy_holds_up_nothing_else() {
    passes("bursts.py", &["side_by_side"]);
}

/// Kills the client as soon as it has printed the processes: the server first, then its children.
fn killed(words: &str) {
    let env = env();
    let Some(command) = scenario(&env, "life.py", &[words]) else { return };
    let mut client = Running::start(command);
    let processes: Vec<Process> = (0..3).map(|_| client.process()).collect();
    client.signal(Signal::KILL);
    for process in &processes {
        process.is_gone();
    }
    client.end();
}

/// F-022: with a cell that ignores signals, and an idle kernel.
#[test]
fn a_killed_client_leaves_no_kernel() {
    killed("busy_with_a_cell");
}

/// F-022: with a shell that ignores signals, and its children.
#[test]
fn a_killed_client_leaves_no_shell() {
    killed("busy_with_bash");
}
