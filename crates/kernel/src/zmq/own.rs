//! A kernel's process, and what goes with it: its files, its last words, what its cells started.
//!
//! Owns its end, of which nothing is left. It must not know what was said to the kernel.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::unix::AsyncFd;

use crate::event::{Death, DeathCause};
use crate::process::{Mark, Process, kill_group};
use crate::runner::oom_kills;
use crate::zmq::connection::Home;
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
}

impl Own {
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
            if !self.process.has_group() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
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
