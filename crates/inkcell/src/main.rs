//! The inkcell executable: parse the arguments, build what they ask for, hand over.
//!
//! Owns the process: its arguments, streams and exit code. Everything it can do is in `cli/`.

mod args;
mod backends;
mod batch;
mod bridge;
mod cli;
mod client;
mod exit;
mod exposure;
mod gateways;
mod host;
mod http;
mod log;
mod mcp;
mod output;
mod parameters;
mod render;
mod repl;
mod scratch;
mod screen;
mod settings;
mod setup;
mod tools;
mod tui;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use crate::args::{Args, Command};
use crate::output::Output;
use crate::settings::{Profile, Settings, Surroundings};

fn main() -> ExitCode {
    let began = Instant::now();
    let args = match Args::of_process() {
        Ok(args) => args,
        Err(error) => return exit::of_usage(&error),
    };
    // A file that may not grow is an error of the write, which is told, and not the end of the process.
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::default());
    let mut output = Output::new(args.form());
    let settings = Settings::of(Surroundings::of_process(&args.roots, args.command.works_in()));
    // Who serves an agent is operated by somebody who is not there; who typed a command sees what happens.
    let profile = match &args.command {
        Command::Mcp(_) => Profile::Default,
        Command::Host(host) if host.serves() => Profile::Default,
        _ => Profile::CommandLine,
    };
    let done = settings.and_then(|settings| {
        log::start(&settings.log(profile), profile, began)?;
        log::stage("settings read");
        settings.warnings.iter().for_each(|warning| output.aside(&format!("warning: {warning}")));
        if args.command.is_read_by_pages() && !args.no_pager {
            output.page(&settings.pager());
        }
        cli::run(args.command, &Arc::new(settings), &mut output)
    });
    exit::finish(output, done)
}
