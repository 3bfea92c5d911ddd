//! The outline: one line for each cell.
//!
//! Owns the choice of facts that describe a cell at a glance. It must not know how lines are
//! printed.

use crate::document::{CellView, OutputDigest, first_line, read_digests};

/// Facts about one cell, for an outline.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct OutlineCell {
    /// Position of the cell, from 0.
    pub index: usize,
    /// Id, when the cell has one.
    pub id: Option<String>,
    /// Kind of the cell, as the file names it.
    pub kind: String,
    /// Execution count of the last run, if the file has one.
    pub execution_count: Option<u64>,
    /// Number of lines of its source.
    pub lines: usize,
    /// The first line that is not blank, cut to a readable length.
    pub first_line: String,
    /// The tags in its metadata, in order.
    pub tags: Vec<String>,
    /// One digest for each output, in order.
    pub outputs: Vec<OutputDigest>,
}

const FIRST_LINE_CHARS: usize = 80;

impl CellView<'_> {
    /// Summarizes the cell for an outline.
    pub fn outline(&self) -> OutlineCell {
        let source = self.source().text;
        OutlineCell {
            index: self.index(),
            id: self.id().map(|id| id.into_owned()),
            kind: self.kind_name().into_owned(),
            execution_count: self.execution_count(),
            lines: source.lines().count(),
            first_line: first_line(&source, FIRST_LINE_CHARS),
            tags: self.tags(),
            outputs: read_digests(self.outputs_json().unwrap_or_default()),
        }
    }
}
