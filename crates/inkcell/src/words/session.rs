//! Sentences about sessions and their kernels.

use std::fmt::Display;

use inkcell_engine::api::{InterruptFate, State};
use inkcell_engine::feeds::KernelChange;

/// The remark about a kernel that was replaced, interrupted or ended.
pub(crate) fn kernel_change(change: KernelChange) -> &'static str {
    match change {
        KernelChange::Restarted => "[the kernel was restarted; its variables are gone]",
        KernelChange::Interrupted => "[the code was interrupted]",
        KernelChange::Stopped => "[the session was ended]",
    }
}

/// The remark about it at the notebook on the screen, where it is clear which kernel is meant.
pub(crate) fn kernel_change_here(change: KernelChange) -> &'static str {
    match change {
        KernelChange::Restarted => "the kernel was restarted; its variables are gone",
        KernelChange::Interrupted => "interrupted",
        KernelChange::Stopped => "the kernel was ended",
    }
}

/// The mark in place of events that never arrived.
pub(crate) fn missed(events: u64) -> String {
    format!("[… {events} events were not seen …]")
}

/// The line above the blocks of a session that are still kept.
pub(crate) fn blocks_forgotten(blocks: u64) -> String {
    format!("… {blocks} earlier blocks are not shown")
}

pub(crate) const NONE: &str = "No sessions are running.";

pub(crate) fn nothing_ran(session: &str) -> String {
    format!("Nothing was running in session {session}.")
}

/// The result of an interrupt of the code `what`.
pub(crate) fn interrupted(session: &str, what: &str, fate: InterruptFate) -> String {
    match fate {
        InterruptFate::NothingRan | InterruptFate::Interrupted => {
            format!("Interrupted {what} in session {session}.")
        }
        InterruptFate::Ended(State::Done) => {
            format!(
                "{what} in session {session} finished: it ended by itself, or it caught the \
                 interrupt."
            )
        }
        InterruptFate::Ended(State::KernelDied) => {
            format!("The kernel of session {session} died while interrupting {what}.")
        }
        InterruptFate::Ended(_) => {
            format!("{what} in session {session} ended, but not because of the interrupt.")
        }
        InterruptFate::StillRunning => format!(
            "Sent the interrupt, but {what} in session {session} is still running after {} s. To \
             end it, restart the session; its variables will be gone.",
            InterruptFate::WAIT.as_secs()
        ),
    }
}

/// The words before the line of a session with a new kernel.
pub(crate) const RESTARTED: &str = "Restarted; its variables are gone. ";

pub(crate) fn not_used_for(minutes: u64) -> String {
    format!("not used for {minutes} min")
}

pub(crate) const VARIABLES_GONE: &str = "its variables are gone";

pub(crate) const NONE_IN_HOSTS: &str = "No sessions are running.";

pub(crate) fn name_limits(chars: usize) -> String {
    format!("a name has 1 to {chars} characters on one line")
}

pub(crate) const NEEDS_HOST: &str = "a session needs the background host, which this command does not use; remove --no-host and \
     --fresh, or set host.use to on";

pub(crate) const SAY_WHICH: &str = "more than one session matches; name one of them";

/// How to name a session.
pub(crate) const NAMING: &str = "list sessions with 'inkcell sessions'";

pub(crate) const NONE_HERE: &str = "no session is running here";

pub(crate) fn not_found(name: &str) -> String {
    format!("no session named '{name}'")
}

pub(crate) const KEPT_NEEDS_HOST: &str = "a session that outlives the command needs the background host, which this command does not \
     use; remove --keep, --session and --detach, or set host.use to on";

pub(crate) const NONE_YET: &str = "No sessions are running. Start one with 'inkcell repl'.";

/// The refusal of code that wants to run code where it runs itself.
pub(crate) fn waits_for_itself(session: &dyn Display) -> String {
    format!(
        "session {session} is busy: it runs the code that asks for this and waits for the answer"
    )
}

pub(crate) const RUN_IN_CELL: &str = "run the code in the cell itself, or in another session";
