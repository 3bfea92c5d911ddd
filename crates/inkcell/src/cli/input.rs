//! What comes in besides arguments: standard input and files named by flags.
//!
//! Owns reading them whole, as text where text is wanted.

use std::io::{IsTerminal, Read};
use std::path::Path;

use inkcell_engine::Version;
use inkcell_engine::notebook::{CellKind, CellRef};

use crate::args::KindArg;
use crate::exit::Failure;

pub(crate) fn stdin_bytes() -> Result<Vec<u8>, Failure> {
    let mut stdin = std::io::stdin();
    if stdin.is_terminal() {
        let problem =
            "it is a terminal; pipe the text in, for example: inkcell read A | inkcell write B";
        return Err(Failure::argument("standard input", problem));
    }
    let mut bytes = Vec::new();
    stdin
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Io("cannot read standard input", error))?;
    Ok(bytes)
}

pub(crate) fn stdin_text() -> Result<String, Failure> {
    text(stdin_bytes()?, "standard input")
}

pub(crate) fn file_text(argument: &str, path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::argument(argument, format!("cannot read {}: {error}", path.display()))
    })?;
    text(bytes, argument)
}

fn text(bytes: Vec<u8>, argument: &str) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::argument(argument, format!("it is not UTF-8 text (byte {at}); convert it first"))
    })
}

pub(crate) fn version(given: Option<&str>) -> Result<Option<Version>, Failure> {
    let Some(given) = given else { return Ok(None) };
    Version::parse(given).map(Some).ok_or_else(|| {
        let problem =
            format!("{given:?} is not a version; inkcell read shows it, 16 hexadecimal digits");
        Failure::argument("--hash", problem)
    })
}

pub(crate) fn cell(given: &str) -> CellRef {
    CellRef::Text(given.to_owned())
}

pub(crate) fn kind(given: KindArg) -> CellKind {
    match given {
        KindArg::Code => CellKind::Code,
        KindArg::Markdown => CellKind::Markdown,
        KindArg::Raw => CellKind::Raw,
    }
}
