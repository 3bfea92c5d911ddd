//! A host under stress: an unread pipe, a stop, clock jumps, and idle time.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use inkcell_testkit::env::finish;
use inkcell_testkit::need;
use inkcell_testkit::wait::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::client::Client;
use crate::gateways::PATIENT;
use crate::hosts::Hosted;
use crate::running::{Process, Running};

/// A host in the foreground, started by hand. Dropping it kills it.
struct Foreground {
    child: Child,
}

impl Foreground {
    fn start(hosted: &Hosted, mut command: Command) -> Foreground {
        let child = command.stdin(Stdio::null()).spawn().expect("started");
        let host = Foreground { child };
        until("the host", || {
            let hosts = hosted.json(&["host", "status"]);
            hosts["hosts"].as_array().is_some_and(|hosts| !hosts.is_empty())
        });
        host
    }

    /// Waits for its end after it was told to end.
    fn ends(mut self) {
        let process = Process::open(&self.child.id().to_string());
        process.is_gone();
        let status = self.child.wait().expect("it ended");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process"), signal).expect("a signal");
}

/// F-023: the streams of a host are closed, or pipes without a reader, while it logs everything: it serves and ends
/// as always.
#[test]
fn nobody_reads_what_a_host_says() {
    for is_closed in [true, false] {
        let hosted = Hosted::new();
        let mut serve = hosted.command(&["host", "serve"]);
        serve.env("INKCELL_LOG_LEVEL", "trace").stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut host = Foreground::start(&hosted, serve);
        if is_closed {
            drop((host.child.stdout.take(), host.child.stderr.take()));
        }
        // Each call is logged; together the lines exceed the capacity of a pipe.
        for _ in 0..4 {
            let lines =
                hosted.run(&["py", "for n in range(20000): print(n, 'x' * 50)"]).ok().stdout;
            assert_eq!(lines.lines().count(), 20000);
        }
        let many: Vec<String> = (0..300).map(|n| format!("n = {n}")).collect();
        let many: Vec<&str> = ["py"].into_iter().chain(many.iter().map(String::as_str)).collect();
        hosted.run(&many).ok();
        assert_eq!(hosted.run(&["py", "n"]).ok().stdout, "299\n");
        hosted.run(&["host", "stop"]).ok();
        host.ends();
    }
}

/// F-025: a host that was stopped, and its kernel with it, has lost nothing: the code goes on, no process counts as
/// dead, and the session is the same.
#[test]
fn a_host_that_stood_still_goes_on() {
    let hosted = Hosted::new();
    let kernel = hosted.run(&["py", "kept = 6", "import os; os.getpid()"]).ok().stdout;
    let kernel: i32 = kernel.trim().parse().expect("a process");
    let code = "import time\nprint('begun', flush=True)\n\
                while not os.path.exists('go'): time.sleep(0.02)\nprint(kept * 7)";
    let host = hosted.host();
    for stopped in [vec![host.pid], vec![kernel], vec![host.pid, kernel]] {
        let mut running = Running::start(hosted.command(&["py", code]));
        assert_eq!(running.line(), "begun");
        let standing: Vec<Stopped> = stopped.iter().map(|pid| Stopped::new(*pid)).collect();
        // The other command has checked them by now, and has given up or has its answer.
        let seen = hosted.run(&["host", "status"]).ok();
        let is_silent = seen.stderr.contains("is stopped and does not answer");
        assert_eq!(is_silent, stopped.contains(&host.pid), "{seen:?}");
        hosted.env.put("go", "");
        drop(standing);
        assert_eq!(running.line(), "42");
        let ended = running.end();
        // On a busy machine the stop may last so long that the client reports it.
        let is_about_host = |line: &str| line.contains("is stopped and does not answer");
        let said_nothing_else = ended.stderr.lines().all(is_about_host);
        assert!(ended.status.success() && said_nothing_else, "{ended:?}");
        std::fs::remove_file(hosted.env.path("go")).expect("it was there");
    }
    assert_eq!(hosted.host().pid, host.pid);
    assert_eq!(hosted.run(&["py", "os.getpid()"]).ok().stdout.trim(), kernel.to_string());
}

/// A stopped process. Dropping this resumes it.
pub(crate) struct Stopped {
    pid: i32,
}

impl Stopped {
    pub(crate) fn new(pid: i32) -> Stopped {
        signal(pid, Signal::STOP);
        // The stop takes effect after a moment.
        until("a process that stands still", || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is there");
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
        });
        Stopped { pid }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.pid, Signal::CONT);
    }
}

/// Issue 21, 25: a stopped agent that may have the named session is reported.
#[test]
fn a_command_names_an_agent_that_stands_still() {
    let hosted = Hosted::new();
    let mut agent = Client::with(&hosted.env, &[], |command| {
        command.env("INKCELL_HOST_USE", "on");
    });
    agent.ok("python", json!({"code": "x = 20", "session": "ours"}));
    let pid = i32::try_from(agent.pid()).expect("a process");
    let stopped = Stopped::new(pid);
    let beside = hosted.run(&["py", "--session", "ours", "1"]).ok().stderr;
    assert!(beside.contains(&format!("(process {pid}) is stopped")), "{beside}");
    assert!(beside.contains("this command uses another one"), "{beside}");
    let unnamed = hosted.run(&["py", "1"]).ok().stderr;
    assert!(!unnamed.contains("is stopped"), "{unnamed}");
    // Without a name, a session elsewhere is not the only candidate: the agent may have one of this folder.
    std::fs::create_dir(hosted.env.path("elsewhere")).expect("a folder");
    hosted.env.put("elsewhere/nb.ipynb", crate::notebook_runs::notebook(&["1"]));
    hosted.run(&["host", "stop"]).ok();
    hosted.run(&["run", "--keep", "elsewhere/nb.ipynb"]).ok();
    let ended = hosted.run(&["stop"]).exits(3);
    assert!(ended.stderr.contains("cannot find a session here: the host of an agent"), "{ended:?}");
    drop(stopped);
}

/// F-025 Issue 21, 25: no command that runs something waits for a stopped host, with a limit or without. It names the
/// host, says what to do, and works without it by one flag. A host that is ended by force makes room for another.
#[test]
fn nobody_who_runs_something_waits_for_a_host_that_stands_still() {
    let hosted = Hosted::new();
    hosted.run(&["py", "kept = 6"]).ok();
    hosted.env.put("nb.ipynb", crate::notebook_runs::notebook(&["6 * 7"]));
    let host = hosted.host();
    let stopped = Stopped::new(host.pid);
    let said = format!("the shared host (process {}) is stopped and does not answer", host.pid);
    let commands = [
        ["py", "--timeout", "2", "1"].as_slice(),
        &["py", "1"],
        &["py", "--detach", "1"],
        &["py", "--session", "other", "1"],
        &["run", "--keep", "nb.ipynb"],
        &["host", "start"],
        &["mcp", "--keep"],
    ];
    for args in commands {
        let ran = hosted.run(args).exits(3);
        assert!(ran.stderr.contains(&said), "{args:?}: {ran:?}");
        let hint = "hint: end it and its sessions with 'inkcell host stop --force'";
        assert!(ran.stderr.contains(hint) && ran.stderr.contains("--no-host"), "{args:?}: {ran:?}");
    }
    assert_eq!(hosted.run(&["py", "--no-host", "6 * 7"]).ok().stdout, "42\n");
    hosted.run(&["run", "nb.ipynb"]).ok();
    let ended = hosted.run(&["host", "stop", "--force"]).ok();
    assert_eq!(ended.stdout, "The shared host has ended.\n");
    host.is_gone();
    std::mem::forget(stopped);
    assert_eq!(hosted.run(&["py", "'kept' in globals()"]).ok().stdout, "False\n");
    assert_ne!(hosted.host().pid, host.pid);
}

/// F-021 F-025 Issue 21, 25: if a host is stopped in the middle of a call, its client ends on request, and when its
/// time is over. It names the host.
#[test]
fn a_client_of_a_host_that_stands_still_can_be_ended() {
    let hosted = Hosted::new();
    let cell = "open('begun', 'w').write('yes'); import time; time.sleep(6000)";
    hosted.env.put("nb.ipynb", crate::notebook_runs::notebook(&[cell]));
    let code = "import time\nprint('begun', flush=True)\ntime.sleep(6000)";
    hosted.run(&["py", "1"]).ok();
    let host = hosted.host();
    let begun = |args: &[&str]| {
        let mut running = Running::start(hosted.command(args));
        assert_eq!(running.line(), "begun");
        running
    };
    let limited = begun(&["py", "--session", "limited", "--timeout", "10", code]);
    let stopped = Stopped::new(host.pid);
    let ended = limited.end();
    let said = format!("the shared host (process {}) is stopped and does not answer", host.pid);
    assert!(ended.stderr.contains(&said) && ended.status.code() == Some(3), "{ended:?}");
    drop(stopped);
    let waiting = begun(&["py", "--session", "waiting", code]);
    let kept = Running::start(hosted.command(&["run", "--keep", "nb.ipynb"]));
    let attached = Running::start(hosted.command(&["attach", "waiting"]));
    crate::python::wait_for(&hosted.env.path("begun"));
    let stopped = Stopped::new(host.pid);
    for running in [waiting, kept] {
        running.signal(Signal::TERM);
        let ended = running.end();
        assert_eq!(ended.status.signal(), Some(15), "{ended:?}");
    }
    attached.signal(Signal::TERM);
    attached.end();
    drop(stopped);
}

/// F-021, F-023: a watcher with a stalled reader still ends on request.
#[test]
fn a_watcher_that_nobody_reads_can_be_ended() {
    let hosted = Hosted::new();
    let code = "import time\nwhile True: print('x' * 999, flush=True); time.sleep(0.001)";
    hosted.run(&["py", "--detach", "--session", "a", code]).ok();
    let watching = Running::start(hosted.command(&["attach", "a", "--json"]));
    until("a full pipe", || watching.is_blocked());
    watching.signal(Signal::TERM);
    let ended = watching.end_unread();
    // The signal may arrive between two lines, with nothing left to write.
    let is_ended = ended.status.signal() == Some(15) || ended.status.code() == Some(0);
    assert!(is_ended, "{ended:?}");
}

/// F-025: commands that list sessions or hosts, end a host or edit a notebook do not wait for a stopped host. They
/// name it and say what to do, and when it resumes it is as before.
#[test]
fn nobody_waits_for_a_host_that_stands_still() {
    let hosted = Hosted::new();
    hosted.run(&["py", "kept = 6"]).ok();
    hosted.env.put("nb.ipynb", crate::notebook_runs::notebook(&["1"]));
    let host = hosted.host();
    let stopped = Stopped::new(host.pid);
    let said = format!("the shared host (process {}) is stopped and does not answer", host.pid);
    let next = format!("kill -CONT {} resumes it", host.pid);
    for args in [["sessions"].as_slice(), &["host", "status"]] {
        let ran = hosted.run(args).ok();
        assert!(ran.stderr.contains(&said) && ran.stderr.contains(&next), "{args:?}: {ran:?}");
        assert_eq!(ran.stdout, "", "{args:?}: one that is stopped is there");
    }
    let listed = hosted.json(&["sessions"]);
    let silent = json!([{"host": "shared", "pid": host.pid, "stopped": true}]);
    assert_eq!((&listed["sessions"], &listed["silent"]), (&json!([]), &silent));
    assert_eq!(hosted.json(&["host", "status"])["silent"], silent);
    let ran = hosted.run(&["host", "stop"]);
    assert!(ran.code != Some(0) && ran.stderr.contains(&said), "{ran:?}");
    // The session may be in that host, so its absence is unknown.
    for verb in ["interrupt", "restart", "stop", "attach"] {
        for (args, what) in
            [([verb, "ours"].as_slice(), "the session ours"), (&[verb], "a session here")]
        {
            let ran = hosted.run(args).exits(3);
            assert!(ran.stderr.contains(&format!("cannot find {what}: {said}")), "{ran:?}");
            assert!(ran.stderr.contains("hint: end the shared host"), "{ran:?}");
        }
    }
    // More than an unread socket holds.
    let large = "x = 1  # and more of it\n".repeat(40_000);
    hosted.env.put("large.py", large);
    for _ in 0..2 {
        hosted.run(&["edit", "nb.ipynb", "insert", "--source", "2"]).ok();
        hosted.run(&["edit", "nb.ipynb", "insert", "--source-file", "large.py"]).ok();
    }
    drop(stopped);
    assert_eq!(hosted.run(&["py", "kept * 7"]).ok().stdout, "42\n");
    let ran = hosted.run(&["sessions"]).ok();
    assert_eq!(ran.stderr, "");
    assert_eq!(hosted.json(&["sessions"])["silent"], json!([]));
}

/// A library that shifts the wall clock by the number of seconds in a file. A process that reads any clock after
/// that writes the shift into a file with its own number.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static long find_jump(void) {
    static long last;
    long jump = 0;
    char path[4096];
    const char *name = getenv("JUMP_FILE");
    FILE *file = name ? fopen(name, "r") : NULL;
    if (!file) return last;
    if (fscanf(file, "%ld", &jump) != 1) jump = last;
    fclose(file);
    if (jump == last) return jump;
    last = jump;
    snprintf(path, sizeof path, "%s.%d", name, (int)getpid());
    file = fopen(path, "w");
    if (file) { fprintf(file, "%ld\n", jump); fclose(file); }
    return jump;
}
int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(which, now);
    long jump = find_jump();
    if (done == 0 && which == CLOCK_REALTIME) now->tv_sec += jump;
    return done;
}
"#;

/// F-029: the wall clock jumps a day ahead and a day back, in the host and in its client: no session counts as
/// idle, no time limit is hit early, and a limit that is reached is reached in time.
#[test]
fn jumps_of_the_clock_end_nothing() {
    let hosted = Hosted::new();
    let (source, library) = (hosted.env.outside("clock.c"), hosted.env.outside("clock.so"));
    std::fs::write(&source, CLOCK).expect("written");
    let (from, to) = (source.display().to_string(), library.display().to_string());
    if !need::succeeds("cc", &["-shared", "-fPIC", "-o", &to, &from, "-ldl"]) {
        return need::skip("jumps_of_the_clock_end_nothing", "no library can be made here");
    }
    let jump = hosted.env.outside("jump");
    std::fs::write(&jump, "0").expect("written");
    let moved = |args: &[&str]| {
        let mut command = hosted.command(args);
        command.env("LD_PRELOAD", &library).env("JUMP_FILE", &jump);
        command.env("INKCELL_KERNEL_IDLE", "3600").env("INKCELL_HOST_IDLE", "3600");
        command
    };
    let before = finish(moved(&["py", "import os; kept = os.getpid(); kept"]), b"").ok().stdout;
    let host = hosted.host();
    let code = "import os, time\nprint('begun', flush=True)\n\
                while not os.path.exists('go'): time.sleep(0.02)\nprint('done')";
    for seconds in ["86400", "-86400", "0"] {
        let mut running = Running::start(moved(&["py", "--timeout", "3000", code]));
        assert_eq!(running.line(), "begun");
        std::fs::write(&jump, seconds).expect("written");
        let noted = format!("{}.{}", jump.display(), host.pid);
        until("a look of the host at its clock", || {
            std::fs::read_to_string(&noted).is_ok_and(|noted| noted.trim_end() == seconds)
        });
        hosted.env.put("go", "");
        assert_eq!(running.line(), "done");
        assert!(running.end().status.success());
        std::fs::remove_file(hosted.env.path("go")).expect("it was there");
        let late = finish(moved(&["py", "--timeout", "1", "import time; time.sleep(600)"]), b"");
        assert_eq!(late.code, Some(124), "{seconds}: {late:?}");
        assert_eq!(finish(moved(&["py", "kept"]), b"").ok().stdout, before, "{seconds}");
    }
    assert_eq!(hosted.host().pid, host.pid);
}

/// An unused kernel ends by itself, and then the host.
#[test]
fn an_idle_kernel_ends_and_its_host_after_it() {
    let hosted = Hosted::new();
    let mut first = hosted.command(&["py", "import os; os.getpid()"]);
    first.env("INKCELL_KERNEL_IDLE", "1").env("INKCELL_HOST_IDLE", "1");
    let kernel = Process::open(&finish(first, b"").ok().stdout);
    let host = hosted.host();
    kernel.is_gone();
    host.is_gone();
    assert_eq!(hosted.json(&["host", "status"])["hosts"], json!([]));
}

/// Checks that a client that starts again finds everything as it left it, with kernels of this backend.
fn is_kept(hosted: &Hosted, change: &dyn Fn(&mut Command)) {
    let client = || {
        Client::with(&hosted.env, &["--keep"], |command| {
            command.env("INKCELL_HOST_USE", "on").env("INKCELL_PYTHON_START_TIMEOUT", PATIENT);
            change(command);
        })
    };
    let mut first = client();
    let said = first.call("python", json!({"code": "y = 7", "session": "kept"}));
    assert!(!said.is_error(), "{said:?}");
    drop(first);
    let mut second = client();
    let said = second.call("python", json!({"code": "print(y)", "session": "kept"}));
    assert_eq!(said.text().trim(), "7", "{said:?}");
}

/// `mcp --keep` on a Jupyter kernel: the client leaves, and the next one finds its variables.
#[test]
fn sessions_are_kept_on_a_jupyter_kernel() {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    if !need::python_package("sessions_are_kept_on_a_jupyter_kernel", &python, "ipykernel") {
        return;
    }
    let hosted = Hosted::new();
    is_kept(&hosted, &|command| {
        command.env("INKCELL_PYTHON_BACKEND", "zmq");
    });
    assert_eq!(hosted.json(&["sessions"])["sessions"][0]["backend"], "zmq");
}

/// The same with a kernel of a gateway that already runs.
#[test]
fn sessions_are_kept_on_a_gateway() {
    if !need::jupyter_server("sessions_are_kept_on_a_gateway") {
        return;
    }
    let hosted = Hosted::new();
    let gateway = crate::gateways::Elsewhere::start(&hosted.env);
    is_kept(&hosted, &|command| {
        command.env("PI_PYTHON_GATEWAY_URL", &gateway.url);
        command.env("PI_PYTHON_GATEWAY_TOKEN", crate::gateways::TOKEN);
        command.env("INKCELL_PYTHON_BACKEND", "gateway");
    });
    assert_eq!(hosted.json(&["sessions"])["sessions"][0]["backend"], "gateway");
}
