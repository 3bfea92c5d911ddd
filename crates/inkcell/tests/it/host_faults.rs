//! A host that is killed, or refused something, at every call by which a kernel starts: no process stays.
//!
//! Owns the enumeration. Signals to a host that is up are in `python_signals.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use inkcell_testkit::env::{Ran, TestEnv, finish};
use inkcell_testkit::need;

use crate::env;
use crate::running::py;

/// The calls that make processes and what connects them, and those by which the host talks to a kernel.
const CALLS: &str = "clone,clone3,fork,vfork,execve,pipe2,socketpair,setsid,prctl,pidfd_open,dup2,dup3,\
    sendto,recvfrom,write,kill,wait4,waitid";

/// Those that fail when the machine is out of descriptors or processes, and how.
const REFUSED: [(&str, &str); 5] = [
    ("clone", "EAGAIN"),
    ("pipe2", "EMFILE"),
    ("socketpair", "EMFILE"),
    ("pidfd_open", "EMFILE"),
    ("execve", "ENOMEM"),
];

/// The pairs before it are for the three signals that are heard.
const RUNTIMES_PAIR: usize = 4;

/// It starts a child of its own, which must not stay either.
const CODE: &str = "import subprocess\nchild = subprocess.Popen(['sleep', '600'])\n'ran'";

/// Runs the code under strace, which follows the host's threads and lets go of what it executes.
fn traced(env: &TestEnv, args: &[&str]) -> Ran {
    let host = py(env, &["--fresh", CODE]);
    let mut command = env.command("strace");
    command.args(["-f", "-b", "execve", "-qq"]).args(args);
    command.arg(host.get_program()).args(host.get_args());
    for (name, value) in host.get_envs() {
        command.env(name, value.expect("a value"));
    }
    finish(command, b"")
}

/// Each call with the most often that one thread makes it, which is how strace counts.
fn calls(env: &TestEnv) -> BTreeMap<String, usize> {
    let log = env.outside("trace.log");
    let known: Vec<String> = CALLS.split(',').map(|name| format!("?{name}")).collect();
    let trace = format!("trace={}", known.join(","));
    let ran = traced(env, &["-o", &log.display().to_string(), "-e", &trace]).ok();
    assert_eq!(ran.stdout, "'ran'\n");
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in fs::read_to_string(&log).expect("a log").lines() {
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

/// Runs the code with a fault, and checks that nothing stays; tells whether the host was killed by it.
fn check(fault: &str) -> bool {
    let env = env();
    let call = fault.split(':').next().expect("a call");
    let (trace, inject) = (format!("trace={call}"), format!("inject={fault}"));
    let ran = traced(&env, &["-o", "/dev/null", "-e", &trace, "-e", &inject]);
    assert!(!ran.stderr.contains("panicked"), "{fault}: {ran:?}");
    let was_killed = ran.signal == Some(9);
    let is_told = ran.code == Some(0) || !ran.stderr.is_empty();
    assert!(was_killed || is_told, "{fault}: {ran:?}");
    let root = env.dir();
    let root = root.parent().expect("the folder of the test");
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let left = of(root);
        if left.is_empty() {
            return was_killed;
        }
        assert!(Instant::now() < deadline, "after {fault}: {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// F-024: killed at every call of a kernel's start and of its talk with it, the host leaves no process.
/// F-046: refused a process or a descriptor, it says so and leaves none either.
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
                // One pair of sockets is the runtime's own, which cannot do without.
                if refused == name && (name != "socketpair" || when != RUNTIMES_PAIR) {
                    faults.push(format!("{name}:error={error}:when={when}"));
                }
            }
        }
    }
    assert!(faults.len() > 30, "only {faults:?}");
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
