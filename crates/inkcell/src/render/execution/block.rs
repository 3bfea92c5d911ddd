//! One cell as a block: its heading, its code, its output, and what there is to be said about it.
//!
//! Owns the order within a block (B:T-10). It must not know the other cells, only how many there are.

use std::time::Duration;

use inkcell_engine::api::State;
use inkcell_engine::output::Notice;

use super::super::words;
use super::cell::{Cell, Status};
use super::frame::{Line, Role};
use super::lines::{Lines, TextLine};
use super::output::{self, Layout, more, remark};
use super::width::{Wrap, indented, wrap};
use super::{Expansion, highlight, status};

/// Rows of output and of code when collapsed.
pub(in crate::render) const PREVIEW: usize = 10;

/// Characters of a title that are shown.
const TITLE_CHARS: usize = 400;

/// Where a cell stands among those of its call.
#[derive(Clone, Copy)]
pub(in crate::render) struct Place {
    /// Counted from 1.
    pub(in crate::render) number: usize,
    pub(in crate::render) of: usize,
}

/// The rows of a cell.
pub(in crate::render) fn rows(cell: &Cell, place: Place, layout: Layout<'_>) -> Vec<Line> {
    let mut rows = wrap(&heading(cell, place), layout.area.width, Wrap::Words);
    rows.extend(code(cell, layout));
    rows.extend(section(cell, layout));
    rows.extend(remarks(cell, layout.area.width));
    if let Some(timeout) = cell.source().timeout {
        rows.extend(timeout_line(timeout, layout.area.width));
    }
    rows
}

fn heading(cell: &Cell, place: Place) -> Line {
    let (mark, role) = match cell.status() {
        Status::Pending => ("○", Role::Dim),
        Status::Running => ("●", Role::Warning),
        Status::Complete => ("✓", Role::Success),
        Status::Error => ("✗", Role::Error),
    };
    let title = cell.source().title.as_deref().filter(|title| !title.trim().is_empty());
    let mut line = Line::of(role, mark);
    if place.of > 1 {
        line.push(Role::Dim, &format!(" [{}/{}]", place.number, place.of));
    }
    if let Some(title) = title {
        let title: String = title.trim().chars().take(TITLE_CHARS).collect();
        line.push(Role::Title, &format!(" {}", title.replace(['\n', '\r'], " ")));
    }
    let word = match cell.state() {
        State::Queued => Some("pending"),
        // The mark says it, unless nothing else stands beside it.
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

/// `500ms`, `2.5s` or `1.2m`.
pub(in crate::render) fn shown_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    // The unit is chosen by what will be shown, so that nothing takes 60.0s.
    if duration.as_millis() < 1000 {
        format!("{}ms", duration.as_millis())
    } else if seconds < 59.95 {
        format!("{seconds:.1}s")
    } else {
        format!("{:.1}m", seconds / 60.0)
    }
}

/// Lines of Python in colours, none longer than is shown of one.
pub(in crate::render) fn code_lines(code: &str) -> Vec<Line> {
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

/// The code, with a mark beside the line that failed, which is also shown where a preview ends before it.
fn code(cell: &Cell, layout: Layout<'_>) -> Vec<Line> {
    let width = layout.area.width - layout.margin();
    let failing = cell.failing_line();
    let mut rows: Vec<Line> = Vec::new();
    let mut failing_row = None;
    for (number, line) in (1..).zip(code_lines(&cell.source().code)) {
        if failing == Some(number) {
            failing_row = Some(rows.len());
        }
        rows.extend(wrap(&line, width, Wrap::Anywhere));
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
    let hidden = rows.split_off(PREVIEW).len();
    rows.extend(more(hidden, layout.more, layout.area.width));
    rows.extend(marked.filter(|(at, _)| *at >= PREVIEW).map(|(_, line)| line));
    rows
}

/// The output with its heading, where there is any or where there could have been.
fn section(cell: &Cell, layout: Layout<'_>) -> Vec<Line> {
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

/// What inkcell says after a cell: what is missing, why it ended, what else must be known.
pub(in crate::render) fn remarks(cell: &Cell, width: usize) -> Vec<Line> {
    let mut rows = notices(cell.notices(), width);
    if let Some(sentence) = words::sentence(cell.state(), cell.end()) {
        rows.extend(remark(Role::Error, &sentence, width));
    }
    for note in cell.notes() {
        rows.extend(remark(Role::Dim, &words::note(note), width));
    }
    rows
}

/// Warnings about what is not shown (B:T-15).
pub(in crate::render) fn notices(notices: &[Notice], width: usize) -> Vec<Line> {
    notices.iter().flat_map(|notice| remark(Role::Warning, &notice.to_string(), width)).collect()
}

/// The line that says how long code may take (B:T-16).
pub(in crate::render) fn timeout_line(timeout: Duration, width: usize) -> Vec<Line> {
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
