//! `inkcell run`, with the real binary.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::notebooks::pretty;
use inkcell_testkit::wait::until;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::env;
use crate::running::Running;

pub(crate) fn run(env: &TestEnv, args: &[&str]) -> Command {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = env.inkcell();
    command.arg("run").args(args).env("INKCELL_PYTHON_INTERPRETER", python);
    command
}

pub(crate) fn ran(env: &TestEnv, args: &[&str]) -> CommandOutput {
    finish(run(env, args), b"")
}

pub(crate) fn notebook(sources: &[&str]) -> String {
    let cell = |(at, source): (usize, &&str)| {
        json!({"cell_type": "code", "execution_count": null, "id": format!("c{at}"),
            "metadata": {}, "outputs": [], "source": source})
    };
    let cells: Vec<Value> = sources.iter().enumerate().map(cell).collect();
    pretty(&json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
}

pub(crate) fn outputs(env: &TestEnv, name: &str, cell: usize) -> String {
    let text = std::fs::read_to_string(env.path(name)).expect("the file");
    let notebook: Value = serde_json::from_str(&text).expect("JSON");
    notebook["cells"][cell]["outputs"].to_string()
}

/// The counts of a run: its summary without the time.
pub(crate) fn summed(output: &str) -> String {
    let line = output.lines().find(|line| line.starts_with("Ran ")).unwrap_or_default();
    let (ran, rest) = line.split_once(" in ").unwrap_or((line, ""));
    format!("{ran}{}", rest.find(',').map_or("", |at| &rest[at..]))
}

/// The main job: cells run, outputs are in the file, and each cell has one row with its result.
#[test]
fn a_notebook_is_run() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 20", "print('hi')\nx + 1"]));
    let done = ran(&env, &["a.ipynb"]).exits(0);
    assert_eq!(summed(&done.stdout), "Ran 2 cells", "{done:?}");
    assert!(done.stdout.contains("inkcell read a.ipynb --outputs full"), "{done:?}");
    let rows: Vec<&str> = done.stdout.lines().filter(|line| line.contains("cell 1 (c1)")).collect();
    assert!(matches!(&*rows, [row] if row.starts_with("2/2  cell 1 (c1)  ok ")), "{done:?}");
    assert_eq!(done.stderr, "");
    let shown = outputs(&env, "a.ipynb", 1);
    assert!(shown.contains("hi\\n") && shown.contains("21"), "{shown}");
    let quiet = ran(&env, &["a.ipynb", "--quiet"]).exits(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

/// The failed cell is named with its traceback.
#[test]
fn a_failure_is_told_and_has_its_code() {
    let env = env();
    env.put("a.ipynb", notebook(&["print('one')", "1/0", "print('three')"]));
    let failed = ran(&env, &["a.ipynb"]).exits(1);
    assert!(failed.stderr.contains("ZeroDivisionError: division by zero"), "{failed:?}");
    assert!(failed.stderr.ends_with("error: cell 1 (c1) failed\n"), "{failed:?}");
    assert_eq!(summed(&failed.stdout), "Ran 2 cells, 1 failed, 1 not run", "{failed:?}");
    assert!(outputs(&env, "a.ipynb", 1).contains("ZeroDivisionError"));
    let allowed = ran(&env, &["a.ipynb", "--allow-errors"]).exits(0);
    assert_eq!(summed(&allowed.stdout), "Ran 3 cells, 1 failed (allowed)", "{allowed:?}");
    assert!(outputs(&env, "a.ipynb", 2).contains("three"));
}

#[test]
fn a_notebook_can_be_piped_through() {
    let env = env();
    let done = finish(run(&env, &["-"]), notebook(&["print('piped')"]).as_bytes()).exits(0);
    let notebook: Value = serde_json::from_str(&done.stdout).expect("a notebook");
    assert_eq!(notebook["cells"][0]["outputs"][0]["text"], json!(["piped\n"]));
    assert_eq!(summed(&done.stderr), "Ran 1 cell", "{done:?}");
}

/// Each event is an object on a line.
#[test]
fn programs_can_follow_a_run() {
    let env = env();
    env.put("a.ipynb", notebook(&["print('one')", "1/0"]));
    let failed = ran(&env, &["a.ipynb", "--json"]).exits(1);
    let events: Vec<Value> = failed
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect();
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names.iter().filter(|name| **name == "cell_finished").count(), 2, "{names:?}");
    let last = events.last().expect("an event");
    assert_eq!((&last["event"], &last["status"]), (&json!("run_finished"), &json!("error")));
    assert_eq!(last["cells"][1]["error"]["name"], "ZeroDivisionError");
    assert_eq!(last["cells"][0]["written"], "saved");
}

/// F-078: a killed host costs only the running cell; the file is whole, and the run can go on.
#[test]
fn a_killed_run_keeps_what_was_done() {
    let env = env();
    let second = "import os\nopen('begun', 'w').close()\nwhile not os.path.exists('go'): pass";
    env.put("a.ipynb", notebook(&["print('one')", second, "print('three')"]));
    let running = Running::start(run(&env, &["a.ipynb", "--json"]));
    until("the file begun", || env.path("begun").exists());
    running.signal(Signal::KILL);
    running.end();
    assert!(outputs(&env, "a.ipynb", 0).contains("one"));
    env.put("go", "");
    let resumed = ran(&env, &["a.ipynb", "--resume"]).exits(0);
    assert_eq!(summed(&resumed.stdout), "Ran 2 cells", "{resumed:?}");
    assert!(
        resumed.stdout.contains("note: 1 cell that an earlier run had finished"),
        "{resumed:?}"
    );
    assert!(outputs(&env, "a.ipynb", 2).contains("three"));
}

/// A resumed run has a new kernel, so it runs again what the rest needs, and says so.
#[test]
fn a_resumed_run_says_what_it_ran_again() {
    let env = env();
    env.put("a.ipynb", notebook(&["x = 20", "print('one')", "open('fixed'); print(x + 1)"]));
    let failed = ran(&env, &["a.ipynb"]).exits(1);
    let advice = "After the fix, continue from here: inkcell run a.ipynb --resume\n";
    assert!(failed.stdout.ends_with(advice), "{failed:?}");
    env.put("fixed", "");
    let resumed = ran(&env, &["a.ipynb", "--resume"]).exits(0);
    assert_eq!(summed(&resumed.stdout), "Ran 2 cells", "{resumed:?}");
    assert!(resumed.stdout.contains("1/2  cell 0 (c0)  ok "), "{resumed:?}");
    assert!(resumed.stdout.contains("x = 20  (makes x for cell 2)"), "{resumed:?}");
    let note = "note: of 2 cells that an earlier run had finished, 1 was run again, because later cells need it\n";
    assert!(resumed.stdout.contains(note), "{resumed:?}");
    assert!(outputs(&env, "a.ipynb", 2).contains("21"));
}

/// The folder of the output is made, inside the roots.
#[test]
fn an_output_gets_its_folder() {
    let env = env();
    env.put("a.ipynb", notebook(&["print('hi')"]));
    ran(&env, &["a.ipynb", "-o", "new/deep/b.ipynb"]).exits(0);
    assert!(outputs(&env, "new/deep/b.ipynb", 0).contains("hi"));
    std::fs::create_dir(env.path("inside")).expect("a folder");
    env.put("inside/a.ipynb", notebook(&["1"]));
    for out in ["other/b.ipynb", "inside/../other/b.ipynb", "inside/no/../../other/b.ipynb"] {
        let refused = ran(&env, &["--root", "inside", "inside/a.ipynb", "-o", out]);
        assert_ne!(refused.code, Some(0), "{out}: {refused:?}");
        assert!(!env.path("other").exists(), "{out}: {refused:?}");
    }
}

/// The outputs come as they are written, each cell's below its name.
#[test]
fn outputs_are_logged_as_they_come() {
    let env = env();
    let second = "import sys\nprint('three', file=sys.stderr)\n40 + 2";
    env.put("a.ipynb", notebook(&["print('one')\nprint('two', end='')", second]));
    let done = ran(&env, &["a.ipynb", "--log-output"]).exits(0);
    let log = "1/2  cell 0 (c0):\none\ntwo\n2/2  cell 1 (c1):\nthree\n42\n";
    assert_eq!(done.stderr, log, "{done:?}");
    assert_eq!(summed(&done.stdout), "Ran 2 cells", "{done:?}");
    let many = ran(&env, &["a.ipynb", "a.ipynb", "--log-output", "--in-place", "-j", "2"]);
    assert!(many.exits(2).stderr.contains("would mix"));
}

/// As papermill does it: the values are in the file, the sources are hidden, and nothing has run.
#[test]
fn a_notebook_is_prepared_and_not_run() {
    let env = env();
    env.put("a.ipynb", notebook(&["open('ran', 'w')"]));
    let args =
        ["a.ipynb", "-o", "b.ipynb", "-p", "year", "2024", "--prepare-only", "--report-mode"];
    let done = ran(&env, &args).exits(0);
    assert!(done.stdout.starts_with("Prepared b.ipynb; no cell was run\n"), "{done:?}");
    assert!(!env.path("ran").exists());
    let book: Value = serde_json::from_slice(&env.get("b.ipynb")).expect("JSON");
    assert_eq!(book["cells"].as_array().map(Vec::len), Some(2), "{book}");
    for cell in book["cells"].as_array().expect("cells") {
        assert_eq!(cell["metadata"]["jupyter"], json!({"source_hidden": true}), "{cell}");
    }
    assert!(book["cells"][0]["source"].to_string().contains("year = 2024"), "{book}");
    assert!(!String::from_utf8_lossy(&env.get("a.ipynb")).contains("source_hidden"));
}

/// F-021: an interrupt stops the cell, and the finished cells are saved.
#[test]
fn an_interrupt_saves() {
    let env = env();
    let second = "import time\nopen('begun', 'w').close(); time.sleep(600)";
    env.put("a.ipynb", notebook(&["print('one')", second, "print('three')"]));
    let running = Running::start(run(&env, &["a.ipynb"]));
    until("the file begun", || env.path("begun").exists());
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
    assert!(ended.stderr.contains("cell 1 (c1): Interrupted"), "{ended:?}");
    // The place of the stop, and the state of each cell.
    assert!(ended.stdout.contains("cell 0 (c0)  ok "), "{ended:?}");
    assert!(ended.stdout.contains("cell 1 (c1)  cancelled "), "{ended:?}");
    assert_eq!(summed(&ended.stdout), "Ran 2 cells, 1 interrupted, 1 not run", "{ended:?}");
    assert!(
        ended.stdout.ends_with("Continue from here: inkcell run a.ipynb --resume\n"),
        "{ended:?}"
    );
    assert!(outputs(&env, "a.ipynb", 0).contains("one"));
    assert!(outputs(&env, "a.ipynb", 1).contains("KeyboardInterrupt"));
}

/// F-021: a stalled reader does not delay a requested end.
#[test]
fn an_interrupt_ends_a_run_that_nobody_reads() {
    let env = env();
    let mut sources = vec!["pass"; 600];
    sources[20] = "open('done', 'w').close()";
    env.put("a.ipynb", notebook(&sources));
    let mut command = run(&env, &["a.ipynb", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("started");
    // The final report about this many cells does not fit into a pipe.
    until("the file done", || env.path("done").exists());
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::INT).expect("a signal");
    let ended = until("the end of the run", || child.try_wait().expect("a status"));
    assert_eq!(ended.signal(), Some(2));
}

/// Two notebooks that wait for each other's files both finish.
#[test]
fn two_runs_help_each_other() {
    let env = env();
    let wait = |mine: &str, other: &str| {
        let code = format!(
            "import os, time\nopen({mine:?}, 'w').close()\n\
             while not os.path.exists({other:?}): time.sleep(0.01)"
        );
        notebook(&[&code])
    };
    env.put("a.ipynb", wait("from-a", "from-b"));
    env.put("b.ipynb", wait("from-b", "from-a"));
    let one = Running::start(run(&env, &["a.ipynb"]));
    ran(&env, &["b.ipynb"]).exits(0);
    assert_eq!(one.end().status.code(), Some(0));
}

/// Outputs that are missing from the file are reported, and appear when the file is whole again.
#[test]
fn outputs_that_could_not_be_saved_are_told() {
    let env = env();
    let text = notebook(&["print('kept')\nopen('a.ipynb', 'w').write('{')"]);
    env.put("a.ipynb", &text);
    let failed = ran(&env, &["a.ipynb", "--quiet"]).exits(2);
    assert!(failed.stderr.contains("the outputs were not saved"), "{failed:?}");
    env.put("a.ipynb", &text);
    let mut read = env.inkcell();
    read.args(["read", "a.ipynb", "--outputs", "full"]);
    let read = finish(read, b"").exits(0);
    assert!(read.stdout.contains("kept"), "{read:?}");
}

/// A notebook that cannot be run gets one sentence, with the exit code of the table, and nothing is lost.
#[test]
fn bad_input_is_told() {
    let env = env();
    env.put("text.ipynb", "hello");
    env.put("a.ipynb", notebook(&["1"]));
    let r = notebook(&["1"]).replace("\"metadata\": {},\n \"nbformat\"", "\"metadata\": {\"kernelspec\": {\"name\": \"ir\", \"language\": \"R\", \"display_name\": \"R\"}},\n \"nbformat\"");
    env.put("r.ipynb", r);
    let before = std::fs::read(env.path("a.ipynb")).expect("the file");
    for (args, code, words) in [
        (vec!["text.ipynb"], 2, "Invalid JSON"),
        (vec!["none.ipynb"], 5, "not found"),
        (vec!["a.ipynb", "--cells", "zzzz"], 5, "zzzz"),
        (vec!["a.ipynb", "--from", "9"], 5, "9"),
        (vec!["a.ipynb", "-o", "out.txt"], 2, ".ipynb"),
        (vec!["a.ipynb", "-o", "-"], 2, "piped in"),
        (vec!["r.ipynb"], 3, "for R (kernel ir)"),
        (vec!["a.ipynb", "--python", "/no/such/python"], 3, "/no/such/python"),
        (vec!["a.ipynb", "--cwd", "nowhere"], 2, "nowhere"),
    ] {
        let told = ran(&env, &args);
        assert_eq!(told.code, Some(code), "{args:?}: {told:?}");
        assert!(told.stderr.contains(words), "{args:?}: {told:?}");
        assert_eq!(std::fs::read(env.path("a.ipynb")).expect("the file"), before, "{args:?}");
    }
}
