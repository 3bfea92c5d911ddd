//! One file a command.

mod clean;
mod diff;
mod edit;
mod input;
mod new;
mod read;
mod to;
mod write;

use crate::args::Command;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;

/// Runs a command on the main thread; none of these needs an async runtime.
pub(crate) fn run(
    command: Command,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    match command {
        Command::Read(args) => read::run(&args, settings, output),
        Command::Write(args) => write::run(&args, settings, output),
        Command::Edit(args) => edit::run(*args, settings, output),
        Command::New(args) => new::run(&args, settings, output),
        Command::Diff(args) => diff::run(&args, settings, output),
        Command::Clean(args) => clean::run(&args, settings, output),
        Command::To(args) => to::run(&args, settings, output),
    }
}
