//! The outline: one line a cell; and search.
//!
//! Owns what is worth knowing of a cell at a glance. It must not know how lines are printed.

use crate::document::Notebook;
use crate::output::{self, OutputDigest};
use crate::view::CellView;

/// One cell of an outline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutlineCell {
    /// Position.
    pub index: usize,
    /// Id, when the cell has one.
    pub id: Option<String>,
    /// Kind as the file names it.
    pub kind: String,
    /// Number of the last run.
    pub execution_count: Option<u64>,
    /// Lines of source.
    pub lines: usize,
    /// The first line that is not blank, cut to a readable length.
    pub first_line: String,
    /// Tags.
    pub tags: Vec<String>,
    /// One digest an output.
    pub outputs: Vec<OutputDigest>,
}

const FIRST_LINE_CHARS: usize = 80;

/// The first line that is not blank, cut to at most `limit` characters.
pub fn first_line(text: &str, limit: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim_end();
    if line.chars().count() <= limit {
        return line.to_owned();
    }
    line.chars().take(limit.saturating_sub(1)).chain(std::iter::once('…')).collect()
}

impl CellView<'_> {
    /// Its line of the outline.
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
            outputs: output::digests(self.outputs_json().unwrap_or_default()),
        }
    }
}

/// Where a search looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchIn {
    /// Sources only.
    Sources,
    /// Sources and the text of outputs.
    SourcesAndOutputs,
}

/// One line that matched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hit {
    /// Position of the cell.
    pub cell: usize,
    /// Position of the output, when the line is in one.
    pub output: Option<usize>,
    /// Line number, from 1, in the source or the output's text.
    pub line: usize,
    /// The line.
    pub text: String,
}

impl Notebook {
    /// All lines that match a pattern, in order.
    pub fn search(&self, pattern: &regex::Regex, place: SearchIn) -> Vec<Hit> {
        let mut hits = Vec::new();
        for cell in self.cells() {
            let mut look = |text: &str, output: Option<usize>| {
                for (at, line) in text.lines().enumerate() {
                    if pattern.is_match(line) {
                        let text = line.to_owned();
                        hits.push(Hit { cell: cell.index(), output, line: at + 1, text });
                    }
                }
            };
            look(&cell.source().text, None);
            if place == SearchIn::SourcesAndOutputs {
                for (at, output) in cell.outputs().into_iter().enumerate() {
                    look(&output.text().unwrap_or_default(), Some(at));
                }
            }
        }
        hits
    }
}
