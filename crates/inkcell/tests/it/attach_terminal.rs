//! `inkcell attach` at a terminal: past events, then new ones, and the keys that show more or leave.

use std::process::Command;

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::pty::{Pty, Size};

use crate::env;

const HIGH: Size = Size { rows: 60, columns: 80 };

/// An environment whose host ends with it.
struct Place(TestEnv);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.command(&["host", "stop"]).output();
    }
}

impl Place {
    fn command(&self, args: &[&str]) -> Command {
        let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let mut command = self.0.inkcell();
        command.args(args).env("INKCELL_PYTHON_INTERPRETER", python);
        command.env("INKCELL_HOST_USE", "on");
        command
    }

    fn ok(&self, args: &[&str]) -> String {
        finish(self.command(args), b"").ok().stdout
    }
}

/// Issue 9, B:T-11: past events come first, in part; a key shows all of them; then new events follow; leaving does
/// no harm.
#[test]
fn a_session_is_watched_and_left() {
    let place = Place(env());
    let code = "import os, time\nfor i in range(30): print('line', i)\n\
                while not os.path.exists('go'): time.sleep(0.02)\nprint('at last')";
    place.ok(&["py", "early = 1; print('earlier')"]);
    place.ok(&["py", "--detach", code]);
    for leave in ["q", "\u{4}", "\u{1b}", "\u{3}"] {
        let mut pty = Pty::start(place.command(&["attach"]), HIGH);
        pty.wait_for("earlier");
        pty.wait_for("… 20 more lines (ctrl+o to expand)");
        pty.wait_for("\n  line 29");
        assert!(!pty.text().contains("  line 3\n"), "{}", pty.text());
        assert!(pty.is_raw());
        pty.send("\u{f}");
        pty.wait_for("  line 0\n  line 1\n");
        pty.send("\u{f}");
        pty.wait_gone("  line 3\n");
        pty.send(leave);
        assert!(pty.end().success(), "{leave:?}: {}", pty.text());
        assert!(pty.text().contains("  line 29"), "what was seen stays: {}", pty.text());
        assert!(!pty.is_raw());
    }
    let mut pty = Pty::start(place.command(&["attach"]), HIGH);
    pty.wait_for("\n  line 29");
    place.0.put("go", "");
    pty.wait_for("\n  at last");
    pty.send("q");
    assert!(pty.end().success());
    assert_eq!(place.ok(&["py", "early + 1"]), "2\n");
}

/// Issue 9: a watcher sees the questions and answers of other clients; two may watch.
#[test]
fn what_is_asked_and_answered_elsewhere_is_seen() {
    let place = Place(env());
    place.ok(&["py", "1"]);
    let mut typing =
        Pty::start(place.command(&["py", "name = input('who? '); print('hello', name)"]), HIGH);
    typing.wait_for("\nwho? ");
    let mut watching: Vec<Pty> =
        (0..2).map(|_| Pty::start(place.command(&["attach"]), HIGH)).collect();
    for pty in &mut watching {
        pty.wait_for("input('who? ')");
        pty.wait_for("\n  who? \n[the code asks for input]");
    }
    typing.send("Ada\r");
    assert!(typing.end().success());
    for pty in &mut watching {
        pty.wait_for("\n  hello Ada");
        pty.send("q");
        assert!(pty.end().success());
    }
}

/// Issue 9: a terminal that can only show text gets the same as a pipe.
#[test]
fn a_dumb_terminal_is_told_in_lines() {
    let place = Place(env());
    place.ok(&["py", "print('\\x1b[31mseen\\x1b[0m')"]);
    let mut command = place.command(&["attach", "--no-follow"]);
    command.env("TERM", "dumb");
    let mut pty = Pty::start(command, HIGH);
    assert!(pty.end().success(), "{}", pty.text());
    assert!(pty.text().contains("seen"), "{}", pty.text());
    assert!(!pty.seen().contains(&0x1b));
}
