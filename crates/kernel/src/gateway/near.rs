//! The process of a kernel on a gateway, where it is on this machine and we can see it.
//!
//! Owns its signals and the word of its end, which is sooner than the gateway's, and which processes may be
//! signalled at all. Whether it is on this machine is found out by `guest.rs`.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::{Pid, Signal, WaitOptions};
use tokio::io::unix::AsyncFd;

use crate::jupyter::kernelspec::InterruptMode;
use crate::process::{kill_group, watch_exit};

/// What a kernel says about its process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) pid: u32,
    /// When it began, as the system counts.
    pub(crate) began: String,
}

/// A kernel's process, where we can see it.
pub(crate) struct Near {
    pub(crate) pid: u32,
    pub(crate) interrupts: InterruptMode,
    exit: AsyncFd<OwnedFd>,
}

impl Near {
    /// None where the gateway must be asked instead: signals go to a group, so the process must lead one, of our
    /// own user; and its number may be another's by now.
    pub(crate) fn new(seen: &Seen, interrupts: InterruptMode) -> Option<Near> {
        let pid = seen.pid;
        let exit = watch_exit(pid).ok()?;
        let is_same = began(pid).is_some_and(|began| began == seen.began);
        (is_same && is_leader(pid) && is_ours(pid)).then_some(Near { pid, interrupts, exit })
    }

    /// The process leads a group, which must not be mistaken for that of another process of the same number:
    /// there is none while the process is there, and none while there is no process of that number.
    pub(crate) fn signal(&self, signal: Signal) {
        let is_there = rustix::process::pidfd_send_signal(&self.exit, Signal::CONT).is_ok();
        if is_there || !Path::new(&format!("/proc/{}", self.pid)).exists() {
            kill_group(self.pid, signal);
        }
    }

    /// Takes the statuses of what the kernel left to us: whoever adopts orphans must. Says whether there may be
    /// more.
    pub(crate) fn reap(&self) -> bool {
        let Some(group) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            return false;
        };
        // Bounded, so that a cell that starts processes without end cannot keep us here.
        for _ in 0..1000 {
            match rustix::process::waitpgid(group, WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        true
    }
}

fn began(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may have spaces.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19).map(str::to_owned)
}

fn is_leader(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some() && rustix::process::getpgid(pid).ok() == pid
}

fn is_ours(pid: u32) -> bool {
    let user = fs::metadata(format!("/proc/{pid}")).map(|found| found.uid());
    user.is_ok_and(|user| user == rustix::process::geteuid().as_raw())
}

/// Waits for the end of a process that we see.
pub(crate) async fn is_over(near: Option<&Near>) {
    match near {
        Some(near) => {
            let _ = std::future::poll_fn(|context| near.exit.poll_read_ready(context)).await;
        }
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use super::*;

    fn seen(child: &Child) -> Seen {
        let began = began(child.id()).expect("when it began");
        Seen { pid: child.id(), began }
    }

    /// F-011: only the process that a kernel spoke of is signalled, and only if it leads a group: others would be
    /// hit in its place.
    #[tokio::test]
    async fn a_process_is_near_only_if_it_can_be_signalled() {
        let is_near = |seen: &Seen| Near::new(seen, InterruptMode::Signal).is_some();
        let mut leader = Command::new("sleep").arg("600").process_group(0).spawn().expect("sleep");
        let mut other = Command::new("sleep").arg("600").spawn().expect("sleep");
        assert!(is_near(&seen(&leader)));
        assert!(!is_near(&seen(&other)), "it is in our own group");
        let reused = Seen { began: "1".to_owned(), ..seen(&leader) };
        assert!(!is_near(&reused), "it is another process of the same number");
        let gone = seen(&leader);
        for child in [&mut leader, &mut other] {
            child.kill().expect("its end");
            child.wait().expect("its status");
        }
        assert!(!is_near(&gone));
    }
}
