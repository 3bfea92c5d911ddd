//! The cells over which an edit and the file disagree.
//!
//! Owns how they are listed, with the text that the other writer left. `edit/merge.rs` finds them.

use std::fmt;

use inkcell_notebook::CellCandidate;

/// Number of sources that one message shows.
const SOURCES: usize = 5;

/// A difference between the version that a caller knew and the file.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CellDifference {
    /// The cell as the caller knew it.
    pub cell: CellCandidate,
    /// The fate of the cell in the file.
    pub fate: CellFate,
}

/// The fate of a cell that a caller named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CellFate {
    /// Its kind, source or metadata are different.
    Changed {
        /// The position of the cell in the file.
        now: usize,
        /// The source in the file, or its beginning. None if the cell differs in its metadata alone.
        source: Option<String>,
    },
    /// The cell was removed, or cannot be told from others.
    Gone,
}

impl CellDifference {
    /// The source in the file, on lines of its own.
    fn source_now(&self) -> Option<String> {
        let CellFate::Changed { now, source: Some(source) } = &self.fate else { return None };
        let cell = CellCandidate { index: *now, id: self.cell.id.clone() };
        let lines: String = source.split('\n').map(|line| format!("\n> {line}")).collect();
        Some(format!("\nIn the file, {cell} is:{lines}"))
    }
}

impl fmt::Display for CellDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CellFate::Changed { now, source } = &self.fate else {
            return write!(f, "{} is gone", self.cell);
        };
        let what = if source.is_none() { " in its metadata" } else { "" };
        write!(f, "{} was changed{what}", self.cell)?;
        if *now == self.cell.index { Ok(()) } else { write!(f, " and is cell {now} now") }
    }
}

/// The differences in one line, and below it what the file has in place of the changed sources.
pub(super) fn listed(differences: &[CellDifference]) -> String {
    let names: Vec<String> = differences.iter().map(CellDifference::to_string).collect();
    let sources = differences.iter().filter_map(CellDifference::source_now).take(SOURCES);
    names.join(", ") + &sources.collect::<String>()
}
