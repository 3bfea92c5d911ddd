//! A host that is killed, or refused something, at every call by which a kernel starts: no process stays. Clients
//! that vanish in the middle: nothing goes on for them.
//!
//! Owns the enumeration. Signals to a running host are in `python_signals.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use inkcell_testkit::need;
use inkcell_testkit::wait::until;
use rustix::process::Signal;

use crate::env;
use crate::hosts::Hosted;
use crate::running::{Running, py};

/// The calls that make and connect processes, and those by which the host talks to a kernel.
const CALLS: &str = "clone,clone3,fork,vfork,execve,pipe2,socketpair,setsid,prctl,pidfd_open,dup2,dup3,\
    sendto,recvfrom,write,kill,wait4,waitid";

/// The calls that fail when the machine runs out of descriptors or processes, with the error.
const REFUSED: [(&str, &str); 5] = [
    ("clone", "EAGAIN"),
    ("pipe2", "EMFILE"),
    ("socketpair", "EMFILE"),
    ("pidfd_open", "EMFILE"),
    ("execve", "ENOMEM"),
];

/// The pairs before it are for the three handled signals.
const RUNTIMES_PAIR: usize = 4;

/// The code starts a child of its own, which must not stay either.
const CODE: &str = "import subprocess\nchild = subprocess.Popen(['sleep', '600'])\n'ran'";

/// Runs the code under strace, which follows the host's threads and detaches from the programs that it executes.
fn traced(env: &TestEnv, args: &[&str]) -> CommandOutput {
    let host = py(env, &["--fresh", CODE]);
    let mut command = env.command("strace");
    command.args(["-f", "-b", "execve", "-qq"]).args(args);
    command.arg(host.get_program()).args(host.get_args());
    for (name, value) in host.get_envs() {
        command.env(name, value.expect("a value"));
    }
    finish(command, b"")
}

fn calls(env: &TestEnv) -> BTreeMap<String, usize> {
    let log = env.outside("trace.log");
    let ran = traced(env, &["-o", &log.display().to_string(), "-e", &known(CALLS)]).ok();
    assert_eq!(ran.stdout, "'ran'\n");
    counted(&log)
}

/// The arguments that make strace trace these calls; unknown ones are skipped.
fn known(calls: &str) -> String {
    let known: Vec<String> = calls.split(',').map(|name| format!("?{name}")).collect();
    format!("trace={}", known.join(","))
}

/// Each call with the highest count in a single thread, since strace counts by thread.
fn counted(log: &Path) -> BTreeMap<String, usize> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in fs::read_to_string(log).expect("a log").lines() {
        let Some((thread, call)) = line.split_once(char::is_whitespace) else { continue };
        let Some((name, _)) = call.trim_start().split_once('(') else { continue };
        if CALLS.split(',').any(|known| known == name) {
            *counts.entry((name.to_owned(), thread.to_owned())).or_default() += 1;
        }
    }
    let mut most = BTreeMap::new();
    for ((name, _), count) in counts {
        let known = most.entry(name).or_insert(0);
        *known = count.max(*known);
    }
    most
}

/// Processes that work below this folder or have it in their environment.
fn of(root: &Path) -> Vec<String> {
    let wanted = root.as_os_str().as_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let path = entry.path();
        let works_there = fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(root));
        let environ = fs::read(path.join("environ")).unwrap_or_default();
        if works_there || environ.windows(wanted.len()).any(|part| part == wanted) {
            let command = fs::read(path.join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            found.push(format!("{}: {command}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// Runs the code with a fault, and checks that nothing stays; returns whether the fault killed the host.
fn check(fault: &str) -> bool {
    let env = env();
    let call = fault.split(':').next().expect("a call");
    let (trace, inject) = (format!("trace={call}"), format!("inject={fault}"));
    let ran = traced(&env, &["-o", "/dev/null", "-e", &trace, "-e", &inject]);
    assert!(!ran.stderr.contains("panicked"), "{fault}: {ran:?}");
    let was_killed = ran.signal == Some(9);
    let is_told = ran.code == Some(0) || !ran.stderr.is_empty();
    assert!(was_killed || is_told, "{fault}: {ran:?}");
    nothing_stays(&env, fault);
    was_killed
}

fn nothing_stays(env: &TestEnv, fault: &str) {
    let root = env.dir();
    let root = root.parent().expect("the folder of the test");
    until(&format!("the end of all processes after {fault}"), || {
        let left = of(root);
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
}

/// F-024: killed at every call of a kernel's start and of the conversation with it, the host leaves no process.
/// F-046: if a process or a descriptor is refused, it reports that and leaves none either.
#[test]
fn a_host_that_is_killed_at_any_call_leaves_no_process() {
    if !need::strace("a_host_that_is_killed_at_any_call_leaves_no_process") {
        return;
    }
    let mut faults = Vec::new();
    for (name, count) in calls(&env()) {
        for when in 1..=count {
            // The first is the program itself.
            if name != "execve" || when > 1 {
                faults.push(format!("{name}:signal=KILL:when={when}"));
            }
            for (refused, error) in REFUSED {
                // One pair of sockets is the runtime's own, without which it cannot run.
                if refused == name && (name != "socketpair" || when != RUNTIMES_PAIR) {
                    faults.push(format!("{name}:error={error}:when={when}"));
                }
            }
        }
    }
    assert!(faults.len() > 30, "only {faults:?}");
    all_come(&faults, check);
}

/// Tries every fault, or some of them if time is short; most of them must occur.
fn all_come(faults: &[String], check: impl Fn(&str) -> bool + Sync) {
    let stride = if need::is_quick() { 3 } else { 1 };
    let (next, killed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(fault) = faults.get(next.fetch_add(stride, Ordering::Relaxed)) {
                    if check(fault) {
                        killed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let killed = killed.into_inner();
    assert!(killed * 3 > faults.len() / stride, "only {killed} of {} faults came", faults.len());
}

/// The calls that make, connect and end processes.
const PROCESS_CALLS: &str = "clone,clone3,fork,vfork,execve,pipe2,socketpair,setsid,prctl,pidfd_open,dup2,dup3,kill,\
    wait4,waitid";

/// The host that commands share, in the foreground and under strace.
struct Traced {
    strace: Child,
}

impl Traced {
    fn start(hosted: &Hosted, args: &[&str]) -> Traced {
        let serve = hosted.command(&["host", "serve"]);
        let mut command = hosted.env.command("strace");
        command.args(["-f", "-b", "execve", "-qq"]).args(args);
        command.arg(serve.get_program()).args(serve.get_args());
        for (name, value) in serve.get_envs() {
            command.env(name, value.expect("a value"));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Traced { strace: command.spawn().expect("strace") }
    }

    /// Waits until it listens, or has ended before.
    fn listens(&mut self, hosted: &Hosted) -> bool {
        let mut does = false;
        until("the host", || {
            let hosts = hosted.json(&["host", "status"]);
            does = hosts["hosts"].as_array().is_some_and(|hosts| !hosts.is_empty());
            does || self.strace.try_wait().expect("strace").is_some()
        });
        does
    }

    /// Waits for its end; returns whether that was a kill.
    fn was_killed(mut self) -> bool {
        use std::os::unix::process::ExitStatusExt as _;
        until("the end of the host", || self.strace.try_wait().expect("strace").is_some());
        self.strace.wait().expect("strace").signal() == Some(9)
    }
}

/// Asks a shared host for a kernel while a fault occurs, and checks that nothing stays.
fn check_shared(fault: &str) -> bool {
    let hosted = Hosted::new();
    let call = fault.split(':').next().expect("a call");
    let (trace, inject) = (format!("trace={call}"), format!("inject={fault}"));
    let mut host = Traced::start(&hosted, &["-o", "/dev/null", "-e", &trace, "-e", &inject]);
    if host.listens(&hosted) {
        let ran = hosted.run(&["py", CODE]);
        assert!(!ran.stderr.contains("panicked"), "{fault}: {ran:?}");
        assert!(ran.code == Some(0) || !ran.stderr.is_empty(), "{fault}: {ran:?}");
    }
    // This is the same host, if the fault did not occur, or another one that was started in its place.
    hosted.run(&["host", "stop"]);
    let was_killed = host.was_killed();
    nothing_stays(&hosted.env, fault);
    was_killed
}

/// F-024: the host that commands share, killed at every call by which it starts a kernel for a client, leaves no
/// process.
#[test]
fn a_shared_host_that_is_killed_at_any_call_leaves_no_process() {
    if !need::strace("a_shared_host_that_is_killed_at_any_call_leaves_no_process") {
        return;
    }
    let hosted = Hosted::new();
    let log = hosted.env.outside("trace.log");
    let args = ["-o", &log.display().to_string(), "-e", &known(PROCESS_CALLS)];
    let mut host = Traced::start(&hosted, &args);
    assert!(host.listens(&hosted));
    assert_eq!(hosted.run(&["py", CODE]).ok().stdout, "'ran'\n");
    hosted.run(&["host", "stop"]).ok();
    assert!(!host.was_killed());
    let mut faults = Vec::new();
    for (name, count) in counted(&log) {
        // The first is the program itself.
        let first = if name == "execve" { 2 } else { 1 };
        faults.extend((first..=count).map(|when| format!("{name}:signal=KILL:when={when}")));
    }
    assert!(faults.len() > 10, "only {faults:?}");
    all_come(&faults, check_shared);
}

/// Returns whether all threads of a process wait for something.
fn waits(pid: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("it is there").flatten();
    threads.map(|thread| fs::read_to_string(thread.path().join("stat"))).all(|stat| {
        // A thread may have ended meanwhile.
        stat.map_or(true, |stat| stat.rsplit_once(") ").expect("a state").1.starts_with('S'))
    })
}

/// F-022: a client of the shared host vanishes, at the end of its input or killed: its code ends, even if that
/// ignores signals, and the host neither ends nor spins.
#[test]
fn nothing_goes_on_for_a_client_that_is_gone() {
    let hosted = Hosted::new();
    hosted.run(&["py", "kept = 6"]).ok();
    let host = hosted.host();
    let ended = finish(hosted.command(&["mcp", "--keep"]), b"").ok();
    assert_eq!(ended.stdout, "");
    let sleeps = "import time\nprint('begun', flush=True)\ntime.sleep(6000)";
    let stubborn = "import time\nprint('begun', flush=True)\nwhile True:\n    try: time.sleep(6000)\n    \
                    except KeyboardInterrupt: pass";
    let writes = "print('begun', flush=True)\nwhile True: print('more' * 100)";
    for (session, code) in [("sleeps", sleeps), ("stubborn", stubborn), ("writes", writes)] {
        let mut command = hosted.command(&["py", "--session", session, code]);
        command.env("INKCELL_KERNEL_INTERRUPT_GRACE", "1");
        let mut client = Running::start(command);
        assert_eq!(client.line(), "begun");
        client.signal(Signal::KILL);
        drop(client.end());
        until(&format!("the end of {session}"), || {
            let status = hosted.status();
            status["running"] == serde_json::json!([]) && status["clients"] == 0
        });
    }
    assert_eq!(hosted.run(&["py", "kept * 7"]).ok().stdout, "42\n");
    assert_eq!(hosted.host().pid, host.pid);
    // A spinning host is seen as running even if it gets no processor.
    let mut quiet = 0;
    until("a host that waits", || {
        quiet = if waits(host.pid) { quiet + 1 } else { 0 };
        quiet == 50
    });
}
