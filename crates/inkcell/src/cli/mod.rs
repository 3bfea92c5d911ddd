//! The commands, one file each.

mod artifacts;
mod attach;
mod clean;
mod code;
mod comfort;
mod diff;
mod doctor;
mod edit;
mod env;
mod gateway;
mod host;
mod input;
mod inputs;
mod kernel;
mod listener;
pub(crate) mod mcp;
mod new;
pub(crate) mod py;
mod read;
mod repl;
mod result;
mod run;
mod sessions;
mod settings;
mod setup;
mod signals;
mod state;
mod to;
mod tool;
mod tui;
mod verify;
mod write;

use std::path::Path;
use std::sync::Arc;

use crate::args::{Command, Gateway, GatewayCommand, Kernel, KernelCommand};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::words;

/// The folder whose project settings count, if it is not the one in which we were started.
pub(crate) fn works_in(command: &Command) -> Option<&Path> {
    match command {
        Command::Py(py) => py.python.cwd.as_deref(),
        Command::Repl(repl) => repl.python.cwd.as_deref(),
        Command::Run(run) => run.python.cwd.as_deref().or_else(|| run.folder()),
        Command::Verify(verify) => verify.python.cwd.as_deref().or_else(|| verify.folder()),
        Command::Tui(tui) => tui.python.cwd.as_deref().or_else(|| tui.folder()),
        Command::Env(env) => env.python.cwd.as_deref(),
        Command::Kernel(Kernel { command: KernelCommand::Specs(specs) }) => {
            specs.python.cwd.as_deref()
        }
        Command::Gateway(Gateway { command: GatewayCommand::Start(start) }) => {
            start.python.cwd.as_deref()
        }
        Command::Doctor(doctor) => doctor.python.cwd.as_deref(),
        _ => None,
    }
}

/// Runs a command on the main thread; those that need an async runtime make one.
pub(crate) fn run(
    command: Command,
    settings: &Arc<Settings>,
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
        Command::Run(args) => run::run(&args, settings, output),
        Command::Verify(args) => verify::run(&args, settings, output),
        Command::Tui(args) => tui::run(&args, settings),
        Command::Py(args) => py::run(&args, settings, output),
        Command::Repl(args) => repl::run(&args, settings, output),
        Command::Sessions(_) => sessions::list(settings, output),
        Command::Attach(args) => attach::run(&args, settings, output),
        Command::Interrupt(args) => {
            sessions::act(sessions::Verb::Interrupt, &args, settings, output)
        }
        Command::Restart(args) => sessions::act(sessions::Verb::Restart, &args, settings, output),
        Command::Stop(args) => sessions::act(sessions::Verb::Stop, &args, settings, output),
        Command::Host(args) => host::run(&args, settings, output),
        Command::Env(args) => env::run(&args, settings, output),
        Command::Kernel(args) => kernel::run(&args, settings, output),
        Command::Gateway(args) => gateway::run(&args, settings, output),
        Command::Result(args) => result::run(&args, settings, output),
        Command::Artifacts(args) => artifacts::run(&args, settings, output),
        Command::State(args) => state::run(&args, settings, output),
        Command::Settings(args) => settings::run(&args, settings, output),
        Command::Mcp(args) => mcp::run(&args, settings, output),
        Command::Tool(args) => tool::run(&args, settings, output),
        Command::Setup(args) => setup::run(&args, settings, output),
        Command::Completions(args) => comfort::completions(&args, output),
        Command::Man(args) => comfort::man(&args, settings, output),
        Command::Doctor(args) => doctor::run(&args, settings, output),
        // Help needs no settings, and was printed before they were read.
        Command::Help(_) => Ok(Exit::Ok),
    }
}

/// A runtime for a command that waits for processes.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| Failure::Io(words::failure::START_RUNTIME, error))
}
