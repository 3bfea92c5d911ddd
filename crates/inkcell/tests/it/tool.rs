//! `inkcell tool`: every tool from a shell, its answer, its exit code, and nothing left behind.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use inkcell_testkit::console::{Block, blocks};
use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::notebooks::small;
use inkcell_testkit::wait::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::env;
use crate::mcp_end::full_pipe;
use crate::running::{Process, Running};

fn tool(env: &TestEnv, args: &[&str]) -> Command {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = env.inkcell();
    command.arg("tool").args(args).env("INKCELL_PYTHON_INTERPRETER", python);
    command
}

fn run(env: &TestEnv, args: &[&str]) -> CommandOutput {
    finish(tool(env, args), b"")
}

fn json_of(ran: &CommandOutput) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

/// A reply is its text, or with --json its full form in the protocol.
#[test]
fn a_reply_is_text_or_json() {
    let env = env();
    env.put("nb.ipynb", small());
    let outline = r#"{"path": "nb.ipynb", "view": "outline"}"#;
    let ran = run(&env, &["notebook_read", outline]).ok();
    assert!(ran.stdout.contains("aaaa1111"), "{}", ran.stdout);
    assert_eq!(ran.stderr, "");

    let delete = r#"{"action": "delete", "notebook_path": "nb.ipynb", "cell_index": 2}"#;
    let ran = run(&env, &["notebook", delete, "--json"]).ok();
    let wanted = json!({
        "content": [{"type": "text", "text": "Deleted cell 2 (code). Notebook now has 2 cells."}],
        "structuredContent": {"action": "delete", "cellIndex": 2, "cellType": "code",
                              "totalCells": 2, "cellSource": ["y = 2\n"]},
        "isError": false,
    });
    assert_eq!(json_of(&ran), wanted);

    // Arguments that are too long for a shell come from standard input.
    let write = json!({"path": "a.txt", "content": "x\n".repeat(100_000)}).to_string();
    let ran = finish(tool(&env, &["write", "-"]), write).ok();
    assert_eq!(ran.stdout, "Created a.txt (100000 lines, 195.3KB).\n");
    assert_eq!(env.get("a.txt").len(), 200_000);
    // The text that a tool reads is passed on unchanged.
    env.put("b.txt", "one\ntwo\n");
    assert_eq!(run(&env, &["read", r#"{"path": "b.txt"}"#]).ok().stdout, "one\ntwo\n");
}

/// One exit code for each way to fail, from the one table.
#[test]
fn every_failure_has_its_code() {
    let env = env();
    env.put("nb.ipynb", small());
    let table: [(&[&str], i32, &str); 15] = [
        (&["notbook"], 2, "no tool named 'notbook'; did you mean notebook?"),
        (&["result", "--tools", "compat"], 2, "no tool named 'result'"),
        (&["eval", "--tools", "default"], 2, "no tool named 'eval'"),
        (&["read", "{path}"], 2, "the arguments are not JSON: key must be a string"),
        (&["read", "[1]"], 2, "the arguments are not an object: [1]"),
        (&["read", r#"{"pat": "x"}"#], 2, "no argument named 'pat'; did you mean path?"),
        (&["read", r#"{"path": "no.txt"}"#], 5, "File not found: no.txt"),
        (
            &["NotebookEdit", r#"{"notebook_path": "no.ipynb", "cell_id": "1"}"#],
            5,
            "Notebook not found",
        ),
        (
            &[
                "NotebookEdit",
                r#"{"notebook_path": "nb.ipynb", "cell_id": "zz", "new_source": ""}"#,
            ],
            2,
            "Cell not found: zz",
        ),
        (&["python", r#"{"code": "1/0"}"#], 1, "Command exited with code 1"),
        (
            &["python", r#"{"code": "import time; time.sleep(600)", "timeout": 1}"#],
            124,
            "timed out after 1",
        ),
        (&["python", r#"{"code": "import os; os._exit(0)"}"#], 7, "exited with code 0"),
        (
            &["python", r#"{"code": "1", "backend": "gateway"}"#],
            3,
            "Shared Python gateway unavailable: kernel_gateway",
        ),
        (&["bash", r#"{"command": "exit 3"}"#], 1, "Command exited with code 3"),
        (
            &["bash", r#"{"command": "sleep 600", "timeout": 1}"#],
            124,
            "Command timed out after 1 seconds",
        ),
    ];
    for (args, code, wanted) in table {
        let ran = run(&env, args).exits(code);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(wanted), "{args:?}: {said}");
        let all: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let ran = run(&env, &all).exits(code);
        assert!(json_of(&ran).to_string().contains(&json!(wanted).to_string()[1..10]), "{args:?}");
        assert_eq!(ran.stderr, "", "{args:?}");
    }
    assert_eq!(env.get("nb.ipynb"), small().as_bytes());
}

/// A session exists for the cells of one call and is gone after it; running code is stopped, and the answer says
/// so.
#[test]
fn sessions_end_with_the_command() {
    let env = env();
    let cells = r#"{"cells": [{"code": "import os; x = 20"}, {"code": "print(os.getpid(), x)"}]}"#;
    let ran = run(&env, &["python", cells]).ok();
    let (pid, rest) = ran.stdout.split_once(" 20").expect("two numbers");
    let pid = pid.rsplit('\n').next().expect("a line");
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{rest}");
    let ran = run(&env, &["python", r#"{"code": "'x' in globals()"}"#]).ok();
    assert_eq!(ran.stdout, "False\n");

    let long = r#"{"code": "import time; print('begun', flush=True); time.sleep(600)", "wait": 1}"#;
    let ran = run(&env, &["python", long]).ok();
    assert!(ran.stdout.contains("begun\n\n[still running"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("result"), "nobody can ask again: {}", ran.stdout);
    let told =
        "note: code that was still running was stopped, because sessions end with this command\n";
    assert_eq!(ran.stderr, told);
}

/// F-021 F-023 Issue 21, 24: an answer without a reader does not keep a command from ending on a signal, even before it
/// has begun to write the answer.
#[test]
fn an_answer_that_nobody_reads_does_not_keep_a_command() {
    let env = env();
    let (reader, writer) = full_pipe();
    let mut command = tool(&env, &["bash", r#"{"command": "echo yes > begun"}"#]);
    command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::null());
    let mut child = command.spawn().expect("started");
    drop(command);
    crate::python::wait_for(&env.path("begun"));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("a signal");
    let status = until("the end", || child.try_wait().expect("a child"));
    assert_eq!(status.signal(), Some(15), "{status:?}");
    drop(reader);
}

/// A start-up file of the user's shell has no effect on a command.
#[test]
fn bash_reads_no_startup_file() {
    let env = env();
    env.put(".bashrc", "echo from the start-up file\n");
    let mut command = tool(&env, &["bash", r#"{"command": "echo said"}"#]);
    // A program that is not a shell sets no SHLVL.
    command.env_remove("SHLVL").env("HOME", env.dir());
    assert_eq!(finish(command, b"").ok().stdout, "said\n");
}

/// Ctrl-C stops the code as with `inkcell py`; the answer so far is shown.
#[test]
fn an_interrupt_stops_the_code() {
    let env = env();
    let code = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\nos.rename('pid', 'begun')\n\
                print('so far')\ntime.sleep(600)";
    let running = Running::start(tool(&env, &["python", &json!({"code": code}).to_string()]));
    crate::python::wait_for(&env.path("begun"));
    let kernel = Process::open(&String::from_utf8_lossy(&env.get("begun")));
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
    // B:X-07: the output so far, without a word about the cancelled call.
    assert_eq!(ended.stdout, "so far\n", "{ended:?}");
    kernel.is_gone_already();
}

const PICTURE: &str = "import struct, zlib\n\
    def chunk(kind, data):\n    body = kind + data\n    \
    return struct.pack('>I', len(data)) + body + struct.pack('>I', zlib.crc32(body))\n\
    rows = b''.join(b'\\0' + bytes([x % 256, 100, 200]) for x in range(64))\n\
    png = (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 1, 64, 8, 2, 0, 0, 0))\n    \
    + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))\n\
    display({'image/png': png}, raw=True)";

/// An image is a file: the stored one, or one that is written into a chosen folder; its bytes never go to a
/// terminal. Beside it the details are not structured content (B:X-09b).
#[test]
fn images_are_files() {
    let env = env();
    let arguments = json!({"code": PICTURE}).to_string();
    let ran = run(&env, &["python", &arguments]).ok();
    let (_, path) = ran.stdout.split_once("[image file: ").expect("a file");
    let bytes = std::fs::read(path.trim_end().trim_end_matches(']')).expect("it is there");
    assert!(bytes.starts_with(b"\x89PNG"), "{path}");

    for name in ["pictures/image-1.png", "pictures/image-1-1.png"] {
        let ran = run(&env, &["python", &arguments, "--images", "pictures"]).ok();
        assert!(ran.stdout.ends_with(&format!("[image written: {name}]\n")), "{}", ran.stdout);
        assert!(env.get(name).starts_with(b"\x89PNG"));
    }
    let whole = ["python", &arguments, "--tools", "compat", "--json"];
    let reply = json_of(&run(&env, &whole).ok());
    assert_eq!(reply["content"][1]["type"], "image");
    assert!(reply["content"][1]["data"].as_str().expect("base64").starts_with("iVBOR"));
    assert!(reply["structuredContent"].is_null());
    assert_eq!(reply["_meta"]["details"]["images"][0]["mimeType"], "image/png");
    assert_eq!(reply["_meta"]["details"]["cells"][0]["status"], "complete");
    let whole = ["python", &arguments, "--images", "pictures", "--json"];
    let reply = json_of(&run(&env, &whole).ok());
    assert_eq!(reply["content"][1]["path"], "pictures/image-1-2.png");
    assert!(reply["content"][1]["data"].is_null());
}

/// The list has a line for every tool, and one tool has its arguments.
#[test]
fn tools_are_listed() {
    let env = env();
    let ran = run(&env, &["--list"]).ok();
    let names: Vec<&str> =
        ran.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let wanted = "python notebook_read notebook_edit result kernel inspect eval notebook NotebookEdit read edit \
                  write bash";
    for name in wanted.split(' ') {
        assert!(names.contains(&name), "{}", ran.stdout);
    }
    let ran = run(&env, &["--list", "--tools", "compat", "--json"]).ok();
    assert_eq!(json_of(&ran)["tools"][0]["name"], "python");
    let ran = run(&env, &["bash", "--list"]).ok();
    assert!(ran.stdout.contains("| `command` | string | required |"), "{}", ran.stdout);
    run(&env, &[]).exits(2);
}

/// The commands on the page of the tools of the source documents, in its order: each of the tools is there, and each
/// command does what the page says.
#[test]
fn compat_page_shows_commands_that_work() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/compat-tools.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let commands = blocks(&page).into_iter().flat_map(|block| match block {
        Block::Console(steps, _) => steps.into_iter().map(|step| step.command).collect(),
        Block::Script(_) => Vec::new(),
    });
    let commands: Vec<String> = commands.collect();
    let named = |line: &String| line.split(' ').nth(2).map(str::to_owned);
    let names: BTreeSet<String> = commands.iter().filter_map(named).collect();
    let all = ["NotebookEdit", "bash", "edit", "eval", "notebook", "python", "read", "write"];
    assert!(names.iter().eq(all), "{commands:#?}");

    let env = env();
    let folder = env.program().parent().expect("a folder").display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut said = String::new();
    for line in commands {
        let mut command = env.command("sh");
        command.args(["-c", &line]).env("PATH", format!("{folder}:{path}"));
        command.env("INKCELL_PYTHON_INTERPRETER", &python);
        let ran = finish(command, b"").ok();
        said.push_str(&format!("$ {line}\n{}", ran.stdout));
    }
    assert!(said.contains("total = 20"), "{said}");
    assert!(said.contains("✓ Cell updated"), "{said}");
    assert!(said.contains("\n42\n"), "{said}");
    assert!(said.contains("\nnew.ipynb\n"), "{said}");
}
