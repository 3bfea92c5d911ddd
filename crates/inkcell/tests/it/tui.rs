//! A notebook in the terminal, used by keys and read from the screen.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use inkcell_testkit::env::TestEnv;
use inkcell_testkit::pty::{Pty, Size, USUAL};
use inkcell_testkit::wait::until;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::env;

/// A notebook with these code cells, by id and source.
fn put(env: &TestEnv, cells: &[(&str, &str)]) {
    let cells: Vec<Value> = cells
        .iter()
        .map(|(id, source)| {
            json!({"cell_type": "code", "id": id, "metadata": {}, "source": source, "outputs": [],
                "execution_count": null})
        })
        .collect();
    let notebook = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    env.put("a.ipynb", notebook.to_string());
}

fn cells(env: &TestEnv) -> Vec<Value> {
    let notebook: Value = serde_json::from_slice(&env.get("a.ipynb")).expect("a notebook");
    notebook["cells"].as_array().expect("cells").clone()
}

fn sources(env: &TestEnv) -> Vec<String> {
    let source = |cell: &Value| match &cell["source"] {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        text => text.as_str().unwrap_or_default().to_owned(),
    };
    cells(env).iter().map(source).collect()
}

fn command(env: &TestEnv, args: &[&str]) -> Command {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = env.inkcell();
    command.args(["tui", "a.ipynb"]).args(args).env("INKCELL_PYTHON_INTERPRETER", python);
    command
}

fn tui(env: &TestEnv) -> Pty {
    let mut pty = Pty::start(command(env, &["--no-host"]), USUAL);
    pty.wait_for("? keys");
    pty
}

/// Ends it, and checks that the terminal is as it was.
fn quit(mut pty: Pty) {
    pty.send("q");
    assert_eq!(pty.end().code(), Some(0), "{}", pty.text());
    is_given_back(&pty);
}

fn is_given_back(pty: &Pty) {
    let screen = pty.screen();
    assert!(!pty.is_raw() && !screen.alternate_screen() && !screen.hide_cursor());
    assert!(!screen.bracketed_paste());
    assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
}

#[test]
fn a_notebook_is_edited_and_what_was_done_is_undone() {
    let env = env();
    put(&env, &[("aaaa", "x = 1"), ("bbbb", "y = 2")]);
    let before = env.get("a.ipynb");
    let mut pty = tui(&env);
    pty.wait_for("y = 2");
    pty.send("j\r");
    pty.wait_for("editing");
    pty.send("z = 3\r");
    pty.wait_for("z = 3");
    assert_eq!(env.get("a.ipynb"), before, "what is being typed is nobody's yet");
    pty.send("\x1b");
    pty.wait_for("saved");
    assert_eq!(sources(&env), ["x = 1", "z = 3\ny = 2"]);
    pty.send("b");
    pty.wait_for("inserted");
    pty.send("<");
    pty.wait_for("moved");
    pty.send("kdd");
    pty.wait_for("deleted");
    assert_eq!(sources(&env), ["", "z = 3\ny = 2"]);
    for _ in 0..4 {
        pty.send("z");
    }
    pty.wait_for("undone: saved");
    assert_eq!(env.get("a.ipynb"), before, "to the byte");
    pty.send("z");
    pty.wait_for("nothing to undo");
    quit(pty);
}

/// Issue 24, 12: a cell is cut and pasted with its outputs, and the file gets back every byte.
#[test]
fn a_cell_is_cut_and_pasted_as_in_jupyter() {
    let env = env();
    put(&env, &[("aaaa", "print(6 * 7)"), ("bbbb", "y = 2")]);
    let mut pty = tui(&env);
    pty.send("\x12");
    pty.wait_for("[1] ✓");
    let before = env.get("a.ipynb");
    pty.send("x");
    pty.wait_for("cut");
    pty.send("v");
    pty.wait_for("pasted");
    assert_eq!(sources(&env), ["y = 2", "print(6 * 7)"]);
    let pasted = cells(&env)[1].to_string();
    assert!(pasted.contains("42") && pasted.contains("\"execution_count\":1"), "{pasted}");
    pty.send("z");
    pty.wait_for("undone: pasted");
    pty.send("z");
    pty.wait_for("undone: cut");
    assert_eq!(env.get("a.ipynb"), before, "to the byte");
    pty.send("s");
    pty.wait_for("every change is saved already");
    quit(pty);
}

/// An agent edits the notebook while it is open, and while the user edits one of its cells.
#[test]
fn what_others_change_is_seen_and_never_harmed() {
    let env = env();
    put(&env, &[("aaaa", "x = 1"), ("bbbb", "y = 2")]);
    let mut pty = tui(&env);
    env.run(&["edit", "a.ipynb", "insert", "--source", "new = 0", "--at", "start"]).ok();
    pty.wait_for("new = 0");
    pty.send("\r# ");
    pty.wait_for("# x = 1");
    env.run(&["edit", "a.ipynb", "replace", "bbbb", "--source", "y = 22"]).ok();
    pty.wait_for("y = 22");
    pty.send("\x1b");
    pty.wait_for("saved");
    assert_eq!(sources(&env), ["new = 0", "# x = 1", "y = 22"]);
    pty.send("\r# ");
    pty.wait_for("# # x = 1");
    env.run(&["edit", "a.ipynb", "replace", "aaaa", "--source", "x = 9"]).ok();
    pty.wait_for("changed on disk");
    pty.send("\x1b");
    // Not for words that were there before the key: with the next key, it would be Alt-b.
    pty.wait_for("insert yours below");
    assert_eq!(sources(&env), ["new = 0", "x = 9", "y = 22"]);
    pty.send("b");
    pty.wait_for("inserted yours below");
    assert_eq!(sources(&env), ["new = 0", "x = 9", "# # x = 1", "y = 22"]);
    // Undo reverts our own change, and not their later one.
    env.run(&["edit", "a.ipynb", "replace", "bbbb", "--source", "theirs"]).ok();
    pty.wait_for("theirs");
    pty.send("z");
    pty.wait_for("the notebook changed on disk since");
    assert_eq!(sources(&env), ["new = 0", "x = 9", "# # x = 1", "theirs"]);
    quit(pty);
}

#[test]
fn cells_are_run_and_their_outputs_are_in_the_file() {
    let env = env();
    // Issue 21, 4: a notebook's session has no helpers.
    let code = "print(x * 7, 'log' in globals())";
    put(&env, &[("aaaa", "x = 6"), ("bbbb", code), ("cccc", "1/0"), ("dddd", "x")]);
    let mut pty = tui(&env);
    pty.wait_for("no kernel");
    pty.send("R");
    pty.wait_for("[1] ✓");
    pty.send("R");
    pty.wait_for("[2] ✓");
    pty.wait_for("42");
    let outputs = cells(&env)[1]["outputs"].to_string();
    assert!(outputs.contains("42 False"), "{outputs}");
    pty.send("ggT");
    pty.wait_for("stopped at cell 2 (cccc): ZeroDivisionError: division by zero; 1 cell did not");
    pty.wait_for("#2 · 4 cells");
    pty.wait_for("✗");
    pty.wait_gone("queued");
    pty.send("00");
    pty.wait_for("the kernel was restarted");
    pty.send("G\x12");
    pty.wait_for("cell 3 (dddd) failed: NameError");
    quit(pty);
}

#[test]
fn code_that_runs_is_seen_and_interrupted() {
    let env = env();
    put(&env, &[("aaaa", "import time\nprint('begun')\nwhile True: time.sleep(0.01)")]);
    let mut pty = tui(&env);
    pty.send("\x12");
    pty.wait_until("the output", |screen| {
        screen.contents().lines().any(|line| line.trim_end().ends_with("  begun"))
    });
    pty.wait_for("[*]");
    pty.wait_for("busy ");
    pty.send("q");
    pty.wait_for("code is running");
    pty.send("n");
    pty.send("\x03");
    pty.wait_for("✗");
    pty.wait_for("interrupted at cell 0 (aaaa)");
    pty.wait_for("  idle");
    pty.wait_gone("[*]");
    pty.wait_gone("queued");
    quit(pty);
}

/// Code that another client runs in the notebook's session, through the shared host, appears as it happens.
#[test]
fn what_somebody_else_runs_is_seen_as_it_happens() {
    let env = env();
    let wait = "import os, time\nprint('theirs')\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('over')";
    put(&env, &[("aaaa", wait)]);
    let host = |mut command: Command| {
        command.env("INKCELL_HOST_USE", "on");
        command
    };
    let mut pty = Pty::start(host(command(&env, &[])), USUAL);
    pty.wait_for("? keys");
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut run = host(env.inkcell());
    run.args(["run", "a.ipynb", "--keep"]).env("INKCELL_PYTHON_INTERPRETER", python);
    let running = std::thread::spawn(move || inkcell_testkit::env::finish(run, b""));
    pty.wait_for("[*]");
    pty.wait_until("the output", |screen| {
        screen.contents().lines().any(|line| line.trim_end().ends_with("  theirs"))
    });
    env.put("go", "");
    pty.wait_for("[1] ✓");
    pty.wait_until("the output", |screen| {
        screen.contents().lines().any(|line| line.trim_end().ends_with("  over"))
    });
    running.join().expect("a thread").ok();
    quit(pty);
    let mut stop = host(env.inkcell());
    stop.args(["host", "stop"]);
    inkcell_testkit::env::finish(stop, b"").ok();
}

/// Issue 24, 12: split and merge change no byte of another cell, and undo restores every byte.
#[test]
fn a_cell_is_split_and_merged_and_others_keep_their_bytes() {
    let env = env();
    let odd = r#"{"cell_type":   "code", "id": "odd1", "metadata": {"n": 1.50}, "source": ["y \u003d 2\n",   "z"], "outputs": [ ], "execution_count": null}"#;
    let text = format!(
        r#"{{"cells": [{{"cell_type": "code", "id": "aaaa", "metadata": {{}}, "source": ["a = 1\n", "b = 2"], "outputs": [], "execution_count": null}},
{odd}], "metadata": {{}},   "nbformat": 4, "nbformat_minor": 5}}"#
    );
    env.put("a.ipynb", &text);
    let mut pty = tui(&env);
    pty.send("\r\x1b[B");
    pty.wait_for("editing");
    // Ctrl-Shift-Minus, as terminals send it.
    pty.send("\x1f");
    pty.wait_for("#2 odd1");
    assert_eq!(sources(&env), ["a = 1", "b = 2", "y = 2\nz"]);
    let has_odd = || String::from_utf8_lossy(&env.get("a.ipynb")).contains(odd);
    assert!(has_odd());
    pty.send("\x1b");
    pty.wait_gone("editing");
    pty.send("kM");
    pty.wait_for("merged");
    assert_eq!(sources(&env), ["a = 1\n\nb = 2", "y = 2\nz"]);
    assert!(has_odd());
    pty.send("zz");
    pty.wait_for("undone: split");
    assert_eq!(String::from_utf8_lossy(&env.get("a.ipynb")), text);
    quit(pty);
}

/// Issue 24, 12: Tab completes from the kernel, as at the prompt.
#[test]
fn tab_completes_from_the_kernel() {
    let env = env();
    put(&env, &[("aaaa", "import math"), ("bbbb", "")]);
    let mut pty = tui(&env);
    pty.send("R");
    pty.wait_for("[1] ✓");
    pty.wait_for("  idle");
    pty.send("\r");
    pty.wait_for("editing");
    pty.send("r = math.sqr\t");
    pty.wait_for("r = math.sqrt");
    pty.send("(9)\x12");
    pty.wait_for("[2] ✓");
    assert_eq!(sources(&env)[1], "r = math.sqrt(9)");
    quit(pty);
}

/// Issue 24, 12: a notebook alone opens it.
#[test]
fn a_notebook_in_place_of_a_command_opens_it() {
    let env = env();
    put(&env, &[("aaaa", "x = 1")]);
    let mut command = env.inkcell();
    command.args(["a.ipynb", "--no-host"]);
    let mut pty = Pty::start(command, USUAL);
    pty.wait_for("? keys");
    pty.wait_for("x = 1");
    quit(pty);
}

/// The terminal is restored, whatever ends the program.
#[test]
fn the_terminal_is_given_back_after_a_signal() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let env = env();
        put(&env, &[("aaaa", "x = 1")]);
        let mut pty = tui(&env);
        assert!(pty.is_raw() && pty.screen().alternate_screen());
        pty.signal(signal);
        let status = pty.end();
        assert_eq!(status.signal(), Some(signal.as_raw()), "{}", pty.text());
        is_given_back(&pty);
    }
}

/// Only the shell in front hears that a window was closed. The program below it must not wait for keys for ever.
#[test]
fn a_terminal_that_is_gone_ends_the_program() {
    let env = env();
    put(&env, &[("aaaa", "x = 1")]);
    let inner = command(&env, &["--no-host"]);
    let mut shell = env.command("sh");
    let script = "trap '' HUP; \"$0\" \"$@\"; echo $? > ended";
    shell.args(["-c", script]).arg(inner.get_program()).args(inner.get_args());
    shell.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut pty = Pty::start(shell, USUAL);
    pty.wait_for("? keys");
    pty.hang_up();
    until("its end", || env.path("ended").exists() && !env.get("ended").is_empty());
    assert_eq!(env.get("ended"), b"129\n", "the status after SIGHUP");
}

#[test]
fn another_editor_has_the_terminal_meanwhile() {
    let env = env();
    put(&env, &[("aaaa", "x = 1")]);
    let mut command = command(&env, &["--no-host"]);
    let script = "sh -c 'stty -a | grep -q -- -icanon && exit 9; cat \"$1\"; printf \"done? \"; read a; printf \"y = 5\\n\" > \"$1\"' sh";
    command.env("EDITOR", script);
    let mut pty = Pty::start(command, USUAL);
    pty.wait_for("? keys");
    pty.send("e");
    pty.wait_for("done?");
    assert!(!pty.screen().alternate_screen());
    pty.send("yes\r");
    pty.wait_for("saved");
    pty.wait_for("y = 5");
    assert_eq!(sources(&env), ["y = 5"]);
    quit(pty);
}

#[test]
fn the_screen_follows_its_size_and_the_mouse() {
    let env = env();
    let many: Vec<(String, String)> =
        (0..40).map(|at| (format!("c{at:03}"), format!("v{at} = {at}"))).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(id, source)| (&**id, &**source)).collect();
    put(&env, &many);
    let mut pty = tui(&env);
    assert!(!pty.text().contains("v12 = 12"));
    pty.resize(Size { rows: 50, columns: 60 });
    pty.wait_for("v12 = 12");
    pty.resize(Size { rows: 10, columns: 30 });
    pty.wait_until("a small screen", |screen| {
        screen.contents().lines().count() <= 10 && screen.contents().contains("v0 = 0")
    });
    pty.send("\x1b[<65;5;5M");
    pty.wait_gone("v0 = 0");
    pty.send("/v30\r");
    pty.wait_for("v30 = 30");
    pty.send("?");
    pty.wait_for("next cell");
    pty.send("\x1b");
    pty.wait_gone("next cell");
    quit(pty);
}

/// Without a terminal, the error names alternatives.
#[test]
fn without_a_terminal_it_says_so() {
    let env = env();
    put(&env, &[("aaaa", "x = 1")]);
    // Issue 24, 12: the same without the command.
    for args in [["tui", "a.ipynb"].as_slice(), &["a.ipynb"]] {
        let ran = env.run(args).exits(2);
        let wanted = "hint: show it as text with 'inkcell read a.ipynb'";
        assert!(ran.stderr.contains(wanted), "{args:?}: {}", ran.stderr);
    }
    env.run(&["read", "a.ipynb"]).ok();
    let ran = env.run(&["tui", "none.ipynb"]);
    assert_ne!(ran.code, Some(0));
}
