//! What is new in the answer to a call that its caller has asked about before.
//!
//! Owns the mark `since`: the first cell that was not over, and how many bytes of its text were told. A line that the
//! program is still writing may change, so it is told again.

use std::fmt;

use inkcell_engine::api::{PythonReport, State};
use inkcell_engine::output::{Mark, ModelOutput, Part};

use super::ToolError;
use crate::words;

/// How far a caller has been told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Since {
    /// The position of the first cell that was not over.
    pub(crate) cell: usize,
    /// Bytes of its text, without the line that may still change.
    bytes: u64,
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.cell, self.bytes)
    }
}

impl Since {
    /// The mark as an earlier answer gave it.
    pub(crate) fn parse(given: &str) -> Result<Since, ToolError> {
        let parsed = given.trim().split_once(':');
        let parsed =
            parsed.and_then(|(cell, bytes)| Some((cell.parse().ok()?, bytes.parse().ok()?)));
        let (cell, bytes) =
            parsed.ok_or_else(|| ToolError::argument(words::call::not_since(given)))?;
        Ok(Since { cell, bytes })
    }

    /// The mark for the next question.
    pub(crate) fn after(report: &PythonReport) -> Since {
        let cell = report.cells.iter().position(|cell| !cell.state.is_end());
        let cell = cell.unwrap_or(report.cells.len());
        let bytes = report.cells.get(cell).map_or(0, |cell| cell.output.counts.total_bytes);
        Since { cell, bytes }
    }

    /// Removes what its caller knows from the cell of the mark.
    pub(crate) fn apply(self, report: &mut PythonReport) {
        let Some(cell) = report.cells.get_mut(self.cell).filter(|_| self.bytes > 0) else { return };
        leave_out(&mut cell.output, self.bytes);
        let is_silent = cell.output.parts.is_empty() && cell.output.rich.is_empty();
        if is_silent && matches!(cell.state, State::Running | State::Done) {
            cell.output.parts.push(Part::Text(words::call::NO_NEW_OUTPUT.to_owned()));
        }
    }
}

/// Leaves out the bytes of a text that were told. The notices stay if the rest is not there as a whole, either.
fn leave_out(output: &mut ModelOutput, told: u64) {
    let all = output.counts.total_bytes + output.counts.open_bytes;
    let mut new = all.saturating_sub(told);
    let mut kept = Vec::new();
    let mut is_cut = false;
    while let Some(part) = output.parts.pop() {
        match part {
            Part::Text(text) if text.len() as u64 > new => {
                let start = text.ceil_char_boundary(text.len() - new as usize);
                kept.push(Part::Text(text[start..].to_owned()));
                new = 0;
                break;
            }
            Part::Text(text) => {
                new -= text.len() as u64;
                kept.push(Part::Text(text));
            }
            Part::Mark(Mark::Elided { .. }) if new == 0 => break,
            Part::Mark(mark) => {
                if let Mark::Elided { bytes, .. } = mark {
                    new = new.saturating_sub(bytes);
                    is_cut = true;
                }
                kept.push(Part::Mark(mark));
            }
        }
    }
    kept.retain(|part| *part != Part::Text(String::new()));
    kept.reverse();
    output.parts = kept;
    if new == 0 && !is_cut {
        output.notices.clear();
        output.is_truncated = false;
    }
}

#[cfg(test)]
mod tests {
    use inkcell_engine::output::Counts;

    use super::*;

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    fn after(parts: Vec<Part>, (total_bytes, open_bytes): (u64, u64), told: u64) -> Vec<Part> {
        let counts = Counts { total_bytes, open_bytes, ..Counts::default() };
        let mut output = ModelOutput { parts, counts, ..ModelOutput::default() };
        leave_out(&mut output, told);
        output.parts
    }

    #[test]
    fn only_text_after_the_mark_is_left() {
        let elided = || Part::Mark(Mark::Elided { bytes: 90, lines: 9 });
        let table = [
            (vec![text("one\ntwo\n")], (8, 0), 4, vec![text("two\n")]),
            (vec![text("one\ntwo\n")], (8, 0), 8, vec![]),
            (vec![text("one\n10%")], (4, 3), 4, vec![text("10%")]),
            // A line that shrank, and a mark that is too large.
            (vec![text("one\n")], (4, 0), 9, vec![]),
            // Only the end of a long text is there.
            (vec![text("two\n")], (100, 0), 4, vec![text("two\n")]),
            (vec![text("a\n"), elided(), text("z\n")], (94, 0), 92, vec![text("z\n")]),
            (vec![text("a\n"), elided(), text("z\n")], (94, 0), 2, vec![elided(), text("z\n")]),
            (
                vec![text("a\n"), elided(), text("z\n")],
                (94, 0),
                1,
                vec![text("\n"), elided(), text("z\n")],
            ),
        ];
        for (parts, bytes, told, wanted) in table {
            assert_eq!(after(parts.clone(), bytes, told), wanted, "{parts:?} after {told}");
        }
    }

    #[test]
    fn a_mark_is_read_as_it_is_written() {
        let since = Since { cell: 2, bytes: 1234 };
        assert_eq!(Since::parse(&since.to_string()).unwrap(), since);
        for wrong in ["", "12", "a:1", "1:-1"] {
            assert!(Since::parse(wrong).is_err(), "{wrong}");
        }
    }
}
