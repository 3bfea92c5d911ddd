//! Code that must stop, on its way up the ladder.
//!
//! Owns which rungs are due. What each means is for the machine.

use std::time::{Duration, Instant};

use inkcell_kernel::{Ladder, PyError, Rung};

use crate::session::end::{CellEnd, KernelFate};

/// Why code must stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    TimedOut(Duration),
    Cancelled,
    /// Its caller went away.
    Left,
}

#[derive(Debug)]
pub(super) struct Climb {
    why: Why,
    ladder: Ladder,
    /// When the first rung was due; set when it is first looked at.
    since: Option<Instant>,
    next: usize,
}

impl Climb {
    pub(super) fn new(why: Why, grace: Duration) -> Climb {
        Climb { why, ladder: Ladder::new(grace), since: None, next: 0 }
    }

    /// The rungs that are due and were not given before.
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

    /// Somebody is impatient: what cannot be caught is due now.
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

    /// How the run ends, the kernel having met this fate and the code having said where it was.
    pub(super) fn end(&self, fate: KernelFate, stopped: Option<PyError>) -> CellEnd {
        match self.why {
            Why::TimedOut(after) => CellEnd::TimedOut { after, fate, stopped },
            Why::Cancelled | Why::Left => CellEnd::Cancelled { fate, stopped },
        }
    }
}
