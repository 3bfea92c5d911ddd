//! The process of a kernel on a gateway, where it runs on this machine and is visible.
//!
//! Owns its signals, the notice of its end, which comes sooner than the gateway's, and the check
//! that a process may be signalled. `location.rs` finds out if it runs on this machine.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::{Pid, Signal};
use tokio::io::unix::AsyncFd;

use crate::kernelspec::InterruptMode;
use crate::process::{kill_group, reap_members, start_time, wait_for_exit, watch_exit};

/// A kernel's own statement about its process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ProcessClaim {
    pub(crate) pid: u32,
    /// Start time of the process in the system's unit, as text.
    pub(crate) began: String,
}

/// A kernel's process, where it is visible.
pub(crate) struct LocalProcess {
    pub(crate) pid: u32,
    pub(crate) interrupts: InterruptMode,
    exit: AsyncFd<OwnedFd>,
}

impl LocalProcess {
    /// Returns `None` if the gateway must be asked instead. Signals go to a group, so the process
    /// must lead one and belong to our user. Its process id may be reused by now.
    pub(crate) fn new(claim: &ProcessClaim, interrupts: InterruptMode) -> Option<LocalProcess> {
        let pid = claim.pid;
        let exit = watch_exit(pid).ok()?;
        let is_same = start_time(pid).is_some_and(|began| began == claim.began);
        (is_same && is_leader(pid) && is_ours(pid)).then_some(LocalProcess {
            pid,
            interrupts,
            exit,
        })
    }

    /// Sends a signal to the process group.
    ///
    /// The group must not be mistaken for that of a later process with the same id. That cannot
    /// happen while the process exists, nor while no process has that id.
    pub(crate) fn signal(&self, signal: Signal) {
        let is_there = rustix::process::pidfd_send_signal(&self.exit, Signal::CONT).is_ok();
        if is_there || !Path::new(&format!("/proc/{}", self.pid)).exists() {
            kill_group(self.pid, signal);
        }
    }

    /// Collects exit statuses of processes that the kernel left to us, as an adopter of orphans
    /// must. Returns `true` if there may be more.
    pub(crate) fn reap(&self) -> bool {
        reap_members(self.pid, |_, _| {})
    }
}

fn is_leader(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some() && rustix::process::getpgid(pid).ok() == pid
}

fn is_ours(pid: u32) -> bool {
    let user = fs::metadata(format!("/proc/{pid}")).map(|found| found.uid());
    user.is_ok_and(|user| user == rustix::process::geteuid().as_raw())
}

/// Waits for the end of a visible process.
pub(crate) async fn is_over(local: Option<&LocalProcess>) {
    wait_for_exit(local.map(|local| &local.exit)).await;
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;

    fn claim(child: &Child) -> ProcessClaim {
        let began = start_time(child.id()).expect("when it began");
        ProcessClaim { pid: child.id(), began }
    }

    /// F-011: only the process that a kernel named is signalled, and only if it leads a group:
    /// otherwise other processes would be hit.
    #[tokio::test]
    async fn a_process_is_near_only_if_it_can_be_signalled() {
        let is_near =
            |claim: &ProcessClaim| LocalProcess::new(claim, InterruptMode::Signal).is_some();
        let mut leader = Command::new("sleep").arg("600").process_group(0).spawn().expect("sleep");
        let mut other = Command::new("sleep").arg("600").spawn().expect("sleep");
        assert!(is_near(&claim(&leader)));
        assert!(!is_near(&claim(&other)), "it is in our own group");
        let reused = ProcessClaim { began: "1".to_owned(), ..claim(&leader) };
        assert!(!is_near(&reused), "it is another process of the same number");
        let gone = claim(&leader);
        for child in [&mut leader, &mut other] {
            child.kill().expect("its end");
            child.wait().expect("its status");
        }
        assert!(!is_near(&gone));
    }
}
