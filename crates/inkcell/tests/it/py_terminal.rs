//! `inkcell py` at a terminal: the code and its output, on the screen, while it runs and after.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::pty::{Pty, Size, USUAL};
use inkcell_testkit::wait::until;
use rustix::process::Signal;

use crate::env;

/// A picture of one red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

/// Many rows, so that no expected text scrolls away.
const HIGH: Size = Size { rows: 60, columns: 80 };

/// Code that waits for the file `go`.
const WAITS: &str = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\n";

fn command(env: &TestEnv, host: &str, args: &[&str]) -> Command {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = env.inkcell();
    command.args(args).env("INKCELL_PYTHON_INTERPRETER", python).env("INKCELL_HOST_USE", host);
    // A busy machine may take a while to react.
    command.env("INKCELL_KERNEL_INTERRUPT_GRACE", "60");
    command
}

/// An environment whose host ends with it.
struct Place(TestEnv);

impl Drop for Place {
    fn drop(&mut self) {
        let _ = command(&self.0, "on", &["host", "stop"]).output();
    }
}

fn place() -> Place {
    Place(env())
}

impl Place {
    fn py(&self, host: &str, cells: &[&str]) -> Pty {
        self.py_at(host, cells, USUAL)
    }

    fn py_at(&self, host: &str, cells: &[&str], size: Size) -> Pty {
        let args: Vec<&str> = ["py"].into_iter().chain(cells.iter().copied()).collect();
        Pty::start(command(&self.0, host, &args), size)
    }
}

fn seen(pty: &Pty) -> String {
    String::from_utf8_lossy(pty.seen()).into_owned()
}

/// B:T-20: the code behind its mark, following lines indented by as much, the output; all of it stays. The screen
/// is the same with a host and without.
#[test]
fn code_and_what_it_gave_stay_on_the_screen() {
    for host in ["off", "on"] {
        let place = place();
        let mut pty = place.py(host, &["x = 20", "for i in range(2):\n    print(i, x)", "x + 22"]);
        assert!(pty.end().success(), "{}", pty.text());
        let wanted = ">>> x = 20\n\
                      >>> for i in range(2):\n        print(i, x)\n  0 20\n  1 20\n\
                      >>> x + 22\n  42";
        assert_eq!(pty.text(), wanted, "{host}");
        assert!(!pty.is_raw(), "the terminal is as it was");
    }
}

/// B:T-20, B:X-20: a failed cell shows the place, and the cells behind it are named.
#[test]
fn a_cell_that_fails_shows_why() {
    let place = place();
    let mut pty = place.py("off", &["print('before')\n1 / 0", "print('never')"]);
    assert_eq!(pty.end().code(), Some(1));
    let text = pty.text();
    assert!(text.starts_with(">>> print('before')\n    1 / 0\n  before\n"), "{text}");
    assert!(text.contains("ZeroDivisionError: division by zero\n(exit 1)\n"), "{text}");
    assert!(text.ends_with("note: this was cell 1 of 2; the one after it was not run"), "{text}");
    assert!(!text.contains("never"), "{text}");
}

/// B:T-20: a key stops the code and not the session; the exit code tells the shell.
#[test]
fn keys_stop_the_code_and_not_the_session() {
    let place = place();
    finish(command(&place.0, "on", &["py", "kept = 41"]), b"").ok();
    for key in ["\u{1b}", "\u{3}"] {
        let mut pty = place.py("on", &["import time\nprint('go'); time.sleep(600)"]);
        pty.wait_for("Running… (esc to cancel)");
        pty.wait_for("\n  go\n");
        assert!(pty.is_raw());
        pty.send(key);
        let ended = pty.end();
        match key {
            "\u{3}" => assert_eq!(ended.signal(), Some(2)),
            _ => assert_eq!(ended.code(), Some(1)),
        }
        assert!(pty.text().contains("\n  go\n(cancelled)\n"), "{}", pty.text());
        assert!(!pty.text().contains("Running"), "{}", pty.text());
        assert!(!pty.is_raw());
    }
    let ran = finish(command(&place.0, "on", &["py", "kept + 1"]), b"").ok();
    assert_eq!(ran.stdout, "42\n");
}

/// B:T-20, B:T-11: the last lines grow in place; a key shows more while the code runs, and again fewer; at the end
/// a note names the command that shows the rest.
#[test]
fn a_key_shows_more_while_code_runs() {
    for host in ["on", "off"] {
        let place = place();
        let code = format!("for i in range(50): print('line', i)\n{WAITS}print('over')");
        let mut pty = place.py_at(host, &[&code], HIGH);
        pty.wait_for("… 30 more lines (ctrl+o to expand)\n  line 30\n");
        assert!(!pty.text().contains("line 29\n"), "{}", pty.text());
        pty.send("\u{f}");
        pty.wait_for("\n  line 0\n  line 1\n");
        pty.wait_for("  line 49\n");
        pty.send("\u{f}");
        pty.wait_gone("  line 29\n");
        place.0.put("go", "");
        assert!(pty.end().success());
        let text = pty.text();
        assert!(text.contains("\n  line 31\n") && text.ends_with("\n  over"), "{text}");
        let hint = text.lines().find(|line| line.starts_with("… 31 more lines ")).expect("a hint");
        match host {
            "off" => assert_eq!(hint, "… 31 more lines (show everything with --view stream)"),
            _ => {
                let id = hint.split(' ').find(|word| word.starts_with('x')).expect("an id");
                let id = id.trim_end_matches("')");
                let ran = finish(command(&place.0, host, &["result", id]), b"").ok();
                assert!(ran.stdout.contains("line 0\nline 1\n"), "{}", ran.stdout);
            }
        }
    }
}

/// B:T-11: output too large for the view is paged while the code runs.
#[test]
fn stored_output_is_paged_while_code_runs() {
    let place = place();
    let code = format!("for i in range(9000): print('numbered line', i)\n{WAITS}");
    let mut pty = place.py("off", &[&code]);
    pty.wait_for("  numbered line 8999\n");
    pty.send("\u{f}");
    pty.wait_until("more than a preview", |screen| {
        screen.contents().lines().filter(|line| line.contains("numbered line")).count() > 20
    });
    pty.send("\u{1b}[5~");
    pty.wait_for("\nLines 8985-9000 of 9000\n");
    pty.send("\u{1b}[5~");
    pty.wait_for("\nLines 8969-8984 of 9000\n  numbered line 8968\n");
    // After the last page come the newest lines.
    pty.send("\u{1b}[6~");
    pty.wait_for("\nLines 8985-9000 of 9000\n");
    pty.send("\u{1b}[6~");
    pty.wait_gone("of 9000");
    pty.send("\u{f}");
    pty.wait_for("more lines (ctrl+o to expand)");
    place.0.put("go", "");
    assert!(pty.end().success(), "{}", pty.text());
    assert!(pty.text().contains("artifact"), "{}", pty.text());
}

/// Issue 9: a user at the terminal can answer.
#[test]
fn code_asks_and_a_person_answers() {
    for host in ["on", "off"] {
        let place = place();
        let code = "import getpass\nname = input('who? ')\nkey = getpass.getpass('key: ')\nprint(name, len(key))";
        let mut pty = place.py(host, &[code]);
        pty.wait_for("\nwho? ");
        pty.send("Ada\r");
        pty.wait_for("\nkey: ");
        pty.send("s3cret\r");
        assert!(pty.end().success(), "{}", pty.text());
        assert!(pty.text().ends_with("\nwho? Ada\nkey: \n  Ada 6"), "{}", pty.text());
        assert!(!seen(&pty).contains("s3cret"));
    }
}

/// B:T-17: a picture is drawn in the best way of the terminal: by kitty's protocol, whose bytes are the picture
/// again, by iTerm's, by sixels, by characters; else it is named.
#[test]
fn a_picture_is_drawn_as_the_terminal_can() {
    let place = place();
    let code = format!(
        "import base64\nfrom IPython.display import Image, display\n\
         display(Image(data=base64.b64decode('{PNG}')))"
    );
    let drawn = |variables: &[(&str, &str)]| {
        let mut command = command(&place.0, "off", &["py", &code]);
        command.envs(variables.iter().copied());
        let mut pty = Pty::start(command, USUAL);
        assert!(pty.end().success(), "{}", pty.text());
        (seen(&pty), pty.text())
    };
    let (bytes, _) = drawn(&[("TERM", "xterm-kitty")]);
    let sent: String = bytes
        .split("\u{1b}_G")
        .skip(1)
        .map(|piece| piece.split("\u{1b}\\").next().unwrap_or_default())
        .map(|piece| piece.split_once(';').map_or("", |(_, data)| data))
        .collect();
    assert_eq!(STANDARD.decode(sent).expect("base64"), STANDARD.decode(PNG).expect("base64"));
    let (bytes, _) = drawn(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")]);
    assert_eq!(bytes.matches("\u{1b}]1337;File=").count(), 1, "{bytes:?}");
    let (bytes, _) = drawn(&[("TERM", "foot")]);
    assert_eq!(bytes.matches("\u{1b}P").count(), 1, "{bytes:?}");
    let (bytes, text) = drawn(&[("TERM", "xterm-256color")]);
    let is_painted = |bytes: &str| bytes.contains(";48;5;");
    assert!(is_painted(&bytes) && !text.contains("image/png"), "{text}");
    for nothing in [("TERM", "xterm"), ("NO_COLOR", "1"), ("TERM", "dumb")] {
        let (bytes, text) = drawn(&[nothing]);
        assert!(!is_painted(&bytes) && !bytes.contains("\u{1b}_G"), "{nothing:?}: {text}");
        assert!(text.contains("image/png"), "{nothing:?}: {text}");
    }
}

/// Issue 9: no colours if they are disabled; the screen is still painted.
#[test]
fn there_are_no_colours_where_none_are_wanted() {
    let place = place();
    let code = format!("print('\\x1b[31mred\\x1b[0m')\n{WAITS}1 / 0");
    let mut command = command(&place.0, "off", &["py", &code]);
    command.env("NO_COLOR", "1");
    let mut pty = Pty::start(command, USUAL);
    pty.wait_for("  red\n");
    pty.wait_for("Running…");
    place.0.put("go", "");
    assert_eq!(pty.end().code(), Some(1));
    for sequence in seen(&pty).split("\u{1b}[").skip(1) {
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).expect("an end");
        assert_ne!(&sequence[end..=end], "m", "{sequence:?}");
    }
}

/// Issue 9: a terminal that can only show text gets only text, whatever the options.
#[test]
fn a_dumb_terminal_gets_text_alone() {
    let place = place();
    place.0.run(&["new", "nb.ipynb"]).ok();
    let code = "print('\\x1b[31mred\\x1b[0m')\nx = 6 * 7\nx";
    let calls: [(&[&str], i32, &str); 6] = [
        (&["py", code], 0, "red\n42"),
        (&["py", "--view", "blocks", code], 0, "42"),
        (&["read", "nb.ipynb"], 0, ""),
        (&["run", "nb.ipynb"], 0, ""),
        (&["--help"], 0, "Global options:"),
        (&["tui", "nb.ipynb"], 2, "inkcell read"),
    ];
    for (args, code, wanted) in calls {
        let mut command = command(&place.0, "off", args);
        command.env("TERM", "dumb").env("PAGER", "sh -c 'echo PAGED'");
        let mut pty = Pty::start(command, HIGH);
        assert_eq!(pty.end().code(), Some(code), "{args:?}: {}", pty.text());
        assert!(pty.text().contains(wanted), "{args:?}: {}", pty.text());
        assert!(!pty.seen().contains(&0x1b), "{args:?}: {:?}", seen(&pty));
        assert!(!pty.text().contains("PAGED"), "{args:?}");
    }
}

/// S-050, S-051: text that code prints, raises or uses as names of cells cannot command the terminal, while it runs
/// and after.
#[test]
fn output_cannot_command_the_terminal() {
    let place = place();
    let hostile = "\\x1b]0;title\\x07\\x1b]52;c;aGk=\\x07\\x1b[2J\\x1b[H\\x1b[?1049h\\x1b[?25l\\x9b2J\\x1b[6n\
                   \\x1bP+q544e\\x1b\\\\\\x1b_Ga=d\\x1b\\\\\\x1b[1;1H\\x1b[10A\\u202e";
    let code = format!(
        "import sys\nprint('first')\nprint('{hostile}')\nsys.stdout.write('{hostile}\\rover\\x1b')\nsys.stdout.flush()\n\
         {WAITS}raise RuntimeError('{hostile} end')"
    );
    let mut pty = place.py_at("off", &[&code], Size { rows: 60, columns: 200 });
    pty.wait_for("\n  first\n");
    pty.wait_for("Running…");
    place.0.put("go", "");
    assert_eq!(pty.end().code(), Some(1));
    let text = pty.text();
    assert!(text.starts_with(">>> import sys\n    print('first')\n"), "{text}");
    assert!(text.contains("\n  first\n") && text.ends_with("(exit 1)"), "{text}");
    let screen = pty.screen();
    assert!(!screen.alternate_screen() && !screen.hide_cursor(), "{text}");
    // Of our own sequences, only styles and the painting of our own rows are allowed.
    let bytes = seen(&pty);
    assert!(!bytes.contains("\u{1b}]") && !bytes.contains("\u{1b}P") && !bytes.contains("\u{1b}_"));
    for sequence in bytes.split("\u{1b}[").skip(1) {
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).expect("an end");
        let (parameters, command) = (&sequence[..end], &sequence[end..=end]);
        assert!(["m", "A", "J"].contains(&command), "{sequence:?}");
        assert!(command != "J" || parameters.is_empty(), "{sequence:?}");
    }
}

/// S-052: a picture with a false size is named and not drawn.
#[test]
fn a_forged_picture_is_named() {
    let place = place();
    let code = format!(
        "import base64\nfrom IPython.display import Image, display\n\
         png = bytearray(base64.b64decode('{PNG}'))\npng[16:24] = b'\\xff' * 8\n\
         display(Image(data=bytes(png), format='png'))\nprint('on')"
    );
    let mut command = command(&place.0, "off", &["py", &code]);
    command.env("TERM", "xterm-kitty");
    let mut pty = Pty::start(command, USUAL);
    assert!(pty.end().success(), "{}", pty.text());
    assert!(!seen(&pty).contains("\u{1b}_G"), "{:?}", seen(&pty));
    assert!(pty.text().contains("image/png") && pty.text().contains("\n  on"), "{}", pty.text());
}

/// Issue 9: in the background it goes on, and does not touch the terminal.
#[test]
fn in_the_background_it_does_not_stop() {
    let place = place();
    let script = format!(
        "set -m\n\"$0\" py \"print('behind')\n{WAITS}\" &\n\
         while ! [ -e typed ]; do sleep 0.05; done; touch go; wait $!; echo over: $?"
    );
    let mut shell = place.0.command("sh");
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    shell.args(["-c", &script]).arg(place.0.program()).env("INKCELL_PYTHON_INTERPRETER", python);
    let mut pty = Pty::start(shell, USUAL);
    pty.wait_for("behind");
    assert!(!pty.is_raw(), "the terminal is the shell's");
    pty.send("typed\r");
    place.0.put("typed", "");
    pty.wait_for("over: 0");
    assert!(pty.end().success());
    assert!(!seen(&pty).contains('\u{1b}'), "{:?}", seen(&pty));
}

/// Issue 9: suspended, it leaves the terminal as it was; resumed, it goes on and draws again.
#[test]
fn suspended_it_gives_the_terminal_back() {
    let place = place();
    let code = format!("print('begun')\n{WAITS}print('done')");
    let mut pty = place.py("off", &[&code]);
    pty.wait_for("\n  begun\n");
    pty.wait_for("Running…");
    pty.send("\u{1a}");
    until("the suspended program", || state(pty.pid()) == 'T');
    assert!(!pty.is_raw());
    pty.wait_gone("Running…");
    pty.signal(Signal::CONT);
    pty.wait_for("Running…");
    assert!(pty.is_raw());
    place.0.put("go", "");
    assert!(pty.end().success(), "{}", pty.text());
    assert!(pty.text().ends_with("\n  begun\n  done"), "{}", pty.text());
}

/// The state of a process, as the letter in its stat file.
fn state(pid: u32) -> char {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is there");
    let (_, after) = stat.rsplit_once(')').expect("a name");
    after.trim_start().chars().next().expect("a state")
}

/// Issue 9: redirected output is streamed, byte for byte, and so is output with the option for a stream.
#[test]
fn a_redirected_stream_is_no_screen() {
    let place = place();
    let code = "import sys\nprint('out'); print('err', file=sys.stderr)";
    let script = "\"$0\" py \"$1\" 2> err.txt";
    let mut shell = place.0.command("sh");
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    shell.args(["-c", script]).arg(place.0.program()).arg(code);
    shell.env("INKCELL_PYTHON_INTERPRETER", python);
    let mut pty = Pty::start(shell, USUAL);
    assert!(pty.end().success());
    assert_eq!(pty.text(), "out");
    assert_eq!(place.0.get("err.txt"), b"err\n");
    let mut pty = Pty::start(command(&place.0, "off", &["py", "--view", "stream", code]), USUAL);
    assert!(pty.end().success());
    assert_eq!(pty.text(), "out\nerr");
}
