//! Open commands of a kernel, and the moment to send an interrupt of them.
//!
//! Owns that an interrupt hits the cell it was meant for, or nothing. A signal does not say which command it is for,
//! and a kernel ignores a signal if it has not read the command yet. So an interrupt of a cell waits until the kernel
//! reports that it has begun the cell. An interrupt of a cell that has ended is sent before the next command is
//! written, and the kernel handles it before it reads that command.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The commands that were posted and have not ended. The handle posts them; the pump hears how they go on.
#[derive(Debug, Default)]
pub(crate) struct Turn(Mutex<OpenCommands>);

#[derive(Debug, Default)]
struct OpenCommands {
    cell: CellProgress,
    questions: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum CellProgress {
    #[default]
    Absent,
    Posted {
        is_interrupted: bool,
    },
    Begun,
}

/// How the host treats an interrupt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interrupt {
    SendNow,
    NotNow,
}

impl Turn {
    fn open(&self) -> MutexGuard<'_, OpenCommands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn post_cell(&self) {
        self.open().cell = CellProgress::Posted { is_interrupted: false };
    }

    /// Records that the cell has begun. Says whether an interrupt waited for it.
    pub(crate) fn begin_cell(&self) -> Interrupt {
        let before = std::mem::replace(&mut self.open().cell, CellProgress::Begun);
        match before {
            CellProgress::Posted { is_interrupted: true } => Interrupt::SendNow,
            _ => Interrupt::NotNow,
        }
    }

    pub(crate) fn end_cell(&self) {
        self.open().cell = CellProgress::Absent;
    }

    pub(crate) fn has_cell(&self) -> bool {
        self.open().cell != CellProgress::Absent
    }

    pub(crate) fn post_question(&self) {
        self.open().questions += 1;
    }

    pub(crate) fn end_question(&self) {
        let mut open = self.open();
        open.questions = open.questions.saturating_sub(1);
    }

    /// Records an interrupt. Says whether to send the signal now.
    pub(crate) fn interrupt(&self) -> Interrupt {
        let mut open = self.open();
        match &mut open.cell {
            CellProgress::Absent | CellProgress::Begun => Interrupt::SendNow,
            CellProgress::Posted { is_interrupted } => {
                *is_interrupted = true;
                // A question without an answer stands before the cell.
                if open.questions > 0 { Interrupt::SendNow } else { Interrupt::NotNow }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupt_of_a_posted_cell_waits_for_its_beginning() {
        let turn = Turn::default();
        turn.post_cell();
        assert_eq!(turn.interrupt(), Interrupt::NotNow);
        assert_eq!(turn.interrupt(), Interrupt::NotNow);
        assert_eq!(turn.begin_cell(), Interrupt::SendNow);
        assert_eq!(turn.interrupt(), Interrupt::SendNow);
    }

    #[test]
    fn interrupt_of_a_cell_does_not_reach_the_next() {
        let turn = Turn::default();
        turn.post_cell();
        assert_eq!(turn.begin_cell(), Interrupt::NotNow);
        assert_eq!(turn.interrupt(), Interrupt::SendNow);
        turn.end_cell();
        turn.post_cell();
        assert_eq!(turn.begin_cell(), Interrupt::NotNow);
        turn.end_cell();
        // The kernel ignores this interrupt.
        assert_eq!(turn.interrupt(), Interrupt::SendNow);
        turn.post_cell();
        assert_eq!(turn.begin_cell(), Interrupt::NotNow);
    }

    #[test]
    fn interrupt_hits_the_question_before_a_posted_cell() {
        let turn = Turn::default();
        turn.post_question();
        turn.post_cell();
        assert_eq!(turn.interrupt(), Interrupt::SendNow);
        turn.end_question();
        assert_eq!(turn.interrupt(), Interrupt::NotNow);
        assert_eq!(turn.begin_cell(), Interrupt::SendNow);
    }
}
