//! Input besides arguments: standard input, and files named by flags.
//!
//! Owns reading them whole, and decoding them as text where necessary.

use std::io::{IsTerminal, Read};

use inkcell_engine::Version;

use crate::exit::Failure;
use crate::settings::Settings;
use crate::words;

pub(crate) fn stdin_bytes() -> Result<Vec<u8>, Failure> {
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        let problem = words::file::PIPE_TEXT_IN;
        return Err(Failure::argument("standard input", problem));
    }
    let mut bytes = Vec::new();
    stdin
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Io(words::failure::READ_STDIN, error))?;
    Ok(bytes)
}

pub(crate) fn stdin_text() -> Result<String, Failure> {
    text(stdin_bytes()?, "standard input")
}

/// The text of a file that a flag names, `-` for standard input. The rules for notebooks hold: inside the roots, a
/// regular file, of limited size.
pub(crate) fn file_text(
    argument: &str,
    path: &str,
    settings: &Settings,
) -> Result<String, Failure> {
    if path == "-" {
        return stdin_text();
    }
    let read = settings.notebooks.read_bytes(path);
    let (bytes, _) = read.map_err(|error| Failure::argument(argument, error.to_string()))?;
    text(bytes, argument)
}

/// The destination of a changed notebook, if it is not its own file.
pub(crate) fn output(given: Option<&str>) -> Result<Option<String>, Failure> {
    match given {
        Some("-") => Err(Failure::argument("-o", words::file::NOT_TO_STDOUT)),
        other => Ok(other.map(str::to_owned)),
    }
}

pub(crate) fn text(bytes: Vec<u8>, argument: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::argument(argument, words::file::no_text(at))
    })
}

pub(crate) fn version(given: Option<&str>) -> Result<Option<Version>, Failure> {
    let Some(given) = given else { return Ok(None) };
    Version::parse(given).map(Some).ok_or_else(|| {
        let problem = words::file::no_version(given);
        Failure::argument("--hash", problem)
    })
}
