//! A call as one bounded text, for an agent or a log.
//!
//! Owns the order of the text, after the source documents (B: ). The sentences are in
//! `words`. Pictures are only named here; the face sends them.

mod fit;
mod notebook;
mod traceback;

use std::borrow::Cow;
use std::io;

use inkcell_engine::api::{CellReport, EndReport, PythonReport, State};
use inkcell_engine::kernel::PyError;
use inkcell_engine::notebook::{visible_controls, visible_line};
use inkcell_engine::output::{ImageItem, RichItem, RichKind, guarded};
use inkcell_engine::session::KernelFate;

use super::ending::{self, Summary};
use super::live::{self, Show};
use crate::output::{Stream, cleaned, visible_text};
use crate::view::paint::Colour;
use crate::words;
use crate::words::reply::{never_run, next_step};
use crate::words::step::Audience;
use fit::Block;
pub(crate) use fit::{Room, cut};

/// The answer for a reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Reply {
    pub(crate) text: String,
    /// True if the code failed. inkcell itself did not fail.
    pub(crate) is_error: bool,
    /// True if the room was too small for all of it.
    pub(crate) is_cut: bool,
    /// True if that is so of an exception.
    pub(crate) is_error_cut: bool,
}

/// Shows nothing until the end of the call.
pub(crate) struct ReplyOnly;

impl Show for ReplyOnly {
    fn end(&mut self, summary: &Summary) -> io::Result<()> {
        Stream::stdout().write_all(format!("{}\n", of(summary).text).as_bytes())?;
        // Here a user cancelled the code, and wants to see that inkcell noticed.
        let words = match (summary.report.state, summary.sentence()) {
            (State::Cancelled, Some(sentence)) => visible_text(&format!("error: {sentence}\n")),
            _ => String::new(),
        };
        Stream::stderr().write_all(words.as_bytes())
    }
}

/// The reply for a finished call, or for one so far.
pub(crate) fn of(summary: &Summary) -> Reply {
    of_report(&summary.report)
}

/// The same from a report alone.
pub(crate) fn of_report(report: &PythonReport) -> Reply {
    let (kernel, room) = (Afterwards::of(report), Room::UNBOUNDED);
    of_report_with(report, Terms { kernel, room, told: 0, is_whole: true })
}

/// The same on a caller's terms.
pub(crate) fn of_report_with(report: &PythonReport, terms: Terms) -> Reply {
    let cells = report.cells.get(terms.told..).unwrap_or_default();
    let failed = cells.iter().filter(|cell| ending::exception(cell).is_some()).count();
    let errors_bytes = ERRORS_BYTES.min(terms.room.max_bytes / 2);
    let error_bytes = (errors_bytes / failed.max(1)).max(ERROR_BYTES);
    let room = terms.room;
    let Terms { kernel, told, is_whole, .. } = terms;
    let terms = CellTerms { kernel, error_bytes, told, is_whole };
    let mut blocks = match (&report.notebook, &*report.cells) {
        (Some(_), _) => notebook::cells(report, terms),
        (None, [one]) if terms.told == 0 => single(one, terms),
        (None, [_]) => Vec::new(),
        (None, several) => many(several, report.state, terms),
    };
    let is_error = !matches!(report.state, State::Done | State::Queued | State::Running)
        || notebook::is_unsaved(report);
    let after = without_blank_edges(&report.after.block(None));
    if !after.is_empty() {
        blocks.push(Block::output(format!("{}\n{after}", words::output::AFTER_LAST_CELL)));
    }
    blocks.extend(asides(report).into_iter().map(Block::remark));
    // Outputs are clean. The program chose titles, exceptions and the kernel's last words, so they need the
    // filter.
    let visible = |block: Block| block.map(|text| visible_controls(text).into_owned());
    let (text, is_cut) = fit::joined(blocks.into_iter().map(visible).collect(), room);
    let text = text.trim_start_matches('\n').trim_end().to_owned();
    let is_long = |cell: &CellReport| {
        error_text(cell, terms).is_some_and(|error| error.len() > terms.error_bytes)
    };
    let is_error_cut = cells.iter().any(is_long);
    Reply { text, is_error, is_cut, is_error_cut }
}

/// Bytes of all tracebacks together, and the least for a single one.
const ERRORS_BYTES: usize = 24 << 10;
const ERROR_BYTES: usize = 1 << 10;

/// What a caller knows, and how much it wants to see.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) kernel: Afterwards,
    pub(crate) room: Room,
    /// How many cells, from the first on, the caller knows already.
    pub(crate) told: usize,
    /// Whether tracebacks keep the code of libraries, and values are told in each of their forms.
    pub(crate) is_whole: bool,
}

/// Settings shared by all cells of a call.
#[derive(Clone, Copy)]
struct CellTerms {
    kernel: Afterwards,
    /// Bytes kept of one traceback.
    error_bytes: usize,
    told: usize,
    is_whole: bool,
}

/// Whether the kernel survives the call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    There,
    /// The kernel ends with its call.
    Gone,
}

impl Afterwards {
    /// The answer that the report gives: a kernel that died is gone.
    pub(crate) fn of(report: &PythonReport) -> Afterwards {
        if report.death.is_some() { Afterwards::Gone } else { Afterwards::There }
    }
}

/// The only cell of a call needs no heading.
fn single(cell: &CellReport, terms: CellTerms) -> Vec<Block> {
    let output = output(cell, annotation(cell, terms.kernel).as_deref(), terms);
    let last = match cell.state {
        State::Error | State::InputRefused | State::KernelDied => {
            Some(words::reply::EXITED.to_owned())
        }
        State::Cancelled if output.is_empty() => Some(words::reply::ABORTED.to_owned()),
        State::NeverRun if output.is_empty() => Some(never_run(cell)),
        State::Done if output.is_empty() => cell.output.placeholder(),
        _ => None,
    };
    [Some(of_state(cell.state, output)), last.map(Block::remark)].into_iter().flatten().collect()
}

fn many(cells: &[CellReport], state: State, terms: CellTerms) -> Vec<Block> {
    let all = cells.len();
    let mut blocks = Vec::new();
    for (number, cell) in (1..).zip(cells).skip(terms.told) {
        if matches!(cell.state, State::Queued | State::NeverRun) && cell.end.is_none() {
            continue;
        }
        let output = output(cell, annotation(cell, terms.kernel).as_deref(), terms);
        let title = cell.source.title.iter().map(|title| format!(" {}", visible_line(title)));
        let heading = format!("[{number}/{all}]{}", title.collect::<String>());
        let block = match cell.state {
            State::Done if output.is_empty() => match &*cell.output.rich {
                [] => format!("{heading} (ok)"),
                _ => format!("{heading}\n{}", cell.output.placeholder().unwrap_or_default()),
            },
            _ if output.is_empty() => heading,
            _ => format!("{heading}\n{output}"),
        };
        blocks.push(of_state(cell.state, block));
        let remark = match (cell.state, &cell.end) {
            (State::KernelDied, Some(EndReport::GivenUp { has_begun, .. })) => {
                Some(words::reply::given_up(number, *has_begun))
            }
            (State::Error, Some(EndReport::Fault(_))) => None,
            (State::Error, _) if words::reply::is_interrupted(cell) => {
                Some(words::reply::interrupted(number))
            }
            (State::Error | State::InputRefused | State::KernelDied, _) => {
                let rest = match terms.kernel {
                    Afterwards::There => format!(" {}", next_step(cells, number)),
                    Afterwards::Gone => String::new(),
                };
                Some(words::reply::failed(number, &rest))
            }
            (State::Cancelled | State::TimedOut, _) => {
                let message = annotation(cell, terms.kernel);
                let message = message.as_deref().unwrap_or(words::reply::ABORTED);
                Some(words::reply::aborted(number, message))
            }
            (State::NeverRun, _) => Some(words::reply::not_run(number, &never_run(cell))),
            (State::Queued | State::Running | State::Done, _) => None,
        };
        blocks.extend(remark.map(Block::remark));
    }
    if blocks.is_empty() && terms.told == 0 {
        blocks.push(Block::remark(match state {
            State::Cancelled => words::reply::ABORTED.to_owned(),
            other => format!("({})", other.name()),
        }));
    }
    blocks
}

/// A failure needs more room than the output of cells that ended well.
fn of_state(state: State, text: String) -> Block {
    match state {
        State::Queued | State::Running | State::Done => Block::output(text),
        _ => Block::remark(text),
    }
}

/// The remark before the output of a cell that was stopped (B:X-22). A cancelled cell gets none, since the
/// caller knows why it stopped.
fn annotation(cell: &CellReport, kernel: Afterwards) -> Option<String> {
    match cell.state {
        State::TimedOut | State::KernelDied | State::InputRefused | State::Error => {}
        _ => return None,
    }
    let mut sentence = words::call::sentence(cell.state, cell.end.as_ref())?;
    if let Some(EndReport::Stopped { fate: KernelFate::Kept, .. }) = &cell.end
        && kernel == Afterwards::There
    {
        sentence.push_str(words::reply::VARIABLES_KEPT);
    }
    Some(sentence)
}

/// The output of a cell, its exception, and remarks about both.
fn output(cell: &CellReport, note: Option<&str>, terms: CellTerms) -> String {
    let mut text = cell.output.block(note);
    // A picture is not text, so its placeholder follows the words that report the lack of text.
    let pictures = cell.output.rich.iter().any(|item| matches!(item.kind, RichKind::Image(_)));
    if let Some(placeholder) = cell.output.placeholder().filter(|_| pictures) {
        text.push_str(&placeholder);
    }
    let rich = cell.output.rich.iter().filter_map(|item| rich(item, terms));
    // The mark is ours, so it is set after the guard. An exception's message may be as long as its data.
    let error = error_text(cell, terms)
        .map(|error| cut(error, Room { max_bytes: terms.error_bytes, is_end: false }));
    for more in rich.chain(error) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&more);
    }
    without_blank_edges(&text)
}

/// The exception of a cell as text, however long it is.
fn error_text(cell: &CellReport, terms: CellTerms) -> Option<String> {
    let whole = without_colours(shown_error(cell)?);
    let error = match terms.is_whole {
        true => Cow::Borrowed(&*whole),
        false => traceback::folded(&whole),
    };
    Some(guarded(&error))
}

/// The exception that a reply has. A cancelled cell has none, since the caller knows why it stopped.
fn shown_error(cell: &CellReport) -> Option<&PyError> {
    ending::exception(cell).filter(|_| cell.state != State::Cancelled)
}

/// Whether the tracebacks of these cells have code of libraries, which only a whole reply shows.
pub(crate) fn is_folded(cells: &[CellReport]) -> bool {
    let mut errors = cells.iter().filter_map(shown_error).map(without_colours);
    errors.any(|error| matches!(traceback::folded(&error), Cow::Owned(_)))
}

/// A traceback as text. If the kernel gives only a coloured one, the escape sequences for colours are removed.
/// Any other sequence is part of the exception's message, so it becomes visible.
pub(crate) fn without_colours(error: &PyError) -> String {
    let text = live::traceback(error, Colour::Off);
    if error.plain.is_empty() { cleaned(&text) } else { text }
}

/// Drops empty lines at both ends. Leading spaces stay, since a table stands in columns.
fn without_blank_edges(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim().is_empty());
    let text = lines.collect::<Vec<_>>().join("\n");
    text.trim_end().to_owned()
}

/// B:X-34: the line for an item that text cannot show.
fn rich(item: &RichItem, terms: CellTerms) -> Option<String> {
    match &item.kind {
        RichKind::Json(json) if json.is_in_text && !terms.is_whole => None,
        RichKind::Json(json) => {
            let stored = json.artifact.iter();
            let stored =
                stored.map(|stored| format!("\n{}", words::output::read_artifact(&stored.id)));
            Some(format!("{}{}", json.shown, stored.collect::<String>()))
        }
        RichKind::Image(ImageItem { artifact, .. }) | RichKind::Digest { artifact, .. } => {
            let stored = artifact.iter().map(|stored| format!(", artifact://{}", stored.id));
            Some(format!("{}{}", item.digest, stored.collect::<String>()))
        }
        RichKind::Status(_) => None,
    }
}

/// Further facts for the reader: lost state, code that ran twice, a call that still runs.
fn asides(report: &PythonReport) -> Vec<String> {
    let notes = report.cells.iter().flat_map(|cell| &cell.notes);
    let mut lines: Vec<String> =
        notes.map(|note| format!("[{}]", words::call::note(note))).collect();
    lines.extend(Audience::Model.about_missed(report).map(|hint| format!("[{hint}]")));
    if let Some(run) = &report.notebook {
        lines.extend(notebook::asides(report, run));
        return lines;
    }
    let id = &report.execution.0;
    match report.state {
        State::Queued => lines.push(words::call::waiting(id)),
        State::Running => {
            let all = report.cells.len();
            let at = report.cells.iter().position(|cell| cell.state == State::Running);
            let at = at.map_or(all, |at| at + 1);
            lines.push(words::call::still_running(&format!(" cell {at} of {all}"), id));
        }
        _ => {}
    }
    lines
}

#[cfg(test)]
mod tests;
