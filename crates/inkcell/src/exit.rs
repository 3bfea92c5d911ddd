//! Exit codes, in one table, and why a command failed.
//!
//! Owns the only place where a kind of failure becomes a number.

use std::io;
use std::process::ExitCode;

use inkcell_engine::api::State;
use inkcell_engine::artifact::ArtifactError;
use inkcell_engine::{EngineError, Kind};
use serde::{Deserialize, Serialize};

use crate::output::Unread;

/// How a command ended, as the exit code that the caller's shell sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Exit {
    Ok = 0,
    Failed = 1,
    Invalid = 2,
    Unavailable = 3,
    Conflict = 4,
    NotFound = 5,
    Busy = 6,
    KernelDied = 7,
    Internal = 70,
    TimedOut = 124,
}

/// Every exit code and its meaning. `inkcell help exit-codes` and the manual page are generated from this table.
const TABLE: [(Exit, &str); 10] = [
    (Exit::Ok, "Success"),
    (
        Exit::Failed,
        "Code failed or asked for input, or a check found differences (clean --check, diff --exit-code, read --check, verify)",
    ),
    (Exit::Invalid, "Wrong arguments, or a file that inkcell cannot use"),
    (Exit::Unavailable, "Something is missing, such as Python or disk space"),
    (Exit::Conflict, "The same cells were changed elsewhere, or the file already exists"),
    (Exit::NotFound, "No such file, cell or artifact"),
    (Exit::Busy, "Another inkcell is using the file"),
    (Exit::KernelDied, "The kernel died"),
    (Exit::Internal, "Internal error, or the machine failed"),
    (Exit::TimedOut, "The code ran out of time"),
];

/// Codes above those of the table.
const SIGNALS: (&str, &str) =
    ("128+N", "Ended by signal N: 129 hang-up, 130 interrupt, 143 terminate");

/// Every exit code with its meaning.
pub(crate) fn codes() -> Vec<(String, &'static str)> {
    let codes = TABLE.iter().map(|(exit, meaning)| (exit.code().to_string(), *meaning));
    codes.chain([(SIGNALS.0.to_owned(), SIGNALS.1)]).collect()
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The exit code for executed code that ended in this state.
    pub(crate) fn of_state(state: State) -> Exit {
        match state {
            State::Done => Exit::Ok,
            State::TimedOut => Exit::TimedOut,
            State::KernelDied => Exit::KernelDied,
            State::Error
            | State::InputRefused
            | State::Cancelled
            | State::NeverRun
            | State::Queued
            | State::Running => Exit::Failed,
        }
    }

    pub(crate) fn of_kind(kind: Kind) -> Exit {
        match kind {
            Kind::Invalid => Exit::Invalid,
            Kind::NotFound => Exit::NotFound,
            Kind::Conflict => Exit::Conflict,
            Kind::Unavailable => Exit::Unavailable,
            Kind::Busy => Exit::Busy,
            Kind::Cancelled | Kind::Internal => Exit::Internal,
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The engine could not do it.
    Engine(EngineError),
    /// The reader of our output is gone, so no message can reach it.
    Pipe,
    /// Our own input or output failed.
    Io(&'static str, io::Error),
    /// A command-line error with its own exit code, worded better than the engine would.
    Told { exit: Exit, kind: Kind, message: String, hint: Option<String> },
    /// A signal asked the process to end. Cleanup is done, and the process now obeys the signal.
    Signal(i32),
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        Failure::Engine(error)
    }
}

impl From<ArtifactError> for Failure {
    fn from(error: ArtifactError) -> Failure {
        Failure::Engine(error.into())
    }
}

impl Failure {
    /// A failure to write the answer.
    pub(crate) fn of_output(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::Pipe;
        }
        if let Some(Unread { signal }) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
            return Failure::Signal(*signal);
        }
        Failure::Io("cannot write the answer", error)
    }

    pub(crate) fn of_thread(error: io::Error) -> Failure {
        Failure::Io("cannot start a thread", error)
    }

    pub(crate) fn of_terminal(error: io::Error) -> Failure {
        Failure::Io("cannot use the terminal", error)
    }

    /// A failure of this kind, which decides the exit code.
    pub(crate) fn new(kind: Kind, message: impl Into<String>, hint: Option<String>) -> Failure {
        Failure::Told { exit: Exit::of_kind(kind), kind, message: message.into(), hint }
    }

    /// An argument value that makes no sense.
    pub(crate) fn argument(argument: &str, problem: impl Into<String>) -> Failure {
        let (argument, problem) = (argument.to_owned(), problem.into());
        Failure::Engine(EngineError::Argument { argument, problem })
    }
}

/// Ends the process as the signal would have, so that the shell sees the real cause.
pub(crate) fn end_by(signal: i32) -> ExitCode {
    // This returns only if the signal cannot be raised.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_different_and_in_order() {
        let codes: Vec<u8> = TABLE.iter().map(|(exit, _)| exit.code()).collect();
        assert!(codes.windows(2).all(|pair| pair[0] < pair[1]), "{codes:?}");
        assert_eq!(Exit::of_kind(Kind::Conflict).code(), 4);
        assert_eq!(Exit::of_kind(Kind::NotFound).code(), 5);
    }
}
