//! The inkcell executable: parse the arguments, build what they ask for, hand over.
//!
//! Owns the process: its arguments, streams and exit code. Everything it can do is in `cli/`.

mod args;
mod cli;
mod exit;
mod exposure;
mod mcp;
mod output;
mod render;
mod settings;
mod setup;
mod tools;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;

use crate::args::Args;
use crate::output::Output;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::of_usage(&error),
    };
    // A file that may not grow is an error of the write, which is told, and not the end of the process.
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::default());
    let mut output = Output::new(args.form());
    let settings = settings::Settings::from_process(&args.roots, args.command.works_in());
    let done = settings.and_then(|settings| {
        settings.warnings.iter().for_each(|warning| output.aside(&format!("warning: {warning}")));
        cli::run(args.command, &Arc::new(settings), &mut output)
    });
    exit::finish(output, done)
}
