//! A notebook in the terminal beside other clients: watchers of its session see its actions, and it sees theirs.

use std::process::Command;

use base64::Engine as _;
use inkcell_testkit::pty::{Pty, Size, USUAL};
use serde_json::{Value, json};

use crate::client::Client;
use crate::host_life::Stopped;
use crate::hosts::Hosted;
use crate::running::Running;

fn put(hosted: &Hosted, outputs: &Value) {
    let cells = json!([{"cell_type": "code", "id": "aaaa", "metadata": {}, "source": "x = 1",
        "outputs": outputs, "execution_count": null}]);
    let notebook = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    hosted.env.put("a.ipynb", notebook.to_string());
}

fn tui(command: Command, size: Size) -> Pty {
    let mut pty = Pty::start(command, size);
    pty.wait_for("? keys");
    pty
}

/// B:T-01 to T-05: an edit in the terminal, by a command or by an agent appears for every watcher of the notebook's
/// session, wherever that is, and their edits appear in the terminal.
#[test]
fn edits_are_seen_by_whoever_watches() {
    let hosted = Hosted::new();
    put(&hosted, &json!([]));
    let mut pty = tui(hosted.command(&["tui", "a.ipynb"]), USUAL);
    pty.send("\x12");
    pty.wait_for("[1] ✓");
    let mut watching = Running::start(hosted.command(&["attach", "a.ipynb", "--json"]));
    // Read lines on a thread, so that a missing line is a failure and not a hang.
    let (sender, lines) = std::sync::mpsc::channel();
    std::thread::spawn(move || while sender.send(watching.line()).is_ok() {});
    let edited = move |source: &str| loop {
        let line = lines.recv_timeout(std::time::Duration::from_secs(180));
        let line = line.unwrap_or_else(|_| panic!("nobody was told of {source}"));
        let said: Value = serde_json::from_str(&line).expect("JSON");
        let edit = &said["event"]["edited"];
        let is_here = edit["path"].as_str().is_some_and(|path| path.ends_with("a.ipynb"));
        if edit["source"] == source && is_here {
            break;
        }
    };
    pty.send("\rw = 0\r\x1b");
    pty.wait_for("saved");
    edited("w = 0\nx = 1");
    hosted.run(&["edit", "a.ipynb", "replace", "aaaa", "--source", "by_command = 2"]).ok();
    edited("by_command = 2");
    pty.wait_for("by_command = 2");
    // The agent is another process, with sessions of its own.
    let mut agent = Client::with(&hosted.env, &[], |command| {
        command.env("INKCELL_HOST_USE", "on");
    });
    let edit = json!({"path": "a.ipynb", "cell": "aaaa", "source": "by_agent = 3"});
    let said = agent.call("notebook_edit", edit);
    assert!(!said.is_error(), "{said:?}");
    edited("by_agent = 3");
    pty.wait_for("by_agent = 3");
    let shown = hosted.run(&["attach", "a.ipynb", "--no-follow"]).ok().stdout;
    assert!(shown.contains("Edited code at index 0"), "{shown}");
    assert_eq!(shown.matches("by_agent = 3").count(), 1, "each edit is told once: {shown}");
    pty.send("q");
    assert_eq!(pty.end().code(), Some(0));
}

/// Issue 21, 25: a stopped agent that may have the notebook's session is named before another session is used.
#[test]
fn tui_beside_a_stopped_agent_names_it() {
    let hosted = Hosted::new();
    put(&hosted, &json!([]));
    let mut agent = Client::with(&hosted.env, &[], |command| {
        command.env("INKCELL_HOST_USE", "on");
    });
    agent.ok("notebook_run", json!({"path": "a.ipynb"}));
    let stopped = Stopped::new(i32::try_from(agent.pid()).expect("a process"));
    let mut pty = tui(hosted.command(&["tui", "a.ipynb"]), USUAL);
    pty.send("\x12");
    pty.wait_for(&format!("the host of an agent (process {}) is stopped", agent.pid()));
    pty.send("q");
    assert_eq!(pty.end().code(), Some(0));
    drop(stopped);
}

/// B:T-17: pictures reach the terminal in a form that it can draw: characters, or its own protocol, once and if
/// there is room for all of it.
#[test]
fn pictures_reach_the_terminal() {
    // A picture of two by two pixels.
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4zwAE/xkgFAAb8gP91pbyKwAAAABJRU5ErkJggg==";
    let hosted = Hosted::new();
    put(
        &hosted,
        &json!([{"output_type": "display_data", "metadata": {}, "data": {"image/png": png}}]),
    );
    let mut pty = tui(hosted.command(&["tui", "a.ipynb", "--no-host"]), USUAL);
    // Two columns of one colour each.
    pty.wait_until("the picture", |screen| {
        let cells = (0..24).flat_map(|row| (0..80).map(move |column| (row, column)));
        let mut cells = cells.filter_map(|(row, column)| screen.cell(row, column));
        let colours = (vt100::Color::Idx(196), vt100::Color::Idx(21));
        cells.any(|cell| cell.contents() == "▌" && (cell.fgcolor(), cell.bgcolor()) == colours)
    });
    pty.send("q");
    assert_eq!(pty.end().code(), Some(0));
    let mut command = hosted.command(&["tui", "a.ipynb", "--no-host"]);
    command.env("TERM", "xterm-kitty");
    let mut pty = tui(command, USUAL);
    pty.send("?");
    pty.wait_for("next cell");
    pty.send("q");
    pty.wait_for("? keys");
    // Text after the picture shows that all of it has arrived.
    pty.send("/seen");
    pty.wait_for("/seen");
    pty.send("\x1b");
    pty.wait_for("? keys");
    pty.send("q");
    assert_eq!(pty.end().code(), Some(0));
    let seen = String::from_utf8_lossy(pty.seen()).into_owned();
    let drawn: Vec<&str> = seen.split("\u{1b}_Ga=T,").skip(1).collect();
    assert_eq!(drawn.len(), 2, "at first, and when the keys were gone again");
    for drawn in drawn {
        let (_, encoded) = drawn.split_once(';').expect("a picture");
        let (encoded, _) = encoded.split_once("\u{1b}\\").expect("its end");
        let sent = base64::prelude::BASE64_STANDARD.decode(encoded).expect("base64");
        assert!(sent.starts_with(b"\x89PNG"));
    }
    assert!(seen.contains("\u{1b}_Ga=d,d=A"), "it is taken away before the keys are shown");
}

/// B:T-11: all of a long output can be read, by pages that its host has stored.
#[test]
fn long_output_is_read_by_pages() {
    let hosted = Hosted::new();
    put(&hosted, &json!([]));
    let code = "for n in range(20000): print('row', n)";
    hosted.run(&["edit", "a.ipynb", "replace", "aaaa", "--source", code]).ok();
    let mut pty = tui(hosted.command(&["tui", "a.ipynb"]), USUAL);
    pty.send("\x12");
    pty.wait_for("[1] ✓");
    pty.wait_for("row 19999");
    pty.send("O");
    pty.wait_for("Lines 19501-20000 of 20000");
    pty.send("[");
    pty.wait_for("Lines 19001-19500 of 20000");
    pty.send("q");
    assert_eq!(pty.end().code(), Some(0));
    // A later client shows the outputs in the file.
    let mut pty = tui(hosted.command(&["tui", "a.ipynb", "--no-host"]), USUAL);
    pty.send("O");
    pty.wait_for("Lines 19501-20000 of 20000");
    pty.send("q");
    assert_eq!(pty.end().code(), Some(0));
}

/// Issue 24, 12: a key opens the picture in the desktop's viewer. Without a desktop, its file is named.
#[test]
fn a_picture_is_opened_outside() {
    let hosted = Hosted::new();
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4zwAE/xkgFAAb8gP91pbyKwAAAABJRU5ErkJggg==";
    put(
        &hosted,
        &json!([{"output_type": "display_data", "metadata": {}, "data": {"image/png": png}}]),
    );
    let wanted = base64::prelude::BASE64_STANDARD.decode(png).expect("base64");
    let command = |display: &str| {
        let mut command = hosted.command(&["tui", "a.ipynb", "--no-host"]);
        command.env("DISPLAY", display).env_remove("WAYLAND_DISPLAY");
        command
    };
    let wide = Size { rows: 24, columns: 200 };
    let mut pty = tui(command(""), wide);
    pty.send("w");
    pty.wait_for("its file: ");
    let text = pty.text();
    let (_, file) = text.split_once("its file: ").expect("a file");
    let file = file.split_whitespace().next().expect("a path");
    assert_eq!(std::fs::read(file).expect("the picture"), wanted);
    pty.send("q");
    assert_eq!(pty.end().code(), Some(0));
    if cfg!(target_os = "macos") {
        return;
    }
    let seen = hosted.env.path("seen.png");
    let bin = hosted.env.path("bin");
    std::fs::create_dir_all(&bin).expect("a folder");
    let viewer = bin.join("xdg-open");
    std::fs::write(&viewer, format!("#!/bin/sh\ncp \"$1\" '{}'\n", seen.display()))
        .expect("a script");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&viewer, executable).expect("permissions");
    let mut command = command(":7");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display()));
    let mut pty = tui(command, wide);
    pty.send("w");
    pty.wait_for("opened ");
    // The viewer is another program, and writes nothing to the screen.
    inkcell_testkit::wait::until("the viewer has the picture", || {
        std::fs::read(&seen).is_ok_and(|found| found == wanted)
    });
    pty.send("q");
    assert_eq!(pty.end().code(), Some(0));
}

/// Another program cleans the file, or replaces it by an older copy: the screen shows the file, not an earlier run,
/// also for a later client that learns of the runs.
#[test]
fn what_the_file_holds_is_what_is_shown() {
    let hosted = Hosted::new();
    put(&hosted, &json!([]));
    let code = "for n in range(20000): print('row', n)";
    hosted.run(&["edit", "a.ipynb", "replace", "aaaa", "--source", code]).ok();
    let older = std::fs::read(hosted.env.path("a.ipynb")).expect("the notebook");
    for (count, is_checkout) in [(1, false), (2, true)] {
        let mut pty = tui(hosted.command(&["tui", "a.ipynb"]), USUAL);
        pty.send("\x12");
        pty.wait_for(&format!("[{count}] ✓"));
        pty.send("O");
        pty.wait_for("Lines 19501-20000 of 20000");
        if is_checkout {
            hosted.env.put("a.ipynb", &older);
        } else {
            hosted.run(&["clean", "a.ipynb"]).ok();
        }
        pty.wait_until("a cell that has not run", |screen| {
            let shown = screen.contents();
            shown.contains("[ ]") && !shown.contains("row 1") && !shown.contains("Lines")
        });
        pty.send("q");
        assert_eq!(pty.end().code(), Some(0));
    }
    let mut pty = tui(hosted.command(&["tui", "a.ipynb"]), USUAL);
    // It learns of the runs, which may be visible for a moment.
    pty.send("\x12");
    pty.wait_for("[3] ✓");
    hosted.run(&["clean", "a.ipynb"]).ok();
    pty.wait_until("cells that have not run", |screen| !screen.contents().contains("row 1"));
    pty.send("q");
    assert_eq!(pty.end().code(), Some(0));
}

/// The selected cell is on the screen, at any size.
#[test]
fn the_selection_stays_on_the_screen() {
    let hosted = Hosted::new();
    let sources: Vec<String> =
        (0..12).map(|at| format!("a{at} = 1\nb{at} = 2\nc{at} = 3")).collect();
    let sources: Vec<&str> = sources.iter().map(String::as_str).collect();
    hosted.env.put("a.ipynb", crate::notebook_runs::notebook(&sources));
    let mut pty = tui(hosted.command(&["tui", "a.ipynb", "--no-host"]), USUAL);
    pty.send("jjjjjjj");
    pty.wait_for("#7 · 12 cells");
    for (columns, rows) in [(20, 6), (200, 50), (20, 6), (80, 24)] {
        pty.resize(Size { columns, rows });
        pty.wait_until("the selected cell", |screen| {
            let shown = screen.contents();
            let below = shown.lines().nth(usize::from(rows) - 1).unwrap_or_default();
            let is_selected = |row: &str| row.starts_with('▌') && row.contains("#7");
            below.starts_with("? keys") && shown.lines().any(is_selected)
        });
    }
    pty.send("q");
    assert_eq!(pty.end().code(), Some(0));
}
