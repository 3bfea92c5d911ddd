//! Actions of the handle of a local Jupyter kernel: its signals, and messages that must reach it at
//! any time.
//!
//! Owns how an interrupt reaches the kernel: as a signal or a message. The handle and the link
//! share that: an interrupt must not wait for the pump. For a cell that the kernel has not begun
//! yet, the pump sends the interrupt once the kernel has.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::jupyter::kernel::{Control, Intent};
use crate::jupyter::message::{Channel, Speak as _};
use crate::kernel::StopSignal;
use crate::kernelspec::InterruptMode;
use crate::process::kill_group;
use crate::zmq::lines::Speaker;

#[derive(Clone)]
pub(crate) struct ZmqControl {
    pub(crate) mode: InterruptMode,
    /// Leader of the kernel's process group; `None` if the kernel is not our child.
    pub(crate) pid: Option<u32>,
    pub(crate) speaker: Speaker,
}

impl Control for ZmqControl {
    const MORE: Duration = Duration::ZERO;
    const SIGNALS: &'static [(Signal, &'static str)] =
        &[(Signal::TERM, "terminate"), (Signal::KILL, "kill")];

    /// Interrupts the running cell, by a signal or a message.
    fn interrupt(&self) {
        match (self.mode, self.pid) {
            (InterruptMode::Signal, Some(_)) => self.signal(Signal::INT, "interrupt"),
            _ => {
                self.speaker.request(Channel::Control, "interrupt_request", &json!({}));
            }
        }
    }

    fn force(&self, force: StopSignal, intent: &Intent) -> Option<StopSignal> {
        match (force, self.pid) {
            (StopSignal::Terminate, Some(_)) => self.signal(Signal::TERM, "terminate"),
            (StopSignal::Kill, Some(_)) => self.signal(Signal::KILL, "kill"),
            // The kernel is not ours to end. Leave it to itself.
            (StopSignal::Terminate | StopSignal::Kill, None) => intent.stop.cancel(),
        }
        None
    }

    fn request_shutdown(&self) {
        // A kernel that ran before we connected goes on running when we leave.
        if self.pid.is_some() {
            let content = json!({"restart": false});
            self.speaker.request(Channel::Control, "shutdown_request", &content);
        }
    }

    fn signal(&self, signal: Signal, kind: &str) {
        if let Some(pid) = self.pid {
            self.speaker.signalled(kind);
            kill_group(pid, signal);
        }
    }

    fn kill(&self) {
        if let Some(pid) = self.pid {
            kill_group(pid, Signal::KILL);
        }
    }
}
