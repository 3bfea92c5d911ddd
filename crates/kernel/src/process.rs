//! Processes: each starts in its own session, gets signals as a group, and is reaped with a cause.
//!
//! Owns every signal. It must not know what runs in the process.
//!
//! Reasons for the details. The child leads a session and so a process group of its own: a signal to the group
//! reaches what a cell started, Ctrl-C at our terminal does not reach it, and it has no terminal to read
//! passwords from. The parent-death signal follows the *thread* that started the child, so one thread of
//! ours starts them all and lives as long as the backend. Descriptors close on exec by default. The few
//! that a child needs lose that mark in the child, after the fork, so that another child started at the
//! same moment cannot get them.

mod cwd;
mod detached;
mod memory;
mod strays;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

use crate::event::DeathCause;

pub use cwd::check_cwd;
pub use detached::spawn_detached;
pub(crate) use memory::oom_kills;
pub use memory::{return_free_memory, return_large_blocks};
pub(crate) use strays::Mark;

/// Starts children from one thread that lives as long as this value.
#[derive(Debug)]
pub(crate) struct Spawner {
    jobs: mpsc::Sender<Job>,
}

struct Job {
    command: Command,
    /// Descriptors that the child keeps; the job holds them until the child has them.
    keep: Vec<OwnedFd>,
    reply: oneshot::Sender<io::Result<NewChild>>,
}

type Answer = oneshot::Receiver<io::Result<NewChild>>;

/// A new process without an owner yet. Dropping it ends the process: the caller may give up while the process is on
/// its way to it.
struct NewChild(Option<Child>);

impl Drop for NewChild {
    fn drop(&mut self) {
        if let Some(child) = self.0.take() {
            // Also ends what the child has started, and takes those statuses.
            Process::own(child).destroy();
        }
    }
}

impl Spawner {
    pub(crate) fn new() -> io::Result<Spawner> {
        let (jobs, queue) = mpsc::channel::<Job>();
        std::thread::Builder::new().name("inkcell-spawner".to_owned()).spawn(move || {
            for mut job in queue {
                let done = spawn(&mut job.command, &job.keep);
                // If the caller gave up, dropping the reply ends the child.
                drop(job.reply.send(done.map(|child| NewChild(Some(child)))));
            }
        })?;
        Ok(Spawner { jobs })
    }

    /// Starts a command in a session of its own, and leaves these descriptors open.
    pub(crate) async fn spawn(&self, command: Command, keep: Vec<OwnedFd>) -> io::Result<Child> {
        let mut untaken = self.post(command, keep)?.await.map_err(|_| gone())??;
        untaken.0.take().ok_or_else(gone)
    }

    fn post(&self, command: Command, keep: Vec<OwnedFd>) -> io::Result<Answer> {
        let (reply, answer) = oneshot::channel();
        self.jobs.send(Job { command, keep, reply }).map_err(|_| gone())?;
        Ok(answer)
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that starts processes is gone")
}

#[allow(unsafe_code, reason = "pre_exec is the only way to run code between fork and exec")]
fn spawn(command: &mut Command, keep: &[OwnedFd]) -> io::Result<Child> {
    let fds: Vec<RawFd> = keep.iter().map(|fd| fd.as_raw_fd()).collect();
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only async-signal-safe calls are made: system calls through rustix,
    // no allocation, no lock. `fds` is moved in and only read; the descriptors stay open because `keep`
    // outlives the call to spawn.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            for fd in &fds {
                let fd = std::os::fd::BorrowedFd::borrow_raw(*fd);
                rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?;
            }
            #[cfg(target_os = "linux")]
            {
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                // The parent may have died before the child asked for the signal.
                if rustix::process::getppid() != Some(parent) {
                    return Err(io::Error::from_raw_os_error(3));
                }
            }
            Ok(())
        });
    }
    command.spawn()
}

/// A descriptor that the runtime watches, for reading, writing or both.
#[allow(unsafe_code, reason = "tokio cannot check that a descriptor stays the same")]
pub fn watch(descriptor: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` gives the same open descriptor every time it is asked, until it is dropped,
    // and the `AsyncFd` owns it from here on.
    Ok(unsafe { AsyncFd::register_with_interest(descriptor, interest) }?)
}

/// A handle that becomes readable when the process ends.
pub(crate) fn watch_exit(pid: u32) -> io::Result<AsyncFd<OwnedFd>> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    watch(handle, Interest::READABLE)
}

/// As [`watch_exit`]; `None` if the process has ended and its status was taken. Any other failure is the system's, such
/// as a lack of descriptors, and says nothing about the process.
pub(crate) fn watch_exit_if_there(pid: u32) -> io::Result<Option<AsyncFd<OwnedFd>>> {
    match watch_exit(pid) {
        Ok(exit) => Ok(Some(exit)),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits for the end of a watched process; without one, waits for ever.
pub(crate) async fn wait_for_exit(exit: Option<&AsyncFd<OwnedFd>>) {
    match exit {
        // Ready or an error: in both cases the wait is over. One waker stays registered, where each
        // future of `readable` would enter and leave a list.
        Some(exit) => drop(std::future::poll_fn(|context| exit.poll_read_ready(context)).await),
        None => std::future::pending().await,
    }
}

/// The start time of a process, as the process table has it. It tells the process apart from a later one with the same
/// id.
pub(crate) fn start_time(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in front may hold spaces.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

/// Checks for a while until nothing is left of a killed group, whose members take a moment to end.
pub(crate) async fn wait_until_gone(mut is_left: impl FnMut() -> bool) {
    for _ in 0..100 {
        if !is_left() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Takes the statuses of group members that became our children and have ended. Returns `true` if others are left.
pub(crate) fn reap_members(leader: u32, mut take: impl FnMut(Pid, WaitStatus)) -> bool {
    let Some(leader) = i32::try_from(leader).ok().and_then(Pid::from_raw) else { return false };
    // Bounded, so that a cell that starts processes without end cannot keep us here.
    for _ in 0..1000 {
        match rustix::process::waitpgid(leader, WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => take(pid, status),
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
    true
}

/// A handle of this process. A child can watch it to notice the end of this process.
pub(crate) fn own_pidfd() -> io::Result<OwnedFd> {
    Ok(rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?)
}

/// Makes orphans among our descendants our own children, so that the host can find and reap them.
pub(crate) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        // If the system refuses, orphans go to its first process as before.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Reaps children that have ended, including orphans that this process adopted. Call it at the end of this process: if
/// no other process reaps them, as in many containers, they stay for ever.
pub fn reap_ended() {
    // Bounded, because a program that starts processes without end could keep us here.
    for _ in 0..10_000 {
        if !matches!(rustix::process::wait(WaitOptions::NOHANG), Ok(Some(_))) {
            return;
        }
    }
}

/// The children that the first thread of a process started. Empty if the system has no such table.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let list = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    list.unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Signals a whole group, and ignores a group that has ended.
pub(crate) fn kill_group(leader: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

/// The end of a process that another process waited for.
pub(crate) struct ReapedStatus(DeathCause);

impl ReapedStatus {
    /// Reads the status that `wait` returns.
    pub(crate) fn from_raw(status: i32) -> ReapedStatus {
        ReapedStatus(cause(ExitStatus::from_raw(status)))
    }
}

/// A runner's process, which leads its group.
pub(crate) struct Process {
    pid: u32,
    parent: Parent,
    /// The cause of its end, if an earlier call has found it out.
    ended: Option<DeathCause>,
}

/// The parent of a runner, which learns of its end.
enum Parent {
    /// This process, the host.
    Us(Child),
    /// The fork server, which reports the end of the runner as long as it lives itself.
    Zygote(Option<oneshot::Receiver<ReapedStatus>>),
}

impl Process {
    /// A child of ours.
    pub(crate) fn own(child: Child) -> Process {
        Process { pid: child.id(), parent: Parent::Us(child), ended: None }
    }

    /// A child of the fork server.
    pub(crate) fn forked(pid: u32, end: oneshot::Receiver<ReapedStatus>) -> Process {
        Process { pid, parent: Parent::Zygote(Some(end)), ended: None }
    }

    /// A process whose parent has ended, so that we must take its status.
    pub(crate) fn orphan(pid: u32) -> Process {
        Process { pid, parent: Parent::Zygote(None), ended: None }
    }

    pub(crate) fn id(&self) -> u32 {
        self.pid
    }

    /// Checks without waiting whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = match &mut self.parent {
                Parent::Us(child) => child.try_wait().ok().flatten().map(cause),
                Parent::Zygote(end) => match end.as_mut().map(oneshot::Receiver::try_recv) {
                    Some(Ok(ReapedStatus(cause))) => Some(cause),
                    // The fork server has ended without a report, so we take the status.
                    Some(Err(oneshot::error::TryRecvError::Closed)) => {
                        *end = None;
                        None
                    }
                    _ => None,
                },
            };
        }
        self.ended.is_none()
    }

    /// Takes the statuses of group members that became our children, so that no zombies stay.
    pub(crate) fn reap_orphans(&mut self) {
        let (leader, ended) = (self.pid, &mut self.ended);
        reap_members(leader, |pid, status| {
            if pid.as_raw_nonzero().get().unsigned_abs() == leader {
                *ended = Some(cause(ExitStatus::from_raw(status.as_raw())));
            }
        });
    }

    /// Checks for members of its group: processes, or statuses to take.
    pub(crate) fn has_group(&self) -> bool {
        let leader = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        leader.is_some_and(|leader| rustix::process::test_kill_process_group(leader).is_ok())
    }

    /// Why it ended. Call it after the end of the process. The report of the fork server may come later,
    /// on a busy machine much later.
    pub(crate) async fn cause(&mut self) -> Option<DeathCause> {
        if self.is_running()
            && let Parent::Zygote(end) = &mut self.parent
        {
            let mut is_silent = false;
            if let Some(end) = end.take() {
                match tokio::time::timeout(Duration::from_secs(3), end).await {
                    Ok(Ok(ReapedStatus(cause))) => self.ended = Some(cause),
                    Ok(Err(_)) => {}
                    Err(_) => is_silent = true,
                }
            }
            self.reap_orphans();
            // Without the fork server, its children become ours: a moment after its channel closed, when the
            // system has taken it down.
            for _ in 0..200 {
                if self.ended.is_some() || is_silent {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
                self.reap_orphans();
            }
        }
        self.ended.clone()
    }

    /// Ends it with its group and takes their statuses, so that nothing of it remains.
    pub(crate) fn destroy(mut self) {
        kill_group(self.pid, Signal::KILL);
        if let Parent::Us(child) = &mut self.parent {
            let _ = child.wait();
        }
        // Processes it started are ours now, and take a moment to end; on a busy machine that can exceed any wait.
        if self.reap_group(100, Duration::from_millis(1)) {
            return;
        }
        let patient = std::thread::Builder::new().name("inkcell-reaper".to_owned());
        // If no thread can start, one status stays untaken.
        let _ = patient.spawn(move || self.reap_group(3000, Duration::from_millis(10)));
    }

    /// Checks up to `looks` times and takes the statuses of the whole group. True if nothing of it remains.
    fn reap_group(&mut self, looks: u32, pause: Duration) -> bool {
        (0..looks).any(|_| {
            self.reap_orphans();
            let is_gone = !self.has_group();
            if !is_gone {
                std::thread::sleep(pause);
            }
            is_gone
        })
    }
}

/// Turns an exit status into a cause.
fn cause(status: ExitStatus) -> DeathCause {
    match (status.code(), status.signal()) {
        (Some(code), _) => DeathCause::Exit { code },
        (None, Some(signal)) => DeathCause::Signal { signal },
        (None, None) => DeathCause::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    /// F-008: a caller that gives up while its process is on the way to it leaves no process behind.
    #[tokio::test]
    async fn a_process_that_nobody_takes_is_ended() {
        let spawner = Spawner::new().unwrap();
        let (read, write) = io::pipe().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$; exec sleep 600"]).stdout(write);
        let untaken = spawner.post(command, Vec::new()).unwrap();
        // The thread serves requests in order, so the first child exists once this one does.
        let mut next = spawner.spawn(Command::new("true"), Vec::new()).await.unwrap();
        next.wait().unwrap();
        let mut line = String::new();
        BufReader::new(read).read_line(&mut line).unwrap();
        let process = std::path::PathBuf::from(format!("/proc/{}", line.trim()));
        assert!(process.exists());
        drop(untaken);
        assert!(!process.exists(), "neither it nor its status");
    }
}
