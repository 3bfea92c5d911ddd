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

use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::unix::AsyncFd;

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
    reply: tokio::sync::oneshot::Sender<io::Result<Child>>,
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
        let (reply, answer) = tokio::sync::oneshot::channel();
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

/// Why a process ended.
pub(crate) fn cause(status: ExitStatus) -> DeathCause {
    match (status.code(), status.signal()) {
        (Some(code), _) => DeathCause::Exit { code },
        (None, Some(signal)) => DeathCause::Signal { signal },
        (None, None) => DeathCause::Unknown,
    }
}
