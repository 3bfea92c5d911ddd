//! The progress of code that must stop, on the ladder of stronger and stronger means.
//!
//! Owns which rungs are due. The machine decides what each rung does.

use std::time::{Duration, Instant};

use inkcell_kernel::{Ladder, PyError, Rung};

use crate::session::end::CellEnd;
use crate::types::KernelFate;

/// The reason why code must stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    TimedOut(Duration),
    Cancelled,
    /// The caller went away.
    Left,
}

#[derive(Debug)]
pub(super) struct Climb {
    why: Why,
    ladder: Ladder,
    /// When the first rung was due; set when the rungs are first checked.
    since: Option<Instant>,
    next: usize,
}

impl Climb {
    pub(super) fn new(why: Why, grace: Duration) -> Climb {
        Climb { why, ladder: Ladder::new(grace), since: None, next: 0 }
    }

    /// The rungs that are due and were not returned before.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Rung> {
        let since = *self.since.get_or_insert(now);
        let mut due = Vec::new();
        for (at, rung) in self.ladder.rungs().into_iter().skip(self.next) {
            if since + at > now {
                break;
            }
            self.next += 1;
            due.push(rung);
        }
        due
    }

    /// A second cancel: the rung that code cannot catch is due now.
    pub(super) fn hurry(&mut self, now: Instant) {
        let rungs = self.ladder.rungs();
        let kill = rungs.iter().position(|(_, rung)| *rung == Rung::Kill).unwrap_or(self.next);
        if self.next <= kill {
            self.next = kill;
            self.since = now.checked_sub(rungs[kill].0).or(self.since);
        }
    }

    /// When the next rung is due.
    pub(super) fn next(&self) -> Option<Instant> {
        let (at, _) = *self.ladder.rungs().get(self.next)?;
        Some(self.since? + at)
    }

    /// The last rung climbed.
    pub(super) fn climbed(&self) -> Rung {
        let last = self.next.saturating_sub(1);
        self.ladder.rungs().get(last).map_or(Rung::Interrupt, |(_, rung)| *rung)
    }

    /// The end of the run, with the kernel's fate and the exception that the code reported.
    pub(super) fn end(&self, fate: KernelFate, stopped: Option<PyError>) -> CellEnd {
        match self.why {
            Why::TimedOut(after) => CellEnd::TimedOut { after, fate, stopped },
            Why::Cancelled | Why::Left => CellEnd::Cancelled { fate, stopped },
        }
    }
}
