//! A kernel's process, with its files, its last output, and the processes that its cells started.
//!
//! Owns their end, which leaves nothing behind. It must not know the messages to and from the
//! kernel.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};
use tokio::io::unix::AsyncFd;

use crate::event::{Death, DeathCause};
use crate::jupyter::home::Home;
use crate::process::{Mark, Process, children, kill_group, oom_kills, start_time, wait_until_gone};
use crate::zmq::tail::Tail;

/// Time for a process to end after its connections have.
const LEAVING: Duration = Duration::from_secs(3);

/// A kernel's process, with all that ends together with it.
pub(crate) struct KernelChild {
    pub(crate) process: Process,
    pub(crate) exit: AsyncFd<OwnedFd>,
    pub(crate) mark: Mark,
    pub(crate) tail: Tail,
    /// Folder of the kernel, removed with it.
    pub(crate) home: Option<Home>,
    /// Pipe: when it closes, the process group of a Python kernel ends.
    pub(crate) _lifeline: OwnedFd,
    pub(crate) oom_kills: u64,
    /// Processes that were running when the last cell ended.
    pub(crate) children: Children,
}

/// Children of a kernel, each with its start time, which tells it apart from a later process with
/// the same id. A child that left the group and ends by itself after the kernel, such as a shell
/// behind a terminal, becomes ours to wait for.
#[derive(Debug, Default)]
pub(crate) struct Children(Vec<(Pid, String)>);

impl Children {
    fn of(kernel: u32) -> Children {
        // The first thread of the kernel runs the cells.
        let with_start =
            |pid: u32| Some((Pid::from_raw(i32::try_from(pid).ok()?)?, start_time(pid)?));
        Children(children(kernel).into_iter().filter_map(with_start).collect())
    }

    /// Collects the exit status of each child when it ends, up to a limit.
    async fn end(mut self) {
        let until = tokio::time::Instant::now() + CHILDREN_END;
        while self.are_left() && tokio::time::Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Collects the statuses of children that have ended. Returns `true` if any is left.
    fn are_left(&mut self) -> bool {
        self.0.retain(|(pid, moment)| {
            let id = pid.as_raw_nonzero().get().unsigned_abs();
            if start_time(id).as_ref() != Some(moment) {
                return false;
            }
            !matches!(rustix::process::waitpid(Some(*pid), WaitOptions::NOHANG), Ok(Some(_)))
        });
        !self.0.is_empty()
    }
}

/// Longest wait for children that outlive their kernel.
const CHILDREN_END: Duration = Duration::from_secs(120);

/// Interval at which those children are checked.
const LOOK: Duration = Duration::from_millis(50);

impl KernelChild {
    /// Collects the statuses of processes that a finished cell started, and notes those still
    /// running.
    pub(crate) fn look_around(&mut self) {
        self.process.reap_orphans();
        self.children = Children::of(self.process.id());
    }

    /// Waits until the process has ended, and kills one that stays. Returns `false` for that one.
    pub(crate) async fn leave(&self, is_asked: bool) -> bool {
        // A connection can end some time before the process does. After a shutdown request, the
        // handle makes sure that the process ends.
        let is_gone = if is_asked {
            self.exit.readable().await.is_ok()
        } else {
            tokio::time::timeout(LEAVING, self.exit.readable()).await.is_ok()
        };
        if !is_gone {
            kill_group(self.process.id(), Signal::KILL);
            let _ = tokio::time::timeout(Duration::from_secs(1), self.exit.readable()).await;
        }
        is_gone
    }

    /// Removes all that is left of the process. The exit status is the cause of its death, unless
    /// a cause is known.
    pub(crate) async fn bury(mut self, known: Option<DeathCause>) -> Death {
        let status = self.process.cause().await;
        // Processes that a cell started must not outlive their kernel.
        kill_group(self.process.id(), Signal::KILL);
        let strays = self.mark.end_strays().await;
        wait_until_gone(|| {
            self.process.reap_orphans();
            self.process.has_group() || self.children.are_left()
        })
        .await;
        // Report the death now. A child that takes longer to end, as on a busy machine, is waited
        // for in the background.
        tokio::spawn(std::mem::take(&mut self.children).end());
        let cause = match (known, status) {
            (Some(known), _) => known,
            (None, Some(DeathCause::Signal { signal: 9 })) if oom_kills() > self.oom_kills => {
                DeathCause::OutOfMemory
            }
            (None, status) => status.unwrap_or(DeathCause::Unknown),
        };
        let stderr_tail = self.tail.last_words().await;
        Death { cause, stderr_tail, strays }
    }
}
