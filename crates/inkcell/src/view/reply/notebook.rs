//! Cells of a notebook run as one text: each with its position and id, silent and unchanged ones grouped.
//!
//! Owns the order of the remarks about the notebook. Output of a cell has the same words as in any other call.

use inkcell_engine::api::{CellReport, NotebookReport, OutputChange, PythonReport, State};
use inkcell_engine::notebook::visible_line;

use super::fit::Block;
use super::{CellTerms, annotation, of_state, output};
use crate::output::count;
use crate::view::run::{is_blocked, reason};
use crate::words;
use crate::words::reply::{NEW_OUTPUT, OUTPUT_CHANGED, SAME_OUTPUT, ending};
use crate::words::run::{cell_name, notes};

/// The least number of cells in a row without news that share one line.
const MANY: usize = 3;

/// Failed cells that are named at the end. Further ones are only counted.
const NAMED: usize = 20;

/// The words for a cell that ended well and shows nothing.
const OK: &str = "ok";

/// The output of the cells, in order.
pub(super) fn cells(report: &PythonReport, terms: CellTerms) -> Vec<Block> {
    let is_told = |cell: &&CellReport| !(is_waiting(cell.state) && cell.end.is_none());
    let told = report.cells.iter().skip(terms.told).filter(is_told).map(|cell| {
        let said = annotation(cell, terms.kernel);
        let output = output(cell, said.as_deref(), terms);
        CellText { cell, output, is_spared: report.can_spare(cell) }
    });
    let told: Vec<CellText<'_>> = told.collect();
    let mut blocks = Vec::new();
    let is_group = |one: &CellText<'_>, two: &CellText<'_>| {
        one.is_one_of_many() && two.is_one_of_many() && one.was_known() == two.was_known()
    };
    for group in told.chunk_by(is_group) {
        match group {
            [first, .., last] if group.len() >= MANY => {
                let (first, last) = (cell_name(first.cell), cell_name(last.cell));
                let last = last.trim_start_matches("cell ");
                let said = if group.iter().all(CellText::is_silent) { OK } else { SAME_OUTPUT };
                blocks.push(Block::output(format!("[{first} to {last}] ({said})")));
            }
            group => blocks.extend(group.iter().flat_map(|told| told.blocks(report.state))),
        }
    }
    blocks
}

/// A cell that an answer tells about.
struct CellText<'a> {
    cell: &'a CellReport,
    output: String,
    /// True if the words that it is as before stand in place of the output.
    is_spared: bool,
}

impl CellText<'_> {
    /// Returns true if it may share a line with its neighbours: it has no news and no reason for its run.
    fn is_one_of_many(&self) -> bool {
        let has_news = !self.is_spared && (!self.is_silent() || self.mark().is_some());
        !has_news && reason(self.cell).is_none()
    }

    /// Whether its output was compared with one before the run.
    fn was_known(&self) -> bool {
        self.cell.notebook.as_ref().is_some_and(|place| place.change.is_some())
    }

    /// Whether it ended well without anything to show.
    fn is_silent(&self) -> bool {
        let CellText { cell, output, .. } = self;
        cell.state == State::Done && cell.output.rich.is_empty() && output.is_empty()
    }

    /// What the heading says of the output, compared with that before the run.
    fn mark(&self) -> Option<&'static str> {
        match self.cell.notebook.as_ref()?.change? {
            OutputChange::Changed => Some(OUTPUT_CHANGED),
            OutputChange::Same if !self.is_spared && !self.is_silent() => Some(SAME_OUTPUT),
            OutputChange::New => Some(NEW_OUTPUT),
            OutputChange::Same => None,
        }
    }

    fn blocks(&self, run: State) -> impl Iterator<Item = Block> + use<> {
        let CellText { cell, output, is_spared } = self;
        let named = cell_name(cell);
        let why = reason(cell).map(words::freshness::why);
        let marks = why.into_iter().chain(self.mark().map(str::to_owned));
        let marks: String = marks.map(|mark| format!(", {mark}")).collect();
        let name = format!("{named}{marks}");
        let head = match cell.state {
            State::Done if self.is_silent() => format!("[{name}] ({OK})"),
            State::Done if *is_spared => format!("[{name}] ({SAME_OUTPUT})"),
            State::Done if output.is_empty() => {
                format!("[{name}]\n{}", cell.output.placeholder().unwrap_or_default())
            }
            _ if output.is_empty() => format!("[{name}]"),
            _ => format!("[{name}]\n{output}"),
        };
        let ending = ending(cell, run).map(|words| format!("{} {words}", capital(&named)));
        [Some(of_state(cell.state, head)), ending.map(Block::remark)].into_iter().flatten()
    }
}

fn is_waiting(state: State) -> bool {
    matches!(state, State::Queued | State::NeverRun)
}

fn capital(name: &str) -> String {
    name.replacen("cell", "Cell", 1)
}

/// Returns true if a finished run has outputs that are missing from the file.
pub(super) fn is_unsaved(report: &PythonReport) -> bool {
    let unsaved = |run: &NotebookReport| run.unsaved().is_some();
    report.state.is_end() && report.notebook.as_ref().is_some_and(unsaved)
}

/// The state or the result of the run, and the content of the file.
pub(super) fn asides(report: &PythonReport, run: &NotebookReport) -> Vec<String> {
    let mut lines: Vec<String> = notes(report).iter().map(|note| format!("[{note}]")).collect();
    lines.extend(blocked(&report.cells));
    let id = &report.execution.0;
    let all = report.cells.len();
    lines.push(match report.state {
        State::Queued => words::call::waiting(id),
        State::Running => {
            let at = report.cells.iter().position(|cell| cell.state == State::Running);
            let at = at.and_then(|at| Some((at + 1, cell_name(report.cells.get(at)?))));
            let what = at.map(|(at, name)| format!(" {name}, {at}/{all}"));
            words::call::still_running(&what.unwrap_or_default(), id)
        }
        _ => format!("[{}]", over(report, run)),
    });
    lines
}

/// The cells that depend on one that failed, each with what it lacks.
fn blocked(cells: &[CellReport]) -> Option<String> {
    let named = |cell: &CellReport| Some((cell_name(cell), words::freshness::why(reason(cell)?)));
    let all: Vec<_> = cells.iter().filter(|cell| is_blocked(cell)).filter_map(named).collect();
    let more = if all.len() > NAMED { "; …" } else { "" };
    let told = all.iter().take(NAMED).map(|(name, why)| format!("{name} {why}"));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| words::reply::skipped(&format!("{}{more}", told.join("; "))))
}

/// The counts of run and failed cells, and the place of their outputs.
fn over(report: &PythonReport, run: &NotebookReport) -> String {
    let cells = &report.cells;
    let skipped = match run.skipped.len() {
        0 => String::new(),
        some => format!(", {some} skipped by tag"),
    };
    let fresh = match run.fresh.len() {
        0 => String::new(),
        some => format!(", {some} fresh"),
    };
    if cells.is_empty() && !run.fresh.is_empty() {
        let all = count(run.fresh.len(), "cell");
        return words::reply::nothing_is_stale(&all, &skipped);
    }
    if cells.is_empty() {
        return words::reply::no_cell_to_run(&skipped);
    }
    let is_not_run = |cell: &&CellReport| cell.state == State::NeverRun || cell.never_began();
    let not_run = cells.iter().filter(is_not_run).count();
    let failed = cells.iter().filter(|cell| !matches!(cell.state, State::Done | State::NeverRun));
    let failed: Vec<String> =
        failed.map(|cell| cell_name(cell).trim_start_matches("cell ").to_owned()).collect();
    let mut line = format!("{} of {} ran", cells.len() - not_run, count(cells.len(), "cell"));
    if failed.len() > 1 {
        let more = if failed.len() > NAMED { ", …" } else { "" };
        let named = failed[..failed.len().min(NAMED)].join(", ");
        line.push_str(&format!(", {} failed: {named}{more}", failed.len()));
    }
    line.push_str(&fresh);
    line.push_str(&skipped);
    match &run.version {
        _ if is_unsaved(report) => {}
        Some(version) => {
            line.push_str(&words::reply::outputs_are_in(&visible_line(&run.written), version));
        }
        None => {}
    }
    line
}
