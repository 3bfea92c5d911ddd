//! Takes figures: decides when and how often each contender is sampled, and makes rows of the samples.
//!
//! Owns the order of a round. Must not know what a sample is or how it is taken.

mod process;
mod row;
mod speaker;
pub(super) mod usage;

use anyhow::Result;
use serde_json::Value;

pub(super) use self::process::Process;
pub(super) use self::row::Row;
pub(super) use self::speaker::{Speaker, ask_anew, ask_in_turn};

/// The rows of a table, in its order.
pub(super) type Rows = Vec<(&'static str, Row)>;

/// Samples of a quick contender in one round; more of them, because its noise weighs more and they cost less.
const QUICK_REPEATS: usize = 3;

/// The extent of a measurement.
pub(super) struct Size {
    pub(super) is_quick: bool,
    pub(super) rounds: Option<usize>,
    pub(super) kernels: Option<usize>,
}

impl Size {
    pub(super) fn pick(&self, full: usize, quick: usize) -> usize {
        if self.is_quick { quick } else { full }
    }

    /// Rounds after one that warms up and does not count: it makes byte code of the Python peers, and loads pages of
    /// the binaries.
    pub(super) fn rounds(&self, full: usize, quick: usize) -> Rounds {
        Rounds::warm(self.rounds.unwrap_or(self.pick(full, quick)))
    }
}

/// The number of rounds that count, and of rounds before them that do not.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    pub(super) count: usize,
    pub(super) warm_up: usize,
}

impl Rounds {
    pub(super) fn warm(count: usize) -> Rounds {
        Rounds { count, warm_up: 1 }
    }

    pub(super) fn cold(self) -> Rounds {
        Rounds { warm_up: 0, ..self }
    }
}

/// A contender in a round.
pub(super) struct Turn {
    pub(super) name: &'static str,
    pub(super) is_quick: bool,
}

/// Samples all contenders in turn; `sample` gets the index of each. Each round begins with another contender, so that
/// none always follows the same one. A contender that failed is not sampled again.
pub(super) fn interleave(
    turns: &[Turn],
    rounds: Rounds,
    mut sample: impl FnMut(usize) -> Result<Result<Value, String>>,
) -> Result<Rows> {
    let mut rows: Rows = turns.iter().map(|turn| (turn.name, Row::default())).collect();
    for round in 0..rounds.warm_up + rounds.count {
        let counts = round >= rounds.warm_up;
        for repeat in 0..if counts { QUICK_REPEATS } else { 1 } {
            for offset in 0..turns.len() {
                let index = (round + offset) % turns.len();
                let row = &mut rows[index].1;
                if (repeat > 0 && !turns[index].is_quick) || row.failure.is_some() {
                    continue;
                }
                match sample(index)? {
                    Ok(figures) if counts => row.add(&figures),
                    Ok(_) => {}
                    Err(failure) => row.failure = Some(failure),
                }
            }
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_round_begins_with_another_one_and_quick_ones_have_more_samples() {
        let turns = [("a", false), ("b", true)].map(|(name, is_quick)| Turn { name, is_quick });
        let mut asked = Vec::new();
        let rows = interleave(&turns, Rounds::warm(2), |index| {
            asked.push(index);
            Ok(Ok(json!({"ms": 1.0})))
        });
        let rows = rows.unwrap();
        assert_eq!(asked, [0, 1, 1, 0, 1, 1, 0, 1, 1, 1]);
        assert_eq!((rows[0].1.count("ms"), rows[1].1.count("ms")), (2, 6));
    }
}
