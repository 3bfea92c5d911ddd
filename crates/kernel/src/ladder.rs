//! The steps that stop code, with their times: interrupt, interrupt again, terminate, kill.
//!
//! Owns the times. It must not know what it stops. The caller that waits for an execution climbs the
//! ladder, and goes on reading events between the rungs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The steps from an interrupt to a certain answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ladder {
    grace: Duration,
}

/// One step of the ladder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// [`Kernel::interrupt`](crate::Kernel::interrupt).
    Interrupt,
    /// [`Kernel::force`](crate::Kernel::force), by a signal that the kernel can catch.
    Terminate,
    /// [`Kernel::force`](crate::Kernel::force), by a signal that the kernel cannot catch.
    Kill,
    /// The caller answers, whatever became of the kernel.
    Answer,
}

impl Ladder {
    /// How long code may take to react to interrupts, unless the caller sets another time.
    pub const GRACE: Duration = Duration::from_secs(3);

    /// A ladder that uses force after `grace`.
    pub fn new(grace: Duration) -> Ladder {
        Ladder { grace }
    }

    /// The rungs, each with its time since the first rung.
    pub fn rungs(self) -> [(Duration, Rung); 5] {
        let second = Duration::from_secs(1);
        [
            (Duration::ZERO, Rung::Interrupt),
            // A shell that runs for a cell swallows the first interrupt, and the cell goes on.
            (self.grace / 2, Rung::Interrupt),
            (self.grace, Rung::Terminate),
            (self.grace + second, Rung::Kill),
            (self.grace + 2 * second, Rung::Answer),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:R-21
    #[test]
    fn the_times_are_those_of_the_specification() {
        let millis: Vec<(u128, Rung)> =
            Ladder::new(Ladder::GRACE).rungs().map(|(at, rung)| (at.as_millis(), rung)).into();
        let expected = [
            (0, Rung::Interrupt),
            (1500, Rung::Interrupt),
            (3000, Rung::Terminate),
            (4000, Rung::Kill),
            (5000, Rung::Answer),
        ];
        assert_eq!(millis, expected);
    }

    #[test]
    fn the_grace_moves_what_follows() {
        let rungs = Ladder::new(Duration::from_secs(10)).rungs();
        assert_eq!(rungs[2], (Duration::from_secs(10), Rung::Terminate));
        assert_eq!(rungs[4], (Duration::from_secs(12), Rung::Answer));
    }
}
