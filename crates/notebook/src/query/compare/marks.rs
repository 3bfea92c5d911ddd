//! Marks of a cell that control its comparison: tags and comments, with nbval's meaning.
//!
//! Owns those words. It must not know what callers do with them.

use crate::document::CellView;

/// A code cell with this tag is not run.
pub const SKIP_TAG: &str = "skip-execution";

/// A cell with this tag may fail.
pub const MAY_FAIL_TAG: &str = "raises-exception";

/// The marks of one cell, from its comments and tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct CellMarks {
    /// The cell's own choice to compare its outputs; none if it does not say.
    pub checked: Option<bool>,
    /// True if the cell may fail.
    pub may_fail: bool,
    /// True if the cell must not run.
    pub is_skipped: bool,
}

impl CellMarks {
    /// Reads the marks of a cell: its comments, then its tags.
    pub fn of(cell: &CellView<'_>) -> CellMarks {
        let mut marks = CellMarks::default();
        for line in cell.source().text.lines() {
            if let Some(comment) = line.trim().strip_prefix('#') {
                let word = comment.trim_start_matches('#').trim();
                // A comment counts only in capitals and with nbval's own prefixes.
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
