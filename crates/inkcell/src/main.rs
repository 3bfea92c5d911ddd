//! The inkcell executable: parse the arguments, build what they ask for, hand over.
//!
//! Owns the process: its arguments, streams and exit code. Everything it can do is in `cli/`.

mod app;
mod args;
mod batch;
mod cli;
mod client;
mod exit;
mod git;
mod glob;
mod host;
mod http;
mod log;
mod mcp;
mod output;
mod scratch;
mod settings;
mod setup;
mod term;
mod view;
mod words;

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use inkcell_engine::kernel::reap_ended;
use inkcell_engine::{Kind, is_notebook_path};

use crate::args::{Args, Command};
use crate::exit::{Exit, Failure, end_by};
use crate::output::{Form, Output, visible, visible_text};
use crate::settings::{Profile, Settings, Surroundings};
use crate::words::step::Audience;

fn main() -> ExitCode {
    let began = Instant::now();
    let args = match Args::of_process() {
        Ok(args) => args,
        Err(error) => return of_usage(&error),
    };
    // Turn the file size limit (SIGXFSZ) into a reported write error instead of the end of the process.
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::default());
    let mut output = Output::new(if args.is_json() { Form::Json } else { Form::Text });
    let settings =
        Settings::of(Surroundings::of_process(&args.roots, cli::works_in(&args.command)))
            .map(host::tell_other_hosts);
    // A server for an agent runs unattended; a user who types a command sees the effects.
    let profile = match &args.command {
        Command::Mcp(_) => Profile::Default,
        Command::Host(host) if host.serves() => Profile::Default,
        _ => Profile::CommandLine,
    };
    let done = settings.and_then(|settings| {
        log::start(&settings.log(profile), profile, began)?;
        log::stage("settings read");
        output.set_coloured(output.is_terminal() && settings.may_colour());
        settings.warnings.iter().for_each(|warning| output.aside(&format!("warning: {warning}")));
        if args.command.is_read_by_pages() && !args.no_pager {
            output.page(&settings.pager());
        }
        cli::run(args.command, &Arc::new(settings), &mut output)
    });
    finish(output, done)
}

/// Ends a command: flush the remaining output, report the error, return the exit code.
fn finish(mut output: Output, done: Result<Exit, Failure>) -> ExitCode {
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
            let hint = Audience::Person.step_after(&error);
            output.error(&error.to_string(), hint.as_deref(), error.kind());
            Exit::of_kind(error.kind())
        }
    };
    ExitCode::from(exit.code())
}

/// Ends a command whose arguments were not understood, or that asked for help.
fn of_usage(error: &clap::Error) -> ExitCode {
    let code = if error.use_stderr() { Exit::Invalid } else { Exit::Ok };
    // An argument that is not UTF-8 may be the very error.
    let mut arguments = std::env::args_os();
    let hint = std::env::args_os().find_map(|argument| dash_hint(&argument.to_string_lossy()));
    if error.use_stderr() && arguments.any(|argument| argument == "--json") {
        let mut output = Output::new(Form::Json);
        output.error(error.to_string().trim_end(), hint.as_deref(), Kind::Invalid);
        return ExitCode::from(code.code());
    }
    // The message repeats the arguments, and another program may have generated those.
    let mut text = visible_text(&error.to_string());
    if let Some(hint) = hint.filter(|_| error.use_stderr()) {
        text.push_str(&format!("\nhint: {}\n", visible(&hint)));
    }
    let written = if error.use_stderr() {
        io::stderr().write_all(text.as_bytes())
    } else {
        io::stdout().write_all(text.as_bytes())
    };
    // If even this write fails, no channel is left to report it on.
    drop(written);
    ExitCode::from(code.code())
}

/// A notebook whose name begins with a dash looks like a flag, and after `--` no operation is seen.
fn dash_hint(argument: &str) -> Option<String> {
    (argument.starts_with('-') && is_notebook_path(argument))
        .then(|| words::path::begins_with_dash(argument))
}
