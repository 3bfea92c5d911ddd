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
mod wrap;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use inkcell_engine::kernel::reap_ended;
use inkcell_engine::{Kind, is_notebook_path};

use crate::args::{Args, ColorArg, Command, HelpPage, Mistake, NoCommand, PageStyle};
use crate::exit::{Exit, Failure, end_by};
use crate::output::{ErrorLook, Form, Output, Stream};
use crate::settings::{Profile, Settings, Surroundings};
use crate::view::paint::Size;
use crate::words::step::Audience;

fn main() -> ExitCode {
    let began = Instant::now();
    let args = match Args::of_process() {
        Ok(args) => args,
        Err(instead) => return without_command(instead),
    };
    if let Command::Help(help) = &args.command {
        return without_command(help.page().map_or_else(NoCommand::Mistake, NoCommand::Help));
    }
    // Turn the file size limit (SIGXFSZ) into a reported write error instead of the end of the process.
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), Arc::default());
    let surroundings =
        Surroundings::of_process(&args.roots, cli::works_in(&args.command)).with_color(args.color);
    let form = if args.is_json() { Form::Json } else { Form::Text };
    let mut output = Output::new(form, error_look(&surroundings));
    let settings = Settings::of(surroundings).map(host::tell_other_hosts);
    // A server for an agent runs unattended; a user who types a command sees the effects.
    let profile = match &args.command {
        Command::Mcp(_) => Profile::Default,
        Command::Host(host) if host.serves() => Profile::Default,
        _ => Profile::CommandLine,
    };
    let done = settings.and_then(|settings| {
        log::start(&settings.log(profile), profile, began)?;
        log::stage("settings read");
        output.set_coloured(settings.surroundings.has_colour(&io::stdout()));
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

/// Ends a process that runs no command: it prints help or the version, or reports a mistake.
fn without_command(instead: NoCommand) -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let surroundings = Surroundings::of_process(&[], None).with_color(ColorArg::named_in(&words));
    let is_json = words.iter().any(|word| word == "--json");
    let form = if is_json { Form::Json } else { Form::Text };
    let mut output = Output::new(form, error_look(&surroundings));
    let mistake = match instead {
        NoCommand::Version(version) => return print(Stream::stdout(), &version, Exit::Ok),
        NoCommand::Help(page) if page.is_answer => {
            let page = drawn(&page, &io::stdout(), &surroundings);
            return print(Stream::stdout(), &page, Exit::Ok);
        }
        NoCommand::Help(page) if !is_json => {
            let page = drawn(&page, &io::stderr(), &surroundings);
            return print(Stream::stderr(), &page, Exit::Invalid);
        }
        NoCommand::Help(_) => Mistake::no_command(),
        NoCommand::Mistake(mistake) => mistake,
    };
    // An argument that is not UTF-8 may be the very error.
    let dash = words.iter().find_map(|word| dash_hint(&word.to_string_lossy()));
    output.error(&mistake.message, dash.or(mistake.hint).as_deref(), Kind::Invalid);
    ExitCode::from(Exit::Invalid.code())
}

/// How errors suit standard error.
fn error_look(surroundings: &Surroundings) -> ErrorLook {
    let stderr = io::stderr();
    ErrorLook {
        is_coloured: surroundings.has_colour(&stderr),
        width: stderr.is_terminal().then(|| Size::of(&stderr).columns),
    }
}

/// A page of help as it suits a stream.
fn drawn<S: AsFd + IsTerminal>(page: &HelpPage, stream: &S, surroundings: &Surroundings) -> String {
    let width = match stream.is_terminal() {
        true => Some(Size::of(stream).columns),
        false => surroundings.get("COLUMNS").and_then(|set| set.to_str()?.parse().ok()),
    };
    let width = width.unwrap_or(PageStyle::USUAL_WIDTH);
    page.render(PageStyle::new(width, surroundings.has_colour(stream)))
}

fn print(mut stream: Stream, text: &str, exit: Exit) -> ExitCode {
    // If this write fails, no channel is left to report it on.
    drop(stream.write_all(text.as_bytes()));
    ExitCode::from(exit.code())
}

/// A notebook whose name begins with a dash looks like a flag, and after `--` no operation is seen.
fn dash_hint(argument: &str) -> Option<String> {
    (argument.starts_with('-') && is_notebook_path(argument))
        .then(|| words::path::begins_with_dash(argument))
}
