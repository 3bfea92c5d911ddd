//! Output limits for an execution, and for all executions of a call together.
//!
//! Owns the numbers (B:O-05, B:O-06). It must not know how they are enforced.

use serde::{Deserialize, Serialize};

use super::keep::spill::ArtifactLimit;
use super::keep::window::Repeats;
use super::model::ModelOutput;
use super::rich::RichLimits;

/// Limits for the text that is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextLimit {
    /// Bytes of text that are shown at most.
    pub max_bytes: usize,
    /// Lines of text that are shown at most.
    pub max_lines: usize,
}

impl Default for TextLimit {
    fn default() -> TextLimit {
        TextLimit { max_bytes: 51_200, max_lines: 3000 }
    }
}

/// How much of the output an answer holds, where its caller says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Excerpt {
    /// Bytes of text of all cells together; the default is the engine's.
    pub max_bytes: Option<usize>,
    /// Only the end of each output is wanted.
    pub is_end: bool,
}

/// Limits for the output of one execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputLimits {
    /// Bytes of text that the reader gets at most; more is elided.
    pub max_bytes: usize,
    /// Bytes that the reader gets of a text that does not fit: what is left out must be read elsewhere anyway.
    pub cut_bytes: usize,
    /// Bytes for the beginning of such a text; 0 keeps only the end.
    pub head_bytes: usize,
    /// Bytes of the text of one display, result or traceback.
    pub display_bytes: usize,
    /// Bytes of one line (B:O-12); `None` for no limit.
    pub line_bytes: Option<usize>,
    /// Treatment of repeated lines.
    pub repeats: Repeats,
    /// Bytes held in memory before an artifact is opened in any case. Progress bars write much and show little, so this
    /// exceeds the budget.
    pub held_bytes: usize,
    /// Limits for pictures, JSON and status events.
    pub rich: RichLimits,
    /// A limit for the artifact itself (B:O-13).
    pub artifact: Option<ArtifactLimit>,
}

/// Default text budget of an execution (B:O-05).
const MAX_BYTES: usize = 51_200;
/// Bytes that a cell may show after the call has used up its budget.
const LEAST_BYTES: usize = 256;
/// Bytes that are kept for each later cell of a call.
const LATER_BYTES: usize = 2048;

impl OutputLimits {
    /// Keeps beginning and end, and counts repeated lines (B:O-06).
    pub fn head_and_tail() -> OutputLimits {
        OutputLimits {
            max_bytes: MAX_BYTES,
            cut_bytes: MAX_BYTES,
            head_bytes: MAX_BYTES / 5,
            display_bytes: MAX_BYTES,
            line_bytes: None,
            repeats: Repeats::Count,
            held_bytes: 1024 * 1024,
            rich: RichLimits::default(),
            artifact: None,
        }
    }

    /// Keeps only the end, as the compatible tools do.
    pub fn tail_only() -> OutputLimits {
        OutputLimits { head_bytes: 0, repeats: Repeats::Keep, ..OutputLimits::head_and_tail() }
    }

    /// The same limits for a caller that says how much it wants to see.
    pub(crate) fn excerpt(self, Excerpt { max_bytes, is_end }: Excerpt) -> OutputLimits {
        let head_bytes = if is_end { 0 } else { self.head_bytes };
        let limits = OutputLimits { head_bytes, ..self };
        match max_bytes {
            Some(most) => {
                let wanted = OutputLimits { display_bytes: most, cut_bytes: most, ..limits };
                wanted.with_max_bytes(most)
            }
            None => limits,
        }
    }

    /// The same limits with another number of bytes, the beginning in proportion.
    pub fn with_max_bytes(self, max_bytes: usize) -> OutputLimits {
        let cut_bytes = self.cut_bytes.min(max_bytes);
        let head_bytes = if self.head_bytes == 0 { 0 } else { cut_bytes / 5 };
        let display_bytes = self.display_bytes.min(max_bytes);
        OutputLimits { max_bytes, cut_bytes, head_bytes, display_bytes, ..self }
    }
}

/// Budget for all cells of a call together, so that many cells do not multiply it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CallBudget {
    remaining: usize,
    /// Cells that are still to come.
    cells: usize,
}

impl CallBudget {
    /// A budget of `max_bytes` of text for `cells` cells in all.
    pub(crate) fn new(max_bytes: usize, cells: usize) -> CallBudget {
        CallBudget { remaining: max_bytes, cells }
    }

    /// The limits for the next cell. Up to half of the budget is kept for the cells after it.
    pub(crate) fn limits(&self, limits: OutputLimits) -> OutputLimits {
        let later = self.cells.saturating_sub(1).saturating_mul(LATER_BYTES);
        let most = (self.remaining - later.min(self.remaining / 2)).max(LEAST_BYTES);
        limits.with_max_bytes(limits.max_bytes.min(most))
    }

    /// Subtracts the output of a cell.
    pub(crate) fn spend(&mut self, output: &ModelOutput) {
        let shown = usize::try_from(output.counts.output_bytes).unwrap_or(usize::MAX);
        self.remaining = self.remaining.saturating_sub(shown);
        self.cells = self.cells.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::model::Counts;
    use super::*;

    fn written(bytes: usize) -> ModelOutput {
        let counts = Counts { output_bytes: bytes as u64, ..Counts::default() };
        ModelOutput { counts, ..ModelOutput::default() }
    }

    /// B:O-06 and W-18: an early cell leaves room for later ones, and what it does not use is theirs.
    #[test]
    fn a_call_has_one_budget() {
        let usual = OutputLimits::head_and_tail();
        let mut call = CallBudget::new(60_000, 3);
        let first = call.limits(usual);
        assert_eq!((first.max_bytes, first.head_bytes), (51_200, 10_240));
        call.spend(&written(50_000));
        let second = call.limits(usual);
        let bytes = (second.max_bytes, second.head_bytes, second.display_bytes);
        assert_eq!(bytes, (7952, 1590, 7952));
        call.spend(&written(0));
        assert_eq!(call.limits(OutputLimits::tail_only()).max_bytes, 10_000);
        call.spend(&written(10_000));
        let over = call.limits(OutputLimits::tail_only());
        assert_eq!((over.max_bytes, over.head_bytes), (LEAST_BYTES, 0));

        let cut = OutputLimits { cut_bytes: 5000, ..usual };
        for (max_bytes, limits) in [(20_000, (5000, 1000)), (3000, (3000, 600))] {
            let given = cut.with_max_bytes(max_bytes);
            assert_eq!((given.cut_bytes, given.head_bytes), limits);
        }
        let asked = cut.excerpt(Excerpt { max_bytes: Some(20_000), is_end: false });
        assert_eq!((asked.max_bytes, asked.cut_bytes), (20_000, 20_000));

        assert_eq!(CallBudget::new(20_000, 1).limits(usual).max_bytes, 20_000);
        assert_eq!(CallBudget::new(20_000, 100).limits(usual).max_bytes, 10_000);
    }

    proptest! {
        /// Cells that write without end share the budget: only cells after it is used up get the least.
        #[test]
        fn loud_cells_stay_within_the_budget(bytes in 0usize..300_000, cells in 1usize..200) {
            let mut call = CallBudget::new(bytes, cells);
            let (mut all, mut least) = (0, 0);
            for _ in 0..cells {
                let given = call.limits(OutputLimits::head_and_tail()).max_bytes;
                if given == LEAST_BYTES { least += LEAST_BYTES } else { all += given }
                call.spend(&written(given));
            }
            prop_assert!(all <= bytes, "{all} of {bytes} beside {least}");
        }
    }
}
