//! Hosts: sessions that outlive a command, found again from any shell, and nothing left when they end.
//!
//! Every scenario of code is run twice: with a host of the command's own and with one that stays.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::wait::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::Client;
use crate::env;
use crate::notebook_runs::notebook;
use crate::running::{Process, Running};

/// An environment in which commands share a host. Dropping it ends the host.
pub(crate) struct Hosted {
    pub(crate) env: TestEnv,
}

impl Hosted {
    pub(crate) fn new() -> Hosted {
        Hosted { env: env() }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let mut command = self.env.inkcell();
        command.args(args).env("INKCELL_PYTHON_INTERPRETER", python).env("INKCELL_HOST_USE", "on");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        finish(self.command(args), b"")
    }

    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.run(&args).ok().stdout).expect("JSON")
    }

    /// The process of the shared host.
    pub(crate) fn host(&self) -> Process {
        Process::open(&self.status()["pid"].to_string())
    }

    pub(crate) fn status(&self) -> Value {
        let hosts = self.json(&["host", "status"]);
        let hosts = hosts["hosts"].as_array().expect("a list");
        let shared = hosts.iter().find(|host| host["kind"] == "shared");
        shared.expect("a shared host").clone()
    }
}

impl Drop for Hosted {
    fn drop(&mut self) {
        let mut stop = self.command(&["host", "stop"]);
        let _ = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// A session that stays has the environment of the command that began it, like one that ends with its command;
/// variables that the settings filter are filtered there, too.
#[test]
fn a_session_that_stays_has_the_environment_of_its_command() {
    let hosted = Hosted::new();
    let said = |session: &str, mode: Option<&str>| {
        let look = "import os; print(os.environ.get('FOOBAR'))";
        let mut command = hosted.command(&["py", "--session", session, look]);
        command.env("FOOBAR", "seven");
        command.envs(mode.map(|mode| ("INKCELL_ENV_MODE", mode)));
        finish(command, b"").ok().stdout
    };
    assert_eq!(said("one", None), "seven\n");
    assert_eq!(said("two", Some("filtered")), "None\n");
}

/// State survives across commands in the same folder, and another folder has its own.
#[test]
fn a_session_outlives_its_command() {
    let hosted = Hosted::new();
    hosted.run(&["py", "x = 1"]).ok();
    assert_eq!(hosted.run(&["py", "print(x)"]).ok().stdout, "1\n");
    let elsewhere = hosted.env.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut other = hosted.command(&["py", "print(x)"]);
    other.current_dir(&elsewhere);
    assert!(finish(other, b"").exits(1).stderr.contains("NameError"));
    assert_eq!(hosted.run(&["py", "--session", "named", "y = 2", "y"]).ok().stdout, "2\n");
    assert_eq!(hosted.run(&["py", "--fresh", "'x' in globals()"]).ok().stdout, "False\n");
    assert_eq!(hosted.run(&["py", "--reset", "'x' in globals()"]).ok().stdout, "False\n");
    let sessions = hosted.json(&["sessions"]);
    let listed = sessions["sessions"].as_array().expect("a list");
    let mut names: Vec<&str> = listed.iter().filter_map(|one| one["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["default", "default", "named"]);
    for one in listed {
        assert_eq!((&one["backend"], &one["host"]), (&json!("runner"), &json!("shared")));
        assert!(one["memory_bytes"].as_u64().is_some_and(|bytes| bytes > 1 << 20), "{one}");
    }
    let table = hosted.run(&["sessions"]).ok().stdout;
    assert!(table.starts_with("SESSION  HOST    BACKEND  PYTHON"), "{table}");
    assert_eq!(hosted.run(&["stop", "named"]).ok().stderr, "");
    assert_eq!(hosted.json(&["sessions"])["sessions"].as_array().map(Vec::len), Some(2));
    let missing = hosted.run(&["restart", "named"]).exits(5);
    assert!(
        missing.stderr.contains("no session named 'named'; the nearest are default (in "),
        "{missing:?}"
    );
    assert!(missing.stderr.contains("hint: list sessions with 'inkcell sessions'"), "{missing:?}");
}

/// The same calls with a host of the command's own and with one that stays give the same output, streams and
/// ending.
#[test]
fn a_host_that_stays_answers_like_one_that_does_not() {
    let hosted = Hosted::new();
    hosted.env.put("job.py", "# %% first\nprint('one')\n# %% second\n1 / 0\n");
    let table: [&[&str]; 12] = [
        &["py", "1 + 1"],
        &["py", "x = 20", "x + 22"],
        &["py", "import sys; print('out'); print('err', file=sys.stderr)"],
        &["py", "1/0"],
        &["py", "import sys; sys.exit(3)"],
        &["py", "input('name? ')"],
        &["py", "--cells", "-f", "job.py"],
        &["py", "--view", "reply", "print('x' * 10)"],
        &["py", "--view", "blocks", "print('one')", "[1, 2]"],
        &["py", "--python", "./no", "1"],
        &["py", "--cwd", "no", "1"],
        // The last one: the next client learns that the kernel is new.
        &["py", "import os; print('last words', flush=True); os._exit(7)"],
    ];
    for args in table {
        let local: Vec<&str> = args.iter().copied().chain(["--no-host"]).collect();
        let (local, remote) = (hosted.run(&local), hosted.run(args));
        let told = |ran: &CommandOutput| {
            // The count belongs to the session, which persists.
            let numbers = |text: &str| {
                let mut text = text.to_owned();
                for n in 1..40 {
                    text = text.replace(&format!("In[{n}]"), "In[N]");
                }
                text
            };
            // Durations differ.
            let untimed = |text: &str| {
                let lines = text.lines().map(|line| line.split(" (").next().unwrap_or(line));
                lines.collect::<Vec<_>>().join("\n")
            };
            (ran.code, untimed(&ran.stdout), numbers(&ran.stderr))
        };
        assert_eq!(told(&local), told(&remote), "{args:?}");
    }
}

/// The host is detached: `$(...)` returns, its streams are a log, its folder is the root, it has a session of its
/// own and no descriptor that another process left open. With CI or --no-host nothing stays.
#[test]
fn the_host_is_cut_off_from_whoever_started_it() {
    let hosted = Hosted::new();
    for quiet in [["py", "--no-host", "1"].as_slice(), &["py", "--fresh", "1"]] {
        hosted.run(quiet).ok();
    }
    let mut ci = hosted.command(&["py", "1"]);
    ci.env("CI", "true").env("INKCELL_HOST_USE", "auto");
    finish(ci, b"").ok();
    for kept in [["run", "--keep", "nb.ipynb"].as_slice(), &["py", "--detach", "1"]] {
        let mut ci = hosted.command(kept);
        ci.env("CI", "true").env("INKCELL_HOST_USE", "auto");
        assert!(finish(ci, b"").exits(2).stderr.contains("host.use"), "{kept:?}");
    }
    assert_eq!(hosted.json(&["host", "status"])["hosts"], json!([]));
    hosted.env.put("left-open", "");
    let line = r#"exec 7<left-open; x=$("$0" py 1); echo "got $x""#;
    let given = hosted.command(&[]);
    let mut shell = hosted.env.command("sh");
    shell.args(["-c", line]).arg(given.get_program());
    for (name, value) in given.get_envs() {
        shell.env(name, value.expect("a value"));
    }
    assert_eq!(finish(shell, b"").ok().stdout, "got 1\n");
    let host = hosted.host();
    let proc = PathBuf::from(format!("/proc/{}", host.pid));
    assert_eq!(fs::read_link(proc.join("cwd")).unwrap(), PathBuf::from("/"));
    let stat = fs::read_to_string(proc.join("stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let session: i32 = fields[3].parse().unwrap();
    assert_eq!(session, host.pid, "a session of its own");
    let mut files = Vec::new();
    for fd in fs::read_dir(proc.join("fd")).unwrap().flatten() {
        let Ok(target) = fs::read_link(fd.path()) else { continue };
        if target.is_absolute() {
            files.push(target.display().to_string());
        }
    }
    files.sort();
    files.dedup();
    let log = hosted.env.state().join("host.log").display().to_string();
    let known =
        |file: &&String| **file != "/dev/null" && **file != log && !file.ends_with("main.lock");
    assert_eq!(files.iter().filter(known).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// F-020, F-021, F-027, F-028: a killed host takes its kernels along, and the next command starts another; a host
/// that is told to end does so in time. Nothing is left.
#[test]
fn a_host_that_ends_leaves_nothing() {
    let hosted = Hosted::new();
    for signal in [Signal::KILL, Signal::TERM, Signal::INT, Signal::HUP] {
        let kernel = hosted.run(&["py", "import os; print(os.getpid())"]).ok().stdout;
        let kernel = Process::open(&kernel);
        let mut running = Running::start(
            hosted.command(&["py", "print('begun', flush=True)\nimport time\ntime.sleep(600)"]),
        );
        assert_eq!(running.line(), "begun");
        let host = hosted.host();
        kill_process(Pid::from_raw(host.pid).expect("a process"), signal).expect("a signal");
        host.is_gone();
        kernel.is_gone();
        let ended = running.end();
        assert!(!ended.status.success(), "{signal:?}: {ended:?}");
        assert!(!ended.stderr.is_empty(), "{signal:?}: the caller is told");
    }
    hosted.run(&["py", "1"]).ok();
    let host = hosted.host();
    assert_eq!(hosted.run(&["host", "stop"]).ok().stdout, "The shared host has ended.\n");
    host.is_gone();
    assert_eq!(hosted.run(&["host", "stop"]).ok().stdout, "No shared host was running.\n");
}

/// An idle host ends by itself, and its kernels before it. A session keeps it.
#[test]
fn an_idle_host_ends() {
    let start = || {
        let hosted = Hosted::new();
        let mut first = hosted.command(&["py", "1"]);
        first.env("INKCELL_HOST_IDLE", "1");
        finish(first, b"").ok();
        let host = hosted.host();
        (hosted, host)
    };
    let (kept, host) = start();
    // A host that was started later, and has no session, ends first.
    let (emptied, later) = start();
    emptied.run(&["stop"]).ok();
    later.is_gone();
    assert_eq!(kept.host().pid, host.pid);
    kept.run(&["stop"]).ok();
    host.is_gone();
}

/// F-026: hosts that are started at the same moment become one.
#[test]
fn commands_that_begin_together_share_a_host() {
    let hosted = Hosted::new();
    let begun: Vec<_> = (0..6)
        .map(|n| {
            let name = format!("s{n}");
            let mut command = hosted.command(&["py", "--session", &name, "print('ok')"]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("started")
        })
        .collect();
    for child in begun {
        let done = child.wait_with_output().expect("ended");
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{stderr}");
        assert_eq!(String::from_utf8_lossy(&done.stdout), "ok\n");
    }
    assert_eq!(hosted.json(&["sessions"])["sessions"].as_array().map(Vec::len), Some(6));
    assert_eq!(hosted.json(&["host", "status"])["hosts"].as_array().map(Vec::len), Some(1));
}

/// Issue 21, 4: the session of a notebook has no helpers, also if `py` begins it.
#[test]
fn the_session_of_a_notebook_has_no_helpers() {
    let hosted = Hosted::new();
    hosted.env.put("nb.ipynb", notebook(&["1"]));
    let names = "sorted({'log', 'sh', 'bash'} & set(dir(__builtins__)) | {'log', 'sh', 'bash'} & set(globals()))";
    assert_eq!(hosted.run(&["py", "--session", "nb.ipynb", names]).ok().stdout, "[]\n");
    assert_ne!(hosted.run(&["py", names]).ok().stdout, "[]\n");
}

/// Ctrl-C stops the code and leaves the session with its variables.
#[test]
fn an_interrupted_command_leaves_its_session() {
    let hosted = Hosted::new();
    hosted.run(&["py", "kept = 1"]).ok();
    let code = "print('begun', flush=True)\nimport time\ntime.sleep(600)";
    let mut running = Running::start(hosted.command(&["py", code]));
    assert_eq!(running.line(), "begun");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.status.signal(), Some(2), "{ended:?}");
    assert!(ended.stderr.contains("KeyboardInterrupt"), "{ended:?}");
    let note = "note: the code was interrupted: by kernel interrupt";
    assert!(!ended.stderr.contains(note), "its own caller did: {ended:?}");
    assert_eq!(hosted.run(&["py", "kept"]).ok().stdout, "1\n");
    // It works from another folder, too.
    let mut running = Running::start(hosted.command(&["py", code]));
    assert_eq!(running.line(), "begun");
    assert!(hosted.run(&["interrupt"]).ok().stdout.starts_with("Interrupted `print('begun'"));
    let ended = running.end();
    assert!(ended.status.code() == Some(1) && ended.stderr.contains(note), "{ended:?}");
}

/// The id of a detached call gives access to its result.
#[test]
fn detached_code_is_asked_for_by_its_id() {
    let hosted = Hosted::new();
    let code =
        "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\nprint('done')\n1/0";
    let id = hosted.run(&["py", "--detach", code]).ok().stdout;
    let id = id.trim();
    assert!(hosted.run(&["result", id]).ok().stderr.contains("the code is still running"));
    hosted.env.put("go", "");
    let ended = hosted.run(&["result", id, "--wait", "60"]).exits(1);
    assert!(
        ended.stdout.contains("done") && ended.stdout.contains("ZeroDivisionError"),
        "{ended:?}"
    );
    assert_eq!(hosted.run(&["result", "xnobody123"]).exits(2).stdout, "");
}

/// A notebook that is run in its own session leaves its variables there, with and without a watcher.
#[test]
fn a_notebook_runs_in_a_session_that_stays() {
    let hosted = Hosted::new();
    let cells = json!([
        {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": null, "outputs": [],
         "source": "made = 21"},
        {"cell_type": "code", "id": "b", "metadata": {}, "execution_count": null, "outputs": [],
         "source": "made * 2"},
    ]);
    let notebook = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    hosted.env.put("nb.ipynb", notebook.to_string());
    let ran = hosted.run(&["run", "--keep", "nb.ipynb"]).ok();
    assert!(ran.stdout.contains("Ran 2 cells"), "{}", ran.stdout);
    let saved: Value = serde_json::from_slice(&hosted.env.get("nb.ipynb")).unwrap();
    assert_eq!(saved["cells"][1]["outputs"][0]["data"]["text/plain"], json!(["42"]));
    assert_eq!(hosted.run(&["py", "--session", "nb.ipynb", "made"]).ok().stdout, "21\n");
    let listed = hosted.json(&["sessions"]);
    assert_eq!(
        listed["sessions"][0]["notebook"],
        hosted.env.path("nb.ipynb").canonicalize().unwrap().display().to_string()
    );
    let outline = || hosted.run(&["read", "--outline", "nb.ipynb"]).ok().stdout;
    assert!(outline().contains("(its kernel has the variables of cells 0-1)"), "{}", outline());
    let fresh = ["run", "--keep", "--fresh", "--cells", "1", "nb.ipynb"];
    let refused = hosted.run(&fresh).exits(2);
    assert!(refused.stderr.contains("cell 1 needs made of cell 0"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--with-needed"), "{}", refused.stderr);
    assert!(outline().contains("(its kernel has run none of these cells"), "{}", outline());
    let fresh = hosted.run(&[&fresh[..], &["--without-needed"]].concat()).exits(1);
    assert!(fresh.stderr.contains("NameError"), "{}", fresh.stderr);
    // The run goes on when its watcher is killed.
    let wait =
        "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\nprint('went on')";
    hosted.run(&["edit", "nb.ipynb", "replace", "1", "--source", wait]).ok();
    let mut watcher = hosted.command(&["run", "--keep", "nb.ipynb"]);
    let mut watcher = watcher.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    until("the second cell", || {
        let listed = hosted.json(&["sessions"]);
        listed["sessions"][0]["running"]["title"]
            .as_str()
            .is_some_and(|title| title.contains("cell 1"))
    });
    watcher.kill().expect("killed");
    watcher.wait().expect("gone");
    hosted.env.put("go", "");
    until("the end of the run", || {
        String::from_utf8_lossy(&hosted.env.get("nb.ipynb")).contains("went on\\n")
    });
}

/// A user beside an agent sees its sessions, inspects one and works in it; with --keep a client that starts again
/// has lost nothing.
#[test]
fn an_agents_session_is_shared() {
    let hosted = Hosted::new();
    let mut agent = Client::with(&hosted.env, &[], |command| {
        command.env("INKCELL_HOST_USE", "on");
    });
    let said =
        agent.call("python", json!({"code": "x = 20\nprint('agent was here')", "session": "ours"}));
    assert!(!said.is_error(), "{said:?}");
    let listed = hosted.json(&["sessions"]);
    assert_eq!(listed["sessions"][0]["host"], "agent", "{listed}");
    assert_eq!(hosted.run(&["py", "--session", "ours", "x + 22"]).ok().stdout, "42\n");
    let seen = hosted.run(&["attach", "ours", "--no-follow", "--json"]).ok().stdout;
    assert!(seen.contains("agent was here") && seen.contains("x + 22"), "{seen}");
    drop(agent);
    until("the agent's host is gone", || hosted.json(&["sessions"])["sessions"] == json!([]));

    let keep = |hosted: &Hosted| {
        Client::with(&hosted.env, &["--keep"], |command| {
            command.env("INKCELL_HOST_USE", "on");
        })
    };
    let mut agent = keep(&hosted);
    agent.call("python", json!({"code": "y = 7", "session": "kept"}));
    drop(agent);
    let mut agent = keep(&hosted);
    let said = agent.call("python", json!({"code": "y", "session": "kept"}));
    assert_eq!(said.text().trim(), "7", "{said:?}");
    drop(agent);
    assert_eq!(hosted.run(&["py", "--session", "kept", "y"]).ok().stdout, "7\n");
}

/// A look at what is remembered ends, however much the code still writes.
#[test]
fn a_look_without_following_ends_while_code_writes() {
    let hosted = Hosted::new();
    let writing = "import os, time\nwhile not os.path.exists('go'):\n    print('tick', flush=True)\n    \
        time.sleep(0.005)\nprint('let', 'go')";
    let mut run = Running::start(hosted.command(&["py", writing]));
    assert_eq!(run.line(), "tick");
    let seen = hosted.run(&["attach", "--no-follow"]).ok().stdout;
    assert!(seen.contains("tick") && !seen.contains("let go"), "{seen}");
    hosted.env.put("go", "");
    assert_eq!(run.end().status.code(), Some(0));
}

/// Several watchers see the same, each from its own start; one that does not read does no harm.
#[test]
fn many_watch_and_one_that_stalls_harms_nobody() {
    let hosted = Hosted::new();
    hosted.run(&["py", "print('first')"]).ok();
    let mut stalled = Running::start(hosted.command(&["attach", "--json"]));
    let mut reader = Running::start(hosted.command(&["attach", "--json", "--from", "2"]));
    let said: Value = serde_json::from_str(&reader.line()).expect("JSON");
    assert_eq!(said["seq"], 2, "{said}");
    let first: Value = serde_json::from_str(&stalled.line()).expect("JSON");
    assert_eq!(first["seq"], 0, "{first}");
    // Far more than any pipe holds.
    let flood = "for n in range(20000): print(n, 'x' * 200)";
    let ran = hosted.run(&["py", flood]).ok();
    assert_eq!(ran.stdout.lines().count(), 20000);
    let end = hosted.run(&["py", "print('the end of it')"]).ok();
    assert_eq!(end.stdout, "the end of it\n");
    until("the reader sees the end", || reader.line().contains("the end of it"));
    let late = hosted.run(&["attach", "--no-follow", "--json"]).ok().stdout;
    assert!(late.starts_with("{\"missed\":"), "what is forgotten is told: {}", &late[..80]);
    assert!(late.contains("the end of it"));
    reader.signal(Signal::INT);
    assert_eq!(reader.end().status.code(), Some(0));
}

/// S-006: a session may have any name; a terminal and a program see text.
#[test]
fn hostile_names_are_text() {
    let hosted = Hosted::new();
    let name = "<img src=x onerror=alert(1)>\u{202e}gnp";
    hosted.run(&["py", "--session", name, "1"]).ok();
    let table = hosted.run(&["sessions"]).ok().stdout;
    assert!(table.contains("<img src=x onerror=alert(1)>"), "{table}");
    assert!(!table.contains('\u{202e}'), "{table:?}");
    assert_eq!(hosted.json(&["sessions"])["sessions"][0]["name"], name);
    let bad = hosted.run(&["py", "--session", "a\u{1b}[2Jb", "1"]).exits(2);
    assert!(!bad.stderr.contains('\u{1b}'), "{bad:?}");
}

/// Values reach a notebook that a host runs, and stay in its session.
#[test]
fn a_host_runs_a_notebook_with_values() {
    let hosted = Hosted::new();
    hosted.env.put("nb.ipynb", notebook(&["total = year * 2 + rate"]));
    let args =
        ["run", "--keep", "nb.ipynb", "-p", "year", "12345678901234567890", "-y", "rate: -.inf"];
    let ran = hosted.run(&args).ok();
    assert!(ran.stdout.contains("Ran 2 cells"), "{ran:?}");
    let seen = hosted.run(&["py", "--session", "nb.ipynb", "year, total"]).ok();
    assert!(seen.stdout.contains("(12345678901234567890, -inf)"), "{seen:?}");
}

/// The kernel itself says whether it can be copied: the default Python need not even exist.
#[test]
fn a_copy_needs_no_other_python() {
    let env = env();
    let before = "with open('runs', 'a') as f: _ = f.write('x')";
    let mut cells: Value = serde_json::from_str(&notebook(&[before, "year = 0", "year"])).unwrap();
    cells["cells"][1]["metadata"] = json!({"tags": ["parameters"]});
    env.put("m.ipynb", cells.to_string());
    let python = std::env::var("INKCELL_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = env.inkcell();
    command.args([
        "run",
        "m.ipynb",
        "--matrix",
        "year=1,2",
        "-o",
        "{year}.ipynb",
        "--share-prefix",
    ]);
    command.args(["--python", &python]).env("INKCELL_PYTHON_INTERPRETER", "/nowhere/python");
    let done = finish(command, b"").ok();
    assert!(!done.stderr.contains("do not share"), "{done:?}");
    assert_eq!(env.get("runs"), b"x", "the beginning is run once");
}
