//! Lines that code asks for: which requests are refused, and which answers are passed on.
//!
//! Owns these decisions. A run that must stop gets no more lines: a debugger would go on asking, and
//! the caller that stops the run does not want to be asked.

use inkcell_kernel::{InputMode, InputReply};

use super::run::Run;
use super::{Machine, MachineEffect, Ticket};

impl Run {
    pub(super) fn wants_line(&mut self, out: &mut Vec<MachineEffect>) {
        if self.request.input == InputMode::Ask && self.climb.is_none() {
            self.waits_for_line = true;
        } else {
            self.wanted_input = true;
            out.push(MachineEffect::ReplyInput(self.request.exec, InputReply::Refused));
        }
    }
}

impl Machine {
    /// Passes an answer to the cell that this call runs, if the cell waits for one. A surplus answer is
    /// dropped.
    pub(super) fn reply(
        &mut self,
        ticket: Ticket,
        reply: InputReply,
        out: &mut Vec<MachineEffect>,
    ) {
        let is_holder = self.holder == Some(ticket);
        let Some(run) = self.run.as_mut().filter(|run| is_holder && run.waits_for_line) else {
            return;
        };
        run.waits_for_line = false;
        run.wanted_input |= reply == InputReply::Refused;
        out.push(MachineEffect::ReplyInput(run.request.exec, reply));
    }
}
