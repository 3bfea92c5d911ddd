//! Where on the ladder an execution is that must stop.
//!
//! Owns which rung is due and when. It has no clock: the time comes in.

use std::time::Duration;

use inkcell_kernel::{Ladder, Rung};
use tokio::time::Instant;

/// Why an execution must stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    TimedOut,
    Cancelled,
    Unheard,
}

#[derive(Debug)]
pub(super) struct Climb {
    rungs: [(Duration, Rung); 5],
    /// The next rung to be done.
    next: usize,
    /// The last that was done.
    last: Rung,
    began: Option<Began>,
}

#[derive(Clone, Copy, Debug)]
struct Began {
    why: Why,
    /// When, counted from which time of the ladder.
    at: Instant,
    from: Duration,
    is_hurried: bool,
}

impl Climb {
    pub(super) fn new(ladder: Ladder) -> Climb {
        Climb { rungs: ladder.rungs(), next: 0, last: Rung::Interrupt, began: None }
    }

    pub(super) fn is_on(&self) -> bool {
        self.began.is_some()
    }

    pub(super) fn is_hurried(&self) -> bool {
        self.began.is_some_and(|began| began.is_hurried)
    }

    pub(super) fn why(&self) -> Option<Why> {
        self.began.map(|began| began.why)
    }

    /// The last that was done.
    pub(super) fn last(&self) -> Rung {
        self.last
    }

    /// The first reason counts.
    pub(super) fn begin(&mut self, why: Why, now: Instant) {
        let began = Began { why, at: now, from: Duration::ZERO, is_hurried: false };
        self.began.get_or_insert(began);
    }

    /// Leaves out what is left before the kill.
    pub(super) fn hurry(&mut self, why: Why, now: Instant) {
        let kill = self.rungs.iter().position(|(_, rung)| *rung == Rung::Kill).unwrap_or_default();
        let why = self.why().unwrap_or(why);
        let from = self.rungs[kill.max(self.next).min(self.rungs.len() - 1)].0;
        self.next = self.next.max(kill);
        self.began = Some(Began { why, at: now, from, is_hurried: true });
    }

    /// When the next rung is to be done.
    pub(super) fn due(&self) -> Option<Instant> {
        let began = self.began?;
        let (time, _) = self.rungs.get(self.next)?;
        Some(began.at + time.saturating_sub(began.from))
    }

    /// The rung that is due, which counts as done.
    pub(super) fn step(&mut self, now: Instant) -> Option<Rung> {
        if self.due()? > now {
            return None;
        }
        let (_, rung) = self.rungs[self.next];
        self.next += 1;
        self.last = rung;
        Some(rung)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that is done, with its time in milliseconds after the start, when nothing helps.
    fn climbed(climb: &mut Climb, start: Instant) -> Vec<(u128, Rung)> {
        let mut done = Vec::new();
        while let Some(due) = climb.due() {
            let rung = climb.step(due).expect("it is due");
            done.push((due.duration_since(start).as_millis(), rung));
        }
        done
    }

    /// B:R-21
    #[test]
    fn every_rung_comes_at_its_time() {
        let start = Instant::now();
        let mut climb = Climb::new(Ladder::new(Ladder::GRACE));
        assert_eq!(
            (climb.due(), climb.step(start)),
            (None, None),
            "nothing is done before it begins"
        );
        climb.begin(Why::TimedOut, start);
        climb.begin(Why::Cancelled, start + Duration::from_secs(1));
        assert_eq!(climb.step(start - Duration::from_millis(1)), None);
        let wanted = [
            (0, Rung::Interrupt),
            (1500, Rung::Interrupt),
            (3000, Rung::Terminate),
            (4000, Rung::Kill),
            (5000, Rung::Answer),
        ];
        assert_eq!(climbed(&mut climb, start), wanted);
        assert_eq!((climb.why(), climb.last()), (Some(Why::TimedOut), Rung::Answer));
    }

    /// F-021
    #[test]
    fn in_a_hurry_the_kill_comes_at_once() {
        let start = Instant::now();
        // Before anything was done, after the first rung, and when it would have come anyway.
        for done in 0..4 {
            let mut climb = Climb::new(Ladder::new(Ladder::GRACE));
            climb.begin(Why::TimedOut, start);
            for _ in 0..done {
                let due = climb.due().expect("a rung");
                climb.step(due);
            }
            let now = start + Duration::from_secs(9);
            climb.hurry(Why::Cancelled, now);
            assert!(climb.is_hurried());
            let wanted = [(9000, Rung::Kill), (10_000, Rung::Answer)];
            assert_eq!(climbed(&mut climb, start), wanted, "after {done}");
            assert_eq!(climb.why(), Some(Why::TimedOut));
        }
    }
}
