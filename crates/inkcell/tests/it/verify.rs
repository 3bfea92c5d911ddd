//! `inkcell verify`, with the real binary.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use inkcell_testkit::env::{CommandOutput, TestEnv, finish, names_in};
use inkcell_testkit::notebooks::pretty;
use inkcell_testkit::pty::{Pty, USUAL};
use inkcell_testkit::wait::until;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::env;
use crate::notebook_runs::{notebook, ran};
use crate::reading::screen;
use crate::running::Running;

fn command(env: &TestEnv, args: &[&str]) -> Command {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = env.inkcell();
    command.arg("verify").args(args).env("INKCELL_PYTHON_INTERPRETER", python);
    command
}

fn verified(env: &TestEnv, args: &[&str]) -> CommandOutput {
    finish(command(env, args), b"")
}

/// Runs a notebook, so that it has outputs, and returns its bytes.
fn stored(env: &TestEnv, name: &str, book: &str) -> Vec<u8> {
    env.put(name, book);
    ran(env, &[name, "--allow-errors"]).exits(0);
    env.get(name)
}

/// A notebook whose cells have these tags.
fn tagged(cells: &[(&str, &str)]) -> String {
    let sources: Vec<&str> = cells.iter().map(|(source, _)| *source).collect();
    let mut made: Value = serde_json::from_str(&notebook(&sources)).expect("JSON");
    for (at, (_, tag)) in cells.iter().enumerate().filter(|(_, (_, tag))| !tag.is_empty()) {
        made["cells"][at]["metadata"] = json!({"tags": [tag]});
    }
    pretty(&made)
}

/// Code with a counter in files, so that every run shows something else.
const FLAKY: &str = "import os\nn = len(os.listdir('.'))\nopen(f'seen{n}', 'w').close()\nprint('seen', n)\nprint('same')";

/// The check writes nothing to the notebook, and leaves no copy.
#[test]
fn a_notebook_that_shows_the_same_is_well() {
    let env = env();
    // Issue 21, 4: no helper is there, so the last cell fails.
    let cells = ["x = 6", "print('hi')\nx * 7", "1/0", "log(10)"];
    let before = stored(&env, "a.ipynb", &notebook(&cells));
    assert!(String::from_utf8_lossy(&before).contains("NameError"));
    let names = env.names();
    let good = verified(&env, &["a.ipynb"]).exits(0);
    assert!(good.stdout.starts_with("a.ipynb: 4 cells are as stored ("), "{good:?}");
    assert_eq!(env.get("a.ipynb"), before);
    assert_eq!(env.names(), names);
    assert_eq!(names_in(&env.state().join("verify")), [""; 0]);
    let quiet = verified(&env, &["a.ipynb", "--quiet"]).exits(0);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

#[test]
fn a_flaky_cell_is_shown_and_can_be_left_out() {
    let env = env();
    let before = stored(&env, "a.ipynb", &notebook(&["print('stable')", FLAKY]));
    let bad = verified(&env, &["a.ipynb"]).exits(1);
    let lines: Vec<&str> = bad.stdout.lines().collect();
    assert!(lines[0].starts_with("a.ipynb: 1 of 2 cells is not as stored ("), "{bad:?}");
    assert_eq!(lines[1..3], ["  cell 1 (c1) differs", "    stdout:"]);
    assert!(lines[3].starts_with("    - seen ") && lines[4].starts_with("    + seen "), "{bad:?}");
    assert_eq!(
        lines[5..],
        ["      same", "  if the new outputs are right, store them: inkcell run a.ipynb"]
    );
    verified(&env, &["a.ipynb", "--ignore", r"seen \d+"]).exits(0);
    verified(&env, &["a.ipynb", "--skip", "stdout"]).exits(0);
    verified(&env, &["a.ipynb", "--lax"]).exits(0);
    assert_eq!(env.get("a.ipynb"), before);
    let told = verified(&env, &["a.ipynb", "--json"]).exits(1);
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    let book = &told["notebooks"][0];
    assert_eq!((&told["status"], &book["status"]), (&json!("different"), &json!("different")));
    assert_eq!(book["cells"][0]["verdict"], "same");
    assert_eq!(book["cells"][1]["differences"][0]["part"], "stdout");
    assert!(
        book["cells"][1]["differences"][0]["now"].as_str().is_some_and(|now| now.contains("seen"))
    );
}

#[test]
fn tags_and_comments_of_nbval_are_understood() {
    let env = env();
    let comment = format!("# NBVAL_IGNORE_OUTPUT\n{FLAKY}");
    stored(
        &env,
        "a.ipynb",
        &tagged(&[
            (FLAKY, "nbval-ignore-output"),
            (&comment, ""),
            ("open('skipped', 'a').write('x')", "nbval-skip"),
            ("{}['a']", "raises-exception"),
            ("print('checked')", "nbval-check-output"),
        ]),
    );
    let times = env.get("skipped").len();
    let good = verified(&env, &["a.ipynb"]).exits(0);
    assert!(
        good.stdout.starts_with("a.ipynb: 2 cells are as stored, 2 not compared, 1 not run ("),
        "{good:?}"
    );
    assert_eq!(env.get("skipped").len(), times, "it is not run");
    // Only marked cells are compared, and every cell must run.
    stored(&env, "b.ipynb", &tagged(&[(FLAKY, ""), (FLAKY, "nbval-check-output")]));
    let bad = verified(&env, &["b.ipynb", "--lax"]).exits(1);
    assert!(
        bad.stdout.contains("1 of 2 cells is not") && bad.stdout.contains("cell 1 (c1) differs"),
        "{bad:?}"
    );
}

#[test]
fn a_float_may_be_close() {
    let env = env();
    let book = notebook(&["n = 1.0\nprint('loss', n)\nn"]);
    stored(&env, "a.ipynb", &book);
    let moved =
        String::from_utf8(env.get("a.ipynb")).expect("text").replace("\"1.0\"", "\"1.0000001\"");
    env.put("a.ipynb", &moved);
    let bad = verified(&env, &["a.ipynb"]).exits(1);
    assert!(bad.stdout.contains("    text/plain:\n    - 1.0000001\n    + 1.0\n"), "{bad:?}");
    verified(&env, &["a.ipynb", "--rtol", "1e-6"]).exits(0);
    verified(&env, &["a.ipynb", "--atol", "0.001"]).exits(0);
    verified(&env, &["a.ipynb", "--rtol", "1e-9"]).exits(1);
}

/// A picture made without a library: of one colour, which a file names.
const PICTURE: &str = r#"
import struct, zlib, os
from IPython.display import display, Image
def chunk(kind, body):
    return struct.pack('>I', len(body)) + kind + body + struct.pack('>I', zlib.crc32(kind + body))
colour, wide = eval(open('look').read())
rows = b''.join(b'\0' + bytes([colour]) * wide for _ in range(4))
png = b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', wide, 4, 8, 0, 0, 0, 0))
png += chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')
display(Image(data=png, format='png'))
"#;

#[test]
fn a_picture_is_compared_by_its_pixels_or_its_size() {
    let env = env();
    env.put("look", "(200, 6)");
    stored(&env, "a.ipynb", &notebook(&[PICTURE]));
    assert!(String::from_utf8_lossy(&env.get("a.ipynb")).contains("image/png"));
    verified(&env, &["a.ipynb", "--images", "exact"]).exits(0);
    env.put("look", "(201, 6)");
    let bad = verified(&env, &["a.ipynb"]).exits(1);
    assert!(bad.stdout.contains("    image/png: 24 of 24 pixels differ\n"), "{bad:?}");
    verified(&env, &["a.ipynb", "--images", "size"]).exits(0);
    env.put("look", "(200, 7)");
    let bad = verified(&env, &["a.ipynb", "--images", "size"]).exits(1);
    assert!(bad.stdout.contains("    image/png: 6x4 pixels stored, 7x4 now\n"), "{bad:?}");
    verified(&env, &["a.ipynb", "--images", "ignore"]).exits(0);
}

/// A cell that fails counts as failed even without outputs; the cells after it are run and compared.
#[test]
fn a_failing_cell_is_told_and_the_others_are_compared() {
    let env = env();
    env.put("data", "");
    let before = stored(&env, "a.ipynb", &notebook(&["f = open('data')", "print('after')"]));
    std::fs::remove_file(env.path("data")).expect("the file");
    let bad = verified(&env, &["a.ipynb"]).exits(1);
    assert!(bad.stdout.contains("a.ipynb: 1 of 2 cells is not as stored"), "{bad:?}");
    assert!(bad.stdout.contains("  cell 0 (c0) failed: FileNotFoundError: "), "{bad:?}");
    assert_eq!(env.get("a.ipynb"), before);
    // A cell that kills the kernel takes the rest with it.
    env.put("b.ipynb", notebook(&["import os\nprint('a')", "print('b')"]));
    ran(&env, &["b.ipynb"]).exits(0);
    let died =
        String::from_utf8(env.get("b.ipynb")).expect("text").replace("print('a')", "os._exit(3)");
    env.put("b.ipynb", died);
    let bad = verified(&env, &["b.ipynb"]).exits(7);
    assert!(bad.stdout.contains("not as stored, the kernel died ("), "{bad:?}");
    assert!(bad.stdout.contains("  cell 1 (c1) was not run"), "{bad:?}");
}

#[test]
fn what_cannot_be_checked_is_told() {
    let env = env();
    let book = notebook(&["open('ran', 'w').close()"]);
    env.put("new.ipynb", &book);
    let never = verified(&env, &["new.ipynb"]).exits(1);
    assert_eq!(
        never.stdout,
        "new.ipynb: never run, so there is nothing to compare with; run it first: inkcell run new.ipynb\n"
    );
    assert!(!env.path("ran").exists());
    // If nothing is compared, the notebook only has to run.
    verified(&env, &["new.ipynb", "--lax"]).exits(0);
    assert!(env.path("ran").exists());
    assert_eq!(env.get("new.ipynb"), book.into_bytes());
    let missing = verified(&env, &["none.ipynb"]).exits(5);
    assert!(missing.stderr.contains("not found: none.ipynb"), "{missing:?}");
    for (args, words) in [
        (&["new.ipynb", "--ignore", "("][..], "--ignore: \"(\" is not a pattern: "),
        (&["new.ipynb", "--rtol", "-1"], "give a number from 0 up"),
        (&["new.ipynb", "--rtol", "x"], "give a number from 0 up"),
        (&["new.ipynb", "--images", "look"], "invalid value 'look'"),
        (&[], "missing <PATHS>..."),
    ] {
        let refused = verified(&env, args).exits(2);
        assert!(refused.stderr.contains(words), "{args:?}: {refused:?}");
    }
}

/// Every notebook is checked, whatever the result of the others, and the first bad one decides the exit code.
#[test]
fn many_notebooks_are_checked() {
    let env = env();
    stored(&env, "good.ipynb", &notebook(&["1 + 1"]));
    stored(&env, "flaky.ipynb", &notebook(&[FLAKY]));
    let all = ["good.ipynb", "none.ipynb", "flaky.ipynb"];
    let bad = verified(&env, &all).exits(5);
    assert!(bad.stdout.contains("good.ipynb: 1 cell is as stored"), "{bad:?}");
    assert!(bad.stdout.contains("none.ipynb: not checked: "), "{bad:?}");
    assert!(bad.stdout.contains("flaky.ipynb: 1 of 1 cell is not as stored"), "{bad:?}");
    assert!(bad.stdout.ends_with("1 of 3 notebooks are as stored\n"), "{bad:?}");
    let told = verified(&env, &["good.ipynb", "none.ipynb", "--json"]).exits(5);
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    let statuses: Vec<_> =
        told["notebooks"].as_array().expect("a list").iter().map(|one| &one["status"]).collect();
    assert_eq!(statuses, ["same", "not_checked"]);
}

/// `-j 2` runs two checks at the same time: each waits for the other. The answer keeps the order of the names.
#[test]
fn checks_run_in_parallel() {
    let env = env();
    let meet = |mine: &str, other: &str| {
        let code = format!(
            "import os, time\nopen({mine:?}, 'w').close()\n\
             while not os.path.exists({other:?}): time.sleep(0.01)\nprint('met')"
        );
        notebook(&[&code])
    };
    env.put("b", "");
    stored(&env, "a.ipynb", &meet("a", "b"));
    stored(&env, "b.ipynb", &meet("b", "a"));
    for name in ["a", "b"] {
        std::fs::remove_file(env.path(name)).expect("it is there");
    }
    let told = verified(&env, &["b.ipynb", "a.ipynb", "-j", "2", "--json"]).exits(0);
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    let paths: Vec<&Value> =
        told["notebooks"].as_array().expect("a list").iter().map(|one| &one["path"]).collect();
    assert_eq!(paths, ["b.ipynb", "a.ipynb"]);
}

/// The JUnit file has a suite for each notebook and a case for each cell. It replaces no notebook.
#[test]
fn results_are_written_as_junit() {
    let env = env();
    stored(&env, "good.ipynb", &tagged(&[("1 + 1", ""), ("2", "nbval-skip")]));
    stored(&env, "flaky.ipynb", &notebook(&["'same'", FLAKY]));
    env.put("new.ipynb", notebook(&["1"]));
    let all = ["good.ipynb", "flaky.ipynb", "none.ipynb", "new.ipynb", "--junit", "j.xml"];
    verified(&env, &all).exits(1);
    let text = String::from_utf8(env.get("j.xml")).expect("text");
    let head =
        "<testsuites name=\"inkcell\" tests=\"6\" failures=\"2\" errors=\"1\" skipped=\"1\" ";
    assert!(text.contains(head), "{text}");
    assert!(text.contains("<testcase classname=\"good.ipynb\" name=\"cell 0 (c0)\" "), "{text}");
    assert!(text.contains("<failure message=\"cell 1 (c1) differs\">"), "{text}");
    assert!(text.contains("<failure message=\"never run\">"), "{text}");
    let refused = verified(&env, &["good.ipynb", "--junit", "good.ipynb"]).exits(2);
    assert!(refused.stderr.contains("--junit: "), "{refused:?}");
}

/// A terminal shows which notebook is checked and how far it is; the line is gone at the end.
#[test]
fn a_check_shows_its_progress() {
    let env = env();
    let wait = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint('gone')";
    env.put("go", "");
    stored(&env, "a.ipynb", &notebook(&["1", wait]));
    std::fs::remove_file(env.path("go")).expect("it is there");
    let mut pty = Pty::start(command(&env, &["a.ipynb"]), USUAL);
    pty.wait_for("0/1  a.ipynb  1/2 cells");
    env.put("go", "");
    assert!(pty.end().success(), "{}", pty.text());
    assert!(pty.text().starts_with("✓ a.ipynb: 2 cells are as stored ("), "{}", pty.text());
    assert_eq!(pty.text().lines().count(), 1, "{}", pty.text());
}

/// An interrupt ends the check, and leaves neither a copy nor a change.
#[test]
fn an_interrupt_leaves_nothing() {
    let env = env();
    env.put("a.ipynb", notebook(&["1"]));
    ran(&env, &["a.ipynb"]).exits(0);
    let slow = "import time\nopen('begun', 'w').close()\ntime.sleep(600)";
    let mut made: Value = serde_json::from_slice(&env.get("a.ipynb")).expect("JSON");
    made["cells"][0]["source"] = json!(slow);
    let book = pretty(&made);
    env.put("a.ipynb", &book);
    let running = Running::start(command(&env, &["a.ipynb"]));
    until("the file begun", || env.path("begun").exists());
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
    assert_eq!(env.get("a.ipynb"), book.into_bytes());
    assert_eq!(names_in(&env.state().join("verify")), [""; 0]);
}

/// A cell that is too slow is reported as such, with a remedy, even if the run could go on after it.
#[test]
fn a_slow_cell_is_told_as_that() {
    let env = env();
    let book = stored(
        &env,
        "a.ipynb",
        &notebook(&["import os, time\nif os.path.exists('slow'): time.sleep(600)", "'after'"]),
    );
    env.put("slow", "");
    // Only the first cell has a limit, set in its own metadata: a busy machine may hold the other up.
    let mut limited: Value = serde_json::from_slice(&book).expect("JSON");
    limited["cells"][0]["metadata"] = json!({"execution": {"timeout": 0.5}});
    env.put("a.ipynb", pretty(&limited));
    let slow = verified(&env, &["a.ipynb"]).exits(124);
    assert!(
        slow.stdout.contains("a.ipynb: 1 of 2 cells is not as stored, it took too long"),
        "{slow:?}"
    );
    assert!(slow.stdout.contains("  cell 0 (c0) did not end in time\n"), "{slow:?}");
    assert!(
        slow.stdout
            .contains("more time (0 for no limit): inkcell verify a.ipynb --timeout SECONDS"),
        "{slow:?}"
    );
    assert!(!slow.stdout.contains("store them"), "{slow:?}");
    env.put("a.ipynb", book);
    let told = verified(&env, &["a.ipynb", "--timeout", "0.5", "--json"]).exits(124);
    let told: Value = serde_json::from_str(&told.stdout).expect("JSON");
    assert_eq!(told["notebooks"][0]["cells"][0]["verdict"], "timed_out");
}

/// A notebook without cells to run passes.
#[test]
fn a_notebook_without_code_is_well() {
    let env = env();
    let mut words: Value = serde_json::from_str(&notebook(&[])).expect("JSON");
    words["cells"] =
        json!([{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# Words"}]);
    env.put("words.ipynb", pretty(&words));
    let good = verified(&env, &["words.ipynb"]).exits(0);
    assert!(good.stdout.contains("nothing to compare: the notebook has no code"), "{good:?}");
    env.put("skipped.ipynb", tagged(&[("1", "nbval-skip")]));
    verified(&env, &["skipped.ipynb"]).exits(0);
}

/// Patterns that the shell did not expand are expanded, as in a run, and a word that does not name a part of an
/// output is refused.
#[test]
fn patterns_are_expanded_and_parts_are_known() {
    let env = env();
    for name in ["a.ipynb", "b.ipynb"] {
        stored(&env, name, &notebook(&["1 + 1"]));
    }
    let good = verified(&env, &["*.ipynb"]).exits(0);
    assert!(good.stdout.ends_with("2 of 2 notebooks are as stored\n"), "{good:?}");
    let none = verified(&env, &["no/*.ipynb"]).exits(5);
    assert!(none.stderr.contains("no notebook matches no/*.ipynb"), "{none:?}");
    let refused = verified(&env, &["a.ipynb", "--skip", "bogus"]).exits(2);
    assert!(refused.stderr.contains("--skip: \"bogus\" is not a part of an output"), "{refused:?}");
    verified(&env, &["a.ipynb", "--skip", "text/plain"]).exits(0);
}

/// The number of open files stays the same, however many notebooks are checked.
#[test]
fn many_checks_hold_nothing_open() {
    let env = env();
    stored(&env, "a.ipynb", &notebook(&["1 + 1"]));
    let names: Vec<String> = (0..24).map(|at| format!("n{at}.ipynb")).collect();
    for name in &names {
        env.put(name, env.get("a.ipynb"));
    }
    // A cell of the last notebook counts the descriptors of its host, to compare with one of the second.
    let counting = "import os\nnow = len(os.listdir('/proc/%d/fd' % os.getppid()))\n\
                    with open('open', 'a') as f: print(now, file=f)";
    stored(&env, "x.ipynb", &notebook(&[counting]));
    std::fs::remove_file(env.path("open")).expect("the counts");
    let mut args = vec!["x.ipynb", "x.ipynb"];
    args.extend(names.iter().map(String::as_str));
    args.push("x.ipynb");
    verified(&env, &args).exits(0);
    let counts = String::from_utf8(env.get("open")).expect("text");
    let counts: Vec<u32> = counts.lines().map(|line| line.parse().expect("a number")).collect();
    assert_eq!(counts.len(), 3, "{counts:?}");
    assert!(counts[2] <= counts[1] + 4, "{counts:?}");
}

/// A stalled reader does not keep a signal from ending it.
#[test]
fn an_interrupt_ends_also_when_nobody_reads() {
    let env = env();
    let long = "for at in range(20): print(open('sign').read() * 100)";
    env.put("sign", "x");
    stored(&env, "a.ipynb", &notebook(&[long; 40]));
    env.put("sign", "y");
    // The differences take some hundred kilobytes, and a pipe holds 64 of them.
    let running = Running::start(command(&env, &["a.ipynb", "a.ipynb"]));
    until("a full pipe", || running.is_blocked());
    running.signal(Signal::INT);
    let ended = running.end_unread();
    assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
    assert_eq!(names_in(&env.state().join("verify")), [""; 0]);
}

/// Issue 24: on a terminal each result has a mark, differences are red and green, and lines fit.
#[test]
fn results_have_marks_on_a_terminal() {
    let env = env();
    stored(&env, "good.ipynb", &notebook(&["6 * 7"]));
    stored(&env, "bad.ipynb", &notebook(&[FLAKY]));
    for columns in [40, 80, 200] {
        let (text, bytes) = screen(command(&env, &["good.ipynb", "bad.ipynb"]), columns, &[]);
        assert!(
            bytes.contains("\u{1b}[32m✓ \u{1b}[0mgood.ipynb: 1 cell is as stored"),
            "{bytes:?}"
        );
        assert!(bytes.contains("\u{1b}[31m✗ \u{1b}[0mbad.ipynb: 1 of 1 cell"), "{bytes:?}");
        assert!(bytes.contains("\u{1b}[31m    - seen "), "{bytes:?}");
        assert!(bytes.contains("\u{1b}[32m    + seen "), "{bytes:?}");
        // Words move to the next row whole.
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.contains(&"stored"), "{columns}: {text}");
    }
    for plain in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let (text, bytes) = screen(command(&env, &["good.ipynb"]), 80, &[plain]);
        assert!(text.contains("✓ good.ipynb: 1 cell is as stored"), "{text}");
        // The line of progress is still drawn and erased, without colours.
        assert!(!bytes.contains("\u{1b}[3"), "{plain:?} {bytes:?}");
    }
    let piped = verified(&env, &["good.ipynb"]).exits(0);
    assert!(piped.stdout.starts_with("good.ipynb: "), "{piped:?}");
}
