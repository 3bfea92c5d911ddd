//! A call as one text for a reader who must not be flooded: an agent, or a log.
//!
//! Owns the words of the source documents (B) and where each thing stands in
//! the text. Pictures are named here; sending them is for the face.

use std::io;

use inkcell_engine::api::{CellReport, EndReport, PythonReport, State};
use inkcell_engine::kernel::KernelEvent;
use inkcell_engine::output::{RichItem, RichKind};
use inkcell_engine::session::KernelFate;

use super::ending::{self, Summary};
use super::live::{Colour, Show, traceback};
use super::words;
use crate::output::Stream;

/// What a reader gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reply {
    pub(crate) text: String,
    /// Whether something went wrong in the code; inkcell itself did not fail.
    pub(crate) is_error: bool,
}

/// Says nothing until the call is over.
pub(crate) struct Replied;

impl Show for Replied {
    fn event(&mut self, _cell: usize, _event: KernelEvent) -> io::Result<()> {
        Ok(())
    }

    fn pause(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn end(&mut self, summary: &Summary) -> io::Result<()> {
        Stream::stdout().write_all(format!("{}\n", of(summary).text).as_bytes())
    }
}

/// A call that is over, or as far as it has come.
pub(crate) fn of(summary: &Summary) -> Reply {
    let report = &summary.report;
    let text = match &*report.cells {
        [one] => single(one),
        several => many(several, report.state),
    };
    let is_error = !matches!(report.state, State::Done | State::Queued | State::Running);
    let mut text = text.trim_end().to_owned();
    for line in asides(report) {
        text.push_str(&format!("\n\n{line}"));
    }
    Reply { text: text.trim_start_matches('\n').to_owned(), is_error }
}

/// The only cell of a call needs no heading.
fn single(cell: &CellReport) -> String {
    let output = output(cell, annotation(cell).as_deref());
    let last = match cell.state {
        State::Error | State::InputRefused | State::KernelDied => {
            Some(format!("Command exited with code {}", exit_code(cell.state)))
        }
        State::Cancelled if output.is_empty() => Some("Command aborted".to_owned()),
        State::NeverRun if output.is_empty() => Some(never_run(cell)),
        State::Done if output.is_empty() => cell.output.placeholder(),
        _ => None,
    };
    joined([Some(output), last])
}

fn many(cells: &[CellReport], state: State) -> String {
    let all = cells.len();
    let mut blocks = Vec::new();
    for (number, cell) in (1..).zip(cells) {
        if matches!(cell.state, State::Queued | State::NeverRun) && cell.end.is_none() {
            continue;
        }
        let output = output(cell, annotation(cell).as_deref());
        let title = cell.source.title.iter().map(|title| format!(" {title}"));
        let heading = format!("[{number}/{all}]{}", title.collect::<String>());
        blocks.push(Some(match cell.state {
            State::Done if output.is_empty() => match &*cell.output.rich {
                [] => format!("{heading} (ok)"),
                _ => format!("{heading}\n{}", cell.output.placeholder().unwrap_or_default()),
            },
            _ if output.is_empty() => heading,
            _ => format!("{heading}\n{output}"),
        }));
        blocks.push(match cell.state {
            State::Error | State::InputRefused | State::KernelDied => Some(format!(
                "Cell {number} failed (exit code {}). Earlier cells succeeded—their state persists. \
                 Fix only cell {number}.",
                exit_code(cell.state)
            )),
            State::Cancelled | State::TimedOut => {
                let message = annotation(cell);
                let message = message.as_deref().unwrap_or("Command aborted");
                Some(format!("Cell {number} aborted: {message}"))
            }
            State::NeverRun => Some(format!("Cell {number} was not run: {}", never_run(cell))),
            State::Queued | State::Running | State::Done => None,
        });
    }
    if blocks.is_empty() {
        blocks.push(Some(match state {
            State::Cancelled => "Command aborted".to_owned(),
            other => format!("({})", other.name()),
        }));
    }
    joined(blocks)
}

/// B:X-20
fn exit_code(state: State) -> u8 {
    u8::from(state != State::Done)
}

fn never_run(cell: &CellReport) -> String {
    match &cell.end {
        Some(EndReport::NoKernel(problem)) => problem.message.clone(),
        _ => "Command aborted".to_owned(),
    }
}

/// What is said before the output of a cell that did not end by itself (B:X-22); somebody who took it back
/// needs to be told nothing.
fn annotation(cell: &CellReport) -> Option<String> {
    match cell.state {
        State::TimedOut | State::KernelDied | State::InputRefused => {}
        _ => return None,
    }
    let mut sentence = words::sentence(cell.state, cell.end.as_ref())?;
    if let Some(EndReport::Stopped { fate: KernelFate::Kept, .. }) = &cell.end {
        sentence.push_str(" Its variables are kept.");
    }
    Some(sentence)
}

/// What a cell wrote and showed, its exception, and what must be known about both.
fn output(cell: &CellReport, note: Option<&str>) -> String {
    let mut text = cell.output.block(note);
    let rich = cell.output.rich.iter().filter_map(rich);
    let error = ending::exception(cell)
        .filter(|_| cell.state != State::Cancelled)
        .map(|error| traceback(error, Colour::Off));
    for more in rich.chain(error) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&more);
    }
    text.trim().to_owned()
}

/// B:X-34, and a line for what cannot be shown in a text.
fn rich(item: &RichItem) -> Option<String> {
    match &item.kind {
        RichKind::Json(json) => Some(format!("display[{}]:\n{}", item.number, json.shown)),
        RichKind::Image(_) | RichKind::Digest { .. } => Some(item.digest.clone()),
        RichKind::Status(_) => None,
    }
}

/// What the reader must know besides: lost state, code that ran twice, a call that still runs.
fn asides(report: &PythonReport) -> Vec<String> {
    let notes = report.cells.iter().flat_map(|cell| &cell.notes);
    let mut lines: Vec<String> = notes.map(|note| format!("[{}]", words::note(note))).collect();
    lines.extend(report.withheld_hint.iter().map(|hint| format!("[{hint}]")));
    let id = &report.execution.0;
    match report.state {
        State::Queued => lines.push(format!("[waiting for its turn; execution {id}]")),
        State::Running => {
            let all = report.cells.len();
            let at = report.cells.iter().position(|cell| cell.state == State::Running);
            let at = at.map_or(all, |at| at + 1);
            lines.push(format!("[still running cell {at} of {all}; execution {id}]"));
        }
        _ => {}
    }
    lines
}

fn joined(parts: impl IntoIterator<Item = Option<String>>) -> String {
    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests;
