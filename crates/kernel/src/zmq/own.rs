//! A kernel's process, and what goes with it: its files, its last words, what its cells started.
//!
//! Owns its end, of which nothing is left. It must not know what was said to the kernel.

use std::fs;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};
use tokio::io::unix::AsyncFd;

use crate::event::{Death, DeathCause};
use crate::jupyter::home::Home;
use crate::process::{Mark, Process, children, kill_group};
use crate::runner::oom_kills;
use crate::zmq::tail::Tail;

/// How long a process may take to end after its connections have.
const LEAVING: Duration = Duration::from_secs(3);

/// A kernel's process and what goes with it.
pub(crate) struct Own {
    pub(crate) process: Process,
    pub(crate) exit: AsyncFd<OwnedFd>,
    pub(crate) mark: Mark,
    pub(crate) tail: Tail,
    /// Its files, which go with it.
    pub(crate) home: Option<Home>,
    /// The kernel's group ends when this does, where it is Python's.
    pub(crate) _lifeline: OwnedFd,
    pub(crate) oom_kills: u64,
    /// What it had started when its last cell ended.
    pub(crate) children: Children,
}

/// Children of a kernel, with the moments they began, by which they are known again. One that left the group
/// and ends by itself when the kernel does, as a shell behind a terminal, is ours then to wait for.
#[derive(Debug, Default)]
pub(crate) struct Children(Vec<(Pid, String)>);

impl Children {
    fn of(kernel: u32) -> Children {
        // Its first thread runs the cells.
        let pids = children(kernel).into_iter();
        let pids = pids.filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        Children(pids.filter_map(|pid| Some((pid, began(pid)?))).collect())
    }

    /// Takes the status of each when it ends.
    async fn end(mut self) {
        let until = tokio::time::Instant::now() + CHILDREN_END;
        while self.are_left() && tokio::time::Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Takes the statuses of those that have ended; says whether any is left.
    fn are_left(&mut self) -> bool {
        self.0.retain(|(pid, moment)| {
            if began(*pid).as_ref() != Some(moment) {
                return false;
            }
            !matches!(rustix::process::waitpid(Some(*pid), WaitOptions::NOHANG), Ok(Some(_)))
        });
        !self.0.is_empty()
    }
}

/// How long children that outlive their kernel are waited for.
const CHILDREN_END: Duration = Duration::from_secs(120);

/// How often they are looked at then.
const LOOK: Duration = Duration::from_millis(50);

/// The moment a process began, as the table of processes has it.
fn began(pid: Pid) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(19).map(str::to_owned)
}

impl Own {
    /// A cell has ended: takes the statuses of what it started, and notes what goes on.
    pub(crate) fn look_around(&mut self) {
        self.process.reap_orphans();
        self.children = Children::of(self.process.id());
    }

    /// Waits until the process has ended, and ends one that stays; says what was wrong.
    pub(crate) async fn leave(&self, problem: Option<String>, is_asked: bool) -> Option<String> {
        if problem.is_some() {
            kill_group(self.process.id(), Signal::KILL);
        }
        // A connection can end some time before the process does. When it was asked to end, the handle sees
        // to that it does.
        let is_gone = if is_asked {
            self.exit.readable().await.is_ok()
        } else {
            tokio::time::timeout(LEAVING, self.exit.readable()).await.is_ok()
        };
        if is_gone {
            return problem;
        }
        kill_group(self.process.id(), Signal::KILL);
        let _ = tokio::time::timeout(Duration::from_secs(1), self.exit.readable()).await;
        problem.or(Some("the kernel closed its connections".to_owned()))
    }

    /// Why the process ended. Nothing of it is left.
    pub(crate) async fn bury(
        mut self,
        problem: Option<String>,
        stopped: bool,
        forced: bool,
    ) -> Death {
        let status = self.process.cause().await;
        // What the cell started must not outlive its kernel.
        kill_group(self.process.id(), Signal::KILL);
        let strays = self.mark.end_strays().await;
        for _ in 0..100 {
            self.process.reap_orphans();
            if !self.process.has_group() && !self.children.are_left() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The death is told now. A child that takes longer to end, as on a busy machine, is waited for all the same.
        tokio::spawn(std::mem::take(&mut self.children).end());
        let cause = match (problem, status) {
            (None, _) if forced => DeathCause::IgnoredInterrupt,
            (None, _) if stopped => DeathCause::Shutdown,
            (Some(problem), _) => DeathCause::Protocol { problem },
            (None, Some(DeathCause::Signal { signal: 9 })) if oom_kills() > self.oom_kills => {
                DeathCause::OutOfMemory
            }
            (None, cause) => cause.unwrap_or(DeathCause::Unknown),
        };
        let stderr_tail = self.tail.last_words().await;
        Death { cause, stderr_tail, strays }
    }
}

/// Waits for the end of a process of ours.
pub(crate) async fn is_over(own: Option<&Own>) {
    match own {
        Some(own) => {
            let _ = std::future::poll_fn(|context| own.exit.poll_read_ready(context)).await;
        }
        None => std::future::pending().await,
    }
}
