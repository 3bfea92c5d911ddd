//! Lines that code asks for: who is refused, and which answer is passed on.
//!
//! Owns these decisions. A run that must stop gets no line any more: a debugger would go on asking, and
//! whoever stops it does not want to be asked.

use inkcell_kernel::{InputMode, InputReply};

use super::run::Run;
use super::{Effect, Machine, Ticket};

impl Run {
    pub(super) fn wants_line(&mut self, out: &mut Vec<Effect>) {
        if self.request.input == InputMode::Ask && self.climb.is_none() {
            self.waits_for_line = true;
        } else {
            self.wanted_input = true;
            out.push(Effect::ReplyInput(self.request.exec, InputReply::Refused));
        }
    }
}

impl Machine {
    /// An answer for what was asked last by the cell that this call runs; one too many is for nobody.
    pub(super) fn reply(&mut self, ticket: Ticket, reply: InputReply, out: &mut Vec<Effect>) {
        let is_holder = self.holder == Some(ticket);
        let Some(run) = self.run.as_mut().filter(|run| is_holder && run.waits_for_line) else {
            return;
        };
        run.waits_for_line = false;
        run.wanted_input |= reply == InputReply::Refused;
        out.push(Effect::ReplyInput(run.request.exec, reply));
    }
}
