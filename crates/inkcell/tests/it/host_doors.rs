//! Access to a host: this version, this user, through a private folder and private files.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use inkcell_testkit::env::finish;
use inkcell_testkit::need;
use inkcell_testkit::wait::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::hosts::Hosted;
use crate::running::Process;

/// An environment whose sockets are in a folder of its own, with that folder.
fn hosted() -> (Hosted, PathBuf) {
    let hosted = Hosted::new();
    let runtime = hosted.env.outside("run");
    fs::create_dir(&runtime).expect("a folder");
    (hosted, runtime)
}

fn command(hosted: &Hosted, runtime: &Path, args: &[&str]) -> Command {
    let mut command = hosted.command(args);
    command.env("XDG_RUNTIME_DIR", runtime);
    command
}

/// The folder of the hosts, once a host has run.
fn folder(runtime: &Path) -> PathBuf {
    let mut all = fs::read_dir(runtime.join("inkcell")).expect("a folder").flatten();
    all.next().expect("a folder of hosts").path()
}

/// A client asks a host of another version for nothing but its end, and tells the user how to end it.
#[test]
fn a_host_of_another_version_is_told_apart() {
    let (hosted, runtime) = hosted();
    finish(command(&hosted, &runtime, &["py", "1"]), b"").ok();
    let folder = folder(&runtime);
    finish(command(&hosted, &runtime, &["host", "stop"]), b"").ok();
    fs::create_dir_all(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("private");
    let held = File::create(folder.join("main.lock")).expect("a lock");
    held.lock().expect("taken");
    let listener = UnixListener::bind(folder.join("main.sock")).expect("a socket");
    // The fake host greets, and records the requests.
    let host = std::thread::spawn(move || {
        let mut asked = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().expect("a client");
            let hello = json!({"hello": {"version": "0.0.1", "pid": 4242}});
            stream.write_all(format!("{hello}\n").as_bytes()).expect("a greeting");
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().expect("a copy"));
            reader.read_line(&mut line).expect("a line or the end");
            let is_end = line.contains("shutdown");
            if is_end {
                stream.write_all(b"{\"done\":{\"Ok\":\"nothing\"}}\n").expect("an answer");
            }
            asked.push(line);
            if is_end {
                return asked;
            }
        }
    });
    let empty = json!({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    hosted.env.put("nb.ipynb", empty.to_string());
    for args in [["py", "1"].as_slice(), &["run", "--keep", "nb.ipynb"]] {
        let ran = finish(command(&hosted, &runtime, args), b"");
        assert_ne!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("(process 4242) is inkcell 0.0.1"), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains("inkcell host stop"), "{args:?}: {ran:?}");
    }
    let stopped = finish(command(&hosted, &runtime, &["host", "stop"]), b"").ok();
    assert_eq!(stopped.stdout, "The shared host has ended.\n");
    let asked = host.join().expect("a host");
    let (last, others) = asked.split_last().expect("a client came");
    assert!(last.contains("shutdown") && others.iter().all(String::is_empty), "{asked:?}");
    drop(held);
    assert_eq!(finish(command(&hosted, &runtime, &["py", "6 * 7"]), b"").ok().stdout, "42\n");
    finish(command(&hosted, &runtime, &["host", "stop"]), b"").ok();
}

/// S-021: whatever the umask, the folder is 0700 and every file 0600; files that other users could have put there
/// are not used, and no link is followed.
#[test]
fn state_files_are_this_users_alone() {
    let (hosted, runtime) = hosted();
    let mut py = hosted.env.command("sh");
    let given = command(&hosted, &runtime, &[]);
    py.args(["-c", r#"umask 000; exec "$0" py 1"#]).arg(given.get_program());
    for (name, value) in given.get_envs() {
        py.env(name, value.expect("a value"));
    }
    assert_eq!(finish(py, b"").ok().stdout, "1\n");
    let hosts = folder(&runtime);
    let mode = |path: &Path| fs::symlink_metadata(path).expect("it is there").mode() & 0o777;
    assert_eq!((mode(&hosts), mode(hosts.parent().expect("a parent"))), (0o700, 0o700));
    for name in ["main.lock", "main.json"] {
        assert_eq!(mode(&hosts.join(name)), 0o600, "{name}");
    }
    assert_eq!(mode(&hosted.env.state()), 0o700);
    assert_eq!(mode(&hosted.env.state().join("host.log")), 0o600);
    finish(command(&hosted, &runtime, &["host", "stop"]), b"").ok();
    // A link in the place of the folder leads to one that another user could have made.
    let theirs = hosted.env.outside("theirs");
    fs::create_dir(&theirs).expect("a folder");
    fs::set_permissions(&theirs, fs::Permissions::from_mode(0o777)).expect("open");
    let _ = fs::remove_dir(&hosts);
    symlink(&theirs, &hosts).expect("a link");
    let ran = finish(command(&hosted, &runtime, &["host", "serve"]), b"");
    assert_ne!(ran.code, Some(0));
    assert!(ran.stderr.contains("is not a private folder of this user"), "{ran:?}");
    assert!(ran.stderr.contains("XDG_RUNTIME_DIR"), "{ran:?}");
    assert_eq!(fs::read_dir(&theirs).expect("a folder").count(), 0);
}

/// Another user does not reach the socket; and even with all permissions open, the host does not greet that user.
#[test]
fn another_user_is_not_let_in() {
    let test = "another_user_is_not_let_in";
    if !rustix::process::getuid().is_root() {
        return need::skip(test, "only the superuser can be somebody else");
    }
    let (hosted, runtime) = hosted();
    finish(command(&hosted, &runtime, &["py", "1"]), b"").ok();
    let socket = folder(&runtime).join("main.sock");
    let knock = |uid: u32| {
        let script = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ntry:\n    s.connect(sys.argv[1])\n\
                      except OSError as error:\n    print(type(error).__name__)\nelse:\n    print(s.recv(100))";
        let mut command = Command::new("python3");
        command.args(["-I", "-c", script]).arg(&socket).current_dir("/").uid(uid).gid(uid);
        finish(command, b"").ok().stdout
    };
    assert!(knock(0).contains("hello"), "its owner is greeted");
    assert_eq!(knock(65534), "PermissionError\n");
    let mut doors: Vec<PathBuf> = socket.ancestors().map(Path::to_owned).collect();
    doors.retain(|door| door.starts_with(hosted.env.dir().parent().expect("a folder")));
    for door in &doors {
        fs::set_permissions(door, fs::Permissions::from_mode(0o777)).expect("opened");
    }
    assert_eq!(knock(65534), "b''\n", "the host looks who it is");
    assert!(knock(0).contains("hello"));
    for door in &doors {
        fs::set_permissions(door, fs::Permissions::from_mode(0o700)).expect("closed");
    }
    finish(command(&hosted, &runtime, &["host", "stop"]), b"").ok();
}

/// S-006: notebooks and folders may have any name; lists and watchers show it as text.
#[test]
fn hostile_notebooks_are_text() {
    let (hosted, runtime) = hosted();
    let name = "<img src=x onerror=alert(1)>\u{202e}\u{1b}[2Jgnp.ipynb";
    let cells = json!([{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": null,
        "outputs": [], "source": "print('ran')"}]);
    let notebook = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    hosted.env.put(name, notebook.to_string());
    let run = finish(command(&hosted, &runtime, &["run", "--keep", name]), b"").ok();
    let list = finish(command(&hosted, &runtime, &["sessions"]), b"").ok();
    // B:T-05 Issue 21, 12: a watcher sees an edit that fails, as soon as the host hears of it.
    finish(command(&hosted, &runtime, &["edit", name, "delete", "9"]), b"").exits(5);
    let watch = || finish(command(&hosted, &runtime, &["attach", name, "--no-follow"]), b"").ok();
    until("the failure to be told", || watch().stdout.contains("✗ Error: "));
    let seen = watch();
    for shown in [&run.stdout, &run.stderr, &list.stdout, &seen.stdout] {
        let bad = shown.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(bad, None, "{shown:?}");
    }
    assert!(seen.stdout.contains("ran"), "{seen:?}");
    let json = finish(command(&hosted, &runtime, &["sessions", "--json"]), b"").ok().stdout;
    let listed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let path = hosted.env.path(name).canonicalize().expect("a path").display().to_string();
    assert_eq!(listed["sessions"][0]["notebook"], path);
    finish(command(&hosted, &runtime, &["host", "stop"]), b"").ok();
}

/// F-027, F-028: the leftovers of a killed host, and garbage beside them, cause no problem. The number in its file
/// belongs to an unrelated process, which is not touched.
#[test]
fn leftovers_are_in_nobodys_way() {
    let (hosted, runtime) = hosted();
    finish(command(&hosted, &runtime, &["py", "1"]), b"").ok();
    let folder = folder(&runtime);
    let status = finish(command(&hosted, &runtime, &["host", "status", "--json"]), b"").ok().stdout;
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    let host = Process::open(&status["hosts"][0]["pid"].to_string());
    kill_process(Pid::from_raw(host.pid).expect("a process"), Signal::KILL).expect("killed");
    host.is_gone();
    let mut bystander = hosted.env.command("sleep").arg("600").spawn().expect("started");
    let about = json!({"kind": "shared", "pid": bystander.id(), "version": "0.0.1"});
    fs::write(folder.join("main.json"), about.to_string()).expect("written");
    fs::write(folder.join("mcp-77.json"), "garbage\0").expect("written");
    fs::write(folder.join("mcp-77.sock"), "no socket at all").expect("written");
    fs::write(folder.join("mcp-77.lock"), bystander.id().to_string()).expect("written");
    assert_eq!(finish(command(&hosted, &runtime, &["py", "6 * 7"]), b"").ok().stdout, "42\n");
    finish(command(&hosted, &runtime, &["host", "stop"]), b"").ok();
    assert!(bystander.try_wait().expect("a child").is_none(), "nobody has touched it");
    bystander.kill().expect("killed");
    bystander.wait().expect("gone");
}
