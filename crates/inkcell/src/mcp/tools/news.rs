//! The part of a call's output that its caller has not seen in an earlier answer.
//!
//! Owns the mark `since`: the first cell that had not ended, and the place in its text where the earlier answer ended.
//! A program may change lines that it has shown. They keep their numbers, so the mark counts lines. If the program is
//! still writing a line, the next answer has the rest of it, or the whole line if its beginning has changed.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use inkcell_engine::api::{CellReport, PythonReport, State};
use inkcell_engine::output::{Counts, Mark, ModelOutput, Notice, Part};

use super::ToolError;
use crate::words;

/// The most bytes before the mark by which a line that was open is known again.
const KNOWN_BYTES: usize = 64;

/// How much of a call its caller has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Since {
    /// The position of the first cell that was not over.
    pub(crate) cell: usize,
    /// Whole lines of its text.
    lines: u64,
    /// Bytes of its text, with the line that was open.
    bytes: u64,
    /// Notes of all cells.
    notes: usize,
    /// The end of the line that was open.
    open: Option<LineEnd>,
}

/// The end of a text, to know it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LineEnd {
    bytes: usize,
    digest: u32,
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.cell, self.lines, self.bytes, self.notes)?;
        match self.open {
            Some(LineEnd { bytes, digest }) => write!(f, ":{bytes}:{digest}"),
            None => Ok(()),
        }
    }
}

impl Since {
    /// The mark as an earlier answer gave it.
    pub(crate) fn parse(given: &str) -> Result<Since, ToolError> {
        Since::parts(given).ok_or_else(|| ToolError::argument(words::call::not_since(given)))
    }

    fn parts(given: &str) -> Option<Since> {
        let mut parts = given.trim().split(':');
        let cell = parts.next()?.parse().ok()?;
        let (lines, bytes) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let notes = parts.next()?.parse().ok()?;
        let open = match (parts.next(), parts.next(), parts.next()) {
            (None, ..) => None,
            (Some(bytes), Some(digest), None) => {
                Some(LineEnd { bytes: bytes.parse().ok()?, digest: digest.parse().ok()? })
            }
            _ => return None,
        };
        Some(Since { cell, lines, bytes, notes, open })
    }

    /// The mark of a caller who knows the cells before this position, and none of the notes.
    pub(crate) fn before_cell(cell: usize) -> Since {
        Since { cell, ..Since::default() }
    }

    /// The mark for the next question.
    pub(crate) fn after(report: &PythonReport) -> Since {
        let cell = report.cells.iter().position(|cell| !cell.state.is_end());
        let cell = cell.unwrap_or(report.cells.len());
        let notes = report.cells.iter().map(|cell| cell.notes.len()).sum();
        match report.cells.get(cell) {
            Some(CellReport { output, .. }) => {
                let extent = Extent::of(&output.counts);
                let open = open_line(output).map(LineEnd::of);
                Since { cell, lines: extent.lines, bytes: extent.bytes, notes, open }
            }
            None => Since { cell, notes, ..Since::default() },
        }
    }

    /// Removes the notes and the text that the caller has seen.
    pub(crate) fn apply(self, report: &mut PythonReport) {
        let mut told = self.notes;
        for cell in &mut report.cells {
            let known = told.min(cell.notes.len());
            cell.notes.drain(..known);
            told -= known;
        }
        let Some(cell) = report.cells.get_mut(self.cell).filter(|_| self.bytes > 0) else { return };
        if let Some(place) = &mut cell.notebook {
            // Its new lines are shown even if the notebook had the same before.
            place.change = None;
        }
        self.leave_out(&mut cell.output);
        let is_silent = cell.output.parts.is_empty() && cell.output.rich.is_empty();
        if is_silent && matches!(cell.state, State::Running | State::Done) {
            cell.output.parts.push(Part::Text(words::call::NO_NEW_OUTPUT.to_owned()));
        }
    }

    /// Leaves out the text that the caller has seen. The notices stay if the rest is truncated, too.
    fn leave_out(&self, output: &mut ModelOutput) {
        let now = Extent::of(&output.counts);
        let parts = std::mem::take(&mut output.parts);
        let News { parts, is_whole } = match self.in_open_line(&parts, now) {
            Some(news) => news,
            None => self.in_lines(parts, now),
        };
        output.parts = parts;
        output.parts.retain(|part| *part != Part::Text(String::new()));
        if is_whole {
            output.notices.retain(|notice| !matches!(notice, Notice::Truncated { .. }));
            output.is_truncated = false;
            return;
        }
        for notice in &mut output.notices {
            if let Notice::Truncated { truncation, .. } = notice {
                let next = self.lines + 1;
                let head = truncation.head.filter(|(_, last)| *last >= next);
                truncation.head = head.map(|(first, last)| (first.max(next), last));
            }
        }
    }

    /// The rest of a line that was open, if the part that the caller has seen is unchanged.
    fn in_open_line(&self, parts: &[Part], now: Extent) -> Option<News> {
        let mut new = usize::try_from(now.bytes.checked_sub(self.bytes)?).ok()?;
        let LineEnd { bytes, digest } = self.open?;
        let mut kept = Vec::new();
        for part in parts.iter().rev() {
            let text = match part {
                Part::Text(text) => text,
                Part::Mark(Mark::Elided { .. } | Mark::Repeated { .. }) => return None,
                Part::Mark(mark) => {
                    kept.push(Part::Mark(mark.clone()));
                    continue;
                }
            };
            if text.len() < new {
                new -= text.len();
                kept.push(Part::Text(text.clone()));
                continue;
            }
            let at = text.len() - new;
            let before = text.get(at.checked_sub(bytes)?..at)?;
            if LineEnd::of(before).digest != digest {
                return None;
            }
            kept.push(Part::Text(text[at..].to_owned()));
            kept.reverse();
            return Some(News { parts: kept, is_whole: true });
        }
        None
    }

    /// The lines after those that the caller has seen.
    fn in_lines(&self, mut parts: Vec<Part>, now: Extent) -> News {
        // If there are fewer lines now, the text was replaced.
        let told = Some(self.lines).filter(|told| *told <= now.lines).unwrap_or(0);
        let mut left = now.lines - told;
        let mut room = now.bytes.saturating_sub(self.bytes);
        let (mut kept, mut is_whole, mut is_found) = (Vec::new(), true, false);
        while !is_found && let Some(part) = parts.pop() {
            match part {
                Part::Text(text) => {
                    let nth = usize::try_from(left).unwrap_or(usize::MAX);
                    let start = text.rmatch_indices('\n').nth(nth).map(|(at, _)| at + 1);
                    is_found = start.is_some();
                    left = left.saturating_sub(text.matches('\n').count() as u64);
                    let text = text[start.unwrap_or(0)..].to_owned();
                    room = room.saturating_sub(text.len() as u64);
                    kept.push(Part::Text(text));
                }
                Part::Mark(Mark::Elided { bytes, lines }) => {
                    is_found = lines > left;
                    let (bytes, lines) = match is_found {
                        true => (bytes.min(room), left),
                        false => (bytes, lines),
                    };
                    (left, room) = (left - lines, room.saturating_sub(bytes));
                    if bytes > 0 {
                        is_whole = false;
                        kept.push(Part::Mark(Mark::Elided { bytes, lines }));
                    }
                }
                Part::Mark(Mark::Repeated { times }) => {
                    is_found = times > left;
                    let shown = times.min(left);
                    left -= shown;
                    if shown > 0 {
                        kept.push(Part::Mark(Mark::Repeated { times: shown }));
                    }
                }
                Part::Mark(mark) => kept.push(Part::Mark(mark)),
            }
        }
        kept.reverse();
        // The beginning of the news is missing, too, if the text begins behind the mark.
        News { parts: kept, is_whole: is_whole && (is_found || told == 0) }
    }
}

/// The part of an output that its reader does not know.
struct News {
    parts: Vec<Part>,
    /// Whether nothing is missing in it.
    is_whole: bool,
}

/// A text as it is now, without parts that the program has removed or replaced.
#[derive(Clone, Copy)]
struct Extent {
    /// Line ends.
    lines: u64,
    bytes: u64,
}

impl Extent {
    fn of(counts: &Counts) -> Extent {
        let bytes = counts.total_bytes + counts.open_bytes;
        Extent {
            lines: counts.total_lines.saturating_sub(1).saturating_sub(counts.cleared_lines),
            bytes: bytes.saturating_sub(counts.cleared_bytes),
        }
    }
}

/// The line at the end of the text, as far as it is shown, unless it is over.
fn open_line(output: &ModelOutput) -> Option<&str> {
    let Some(Part::Text(text)) = output.parts.last() else { return None };
    let line = text.rsplit_once('\n').map_or(text.as_str(), |(_, line)| line);
    (!line.is_empty()).then_some(line)
}

impl LineEnd {
    fn of(text: &str) -> LineEnd {
        let end = &text[text.ceil_char_boundary(text.len().saturating_sub(KNOWN_BYTES))..];
        let mut hasher = DefaultHasher::new();
        end.hash(&mut hasher);
        LineEnd { bytes: end.len(), digest: hasher.finish() as u32 }
    }
}

#[cfg(test)]
mod tests;
