//! What a model is told of cells that did not end well.
//!
//! Owns the words, and the advice that follows from what is left of the kernel. `view/reply` decides where they appear.

use inkcell_engine::api::{CellKernel, CellReport, EndReport, State};
use inkcell_engine::session::KernelFate;

/// The advice after cell `number` failed. It depends on which state of earlier cells is left.
pub(in crate::view) fn next_step(cells: &[CellReport], number: usize) -> String {
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
            "The kernel and the state of earlier cells are gone. Fix cell {number} and run all cells again."
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
        Some(EndReport::Died(_) | EndReport::GivenUp) => true,
        Some(EndReport::Stopped { fate, .. }) => *fate != KernelFate::Kept,
        _ => cell.state == State::KernelDied,
    }
}

pub(in crate::view) fn never_run(cell: &CellReport) -> String {
    match &cell.end {
        Some(EndReport::NoKernel(problem)) => problem.message.clone(),
        _ => "Command aborted".to_owned(),
    }
}

/// The words for a cell that did not end well.
pub(in crate::view) fn ending(cell: &CellReport, run: State) -> Option<String> {
    Some(match cell.state {
        State::Error if cell.exit_status().is_some() => "ended the run: it called exit.".to_owned(),
        // The run went on, so an option or the notebook allows this failure.
        State::Error | State::InputRefused if run == State::Done => "failed, as it may.".to_owned(),
        State::KernelDied => {
            "failed: the kernel died with it, and all variables are gone.".to_owned()
        }
        State::Error | State::InputRefused => "failed (exit code 1).".to_owned(),
        // The annotation above its output has the details.
        State::TimedOut => "ran out of time.".to_owned(),
        State::Cancelled => "aborted: Command aborted".to_owned(),
        State::NeverRun => format!("was not run: {}", never_run(cell)),
        State::Queued | State::Running | State::Done => return None,
    })
}
