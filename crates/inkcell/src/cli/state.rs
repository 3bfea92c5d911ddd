//! `inkcell state`: shows where inkcell stores its files.

use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use crate::app::python::text;
use crate::args::{State, StateCommand};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::{Key, Settings};

pub(crate) fn run(args: &State, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let StateCommand::Path = args.command;
    let path = &settings.state_dir;
    let written = if output.is_json() {
        output.json(&json!({
            "path": text(path),
            "is_there": path.is_dir(),
            "source": settings.resolved.get(Key::StateDir).source.to_string(),
        }))
    } else {
        // The raw bytes of the name, so that a shell can use it whatever it contains.
        output.raw(&[path.as_os_str().as_bytes(), b"\n"].concat())
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}
