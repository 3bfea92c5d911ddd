//! The process of a kernel on a gateway, where it is on this machine and we can see it.
//!
//! Owns its signals and the word of its end, which is sooner than the gateway's. Whether it is here at all is
//! found out by `guest.rs`.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::process::{Pid, Signal, WaitOptions};
use tokio::io::unix::AsyncFd;

use crate::jupyter::kernelspec::InterruptMode;
use crate::process::{kill_group, watch_exit};

/// A kernel's process, where we can see it.
pub(crate) struct Near {
    pub(crate) pid: u32,
    pub(crate) interrupts: InterruptMode,
    exit: AsyncFd<OwnedFd>,
}

impl Near {
    pub(crate) fn new(pid: u32, interrupts: InterruptMode) -> io::Result<Near> {
        Ok(Near { pid, interrupts, exit: watch_exit(pid)? })
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

/// Waits for the end of a process that we see.
pub(crate) async fn is_over(near: Option<&Near>) {
    match near {
        Some(near) => {
            let _ = std::future::poll_fn(|context| near.exit.poll_read_ready(context)).await;
        }
        None => std::future::pending().await,
    }
}
