//! The end of commands: exit codes, errors as JSON, and readers that went away.

use std::io::Read;
use std::process::Stdio;

use inkcell_testkit::env::{TestEnv, finish};
use inkcell_testkit::notebooks::jupyter;
use inkcell_testkit::pty::{Pty, Size};
use insta::assert_snapshot;

use crate::env;
use crate::samples::{long, rich};

/// One code for each kind of failure, and the same kind in JSON.
#[test]
fn every_kind_of_failure_has_its_code() {
    let env = env();
    env.put("nb.ipynb", rich());
    env.put("bad.ipynb", "not json");
    let table: [(&[&str], i32, &str); 10] = [
        (&["read", "bad.ipynb"], 2, "invalid"),
        (&["read", "nb.ipynb:0"], 2, "invalid"),
        (&["edit", "nb.ipynb"], 2, "invalid"),
        (&["frobnicate"], 2, "invalid"),
        (&["edit", "nb.ipynb", "type", "0", "heading"], 2, "invalid"),
        (&["read", "missing.ipynb"], 5, "not_found"),
        (&["edit", "missing.ipynb", "clear"], 5, "not_found"),
        (&["edit", "nb.ipynb", "delete", "9"], 5, "not_found"),
        (&["new", "nb.ipynb"], 4, "conflict"),
        (&["edit", "nb.ipynb", "delete", "0", "--hash", "0123456789abcdef"], 4, "conflict"),
    ];
    for (args, code, kind) in table {
        let ran = env.run(args).exits(code);
        assert_eq!(ran.stdout, "", "{args:?}");
        assert!(ran.stderr.starts_with("error: "), "{args:?}: {}", ran.stderr);
        let all: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let ran = env.run(&all).exits(code);
        assert_eq!(ran.stderr, "", "{args:?}");
        let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(said["error"]["kind"], kind, "{args:?}");
        assert!(said["error"]["message"].is_string() && said["error"].get("hint").is_some());
    }
    assert_eq!(env.get("nb.ipynb"), rich().as_bytes());
}

#[test]
fn an_error_as_json_has_its_next_step() {
    let env = env();
    let ran = env.run(&["--json", "read", "missing.ipynb"]).exits(5);
    assert_snapshot!(ran.stdout, @r#"
    {
      "error": {
        "kind": "not_found",
        "message": "File not found: missing.ipynb",
        "hint": "check the path, or create the notebook with 'inkcell new missing.ipynb'"
      }
    }
    "#);
}

/// Behind the message of a library, the command line adds its own syntax for the next step.
#[test]
fn next_steps_are_commands() {
    let env = env();
    env.put("nb.ipynb", rich());
    env.put("empty.ipynb", "");
    env.put("text.ipynb", "# %% [code] cell:0\nx");
    let dash = "write a path that begins with a dash as ./-x.ipynb";
    env.put("cut.ipynb", &rich()[..100]);
    let table: [(&[&str], &str); 7] = [
        (
            &["read", "empty.ipynb"],
            "hint: try again if another program is saving it now; to start over, remove the \
             file and run 'inkcell new PATH'",
        ),
        (&["read", "text.ipynb"], "turn it into a notebook with 'inkcell write NEW.ipynb < PATH'"),
        (&["edit", "nb.ipynb", "--old", "e", "--new", "x"], "to replace every match, add --all"),
        (&["to", "script", "nb.ipynb", "-o", "./nb.ipynb"], "choose another file for -o"),
        (&["read", "cut.ipynb"], "try again if another program is saving it now"),
        (
            &["edit", "nb.ipynb", "clear", "-o", "./nb.ipynb"],
            "remove -o, or choose another file for -o",
        ),
        (&["read", "-x.ipynb"], dash),
    ];
    for (args, wanted) in table {
        let ran = env.run(args).exits(2);
        let hint = ran.stderr.lines().find(|line| line.starts_with("hint: "));
        assert!(hint.is_some_and(|hint| hint.ends_with(wanted)), "{args:?}: {}", ran.stderr);
    }
    let ran = env.run(&["edit", "--", "-x.ipynb", "clear"]).exits(2);
    assert!(ran.stderr.ends_with("as ./-NAME\n"), "{}", ran.stderr);
    let table: [(&[&str], &str); 3] = [
        (
            &["edit", "nb.ipynb", "delete", "9"],
            "list the cells with 'inkcell read nb.ipynb --outline'",
        ),
        (
            &["read", "nb.ipynb", "--cells", "nope"],
            "list the cells with 'inkcell read nb.ipynb --outline'",
        ),
        (&["new", "no/sub/x.ipynb"], "create the folder first with 'mkdir -p no/sub'"),
    ];
    for (args, wanted) in table {
        let ran = env.run(args).exits(5);
        assert!(ran.stderr.ends_with(&format!("\nhint: {wanted}\n")), "{}", ran.stderr);
    }
    env.put("-x.ipynb", rich());
    env.run(&["edit", "./-x.ipynb", "clear"]).ok();
}

/// A reader or writer of a notebook through JSON gets its version.
#[test]
fn every_answer_in_json_has_the_version() {
    let env = env();
    env.put("nb.ipynb", rich());
    env.put("old.ipynb", rich().replace("prose", "verse"));
    let commands: [&[&str]; 13] = [
        &["read", "nb.ipynb"],
        &["read", "nb.ipynb:1-2"],
        &["read", "nb.ipynb", "--page"],
        &["read", "nb.ipynb:raw"],
        &["read", "nb.ipynb", "--outline"],
        &["read", "nb.ipynb", "--outputs", "full"],
        &["read", "nb.ipynb", "--search", "x"],
        &["diff", "old.ipynb", "nb.ipynb"],
        &["to", "markdown", "nb.ipynb", "--outputs", "none"],
        &["to", "script", "nb.ipynb", "-o", "out.py"],
        &["edit", "nb.ipynb", "clear", "--dry-run"],
        &["edit", "nb.ipynb", "clear"],
        &["new", "new.ipynb"],
    ];
    for args in commands {
        let all: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let ran = env.run(&all).ok();
        let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(said["version"].as_str().map(str::len), Some(16), "{args:?}: {}", ran.stdout);
        assert!(said["path"].is_string(), "{args:?}: {}", ran.stdout);
    }
    let ran = env.run(&["diff", "old.ipynb", "nb.ipynb", "--json"]).ok();
    let said: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&said["path"], &said["old"]["path"]), (&"nb.ipynb".into(), &"old.ipynb".into()));
    assert_ne!(said["version"], said["old"]["version"]);
}

#[test]
fn help_and_version_are_answers() {
    let env = env();
    let help = env.run(&["--help"]).ok();
    assert!(help.stdout.contains("Notebooks:\n") && help.stderr.is_empty(), "{}", help.stdout);
    for command in ["read", "write", "edit", "new", "diff", "clean", "to"] {
        env.run(&[command, "--help"]).ok();
    }
    assert!(env.run(&["--version"]).ok().stdout.starts_with("inkcell "));
    // As uv and git do: help instead of a command is no answer.
    let none = env.run(&[]).exits(2);
    assert_eq!((none.stdout.as_str(), none.stderr), ("", help.stdout));
    let none = env.run(&["--json"]).exits(2);
    assert!(none.stdout.contains("no command given") && none.stderr.is_empty(), "{}", none.stdout);
}

/// A reader that goes away, such as `head`, ends the command quietly.
#[test]
fn a_closed_pipe_is_no_failure() {
    let env = env();
    env.put("nb.ipynb", long(3000));
    let commands: [&[&str]; 5] = [
        &["read", "nb.ipynb"],
        &["read", "nb.ipynb:raw"],
        &["read", "nb.ipynb", "--outputs", "full"],
        &["read", "nb.ipynb", "--outline", "--json"],
        &["to", "markdown", "nb.ipynb"],
    ];
    for args in commands {
        let mut command = env.inkcell();
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let mut first = [0; 10];
        child.stdout.take().expect("a pipe").read_exact(&mut first).expect("some bytes");
        // The pipe is closed by now, long before everything was written.
        let said = child.wait_with_output().expect("ended");
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(0), "{args:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

/// An answer that cannot be written is a failure, though the edit itself was made.
#[test]
fn an_answer_that_cannot_be_written_is_told() {
    let env = env();
    env.put("nb.ipynb", rich());
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        return inkcell_testkit::need::skip(
            "an_answer_that_cannot_be_written",
            "there is no /dev/full",
        );
    };
    let mut command = env.inkcell();
    command.args(["read", "nb.ipynb"]).stdin(Stdio::null()).stdout(full).stderr(Stdio::piped());
    let said = command.spawn().expect("started").wait_with_output().expect("ended");
    assert_eq!(said.status.code(), Some(70));
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert!(stderr.starts_with("error: cannot write the answer: "), "{stderr}");
}

/// S-050: the content of a notebook is shown in answers, and never controls the terminal.
#[test]
fn escapes_in_a_notebook_are_made_visible() {
    let evil = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{8}\r";
    let env = env();
    let nb = jupyter(&[("code", "aaaa1111", &format!("x{evil}")), ("raw", "bbbb2222", evil)]);
    let nb = nb.replace("\"hi\\n\"", &serde_json::Value::from(format!("out{evil}\n")).to_string());
    let nb = nb.replacen(
        "\"metadata\": {}",
        &format!("\"metadata\": {{\"tags\": [{}]}}", serde_json::Value::from(evil)),
        1,
    );
    env.put("nb.ipynb", nb);
    env.put(&format!("bad{evil}.ipynb"), "not json");
    let bad = format!("bad{evil}.ipynb");
    let missing = format!("missing{evil}.ipynb");
    let answers: [&[&str]; 10] = [
        &["read", "nb.ipynb", "--outline"],
        &["read", "nb.ipynb", "--outputs", "full"],
        &["read", "nb.ipynb", "--search", "x"],
        &["read", "nb.ipynb", "--outline", "--json"],
        &["edit", "nb.ipynb", "insert", "--source", evil],
        &["edit", "nb.ipynb", "delete", "-1", "--dry-run"],
        &["edit", "nb.ipynb", "sub", "0", "--old", "nope", "--new", "x"],
        &["edit", "nb.ipynb", "delete", evil],
        &["read", &bad],
        &["read", &missing],
    ];
    for args in answers {
        let ran = env.run(args);
        for text in [ran.stdout, ran.stderr] {
            let harmful =
                |c: &char| *c != '\n' && *c != '\t' && (c.is_control() || *c == '\u{202e}');
            // JSON escapes control characters, and may contain the other ones.
            let found = text
                .chars()
                .find(|c| harmful(c) && !(args.contains(&"--json") && *c as u32 > 0x7f));
            assert_eq!(found, None, "{args:?}: {text:?}");
        }
    }
}

/// S-060: reading, comparing and exporting write nothing beside a notebook and run nothing from it.
#[test]
fn reading_writes_nothing_beside_the_notebook() {
    let env = env();
    let canary = env.outside("canary");
    let code = format!(
        "open({:?}, 'w')\n!touch {:?}\n",
        canary.display().to_string(),
        canary.display().to_string()
    );
    let nb = jupyter(&[
        ("code", "aaaa1111", &code),
        ("markdown", "bbbb2222", "<script>alert(1)</script>"),
    ]);
    let path = env.put("nb.ipynb", &nb);
    let before = std::fs::metadata(&path).expect("there");
    let commands: [&[&str]; 9] = [
        &["read", "nb.ipynb"],
        &["read", "nb.ipynb:raw"],
        &["read", "nb.ipynb", "--outline"],
        &["read", "nb.ipynb", "--outputs", "full"],
        &["read", "nb.ipynb", "--search", "open", "--outputs", "full"],
        &["diff", "nb.ipynb", "nb.ipynb"],
        &["to", "script", "nb.ipynb"],
        &["to", "markdown", "nb.ipynb"],
        &["clean", "nb.ipynb", "--check"],
    ];
    for args in commands {
        let differs = args.contains(&"--check");
        env.run(args).exits(if differs { 1 } else { 0 });
        assert_eq!(env.names(), ["nb.ipynb"], "{args:?}");
    }
    assert!(!canary.exists(), "code of a notebook was run");
    let after = std::fs::metadata(&path).expect("there");
    assert_eq!(after.modified().expect("a time"), before.modified().expect("a time"));
    assert_eq!(env.get("nb.ipynb"), nb.as_bytes());
    // If the state folder cannot be made, reading still works.
    let mut command = env.inkcell();
    command.args(["read", "nb.ipynb"]).env("INKCELL_STATE_DIR", "/proc/no/such/folder");
    finish(command, b"").ok();
}

/// B:N-01 S-060: none of these commands starts a program, opens a connection, or makes a thread for a small file.
#[test]
fn no_command_starts_or_contacts_anything() {
    if !inkcell_testkit::need::strace("no_command_starts_or_contacts_anything") {
        return;
    }
    let env = env();
    env.put("nb.ipynb", rich());
    env.put("other.ipynb", rich());
    let commands: [&[&str]; 9] = [
        &["read", "nb.ipynb"],
        &["read", "nb.ipynb", "--outputs", "full"],
        &["to", "script", "nb.ipynb"],
        &["to", "markdown", "nb.ipynb"],
        &["diff", "nb.ipynb", "other.ipynb"],
        &["edit", "nb.ipynb", "replace", "1", "--source", "import os"],
        &["edit", "nb.ipynb", "--old", "prose", "--new", "verse"],
        &["clean", "nb.ipynb"],
        &["new", "new.ipynb"],
    ];
    let calls =
        "execve,execveat,fork,vfork,clone,clone3,socket,socketpair,connect,bind,listen,sendto";
    for args in commands {
        let made = crate::trace::record(&env, args, calls);
        let names: Vec<&str> = made.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["execve"], "{args:?}: only the command itself is started");
    }
}

/// An argument that is not UTF-8 text gets a normal error.
#[test]
fn an_argument_that_is_not_utf_8_is_told() {
    use std::os::unix::ffi::OsStrExt;
    let env = env();
    for json in [false, true] {
        let mut command = env.inkcell();
        command.args(["read"]).arg(std::ffi::OsStr::from_bytes(b"a\xff.ipynb"));
        command.args(json.then_some("--json"));
        let ran = finish(command, b"").exits(2);
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains("UTF-8"), "{ran:?}");
        assert_eq!(ran.stdout.is_empty(), !json, "{ran:?}");
    }
}

/// Issue 21, 29: errors repeat arguments without letting them control the terminal.
#[test]
fn arguments_are_told_without_control_characters() {
    let env = env();
    let odd = "\u{1b}]0;t\u{7}\u{9b}2J";
    let table: [&[&str]; 10] = [
        &[odd],
        &["read", odd],
        &["read", "--", odd],
        &["read", "nb.ipynb", odd],
        &["new", odd],
        &["run", odd],
        &["setup", odd],
        &["setup", "claude-code", "--scope", odd],
        &["settings", odd],
        &["tool", odd],
    ];
    for args in table {
        for json in [&[][..], &["--json"]] {
            let all: Vec<&str> = args.iter().chain(json).copied().collect();
            let ran = env.run(&all);
            assert_ne!(ran.code, Some(0), "{args:?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.is_empty(), "{args:?}");
            let hidden = said.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
            assert_eq!(hidden, None, "{args:?}: {said:?}");
        }
    }
}

/// What a command prints at a terminal of this width, without colours and with plain line ends.
fn at_terminal(env: &TestEnv, args: &[&str], columns: u16) -> String {
    let mut command = env.inkcell();
    command.args(args).env("NO_COLOR", "1");
    let mut pty = Pty::start(command, Size { rows: 24, columns });
    pty.end();
    String::from_utf8_lossy(pty.seen()).replace("\r\n", "\n")
}

/// Errors and hints break between words at a terminal. A command stays whole, and in a pipe each is one line.
#[test]
fn errors_fit_the_terminal_and_are_one_line_in_a_pipe() {
    let env = env();
    env.put("nb.ipynb", rich());
    let args = ["edit", "nb.ipynb", "delete", "nosuch"];
    let piped = env.run(&args).exits(5).stderr;
    assert_eq!(piped.lines().count(), 2, "{piped}");
    for columns in [40, 80, 200] {
        let seen = at_terminal(&env, &args, columns);
        let widest = seen.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(widest <= usize::from(columns), "{columns}: {seen}");
        assert_eq!(
            seen.split_whitespace().collect::<Vec<_>>(),
            piped.split_whitespace().collect::<Vec<_>>()
        );
        assert!(
            seen.lines().any(|line| line.contains("'inkcell read nb.ipynb --outline'")),
            "{seen}"
        );
    }
    let narrow = at_terminal(&env, &args, 40);
    assert!(
        narrow.contains("\nhint: list the cells with\n'inkcell read nb.ipynb --outline'\n"),
        "{narrow}"
    );
}

/// A remark does not stick to the last line of an answer, and the bytes of the answer stay as they are.
#[test]
fn remarks_begin_a_line_of_their_own() {
    let env = env();
    env.run(&["new", "nb.ipynb"]).ok();
    env.run(&["edit", "nb.ipynb", "insert", "--source", "6 * 7"]).ok();
    let read = env.run(&["read", "nb.ipynb"]).ok();
    assert!(read.stdout.ends_with("\n6 * 7"), "{read:?}");
    assert!(read.stderr.starts_with("nb.ipynb: version "), "{read:?}");
    let mut both = env.command("sh");
    both.args(["-c", "exec \"$1\" read nb.ipynb 2>&1", "sh"]).arg(env.program());
    let both = finish(both, b"").ok().stdout;
    assert!(both.contains("\n6 * 7\nnb.ipynb: version "), "{both}");
    let seen = at_terminal(&env, &["--no-pager", "read", "nb.ipynb"], 80);
    assert!(seen.contains("\n6 * 7\nnb.ipynb: version "), "{seen}");
}
