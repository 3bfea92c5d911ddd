//! Sentences about the ends of cells, and about facts that a reader must know.
//!
//! Owns the words for timeouts, deaths, refusals and lost state, which all faces share, and the next steps after an
//! error. The code's own output is not here.

pub(crate) mod reply;
pub(crate) mod run;
pub(crate) mod step;

use inkcell_engine::FileNote;
use inkcell_engine::api::{EndReport, Problem, State, UnsavedFate};
use inkcell_engine::feeds::KernelChange;
use inkcell_engine::kernel::{Death, DeathCause, Rung};
use inkcell_engine::session::{CallNote, CloseReason, KernelFate, Loss, what_it_did};

use crate::output::count;

/// The reason for a cell's end, if its output does not show it (B:X-22, B:X-25, B:K-11).
pub(crate) fn sentence(state: State, end: Option<&EndReport>) -> Option<String> {
    if state == State::InputRefused {
        return Some("Kernel requested stdin; interactive input is not supported.".to_owned());
    }
    match end? {
        EndReport::Exception(_) => None,
        EndReport::Stopped { after: Some(after), fate, .. } => {
            let seconds = after.as_secs_f64().round().max(1.0);
            Some(format!("Command timed out after {seconds} seconds; {}", stopped(fate)))
        }
        EndReport::Stopped { after: None, fate, .. } => {
            Some(format!("Interrupted; {}", stopped(fate)))
        }
        EndReport::Died(death) => Some(format!("the kernel {}", died(death))),
        EndReport::GivenUp => {
            Some("Python kernel restarted too many times in this session".to_owned())
        }
        EndReport::NoKernel(problem) => Some(problem.message.clone()),
    }
}

fn stopped(fate: &KernelFate) -> String {
    match fate {
        KernelFate::Kept => "the kernel listened to the interrupt.".to_owned(),
        KernelFate::TakenAway => "the kernel was taken away with its variables.".to_owned(),
        KernelFate::Ended { by: Rung::Interrupt, death: Some(death) } => {
            format!("the kernel {} when it was interrupted.", died(death))
        }
        KernelFate::Ended { death: Some(death), .. } if death.cause == DeathCause::LeftAlone => {
            "the kernel did not listen to the interrupt; it is not inkcell's to end, and was left alone."
                .to_owned()
        }
        KernelFate::Ended { by, death: Some(_) } => {
            format!("the kernel ignored the interrupt and was ended by {}.", signal(*by))
        }
        KernelFate::Ended { death: None, .. } => {
            "the kernel could not be ended in time.".to_owned()
        }
    }
}

/// The signal sent at a rung of the ladder.
pub(crate) fn signal(rung: Rung) -> &'static str {
    match rung {
        Rung::Interrupt => "SIGINT",
        Rung::Terminate => "SIGTERM",
        Rung::Kill | Rung::Answer => "SIGKILL",
    }
}

/// The words after "the kernel".
fn died(death: &Death) -> String {
    let said = death.stderr_tail.trim_end();
    let said = if said.is_empty() { String::new() } else { format!("; it said:\n{said}") };
    format!("{}{said}", what_it_did(&death.cause))
}

/// A note as a sentence (B:K-06, B:K-10).
pub(crate) fn note(note: &CallNote) -> String {
    match note {
        CallNote::StateLost(loss) => {
            let why = match loss {
                Loss::Died(death) => format!("the one before {}", died(death)),
                Loss::Killed { by } => {
                    format!("the one before ignored the interrupt and was ended by {}", signal(*by))
                }
                Loss::Closed { reason, .. } => format!("the session {}", closed(*reason)),
            };
            format!("the kernel is a new one, and variables of earlier calls are gone: {why}")
        }
        CallNote::RanTwice(death) => {
            format!("the code was run again from the start: the first kernel {}", died(death))
        }
        CallNote::Kernel(said) => said.clone(),
        CallNote::MadeRoom { session, reason } => {
            let what = match reason {
                CloseReason::OpenFiles => "too many open files (ulimit -n)",
                CloseReason::Processes => "too many processes (ulimit -u)",
                _ => "kernel.max_sessions allows no more",
            };
            format!(
                "closed idle session {session} to make room for this one: {what}; its variables are gone"
            )
        }
    }
}

fn closed(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Asked => "was closed",
        CloseReason::Idle => "was closed because nobody used it for kernel.idle",
        CloseReason::Evicted => {
            "was closed because another one needed its place (kernel.max_sessions)"
        }
        CloseReason::OpenFiles => "was closed to free open files for another session (ulimit -n)",
        CloseReason::Processes => "was closed to free processes for another session (ulimit -u)",
        CloseReason::Shutdown => "ended with everything else",
    }
}

/// The remark about a kernel that was replaced, interrupted or ended.
pub(crate) fn kernel_change(change: KernelChange) -> &'static str {
    match change {
        KernelChange::Restarted => "[the kernel was restarted; variables are gone]",
        KernelChange::Interrupted => "[what ran was interrupted]",
        KernelChange::Stopped => "[the session was ended]",
    }
}

/// The mark in place of events that never arrived.
pub(crate) fn missed(events: u64) -> String {
    format!("[… {events} events were not seen …]")
}

/// The mark in place of the end of a long line.
pub(crate) fn chars_omitted(chars: u64) -> String {
    format!("… [{chars} chars omitted]")
}

/// The line above the blocks of a session that are still kept.
pub(crate) fn blocks_forgotten(blocks: u64) -> String {
    format!("… {blocks} earlier blocks are not shown")
}

/// The words before the progress of a run that the user has asked to stop.
pub(crate) const STOPPING: &str = "stopping (Ctrl-C ends it at once)  ";

/// The same at the notebook on the screen, where it is clear which kernel is meant.
pub(crate) fn kernel_change_here(change: KernelChange) -> &'static str {
    match change {
        KernelChange::Restarted => "the kernel is a new one; variables are gone",
        KernelChange::Interrupted => "interrupted",
        KernelChange::Stopped => "the kernel was ended",
    }
}

/// What a model is told of a call that has not begun.
pub(crate) fn waiting(execution: &str) -> String {
    format!("[waiting for its turn; execution {execution}]")
}

/// What a model is told of a call that goes on. `what` names its cell, after a space.
pub(crate) fn still_running(what: &str, execution: &str) -> String {
    format!("[still running{what}; execution {execution}]")
}

/// Why the outputs of a run are not in the file.
pub(crate) fn not_in_file(problem: &Problem) -> String {
    format!("the outputs are not in the file: {}", problem.message)
}

/// What becomes of those outputs.
pub(crate) fn unsaved(outputs: UnsavedFate) -> &'static str {
    match outputs {
        UnsavedFate::Kept => "they are kept and go into it with the next command on it",
        UnsavedFate::Lost => {
            "they could not be kept either; when that is mended, run it again with --resume"
        }
    }
}

/// How far a path into JSON led, and what is there instead of its next step.
pub(crate) fn leads_nowhere(followed: usize, kind: &str, entries: Option<u64>) -> String {
    let place = match followed {
        0 => "at its beginning".to_owned(),
        steps => format!("after {}", count(steps, "step")),
    };
    format!("leads nowhere: {place} there is {kind}{}", with_entries(entries))
}

/// How many entries a value of JSON has, if it can have any.
pub(crate) fn with_entries(entries: Option<u64>) -> String {
    match entries {
        None => String::new(),
        Some(1) => " with 1 entry".to_owned(),
        Some(entries) => format!(" with {entries} entries"),
    }
}

/// What happened to a file as a whole when it was written.
pub(crate) fn file_note(note: &FileNote) -> String {
    match note {
        FileNote::HardLinks(count) => {
            format!("the file had {count} names; the others still name the old content")
        }
        FileNote::NotKept(what) => format!("{what} was not kept"),
        FileNote::Recovered(cells) => run::recovered(*cells),
    }
}
