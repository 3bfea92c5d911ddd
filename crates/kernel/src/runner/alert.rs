//! Decides when the pump waits for frames without sleeping.
//!
//! Owns the judgement whether the cell that was posted will be short. A thread that falls asleep and wakes, for the
//! beginning of a cell and for its end, costs more time than a short cell. After a short cell, the pump stays awake for
//! the next. If the runner does not begin at once, it may wait for the very processor that the pump occupies, so the
//! pump sleeps. Each mistake makes it skip more short cells before it tries again.

use std::time::{Duration, Instant};

/// A cell that ends within this time is short.
const SHORT: Duration = Duration::from_micros(200);

/// A runner that has a processor begins a cell within this time.
const PROMPT: Duration = Duration::from_micros(60);

/// The most short cells to skip after a mistake.
const MAX_SKIPPED: u32 = 63;

pub(crate) struct Alert {
    /// When the cell that has not ended was posted.
    posted: Option<Instant>,
    has_begun: bool,
    /// Whether the pump stays awake for this cell.
    is_on: bool,
    /// The short cells that go by until the next attempt.
    to_skip: u32,
    /// The cells that the last mistake cost.
    penalty: u32,
    was_short: bool,
    /// The runner has a processor beside ours.
    has_processors: bool,
}

impl Alert {
    pub(crate) fn new() -> Alert {
        let processors = std::thread::available_parallelism();
        Alert {
            posted: None,
            has_begun: false,
            is_on: false,
            to_skip: 0,
            penalty: 0,
            was_short: false,
            has_processors: processors.is_ok_and(|count| count.get() > 1),
        }
    }

    pub(crate) fn post(&mut self, now: Instant) {
        (self.posted, self.has_begun) = (Some(now), false);
        self.is_on = self.was_short && self.has_processors && self.to_skip == 0;
        self.to_skip = self.to_skip.saturating_sub(u32::from(self.was_short));
    }

    pub(crate) fn begin(&mut self) {
        self.has_begun = true;
    }

    pub(crate) fn end(&mut self, now: Instant) {
        let posted = self.posted.take();
        self.was_short = posted.is_some_and(|posted| now - posted < SHORT);
        if self.is_on {
            (self.is_on, self.penalty) = (false, self.penalty / 2);
        }
    }

    /// Whether to look for frames again without sleeping.
    pub(crate) fn is_on(&mut self, now: Instant) -> bool {
        let limit = if self.has_begun { SHORT } else { PROMPT };
        if self.is_on && self.posted.is_none_or(|posted| now - posted >= limit) {
            self.is_on = false;
            self.penalty = (2 * self.penalty + 1).min(MAX_SKIPPED);
            self.to_skip = self.penalty;
        }
        self.is_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a cell and says whether the pump was awake until its end.
    fn play(alert: &mut Alert, posted: Instant, begun: u64, ended: u64) -> bool {
        let at = |micros| posted + Duration::from_micros(micros);
        alert.post(posted);
        let mut is_awake = alert.is_on(at(begun));
        alert.begin();
        is_awake &= alert.is_on(at(ended));
        alert.end(at(ended));
        is_awake
    }

    fn alert() -> (Alert, Instant) {
        (Alert { has_processors: true, ..Alert::new() }, Instant::now())
    }

    #[test]
    fn pump_stays_awake_after_short_cells_only() {
        let (mut alert, now) = alert();
        let awake = [70, 50, 50, 90_000, 70, 50].map(|ended| play(&mut alert, now, 10, ended));
        assert_eq!(awake, [false, true, true, false, false, false]);
    }

    #[test]
    fn pump_sleeps_if_the_runner_does_not_begin() {
        let (mut alert, now) = alert();
        play(&mut alert, now, 10, 70);
        assert!(!play(&mut alert, now, 60, 70));
        // The pump looks once, and the next cell ends while it sleeps.
        assert!(!play(&mut alert, now, 10, 70));
        assert!(play(&mut alert, now, 10, 70));
    }

    #[test]
    fn mistakes_grow_rare() {
        let (mut alert, now) = alert();
        let mut tries = 0;
        for _ in 0..1000 {
            alert.post(now);
            tries += u32::from(alert.is_on);
            alert.is_on(now + PROMPT);
            alert.begin();
            alert.end(now + PROMPT);
        }
        assert!(tries < 25, "{tries}");
    }

    #[test]
    fn pump_sleeps_where_the_runner_needs_its_processor() {
        let (mut alert, now) = alert();
        alert.has_processors = false;
        assert!(![70, 50, 50].map(|ended| play(&mut alert, now, 10, ended)).contains(&true));
    }

    #[test]
    fn pump_without_a_cell_sleeps() {
        let (mut alert, now) = alert();
        play(&mut alert, now, 10, 70);
        assert!(!alert.is_on(now));
    }
}
