//! A moment after which nothing more is begun that can be left out.
//!
//! Must not know what is left out; whoever leaves something out says so.

use std::time::{Duration, Instant};

/// When it is too late to begin something; never, where no time is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) fn after_minutes(minutes: Option<u64>) -> Deadline {
        Deadline(minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes)))
    }

    pub(crate) fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_time_it_is_never_over() {
        assert!(!Deadline::after_minutes(None).is_over());
        assert!(!Deadline::after_minutes(Some(60)).is_over());
        assert!(Deadline::after_minutes(Some(0)).is_over());
    }
}
