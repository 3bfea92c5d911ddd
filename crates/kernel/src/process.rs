//! Processes: one started in a session of its own, signalled as a group, and reaped with a cause.
//!
//! Owns every signal. It must not know what runs in the process.
//!
//! Why the details. The child leads a session and so a process group of its own: a signal to the group
//! reaches what a cell started, Ctrl-C at our terminal does not reach it, and it has no terminal to read
//! passwords from. The parent-death signal follows the *thread* that started the child, so one thread of
//! ours starts them all and lives as long as the backend. Descriptors are closed on exec by default; the
//! few a child needs lose that mark in the child, after the fork, so that no other child started at the
//! same moment can get them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

use crate::event::DeathCause;

/// Starts children from one thread that lives as long as this value.
#[derive(Debug)]
pub(crate) struct Spawner {
    jobs: mpsc::Sender<Job>,
}

struct Job {
    command: Command,
    /// Descriptors the child keeps; held here until it has them.
    keep: Vec<OwnedFd>,
    reply: oneshot::Sender<io::Result<Child>>,
}

impl Spawner {
    pub(crate) fn new() -> io::Result<Spawner> {
        let (jobs, queue) = mpsc::channel::<Job>();
        std::thread::Builder::new().name("inkcell-spawner".to_owned()).spawn(move || {
            for mut job in queue {
                let done = spawn(&mut job.command, &job.keep);
                // A caller that gave up leaves nothing behind.
                if let Err(Ok(mut child)) = job.reply.send(done) {
                    kill_group(child.id(), Signal::KILL);
                    let _ = child.wait();
                }
            }
        })?;
        Ok(Spawner { jobs })
    }

    /// Starts a command in a session of its own, with these descriptors left open.
    pub(crate) async fn spawn(&self, command: Command, keep: Vec<OwnedFd>) -> io::Result<Child> {
        let (reply, answer) = oneshot::channel();
        let gone = || io::Error::other("the thread that starts processes is gone");
        self.jobs.send(Job { command, keep, reply }).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
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
                // The parent may have died before the signal was asked for.
                if rustix::process::getppid() != Some(parent) {
                    return Err(io::Error::from_raw_os_error(3));
                }
            }
            Ok(())
        });
    }
    command.spawn()
}

/// Something that becomes readable when the process ends.
#[allow(unsafe_code, reason = "tokio cannot check that a descriptor stays the same")]
pub(crate) fn watch_exit(pid: u32) -> io::Result<AsyncFd<OwnedFd>> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidInput)?;
    let handle = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    // SAFETY: an `OwnedFd` gives the same open descriptor every time it is asked, until it is dropped,
    // and the `AsyncFd` owns it from here on.
    Ok(unsafe { AsyncFd::register(handle) }?)
}

/// Signals a whole group; a group that is gone is no error.
pub(crate) fn kill_group(leader: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

/// The end of a process that somebody else waited for.
pub(crate) struct Reaped(DeathCause);

impl Reaped {
    /// From the status as `wait` gives it.
    pub(crate) fn from_raw(status: i32) -> Reaped {
        Reaped(cause(ExitStatus::from_raw(status)))
    }
}

/// A runner's process: our own child, or one that the fork server made and waits for.
pub(crate) enum Process {
    Own(Child),
    Forked { pid: u32, ended: oneshot::Receiver<Reaped> },
}

impl Process {
    pub(crate) fn id(&self) -> u32 {
        match self {
            Process::Own(child) => child.id(),
            Process::Forked { pid, .. } => *pid,
        }
    }

    /// Why it ended; to be asked when it has. The fork server's word may come a moment later.
    pub(crate) async fn cause(&mut self) -> Option<DeathCause> {
        match self {
            Process::Own(child) => child.try_wait().ok().flatten().map(cause),
            Process::Forked { pid, ended } => {
                let word = tokio::time::timeout(Duration::from_secs(1), ended).await;
                if let Ok(Ok(Reaped(cause))) = word {
                    return Some(cause);
                }
                // The fork server is gone; its children are ours now.
                let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw)?;
                let (_, status) =
                    rustix::process::waitpid(Some(pid), WaitOptions::NOHANG).ok()??;
                Some(Reaped::from_raw(status.as_raw()).0)
            }
        }
    }

    /// Ends it and takes its status, so that nothing of it is left.
    pub(crate) fn destroy(self) {
        kill_group(self.id(), Signal::KILL);
        if let Process::Own(mut child) = self {
            let _ = child.wait();
        }
    }
}

/// Why a process ended.
fn cause(status: ExitStatus) -> DeathCause {
    match (status.code(), status.signal()) {
        (Some(code), _) => DeathCause::Exit { code },
        (None, Some(signal)) => DeathCause::Signal { signal },
        (None, None) => DeathCause::Unknown,
    }
}
