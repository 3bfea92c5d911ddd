//! Exit codes, in one table, and how a command ends.
//!
//! Owns the only place where a kind of failure becomes a number.

use std::io::{self, Write};
use std::process::ExitCode;

use inkcell_engine::{EngineError, Kind};

use crate::output::{Form, Output};

/// How a command ended, as the caller's shell sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    Ok,
    Differs,
    Invalid,
    Unavailable,
    Conflict,
    NotFound,
    Busy,
    Internal,
}

/// Every exit code and what it means. The help text and the documentation are made from this.
pub(crate) const TABLE: &[(Exit, u8, &str)] = &[
    (Exit::Ok, 0, "done"),
    (Exit::Differs, 1, "a check found differences (clean --check, diff --exit-code)"),
    (Exit::Invalid, 2, "wrong arguments, or a file that cannot be used as it is"),
    (Exit::Unavailable, 3, "something needed is not there, such as space on the disk"),
    (Exit::Conflict, 4, "someone else changed the same thing, or the file already exists"),
    (Exit::NotFound, 5, "no such file or cell"),
    (Exit::Busy, 6, "another inkcell is using the file"),
    (Exit::Internal, 70, "inkcell or the machine failed"),
];

/// The table as lines of help.
pub(crate) fn help() -> String {
    let mut text = "Exit codes:\n".to_owned();
    for (_, code, meaning) in TABLE {
        text.push_str(&format!("  {code:<3} {meaning}\n"));
    }
    text.push_str("  128 and more: ended by a signal (130 interrupt, 143 terminate)");
    text
}

impl Exit {
    fn code(self) -> u8 {
        TABLE.iter().find(|(exit, _, _)| *exit == self).map_or(70, |(_, code, _)| *code)
    }

    fn of_kind(kind: Kind) -> Exit {
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
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        Failure::Engine(error)
    }
}

impl Failure {
    /// A failure to write the answer.
    pub(crate) fn of_output(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::Pipe;
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
    let done = done.and_then(|exit| output.flush().map_err(Failure::of_output).map(|()| exit));
    let exit = match done {
        Ok(exit) => exit,
        Err(Failure::Pipe) => Exit::Ok,
        Err(Failure::Io(what, error)) => {
            output.error(&format!("{what}: {error}"), None, "internal");
            Exit::Internal
        }
        Err(Failure::Engine(error)) => {
            output.error(&error.to_string(), error.hint().as_deref(), kind_name(error.kind()));
            Exit::of_kind(error.kind())
        }
    };
    ExitCode::from(exit.code())
}

/// The kind as JSON answers name it.
fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Invalid => "invalid",
        Kind::NotFound => "not_found",
        Kind::Conflict => "conflict",
        Kind::Unavailable => "unavailable",
        Kind::Busy => "busy",
        Kind::Cancelled => "cancelled",
        Kind::Internal => "internal",
    }
}

/// Ends a command whose arguments were not understood, or that asked for help.
pub(crate) fn of_usage(error: &clap::Error) -> ExitCode {
    let code = if error.use_stderr() { Exit::Invalid } else { Exit::Ok };
    if error.use_stderr() && std::env::args().any(|argument| argument == "--json") {
        let mut output = Output::new(Form::Json);
        output.error(error.to_string().trim_end(), None, "invalid");
        return ExitCode::from(code.code());
    }
    let text = error.to_string();
    let written = if error.use_stderr() {
        io::stderr().write_all(text.as_bytes())
    } else {
        io::stdout().write_all(text.as_bytes())
    };
    // Nobody is left to tell when even this cannot be written.
    drop(written);
    ExitCode::from(code.code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_different_and_in_order() {
        let codes: Vec<u8> = TABLE.iter().map(|(_, code, _)| *code).collect();
        assert!(codes.windows(2).all(|pair| pair[0] < pair[1]), "{codes:?}");
        assert_eq!(Exit::of_kind(Kind::Conflict).code(), 4);
        assert_eq!(Exit::of_kind(Kind::NotFound).code(), 5);
    }
}
