//! What a cell says about being checked: tags and comments, as nbval understands them.
//!
//! Owns those words. What is done with them is for others.

use crate::view::CellView;

/// A code cell with this tag is not run.
pub const SKIP_TAG: &str = "skip-execution";

/// A cell with this tag may fail.
pub const MAY_FAIL_TAG: &str = "raises-exception";

/// What a cell says about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CellMarks {
    /// Whether its outputs are compared, where it says so.
    pub checked: Option<bool>,
    /// Whether it may fail.
    pub may_fail: bool,
    /// Whether it is not run.
    pub is_skipped: bool,
}

impl CellMarks {
    /// The marks of a cell: its comments, then its tags.
    pub fn of(cell: &CellView<'_>) -> CellMarks {
        let mut marks = CellMarks::default();
        for line in cell.source().text.lines() {
            if let Some(comment) = line.trim().strip_prefix('#') {
                let word = comment.trim_start_matches('#').trim();
                // Only as a comment in capitals, and only nbval's own.
                if word.starts_with("NBVAL_") || word.starts_with("PYTEST_VALIDATE_") {
                    marks.take(&word.to_lowercase().replace('_', "-"));
                }
            }
        }
        cell.tags().iter().for_each(|tag| marks.take(tag));
        marks
    }

    fn take(&mut self, mark: &str) {
        match mark {
            "nbval-ignore-output" | "pytest-validate-ignore-output" => self.checked = Some(false),
            "nbval-check-output" => self.checked = Some(true),
            "nbval-raises-exception" | MAY_FAIL_TAG => self.may_fail = true,
            "nbval-skip" | SKIP_TAG => self.is_skipped = true,
            _ => {}
        }
    }
}
