//! What is done, and when, about code that must stop: asked, asked again, told, killed.
//!
//! Owns the times. It must not know who is driven up the ladder; whoever waits for an execution climbs it
//! and goes on listening to events between the rungs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The steps from an interrupt to an answer in any case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ladder {
    grace: Duration,
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// [`Kernel::interrupt`](crate::Kernel::interrupt).
    Interrupt,
    /// [`Kernel::force`](crate::Kernel::force), by a signal that can be caught.
    Terminate,
    /// The same, by one that cannot.
    Kill,
    /// The answer is given, whatever has become of the kernel.
    Answer,
}

impl Ladder {
    /// How long code may take to listen to interrupts when nothing else is said.
    pub const GRACE: Duration = Duration::from_secs(3);

    /// A ladder that begins to use force after `grace`.
    pub fn new(grace: Duration) -> Ladder {
        Ladder { grace }
    }

    /// The rungs, each with its time after the first.
    pub fn rungs(self) -> [(Duration, Rung); 5] {
        let second = Duration::from_secs(1);
        [
            (Duration::ZERO, Rung::Interrupt),
            // A shell that ran for a cell swallows the first one, and the cell goes on.
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
