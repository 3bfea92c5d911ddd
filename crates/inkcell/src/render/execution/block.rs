//! One cell as a block: its heading, its code, its output, and what there is to be said about it.
//!
//! Owns the order within a block (B:T-10). It must not know the other cells, only how many there are.

use std::time::Duration;

use inkcell_engine::api::State;
use inkcell_engine::output::Notice;

use super::super::words;
use super::cell::{Cell, Status};
use super::frame::{Line, Role};
use super::output::{self, Layout, more, remark};
use super::width::{Wrap, indented, wrap};
use super::{Expansion, highlight, status};

/// Rows of output and of code when collapsed.
pub(super) const PREVIEW: usize = 10;

/// Where a cell stands among those of its call.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) of: usize,
}

/// The rows of a cell.
pub(super) fn rows(cell: &Cell, place: Place, layout: Layout) -> Vec<Line> {
    let mut rows = wrap(&heading(cell, place), layout.area.width, Wrap::Words);
    rows.extend(code(&cell.source().code, layout));
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
        line.push(Role::Title, &format!(" {}", title.trim().replace('\n', " ")));
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
pub(super) fn shown_duration(duration: Duration) -> String {
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

fn code(code: &str, layout: Layout) -> Vec<Line> {
    let width = layout.area.width - layout.margin();
    let lines = highlight::python(code);
    let mut rows: Vec<Line> =
        lines.iter().flat_map(|line| wrap(line, width, Wrap::Anywhere)).collect();
    if layout.area.expansion == Expansion::Expanded || rows.len() <= PREVIEW {
        return indented(rows, layout.margin());
    }
    let hidden = rows.split_off(PREVIEW).len();
    let mut rows = indented(rows, layout.margin());
    rows.extend(more(hidden, layout.area.width));
    rows
}

/// The output with its heading, where there is any or where there could have been.
fn section(cell: &Cell, layout: Layout) -> Vec<Line> {
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
pub(super) fn remarks(cell: &Cell, width: usize) -> Vec<Line> {
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
pub(super) fn notices(notices: &[Notice], width: usize) -> Vec<Line> {
    notices.iter().flat_map(|notice| remark(Role::Warning, &notice.to_string(), width)).collect()
}

/// The line that says how long code may take (B:T-16).
pub(super) fn timeout_line(timeout: Duration, width: usize) -> Vec<Line> {
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
