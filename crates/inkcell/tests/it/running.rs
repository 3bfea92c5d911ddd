//! Commands that run code, observed while they run.
//!
//! Owns the test's Python, a child whose lines are read as they come, and the proof that a process is gone.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use inkcell_testkit::env::{CommandOutput, TestEnv, finish};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

/// A limit that only an event which never comes exceeds.
const LIMIT: Duration = Duration::from_secs(180);

/// `inkcell py` with the Python of the tests.
pub(crate) fn py(env: &TestEnv, args: &[&str]) -> Command {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = env.inkcell();
    command.arg("py").args(args).env("INKCELL_PYTHON_INTERPRETER", python);
    command
}

/// The same, run to its end.
pub(crate) fn run_py(env: &TestEnv, args: &[&str]) -> CommandOutput {
    finish(py(env, args), b"")
}

/// The same with a time limit, run to its end. The start of Python counts as well, so the limit grows if a busy
/// machine delayed the code; returns the seconds, too.
pub(crate) fn run_limited(
    env: &TestEnv,
    args: &[&str],
    change: impl Fn(&mut Command),
    has_begun: impl Fn(&CommandOutput) -> bool,
) -> (CommandOutput, u32) {
    let run = |seconds: u32| {
        let mut command = py(env, &["--timeout", &seconds.to_string()]);
        command.args(args);
        change(&mut command);
        (finish(command, b"").exits(124), seconds)
    };
    let tried = [2, 10].into_iter().map(run).find(|(ran, _)| has_begun(ran));
    tried.unwrap_or_else(|| run(40))
}

/// A running command. Dropping it kills it.
pub(crate) struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Running {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Running { child, stdout }
    }

    /// The next line of its standard output, as soon as it arrives.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        assert!(line.ends_with('\n'), "{line:?}, then the end");
        line.trim_end().to_owned()
    }

    /// The next bytes of its standard output.
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.stdout.read_exact(&mut bytes).expect("some bytes");
        bytes
    }

    /// Returns whether the pipe of its standard output is full, so that its next write waits.
    pub(crate) fn is_blocked(&self) -> bool {
        // Only the writing end can tell. The number of bytes cannot: a line that does not fit begins a new page.
        let pipe = format!("/proc/self/fd/{}", self.stdout.get_ref().as_raw_fd());
        let writer = OpenOptions::new().write(true).open(pipe).expect("a pipe");
        let mut fds = [PollFd::new(&writer, PollFlags::OUT)];
        poll(&mut fds, Some(&Timespec::default())).expect("a poll") == 0
    }

    /// The next line, which is a process id.
    pub(crate) fn process(&mut self) -> Process {
        Process::open(&self.line())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("a signal");
    }

    /// Closes our end of its standard output, as `head` does.
    pub(crate) fn stop_reading(mut self) -> Ended {
        drop(self.stdout);
        wait(&mut self.child, None)
    }

    /// Keeps the pipe open, reads nothing, and waits for the end.
    pub(crate) fn end_unread(mut self) -> Ended {
        let ended = wait(&mut self.child, None);
        drop(self.stdout);
        ended
    }

    /// Reads the rest of the output and waits for the end.
    pub(crate) fn end(mut self) -> Ended {
        wait(&mut self.child, Some(self.stdout))
    }
}

/// The end of a running command, and its unread output.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

fn wait(child: &mut Child, stdout: Option<BufReader<ChildStdout>>) -> Ended {
    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).expect("a child");
    let stderr = collect(child.stderr.take().expect("a pipe"));
    let stdout = stdout.map(collect);
    if !is_over(&pidfd) {
        drop(child.kill());
        drop(child.wait());
        panic!("the command did not end");
    }
    let text = |pipe: mpsc::Receiver<Vec<u8>>| {
        // A process that was left behind would hold the pipe open.
        let bytes = pipe.recv_timeout(LIMIT).expect("the pipe ends with the command");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let status = child.wait().expect("it ended");
    Ended { status, stdout: stdout.map(text).unwrap_or_default(), stderr: text(stderr) }
}

fn collect(mut pipe: impl Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(pipe.read_to_end(&mut bytes));
        drop(sender.send(bytes));
    });
    receiver
}

fn is_over(pidfd: &OwnedFd) -> bool {
    is_over_within(pidfd, LIMIT)
}

fn is_over_within(pidfd: &OwnedFd, limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).expect("a short time");
    let mut wanted = [PollFd::new(pidfd, PollFlags::IN)];
    poll(&mut wanted, Some(&limit)).expect("a poll") == 1
}

/// A process that should end.
pub(crate) struct Process {
    pub(crate) pid: i32,
    pidfd: OwnedFd,
}

impl Process {
    pub(crate) fn open(text: &str) -> Process {
        let pid: i32 = text.trim().parse().unwrap_or_else(|_| panic!("{text:?} is no process id"));
        let known = Pid::from_raw(pid).expect("a process id");
        Process { pid, pidfd: pidfd_open(known, PidfdFlags::empty()).expect("it is running") }
    }

    /// Waits until it is gone.
    pub(crate) fn is_gone(&self) {
        assert!(is_over(&self.pidfd), "process {} is still there", self.pid);
    }

    /// Returns whether it ends within this time.
    pub(crate) fn is_gone_within_millis(&self, millis: u64) -> bool {
        is_over_within(&self.pidfd, Duration::from_millis(millis))
    }

    /// Checks that it is gone by now: the process that ends it must have waited for it.
    pub(crate) fn is_gone_already(&self) {
        let folder = PathBuf::from(format!("/proc/{}", self.pid));
        assert!(!folder.exists(), "process {} is still there", self.pid);
    }
}
