//! Output limits for an execution, and for all executions of a call together.
//!
//! Owns the numbers (B:O-05, B:O-06). It must not know how they are enforced.

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

/// Limits for the output of one execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputLimits {
    /// Bytes of text that the reader gets at most; more is elided.
    pub max_bytes: usize,
    /// Bytes for the beginning; 0 keeps only the end.
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
    /// Bytes of the live view (B:O-20).
    pub live_bytes: usize,
    /// Limits for pictures, JSON and status events.
    pub rich: RichLimits,
    /// A limit for the artifact itself (B:O-13).
    pub artifact: Option<ArtifactLimit>,
}

/// Default text budget of an execution (B:O-05).
const MAX_BYTES: usize = 51_200;
/// Bytes that every execution may show, even after the call has used up its budget.
const LEAST_BYTES: usize = 2048;

impl OutputLimits {
    /// Keeps beginning and end, and counts repeated lines (B:O-06).
    pub fn head_and_tail() -> OutputLimits {
        OutputLimits {
            max_bytes: MAX_BYTES,
            head_bytes: MAX_BYTES / 5,
            display_bytes: MAX_BYTES,
            line_bytes: None,
            repeats: Repeats::Count,
            held_bytes: 1024 * 1024,
            live_bytes: 2 * MAX_BYTES,
            rich: RichLimits::default(),
            artifact: None,
        }
    }

    /// Keeps only the end, as the compatible tools do.
    pub fn tail_only() -> OutputLimits {
        OutputLimits { head_bytes: 0, repeats: Repeats::Keep, ..OutputLimits::head_and_tail() }
    }

    /// The same limits with another number of bytes, the beginning in proportion.
    pub fn with_max_bytes(self, max_bytes: usize) -> OutputLimits {
        let head_bytes = if self.head_bytes == 0 { 0 } else { max_bytes / 5 };
        let display_bytes = self.display_bytes.min(max_bytes);
        OutputLimits { max_bytes, head_bytes, display_bytes, ..self }
    }
}

/// Budget for all cells of a call together, so that many cells do not multiply it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CallBudget {
    remaining: usize,
    /// Bytes that every cell may show in any case.
    least: usize,
}

impl CallBudget {
    /// A budget of `max_bytes` of text in all.
    pub(crate) fn new(max_bytes: usize) -> CallBudget {
        CallBudget { remaining: max_bytes, least: LEAST_BYTES }
    }

    /// A budget for cells of a notebook: they are many, and their outputs are in the file.
    pub(crate) fn for_notebook(max_bytes: usize) -> CallBudget {
        CallBudget { remaining: max_bytes.min(MAX_BYTES), least: LEAST_BYTES / 8 }
    }

    /// The limits for the next cell.
    pub(crate) fn limits(&self, limits: OutputLimits) -> OutputLimits {
        let max_bytes = limits.max_bytes.min(self.remaining.max(self.least));
        limits.with_max_bytes(max_bytes)
    }

    /// Subtracts the output of a cell.
    pub(crate) fn spend(&mut self, output: &ModelOutput) {
        let shown = usize::try_from(output.counts.output_bytes).unwrap_or(usize::MAX);
        self.remaining = self.remaining.saturating_sub(shown);
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Counts;
    use super::*;

    /// B:O-06 and W-18: many cells do not multiply the budget, and each may still show some text.
    #[test]
    fn a_call_has_one_budget() {
        let mut call = CallBudget::new(60_000);
        let first = call.limits(OutputLimits::head_and_tail());
        assert_eq!((first.max_bytes, first.head_bytes), (51_200, 10_240));
        let shown = Counts { output_bytes: 50_000, ..Counts::default() };
        let output = ModelOutput { counts: shown, ..ModelOutput::default() };
        call.spend(&output);
        let second = call.limits(OutputLimits::head_and_tail());
        assert_eq!(
            (second.max_bytes, second.head_bytes, second.display_bytes),
            (10_000, 2000, 10_000)
        );
        call.spend(&output);
        assert_eq!(call.limits(OutputLimits::tail_only()).max_bytes, LEAST_BYTES);
        assert_eq!(call.limits(OutputLimits::tail_only()).head_bytes, 0);

        let mut run = CallBudget::for_notebook(60_000);
        run.spend(&output);
        assert_eq!(run.limits(OutputLimits::head_and_tail()).max_bytes, 1200);
        run.spend(&output);
        assert_eq!(run.limits(OutputLimits::head_and_tail()).max_bytes, 256);
    }
}
