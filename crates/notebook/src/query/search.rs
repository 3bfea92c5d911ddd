//! Finds lines of a notebook that match a pattern.
//!
//! Owns the choice of text to search. It must not know how lines are printed.

use crate::document::Notebook;
/// The text that a search covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchIn {
    /// Sources alone, which is fast on notebooks with large outputs.
    Sources,
    /// Sources and the text of outputs.
    SourcesAndOutputs,
}

/// One line that matched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hit {
    /// Position of the cell, from 0.
    pub cell: usize,
    /// Position of the output in its cell, from 0; none for a line of the source.
    pub output: Option<usize>,
    /// Line number in the source or in the output's text, from 1.
    pub line: usize,
    /// The whole line, without its line end.
    pub text: String,
}

impl Notebook {
    /// Finds all lines that match a pattern, in order.
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
