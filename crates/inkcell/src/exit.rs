//! Exit codes, in one table, and how a command ends.
//!
//! Owns the only place where a kind of failure becomes a number.

use std::io::{self, Write};
use std::process::ExitCode;

use inkcell_engine::api::State;
use inkcell_engine::artifact::ArtifactError;
use inkcell_engine::kernel::reap_ended;
use inkcell_engine::{EngineError, Kind, is_notebook_path};
use serde::{Deserialize, Serialize};

use crate::output::{Form, Output, Unread, visible, visible_text};
use crate::render::hint;

/// How a command ended, by the code the caller's shell sees.
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

/// Every exit code and what it means. The help text and the documentation are made from this.
const TABLE: [(Exit, &str); 10] = [
    (Exit::Ok, "done"),
    (
        Exit::Failed,
        "code failed or wanted input, or a check found differences (clean --check, diff --exit-code, verify)",
    ),
    (Exit::Invalid, "wrong arguments, or a file that cannot be used as it is"),
    (Exit::Unavailable, "something needed is not there, such as a Python, or space on the disk"),
    (Exit::Conflict, "someone else changed the same thing, or the file already exists"),
    (Exit::NotFound, "no such file, cell or artifact"),
    (Exit::Busy, "another inkcell is using the file"),
    (Exit::KernelDied, "the kernel died"),
    (Exit::Internal, "inkcell or the machine failed"),
    (Exit::TimedOut, "the code took too long"),
];

/// The table as lines of help.
pub(crate) fn help() -> String {
    let mut text = "Exit codes:\n".to_owned();
    for (exit, meaning) in TABLE {
        text.push_str(&format!("  {:<3} {meaning}\n", exit.code()));
    }
    text.push_str("  128 and more: ended by a signal (129 hang-up, 130 interrupt, 143 terminate)");
    text
}

impl Exit {
    fn code(self) -> u8 {
        self as u8
    }

    /// The code for code that was run.
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
    /// The reader of our output went away; there is nobody to tell.
    Pipe,
    /// Our own input or output failed.
    Io(&'static str, io::Error),
    /// The command line says it better than the engine would.
    Told { exit: Exit, kind: Kind, message: String, hint: Option<String> },
    /// A signal asked us to end; everything was put away, and it is obeyed now.
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

    /// An argument that has no meaning.
    pub(crate) fn argument(argument: &str, problem: impl Into<String>) -> Failure {
        let (argument, problem) = (argument.to_owned(), problem.into());
        Failure::Engine(EngineError::Argument { argument, problem })
    }
}

/// Ends a command: what is left of its output, then its error, then its code.
pub(crate) fn finish(mut output: Output, done: Result<Exit, Failure>) -> ExitCode {
    let closed = output.close().map_err(Failure::of_output);
    reap_ended();
    let done = done.and_then(|exit| closed.map(|()| exit));
    let exit = match done {
        Ok(exit) => exit,
        Err(Failure::Pipe) => Exit::Ok,
        Err(Failure::Io(what, error)) => {
            output.error(&format!("{what}: {error}"), None, Kind::Internal);
            Exit::Internal
        }
        Err(Failure::Signal(signal)) => return end_by(signal),
        Err(Failure::Told { exit, kind, message, hint }) => {
            output.error(&message, hint.as_deref(), kind);
            exit
        }
        Err(Failure::Engine(error)) => {
            let hint = hint::of(&error);
            output.error(&error.to_string(), hint.as_deref(), error.kind());
            Exit::of_kind(error.kind())
        }
    };
    ExitCode::from(exit.code())
}

/// Ends the process as the signal would have, so that a shell sees what happened.
pub(crate) fn end_by(signal: i32) -> ExitCode {
    // It returns only where the signal cannot be raised.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))
}

/// Ends a command whose arguments were not understood, or that asked for help.
pub(crate) fn of_usage(error: &clap::Error) -> ExitCode {
    let code = if error.use_stderr() { Exit::Invalid } else { Exit::Ok };
    // An argument that is not UTF-8 may be the very error.
    let mut arguments = std::env::args_os();
    let hint = std::env::args_os().find_map(|argument| dash_hint(&argument.to_string_lossy()));
    if error.use_stderr() && arguments.any(|argument| argument == "--json") {
        let mut output = Output::new(Form::Json);
        output.error(error.to_string().trim_end(), hint.as_deref(), Kind::Invalid);
        return ExitCode::from(code.code());
    }
    // It repeats the arguments, and a program may have made those.
    let mut text = visible_text(&error.to_string());
    if let Some(hint) = hint.filter(|_| error.use_stderr()) {
        text.push_str(&format!("\nhint: {}\n", visible(&hint)));
    }
    let written = if error.use_stderr() {
        io::stderr().write_all(text.as_bytes())
    } else {
        io::stdout().write_all(text.as_bytes())
    };
    // Nobody is left to tell when even this cannot be written.
    drop(written);
    ExitCode::from(code.code())
}

/// A notebook whose name begins with a dash looks like a flag, and after `--` no operation is seen.
fn dash_hint(argument: &str) -> Option<String> {
    (argument.starts_with('-') && is_notebook_path(argument))
        .then(|| format!("a path that begins with a dash is given as ./{argument}"))
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
