//! Sentences for models about cells that did not end well.
//!
//! Owns the words, and the advice that follows from what is left of the kernel. `view/reply` decides where they appear.

use inkcell_engine::api::{CellKernel, CellReport, EndReport, State};
use inkcell_engine::session::{CallNote, KernelFate};

/// The advice after cell `number` failed. It depends on which state of earlier cells is left.
pub(crate) fn next_step(cells: &[CellReport], number: usize) -> String {
    let (before, rest) = cells.split_at(number - 1);
    let is_fresh = |cell: &CellReport| cell.source.kernel == CellKernel::Fresh;
    // Only cells since the last new kernel still count.
    let made = before.iter().rposition(is_fresh).unwrap_or(0);
    let is_first = before.is_empty() || is_fresh(&cells[number - 1]);
    let before = if is_first { &[] } else { &before[made..] };
    let is_gone = rest.iter().any(takes_the_kernel) || rest.iter().skip(1).any(is_fresh);
    match (is_gone, before) {
        (true, []) => format!("The kernel and its variables are gone. Fix cell {number}."),
        (true, _) => format!(
            "The kernel and the state of earlier cells are gone. Fix cell {number} and run all \
             cells again."
        ),
        (false, []) => format!("Fix only cell {number}."),
        (false, _) if made > 0 => format!(
            "The state since cell {}, which reset the kernel, persists. Fix cell {number}.",
            made + 1
        ),
        (false, before) if before.iter().all(|cell| cell.state == State::Done) => {
            format!("Earlier cells succeeded—their state persists. Fix only cell {number}.")
        }
        (false, _) => format!("The state of earlier cells persists. Fix cell {number}."),
    }
}

/// Whether the kernel ended together with this cell.
fn takes_the_kernel(cell: &CellReport) -> bool {
    match &cell.end {
        Some(EndReport::Died(_) | EndReport::GivenUp { .. }) => true,
        Some(EndReport::Stopped { fate, .. }) => *fate != KernelFate::Kept,
        _ => cell.state == State::KernelDied,
    }
}

pub(crate) fn never_run(cell: &CellReport) -> String {
    match &cell.end {
        Some(EndReport::NoKernel(problem)) => problem.message.clone(),
        _ => ABORTED.to_owned(),
    }
}

/// The remark on tracebacks without the code of libraries.
pub(crate) fn folded(id: &str) -> String {
    format!("… library code left out; result with id {id} and raw: true shows it …")
}

/// The remark on an exception that is too long. `id` reads all of it.
pub(crate) fn error_cut(id: &str) -> String {
    format!("… the error is cut; result with id {id} shows all of it …")
}

/// The remark on an answer that is over and too long.
pub(crate) fn answer_cut(id: &str) -> String {
    format!("… parts are left out; result with id {id} and max_bytes shows more …")
}

/// The words for a cell that did not end well.
pub(crate) fn ending(cell: &CellReport, run: State) -> Option<String> {
    Some(match cell.state {
        State::Error if cell.exit_status().is_some() => "ended the run: it called exit.".to_owned(),
        State::Error if is_interrupted(cell) => "was interrupted.".to_owned(),
        // The run went on, so an option or the notebook allows this failure.
        State::Error | State::InputRefused if run == State::Done => {
            "failed, as allowed.".to_owned()
        }
        State::KernelDied if cell.never_began() => {
            "was not run: the kernels before it had died.".to_owned()
        }
        State::KernelDied => {
            "failed: the kernel died with it, and all variables are gone.".to_owned()
        }
        State::Error | State::InputRefused => "failed (exit code 1).".to_owned(),
        // The annotation above its output has the details.
        State::TimedOut => "ran out of time.".to_owned(),
        State::Cancelled => format!("aborted: {ABORTED}"),
        State::NeverRun => format!("was not run: {}", never_run(cell)),
        State::Queued | State::Running | State::Done => return None,
    })
}

/// The last line of a call whose only cell failed.
pub(crate) const EXITED: &str = "Command exited with code 1";

pub(crate) const ABORTED: &str = "Command aborted";

/// The end of the sentence about a cell that ran out of time, if the kernel lives on.
pub(crate) const VARIABLES_KEPT: &str = " Its variables are kept.";

/// Whether someone else ended a cell. There is nothing in it to mend.
pub(crate) fn is_interrupted(cell: &CellReport) -> bool {
    cell.notes.contains(&CallNote::Interrupted)
}

/// The line after a cell with which the kernel was given up.
pub(crate) fn given_up(number: usize, has_begun: bool) -> String {
    let fate = if has_begun { "did not finish" } else { "was not run: earlier kernels had died" };
    format!("Cell {number} {fate}. The next call starts a new kernel, without variables.")
}

/// The line after a cell that someone else interrupted.
pub(crate) fn interrupted(number: usize) -> String {
    format!("Cell {number} was interrupted; nothing in it needs a fix.")
}

/// The line after a cell that failed. `rest` is the advice, after a space.
pub(crate) fn failed(number: usize, rest: &str) -> String {
    format!("Cell {number} failed (exit code 1).{rest}")
}

/// The line after a cell that was stopped.
pub(crate) fn aborted(number: usize, reason: &str) -> String {
    format!("Cell {number} aborted: {reason}")
}

/// The line for a cell that did not begin.
pub(crate) fn not_run(number: usize, reason: &str) -> String {
    format!("Cell {number} was not run: {reason}")
}

/// The last line of a run that had nothing to do, as all cells are fresh. `skipped` begins with a comma.
pub(crate) fn nothing_is_stale(all: &str, skipped: &str) -> String {
    format!("nothing is stale: {all} fresh{skipped}; the file is unchanged")
}

/// The last line of a run without any cell of code.
pub(crate) fn no_cell_to_run(skipped: &str) -> String {
    format!("no cell to run{skipped}; the file is unchanged")
}

/// The words in place of an output that a run has not changed.
pub(crate) const SAME_OUTPUT: &str = "same output as before";

/// The words in the heading of an output where there was none before the run.
pub(crate) const NEW_OUTPUT: &str = "new output";

/// The words in the heading of an output that differs from the one before the run.
pub(crate) const OUTPUT_CHANGED: &str = "output changed";

/// The end of the last line of a run: where its outputs are.
pub(crate) fn outputs_are_in(path: &str, version: &str) -> String {
    format!("; outputs are in {path}, version {version}")
}

pub(crate) const MEND_AND_START: &str = "fix that cell, then run from the top with notebook_run";

pub(crate) fn mend_or_run_above(name: &str) -> String {
    format!("fix that cell, or run those above it first: notebook_run, to: \"{name}\"")
}

pub(crate) fn go_on(name: &str) -> String {
    format!("continue with notebook_run, from: \"{name}\", if you still need the run")
}

/// What to do after a run of stale cells.
pub(crate) const MEND_AND_RUN_STALE: &str =
    "fix what failed, then run that and the rest with notebook_run, cells: \"stale\"";

/// The line about cells of a run that depend on a failed one. `cells` names them, each with what it needs.
pub(crate) fn skipped(cells: &str) -> String {
    format!("[not run, because they depend on a cell that failed: {cells}]")
}

pub(crate) fn mend_and_go_on(name: &str) -> String {
    format!("fix that cell, then continue with notebook_run, from: \"{name}\"")
}
