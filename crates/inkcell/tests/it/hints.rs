//! Every command that a hint names works when it is pasted.
//!
//! Owns a table with each of these commands, how to bring up a sentence that names it, and what it prints. A command of
//! `words` that is not in the table fails a test.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use inkcell_testkit::env::finish;
use inkcell_testkit::pty::{Pty, Size};
use regex::Regex;

use crate::env;
use crate::hosts::Hosted;

/// A command in a sentence.
#[derive(Clone, Copy)]
struct Hint {
    /// The command as its sentence has it, with `{}` for a value.
    command: &'static str,
    /// A script that ends with the sentence. It has the functions and files of `PRELUDE`.
    script: &'static str,
    /// What a user replaces before the command runs.
    replaced: (&'static str, &'static str),
    code: i32,
    /// What the command prints.
    shows: &'static str,
}

const fn hint(command: &'static str, script: &'static str, shows: &'static str) -> Hint {
    Hint { command, script, replaced: ("", ""), code: 0, shows }
}

impl Hint {
    const fn with(self, word: &'static str, by: &'static str) -> Hint {
        Hint { replaced: (word, by), ..self }
    }

    const fn exits(self, code: i32) -> Hint {
        Hint { code, ..self }
    }
}

/// `nb.ipynb` has one cell; `cell NAME SOURCE` makes another notebook like it.
const PRELUDE: &str = "
cell() {
    inkcell new $1 >/dev/null && inkcell edit $1 insert --source \"$2\" >/dev/null
}
host_pid() {
    inkcell host status --json | grep -o '\"pid\": [0-9]*' | head -1 | grep -o '[0-9]*'
}
cell nb.ipynb '6 * 7'
";

/// Commands on files, which run no code.
const FILES: [Hint; 17] = [
    hint("inkcell new {}", "inkcell run gone.ipynb", "Notebook created"),
    hint("inkcell new PATH", "touch e.ipynb; inkcell read e.ipynb; rm e.ipynb", "Notebook created")
        .with("PATH", "e.ipynb"),
    hint("inkcell new NAME.ipynb", "rm nb.ipynb; inkcell run --in-place x.ipynb y.ipynb", "Notebook created"),
    hint("inkcell edit {} ...", "inkcell new nb.ipynb", "Cell deleted").with("...", "delete 0"),
    hint("inkcell read {} --outline", "inkcell edit nb.ipynb delete 9", "code"),
    hint(
        "inkcell write NEW.ipynb < PATH",
        "printf '# %%%% [code] cell:0\\nx\\n' > t.ipynb; inkcell read t.ipynb",
        "Cell inserted",
    )
    .with("PATH", "t.ipynb"),
    hint("inkcell read {}:raw", "echo '{\"a\": 1}' > odd.ipynb; inkcell read odd.ipynb", "\"a\": 1"),
    hint(
        "inkcell read {}:raw",
        "echo '{\"cells\": [1], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": 5}' > odd.ipynb
         inkcell read odd.ipynb",
        "[1]",
    ),
    hint("inkcell read {}", "inkcell edit --hash 0123456789abcdef nb.ipynb clear", "6 * 7"),
    hint("inkcell artifacts list", "inkcell result 0000000000000000", "0 artifacts"),
    hint("inkcell tool --list", "inkcell tool nosuch", "notebook_read"),
    hint("inkcell settings", "inkcell settings nosuch", "kernel.idle"),
    hint(
        "INKCELL_CONFIG=/dev/null inkcell settings",
        "echo 'zzz = 1' > c.toml; INKCELL_CONFIG=c.toml inkcell py 1",
        "kernel.idle",
    ),
    hint(
        "inkcell edit {} meta {} --untag parameters",
        "inkcell new p.ipynb; inkcell edit p.ipynb insert --type markdown --source x
         inkcell edit p.ipynb meta 0 --tag parameters; inkcell run --inspect p.ipynb",
        "Metadata changed",
    ),
    hint(
        "inkcell edit {} meta CELL --tag parameters",
        "inkcell run --inspect nb.ipynb",
        "Metadata changed",
    )
    .with("CELL", "0"),
    hint(
        "inkcell read {} --cells {}",
        "cell p.ipynb 'x = ('; inkcell edit p.ipynb meta 0 --tag parameters
         inkcell run --inspect p.ipynb",
        "x = (",
    ),
    hint("inkcell to script {}", "inkcell py -f nb.ipynb", "6 * 7"),
];

/// Commands that run code, or look at what can run it.
const CODE: [Hint; 14] = [
    hint(
        "inkcell py --cells - < {}",
        "printf '# %%%%\\nprint(6 * 7)\\n' > job.ipynb; inkcell run job.ipynb",
        "42",
    ),
    hint("inkcell doctor", "inkcell py --python /nowhere 1", "python"),
    hint(
        "inkcell doctor",
        "inkcell=$(command -v inkcell)
         env -u INKCELL_PYTHON_INTERPRETER PATH=/nowhere $inkcell py 1",
        "python",
    ),
    hint("inkcell kernel specs", "inkcell run nb.ipynb --kernel nosuch", ""),
    hint(
        "inkcell settings gateway",
        "INKCELL_GATEWAY_URL=http://127.0.0.1:1 inkcell py --backend gateway 1",
        "gateway.url",
    ),
    hint("inkcell settings --json", "INKCELL_ZZZ=1 inkcell doctor", "\"kernel.idle\""),
    hint("inkcell env setup", "inkcell env", "Created the managed environment"),
    hint(
        "inkcell env setup {}",
        "$TEST_PYTHON -m venv --without-pip plain
         inkcell doctor --python $PWD/plain/bin/python",
        "Created the managed environment",
    ),
    hint("inkcell py --json CODE", "inkcell repl --json", "42").with("CODE", "'6 * 7'"),
    hint("inkcell read {} --outputs full", "inkcell run nb.ipynb", "42"),
    hint("inkcell repl", "cell in.ipynb 'input()'; inkcell run in.ipynb", "42"),
    hint("inkcell run {}", "inkcell verify nb.ipynb", "Ran 1 cell"),
    hint(
        "inkcell run {} -o {}",
        "cp nb.ipynb other.ipynb; inkcell run nb.ipynb other.ipynb",
        "Ran 1 cell",
    ),
    hint(
        "inkcell run --in-place {} {}",
        "cp nb.ipynb other.ipynb; inkcell run nb.ipynb other.ipynb",
        "other.ipynb",
    ),
];

/// Advice below a comparison that found a difference.
const VERIFIED: [Hint; 3] = [
    hint(
        "inkcell run {}",
        "inkcell run nb.ipynb; inkcell edit --keep-outputs nb.ipynb replace 0 --source 1
         inkcell verify nb.ipynb",
        "Ran 1 cell",
    ),
    hint(
        "inkcell verify {} --timeout SECONDS",
        "cell slow.ipynb 'import time; time.sleep(2)'; inkcell run slow.ipynb
         inkcell verify slow.ipynb --timeout 0.5",
        "as stored",
    )
    .with("SECONDS", "0"),
    hint(
        "inkcell run {} -o FILE.ipynb",
        "inkcell run nb.ipynb
         inkcell edit --keep-outputs nb.ipynb replace 0 --source 'import os; os._exit(3)'
         inkcell verify nb.ipynb",
        "exited with code 3",
    )
    .exits(7),
];

/// Commands on sessions that stay.
const HOSTED: [Hint; 8] = [
    hint("inkcell sessions", "inkcell stop nosuch", "No sessions are running."),
    hint("inkcell repl", "inkcell sessions", "42"),
    hint("inkcell result {}", "inkcell py --detach 'print(6 * 7)'; inkcell py 1", "42"),
    hint(
        "inkcell result {} --wait 60",
        "id=$(inkcell py --detach 'import time; time.sleep(2); print(6 * 7)' 2>/dev/null)
         inkcell result $id",
        "42",
    ),
    hint(
        "inkcell artifacts rm --all",
        "inkcell py 'print(\"x\" * 200000)' >/dev/null
         INKCELL_ARTIFACTS_TOTAL_BYTES=200000 inkcell doctor",
        "removed 1 artifact",
    ),
    hint(
        "inkcell host stop --force",
        "inkcell py 1; kill -STOP $(host_pid); inkcell py 1",
        "The shared host has ended.",
    ),
    hint(
        "inkcell host stop --force",
        "inkcell py 1; kill -STOP $(host_pid); inkcell interrupt nosuch",
        "The shared host has ended.",
    ),
    hint(
        "inkcell host status",
        "inkcell py 1; (inkcell py 'open(\"begun\", \"w\"); import time; time.sleep(600)' &
         until [ -e begun ]; do sleep 0.05; done; kill -9 $(host_pid); wait)",
        "No host is running.",
    ),
];

/// Sentences that only a terminal gets.
const AT_TERMINAL: [Hint; 9] = [
    hint("inkcell py '1 + 1'", "inkcell py", "2"),
    hint("echo 'print(1)' | inkcell py -", "inkcell py -", "1"),
    hint("inkcell run - < a.ipynb", "inkcell run -", "\"cells\"").with("a.ipynb", "nb.ipynb"),
    hint("inkcell repl", "inkcell run -", "42"),
    hint("inkcell read A | inkcell write B", "inkcell write nb.ipynb", "Cell inserted")
        .with("A | inkcell write B", "nb.ipynb | inkcell write copy.ipynb"),
    hint("inkcell read {}", "TERM=dumb inkcell tui nb.ipynb", "6 * 7"),
    hint("inkcell py CODE", "TERM=dumb inkcell repl", "42").with("CODE", "'6 * 7'"),
    hint("inkcell stop", "inkcell repl", "Stopped:"),
    hint(
        "inkcell result {} > FILE",
        "picture=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
         inkcell py \"import base64; type('P', (), {'_repr_png_': lambda s: base64.b64decode('$picture')})()\"
         inkcell result $(inkcell artifacts list --json | grep -o '\"[a-z0-9]\\{16\\}\"' | tr -d '\"')",
        "",
    ),
];

/// Commands that other tests run: the command, the file and the test.
const ELSEWHERE: [(&str, &str, &str); 2] = [
    ("inkcell host stop", "host_doors.rs", "a_host_of_another_version_is_told_apart"),
    ("inkcell gateway stop", "gateways.rs", "a_gateway_is_started_shared_and_stopped"),
];

/// Sentences that name a command and advise nothing.
const MENTIONS: [&str; 2] =
    ["by a person with inkcell interrupt", "move inkcell to a directory on PATH"];

/// A stand-in for uv: an environment without packages, and an installer that succeeds.
const UV: &str = "#!/bin/sh
case \"$1\" in
venv) for last; do :; done; exec \"$TEST_PYTHON\" -m venv --without-pip \"$last\";;
esac
";

/// A shell in which `inkcell` is the executable of this build.
fn shell(hosted: &Hosted, host: &str, script: &str) -> Command {
    let env = &hosted.env;
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let programs = env.program().parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{}:{path}", env.path("bin").display(), programs.display());
    let mut command = env.command("bash");
    command.args(["-c", script]).env("PATH", path).env("INKCELL_HOST_USE", host);
    command.env("INKCELL_PYTHON_INTERPRETER", &python).env("TEST_PYTHON", python);
    command
}

/// The command of a hint as it was printed.
fn printed(hint: &Hint, said: &str) -> String {
    let values = regex::escape(hint.command).replace("\\{\\}", ".+?");
    let pattern = Regex::new(&format!("(?m)({values})(?:['`\r\n]|$)")).expect("a pattern");
    let found = pattern.captures(said);
    found.unwrap_or_else(|| panic!("no {:?} after {}: {said}", hint.command, hint.script))[1]
        .to_owned()
}

/// Brings up the sentence, takes the command out of it, and runs it.
fn paste(hint: &Hint, host: &str, is_terminal: bool) {
    let hosted = Hosted::new();
    fs::create_dir(hosted.env.path("bin")).expect("a folder");
    let uv = hosted.env.put("bin/uv", UV);
    fs::set_permissions(uv, fs::Permissions::from_mode(0o755)).expect("a program");
    let script = shell(&hosted, host, &format!("{PRELUDE}{}", hint.script));
    let said = match is_terminal {
        true => {
            let mut pty = Pty::start(script, Size { rows: 40, columns: 400 });
            if hint.script.ends_with("inkcell repl") {
                pty.wait_for(">>> ");
                pty.send(":quit\r");
            }
            pty.end();
            String::from_utf8_lossy(pty.seen()).into_owned()
        }
        false => {
            let ran = finish(script, b"");
            ran.stdout + &ran.stderr
        }
    };
    let (word, by) = hint.replaced;
    let command = printed(hint, &said).replace(word, by);
    // A prompt without input shows nothing.
    let input = if hint.command == "inkcell repl" { "6 * 7\n" } else { "" };
    let ran = finish(shell(&hosted, host, &command), input);
    assert_eq!(ran.code, Some(hint.code), "{command}: {ran:?}");
    assert!((ran.stdout.clone() + &ran.stderr).contains(hint.shows), "{command}: {ran:?}");
}

#[test]
fn hints_about_files_work_when_pasted() {
    FILES.iter().for_each(|hint| paste(hint, "off", false));
}

#[test]
fn hints_about_code_work_when_pasted() {
    CODE.iter().for_each(|hint| paste(hint, "off", false));
}

#[test]
fn advice_of_verify_works_when_pasted() {
    VERIFIED.iter().for_each(|hint| paste(hint, "off", false));
}

#[test]
fn hints_about_sessions_work_when_pasted() {
    HOSTED.iter().for_each(|hint| paste(hint, "on", false));
}

#[test]
fn hints_at_a_terminal_work_when_pasted() {
    AT_TERMINAL.iter().for_each(|hint| paste(hint, "on", true));
}

/// The string literals of a folder's sources, without those of tests.
fn literals(folder: &Path, literal: &Regex) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path.to_string_lossy();
        if path.is_dir() && !name.ends_with("tests") {
            found.extend(literals(&path, literal));
        } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
            let text = fs::read_to_string(&path).expect("text");
            let code = text.split("mod tests {").next().unwrap_or_default();
            let is_code = |line: &&str| !line.trim_start().starts_with("//");
            let code = code.lines().filter(is_code).collect::<Vec<_>>().join("\n");
            // A literal goes on behind a backslash at the end of a line.
            let mut parts = code.split("\\\n");
            let first = parts.next().unwrap_or_default().to_owned();
            let joined = parts.fold(first, |code, part| code + part.trim_start());
            found.extend(literal.captures_iter(&joined).map(|found| found[1].to_owned()));
        }
    }
    found
}

#[test]
fn every_command_of_a_sentence_is_tried() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crates");
    let folders = ["inkcell/src/words", "engine/src", "kernel/src", "notebook/src"];
    let literal = Regex::new(r#""((?:[^"\\]|\\.)*)""#).expect("a pattern");
    let texts: Vec<String> =
        folders.iter().flat_map(|folder| literals(&crates.join(folder), &literal)).collect();
    // In quotes, or behind a colon if the command has quotes of its own.
    let quoted = Regex::new(r"['`]((?:[A-Z_]+=\S+ )?inkcell [a-z][^'`]*)['`]").expect("a pattern");
    let behind = Regex::new(r": ((?:echo .* \| )?inkcell [a-z].*)$").expect("a pattern");
    let value = Regex::new(r"\{[^}]*\}").expect("a pattern");
    let help = env().run(&["help"]).ok().stdout;
    let names: Vec<&str> = help
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once(' ').map(|(name, _)| name))
        .filter(|name| !name.is_empty())
        .collect();
    let mention = Regex::new(&format!(r"\binkcell (?:{})\b", names.join("|"))).expect("a pattern");
    let (mut advised, mut others) = (BTreeSet::new(), Vec::new());
    for text in texts.iter().filter(|text| mention.is_match(text)) {
        let mut found: Vec<String> =
            quoted.captures_iter(text).map(|found| found[1].to_owned()).collect();
        if found.is_empty() {
            found.extend(behind.captures(text).map(|found| found[1].to_owned()));
        }
        if found.is_empty() && !MENTIONS.iter().any(|mention| text.contains(mention)) {
            others.push(text);
        }
        advised.extend(found.iter().map(|found| value.replace_all(found, "{}").into_owned()));
    }
    assert!(others.is_empty(), "write the command in quotes: {others:#?}");
    let tables = [&FILES[..], &CODE, &VERIFIED, &HOSTED, &AT_TERMINAL].concat();
    let mut tried: BTreeSet<String> = tables.iter().map(|hint| hint.command.to_owned()).collect();
    for (command, file, test) in ELSEWHERE {
        let path = crates.join("inkcell/tests/it").join(file);
        let text = fs::read_to_string(path).expect("a file of tests");
        let arguments: Vec<&str> = command.split(' ').skip(1).collect();
        let is_there =
            text.contains(&format!("fn {test}(")) && text.contains(&format!("{arguments:?}"));
        assert!(is_there, "{test} of {file} does not run {command}");
        tried.insert(command.to_owned());
    }
    assert_eq!(advised, tried);
}
