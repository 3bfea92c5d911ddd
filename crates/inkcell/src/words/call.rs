//! Sentences about the ends of cells, and about facts that a reader of a call must know.
//!
//! Owns the words for timeouts, deaths, refusals and lost state, which all faces share, and for progress. Output of the
//! code is not here.

use std::fmt::Display;

use inkcell_engine::api::{EndReport, State};
use inkcell_engine::kernel::{Death, DeathCause, Rung, Stray, StrayFate};
use inkcell_engine::notebook::visible_line;
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
        EndReport::GivenUp { death, has_begun } => Some(given_up(death.as_ref(), *has_begun)),
        EndReport::NoKernel(problem) | EndReport::Fault(problem) => Some(problem.message.clone()),
    }
}

/// The beginning is that of the source documents. The rest says whether the code ran, and what the next call finds.
fn given_up(death: Option<&Death>, has_begun: bool) -> String {
    let ran = if has_begun { "also while it ran this code" } else { "so the code was not run" };
    let last = death.map(|death| format!(" The last one {}", died(death))).unwrap_or_default();
    format!(
        "Python kernel restarted too many times in this session: it died again and again, {ran}. \
         The next call starts a new kernel.{last}"
    )
}

fn stopped(fate: &KernelFate) -> String {
    match fate {
        KernelFate::Kept => "the kernel stopped at the interrupt.".to_owned(),
        KernelFate::TakenAway => "the kernel is gone, and its variables with it.".to_owned(),
        KernelFate::Ended { by: Rung::Interrupt, death: Some(death) } => {
            format!("the kernel {} when it was interrupted.", died(death))
        }
        KernelFate::Ended { death: Some(death), .. } if death.cause == DeathCause::LeftAlone => {
            "the kernel ignored the interrupt; it belongs to another program, so it was left running."
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
            format!("the kernel is new, and variables of earlier calls are gone: {why}")
        }
        CallNote::RanTwice(death) => {
            format!("the code ran again from the start: the first kernel {}", died(death))
        }
        CallNote::Kernel(said) => said.clone(),
        CallNote::Interrupted => "the code was interrupted: by kernel interrupt, by a person with \
                                  inkcell interrupt, or by another client of the session"
            .to_owned(),
        CallNote::MadeRoom { session, reason } => {
            let what = match reason {
                CloseReason::OpenFiles => "too many open files (ulimit -n)",
                CloseReason::Processes => "too many processes (ulimit -u)",
                _ => "kernel.max_sessions allows no more",
            };
            format!(
                "closed idle session {session} to make room for this one: {what}; its \
                 variables are gone"
            )
        }
    }
}

fn closed(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Asked => "was closed",
        CloseReason::Idle => "was closed after it had been idle for kernel.idle",
        CloseReason::Evicted => "was closed to make room for another session (kernel.max_sessions)",
        CloseReason::OpenFiles => "was closed to free open files for another session (ulimit -n)",
        CloseReason::Processes => "was closed to free processes for another session (ulimit -u)",
        CloseReason::Shutdown => "ended with inkcell",
    }
}

/// The words before the progress of a run that the user has asked to stop.
pub(crate) const STOPPING: &str = "stopping (Ctrl-C ends it at once)  ";

/// The line for a model about a call that has not begun.
pub(crate) fn waiting(execution: &str) -> String {
    format!("[queued; execution {execution}]")
}

/// The line for a model about a call that still runs. `what` names its cell, after a space.
pub(crate) fn still_running(what: &str, execution: &str) -> String {
    format!("[still running{what}; execution {execution}]")
}

/// Which cell of a call failed, and how many cells after it did not run.
pub(crate) fn failed_cell(number: usize, all: usize, title: Option<&str>) -> String {
    let rest = match all - number {
        0 => String::new(),
        1 => "; the one after it was not run".to_owned(),
        some => format!("; the {} after it were not run", count(some, "cell")),
    };
    let title = title.map(|title| format!(" ({})", visible_line(title))).unwrap_or_default();
    format!("this was cell {number} of {all}{title}{rest}")
}

/// What became of a process that left the kernel's group.
pub(crate) fn stray(stray: &Stray) -> String {
    let fate = match stray.fate {
        StrayFate::Ended => "was ended with it",
        StrayFate::Alive => "is still running",
    };
    let (pid, program) = (stray.pid, &stray.program);
    format!("process {pid} ({program}) had left the kernel's group and {fate}")
}

/// The remark in place of an answer to `input()`, while a user may still give one.
pub(crate) const ASKS_FOR_INPUT: &str = "[the code asks for input]";

/// The end of the first line of a traceback, as Python writes it.
pub(crate) const LAST_CALL: &str = "Traceback (most recent call last)";

/// How to wait for a call, at the command line.
pub(crate) fn still_runs(id: &str) -> String {
    format!("the code is still running; wait for it with 'inkcell result {id} --wait 60'")
}

pub(crate) fn in_background(id: &str) -> String {
    format!("the code runs in the background; show its output with 'inkcell result {id}'")
}

/// How a model gets the rest of a call that goes on.
pub(crate) fn ask_for_news(id: &str, since: &dyn Display) -> String {
    format!("get the new output with result, id: \"{id}\", since: \"{since}\"")
}

/// What a caller gets that has been told everything.
pub(crate) const NO_NEW_OUTPUT: &str = "(no new output)";

/// Why a mark is refused.
pub(crate) fn not_since(given: &str) -> String {
    format!(
        "since: {given:?} is not a valid mark; give the one from the last answer, such as 0:1234:56789:0"
    )
}

/// Why a part of a call's output cannot be read.
pub(crate) fn nothing_written(id: &str) -> String {
    format!("execution {id} has no text of which a part could be read")
}

/// Why a piece of a call's output is refused.
pub(crate) fn no_such_piece(id: &str, piece: &str, cells: usize) -> String {
    let piece = visible_line(piece);
    format!("id: execution {id} has no {piece:?}; give {id}/1 to {id}/{cells}, or {id}/error")
}

/// The heading of the output of one of several cells. `id` reads it alone.
pub(crate) fn piece_heading(id: &str, title: &str) -> String {
    match title {
        "" => format!("[{id}]"),
        title => format!("[{id}: {}]", visible_line(title)),
    }
}

/// The remark about cells for which an answer has no room.
pub(crate) fn further_pieces(cells: usize, next: &str) -> String {
    format!("[{} more; id: \"{next}\" shows the next one]", count(cells, "cell"))
}

/// The remark about cells without the lines that are asked for.
pub(crate) fn empty_pieces(cells: usize) -> String {
    format!("[no such lines in {}]", count(cells, "cell"))
}

/// The next step for it.
pub(crate) const LEAVE_PART_OUT: &str =
    "ask for the execution without lines, grep, json_path and offset";

pub(crate) const LEFT_BEHIND: &str = "processes that the command left behind were ended";

pub(crate) fn command_timed_out(seconds: f64) -> String {
    format!("Command timed out after {seconds} seconds")
}

pub(crate) fn command_exited(code: i32) -> String {
    format!("Command exited with code {code}")
}

/// Progress of a call, for a client that shows it.
pub(crate) fn waits(seconds: u64) -> String {
    format!("queued for {seconds} s")
}

pub(crate) fn runs_cell(cell: &dyn Display, cells: &dyn Display, seconds: u64) -> String {
    format!("running {cell}/{cells}, {seconds} s")
}

pub(crate) fn wait_for_it(id: &str) -> String {
    format!("wait for it with result, id: \"{id}\"")
}
