//! Interrupts of one kernel: how they reach it, and when.
//!
//! Owns the way: a signal or a message. The handle and the pump share it: an interrupt must not wait for the pump, and
//! for a cell that the kernel has not taken up yet, the pump sends it when the kernel has.

use std::sync::Arc;

use rustix::process::Signal;
use serde_json::json;

use crate::jupyter::fold::Channel;
use crate::jupyter::kernelspec::InterruptMode;
use crate::process::kill_group;
use crate::turn::{Interrupt, Turn};
use crate::zmq::lines::Speaker;

#[derive(Clone)]
pub(crate) struct Interrupts {
    pub(crate) mode: InterruptMode,
    /// The leader of the kernel's group; none when the kernel is not ours.
    pub(crate) pid: Option<u32>,
    pub(crate) speaker: Speaker,
    pub(crate) turn: Arc<Turn>,
}

impl Interrupts {
    /// Interrupts the code that runs, or posted code as soon as it runs.
    pub(crate) fn interrupt(&self) {
        if self.turn.interrupt() == Interrupt::SendNow {
            self.send();
        }
    }

    /// The kernel has taken the cell up: an interrupt that waited for that is sent.
    pub(crate) fn begin_cell(&self) {
        if self.turn.begin_cell() == Interrupt::SendNow {
            self.send();
        }
    }

    fn send(&self) {
        match (self.mode, self.pid) {
            (InterruptMode::Signal, Some(pid)) => {
                self.speaker.signalled("interrupt");
                kill_group(pid, Signal::INT);
            }
            _ => {
                self.speaker.request(Channel::Control, "interrupt_request", &json!({}));
            }
        }
    }
}
