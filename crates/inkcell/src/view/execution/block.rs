//! One cell as a block: its heading, its code, its output and remarks about it.
//!
//! Owns the order within a block (B:T-10). It must not know the other cells, only their number.

use std::time::Duration;

use inkcell_engine::api::State;
use inkcell_engine::output::Notice;

use super::output::{self, Layout, more, remark};
use super::{Expansion, highlight, status};
use crate::view::fold::cell::{CallCell, Status};
use crate::view::fold::lines::{Lines, TextLine};
use crate::view::paint::{Line, Role, Wrap, indented, wrap};
use crate::words;

/// Rows of code and rows of output in the collapsed view.
pub(in crate::view) const PREVIEW: usize = 10;

/// Characters of a title before it is cut.
const TITLE_CHARS: usize = 400;

/// Position of a cell within its call.
#[derive(Clone, Copy)]
pub(in crate::view) struct Place {
    /// Position from 1 up to `of`.
    pub(in crate::view) number: usize,
    pub(in crate::view) of: usize,
}

/// Renders a cell as rows.
pub(in crate::view) fn rows(cell: &CallCell, place: Place, layout: Layout<'_>) -> Vec<Line> {
    let mut rows = wrap(&heading(cell, place), layout.area.width, Wrap::Words);
    rows.extend(code(cell, layout));
    rows.extend(section(cell, layout));
    rows.extend(remarks(cell, layout.area.width));
    if let Some(timeout) = cell.source().timeout {
        rows.extend(timeout_line(timeout, layout.area.width));
    }
    rows
}

/// The mark before a cell.
pub(crate) fn mark(status: Status) -> (Role, &'static str) {
    match status {
        Status::Pending => (Role::Dim, "○"),
        Status::Running => (Role::Warning, "●"),
        Status::Complete => (Role::Success, "✓"),
        Status::Error => (Role::Error, "✗"),
    }
}

fn heading(cell: &CallCell, place: Place) -> Line {
    let (role, mark) = mark(cell.status());
    let title = cell.source().title.as_deref().filter(|title| !title.trim().is_empty());
    let mut line = Line::of(role, mark);
    // A cell of a notebook has a position, which a number in front would hide.
    let is_of_notebook = title.is_some_and(words::run::is_cell_name);
    if place.of > 1 && !is_of_notebook {
        line.push(Role::Dim, &format!(" [{}/{}]", place.number, place.of));
    }
    if let Some(title) = title {
        let title: String = title.trim().chars().take(TITLE_CHARS).collect();
        line.push(Role::Title, &format!(" {}", title.replace(['\n', '\r'], " ")));
    }
    if place.of > 1 && is_of_notebook {
        line.push(Role::Dim, &format!("  {}/{}", place.number, place.of));
    }
    let word = match cell.state() {
        State::Queued => Some("pending"),
        // The mark already shows this state. A lone cell without a title needs the word.
        State::Done => (place.of == 1 && title.is_none()).then_some("complete"),
        state => Some(state.name()),
    };
    if let Some(word) = word {
        line.push(role, &format!(" {word}"));
    }
    if let Some(duration) = cell.duration() {
        line.push(Role::Dim, &format!(" ({})", shown_duration(duration)));
    }
    line
}

/// Formats a duration as `500ms`, `2.5s` or `1.2m`.
pub(crate) fn shown_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    // Rounding comes before the choice of a unit, so that no duration reads `60.0s`.
    if duration.as_millis() < 1000 {
        format!("{}ms", duration.as_millis())
    } else if seconds < 59.95 {
        format!("{seconds:.1}s")
    } else {
        format!("{:.1}m", seconds / 60.0)
    }
}

/// Python code as coloured lines, each cut at the limit for lines (B:T-21).
pub(in crate::view) fn code_lines(code: &str) -> Vec<Line> {
    let lines = Lines::of(code);
    let kept: Vec<&str> = lines.iter().map(TextLine::text).collect();
    let mut shown = highlight::python(&kept.join("\n"));
    for (line, omitted) in shown.iter_mut().zip(lines.iter().map(TextLine::omitted)) {
        if let Some(omitted) = omitted {
            line.push(Role::Dim, &omitted);
        }
    }
    shown
}

/// The code, with an arrow at the line that failed. A preview that ends before that line shows it too.
fn code(cell: &CallCell, layout: Layout<'_>) -> Vec<Line> {
    let width = layout.area.width - layout.margin();
    let failing = cell.failing_line();
    let mut rows: Vec<Line> = Vec::new();
    let mut failing_row = None;
    let mut ends = Vec::new();
    for (number, line) in (1..).zip(code_lines(&cell.source().code)) {
        if failing == Some(number) {
            failing_row = Some(rows.len());
        }
        rows.extend(wrap(&line, width, Wrap::Anywhere));
        ends.push(rows.len());
    }
    let mut rows = indented(rows, layout.margin());
    let marked = failing_row.filter(|_| layout.margin() == 2).and_then(|at| {
        let row = rows.get_mut(at)?;
        let mut line = Line::of(Role::Failing, "→ ");
        let mut spans = row.spans().iter();
        let first = spans.next().map(|span| (span.role(), span.text()));
        if let Some((role, text)) = first {
            line.push_clean(role, text.strip_prefix("  ").unwrap_or(text));
        }
        for span in spans {
            line.push_clean(span.role(), span.text());
        }
        *row = line.clone();
        Some((at, line))
    });
    if layout.area.expansion == Expansion::Expanded || rows.len() <= PREVIEW {
        return rows;
    }
    rows.truncate(PREVIEW);
    // A line that is cut counts as hidden.
    let hidden = ends.iter().filter(|end| **end > PREVIEW).count() as u64;
    rows.extend(more(hidden, layout.more, layout.area.width));
    rows.extend(marked.filter(|(at, _)| *at >= PREVIEW).map(|(_, line)| line));
    rows
}

/// The output below its heading. A finished cell without output says so.
fn section(cell: &CallCell, layout: Layout<'_>) -> Vec<Line> {
    let content = cell.content();
    let page = cell.shown_page().filter(|_| layout.area.expansion == Expansion::Expanded);
    let mut rows = match page {
        Some(page) => output::page_rows(page, cell.status(), layout),
        None => output::rows(&content, cell.status(), layout),
    };
    if rows.is_empty() && cell.state() == State::Done {
        rows = remark(Role::Dim, "(no output)", layout.area.width);
    }
    if !rows.is_empty() {
        rows.splice(0..0, wrap(&Line::of(Role::Title, "Output"), layout.area.width, Wrap::Words));
    }
    rows.extend(status::lines(&content.statuses, layout.area.expansion, layout.area.width));
    rows
}

/// Remarks below a cell: missing output, the reason for its end, other notices.
pub(in crate::view) fn remarks(cell: &CallCell, width: usize) -> Vec<Line> {
    let report = cell.last_report();
    // The mark above the preview of a running cell says what is missing.
    let said = if report.state.is_end() { &report.output.notices[..] } else { &[] };
    let mut rows = notices(said, width);
    if let Some(sentence) = words::call::sentence(cell.state(), report.end.as_ref()) {
        rows.extend(remark(Role::Error, &sentence, width));
    }
    for note in &report.notes {
        rows.extend(remark(Role::Dim, &words::call::note(note), width));
    }
    rows
}

/// Warnings about output that is left out (B:T-15).
pub(in crate::view) fn notices(notices: &[Notice], width: usize) -> Vec<Line> {
    notices.iter().flat_map(|notice| remark(Role::Warning, &notice.to_string(), width)).collect()
}

/// The line with the time limit of the code (B:T-16).
pub(in crate::view) fn timeout_line(timeout: Duration, width: usize) -> Vec<Line> {
    remark(Role::Dim, &format!("Timeout: {}s", timeout.as_secs_f64()), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:T-10
    #[test]
    fn durations_are_short() {
        let table = [
            (0.0, "0ms"),
            (0.5, "500ms"),
            (0.9999, "999ms"),
            (1.0, "1.0s"),
            (2.5, "2.5s"),
            (59.94, "59.9s"),
            (59.96, "1.0m"),
            (72.0, "1.2m"),
            (7200.0, "120.0m"),
        ];
        for (seconds, wanted) in table {
            assert_eq!(shown_duration(Duration::from_secs_f64(seconds)), wanted);
        }
    }
}
