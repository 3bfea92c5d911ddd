//! Numbers that follow from a seed and nothing else.

use std::time::Duration;

/// A stream of numbers. Two with the same seed give the same ones.
#[derive(Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Another stream, for a task whose turns come in an independent order.
    pub(super) fn split(&mut self) -> Dice {
        Dice(self.next())
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns true with a chance of `chance` percent.
    pub(super) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = self.below(all.len() as u64);
        &all[usize::try_from(at).expect("an index")]
    }

    /// A pause that is often zero, mostly short, and sometimes as long as `most`.
    pub(super) fn pause(&mut self, most: Duration) -> Duration {
        let most = u64::try_from(most.as_millis()).expect("a short time").max(1);
        let millis = match self.below(4) {
            0 => 0,
            1 => self.below(most.min(10) + 1),
            2 => self.below(most / 10 + 1),
            _ => self.below(most + 1),
        };
        Duration::from_millis(millis)
    }
}
