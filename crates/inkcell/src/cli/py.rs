//! `inkcell py`: code run in a kernel of its own, its output shown as it comes.
//!
//! Owns how long a reader is waited for at the end. Running and stopping are the engine's.

use std::io::{ErrorKind, IsTerminal};
use std::time::Duration;

use inkcell_engine::api::{EndReport, KernelMode, PythonReport, PythonRequest, Reading, State};
use inkcell_engine::kernel::{InputMode, LaunchError, Pattern};
use inkcell_engine::registry::OwnerId;
use inkcell_engine::{Chosen, EngineError, Kind};
use rustix::process::Signal;
use serde_json::Value;
use tokio::time::Instant;

use super::listener::Listener;
use super::signals::Signals;
use super::{code, python};
use crate::args::{Py, PythonArgs, View};
use crate::exit::{Exit, Failure};
use crate::log;
use crate::output::{Output, Stream};
use crate::render::blocks::Blocks;
use crate::render::ending::Summary;
use crate::render::hint;
use crate::render::live::{Colour, Live, Show, last_words};
use crate::render::recorded::Recorded;
use crate::render::reply::Replied;
use crate::settings::{Profile, Settings};

/// How long a reader that does not read is waited for at the end, at least.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long standard error is waited for when nobody read the rest; it may be the same pipe.
const OTHER_STREAM: Duration = Duration::from_millis(300);

/// The only caller of this engine.
const OWNER: OwnerId = OwnerId(0);

pub(crate) fn run(args: &Py, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let cells = code::of(args, settings)?;
    let timeout = args.timeout.or_else(|| settings.calls(Profile::CommandLine).timeout);
    let request = PythonRequest {
        cells,
        session: None,
        cwd: python::working_folder(&args.python, settings)?,
        wanted: python::wanted(&args.python, &args.kernel, settings),
        mode: KernelMode::PerCall,
        timeout: timeout.filter(|timeout| !timeout.is_zero()),
        wait: None,
        reading: match args.view {
            View::Stream if !output.is_json() => Reading::Elsewhere,
            _ => Reading::Bounded,
        },
        input: InputMode::Refuse,
    };
    super::runtime()?.block_on(run_call(args, request, settings, output))
}

async fn run_call(
    args: &Py,
    request: PythonRequest,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let signals = Signals::listen()?;
    let engine = python::engine(&args.kernel, settings)?;
    let timeout = request.timeout;
    let chosen = tokio::select! {
        chosen = engine.choose(&request.cwd, &request.wanted) => chosen,
        () = signals.asked(1) => Err(EngineError::from(LaunchError::Cancelled)),
        () = until(timeout.map(|timeout| Instant::now() + timeout)) => return Err(late(args, timeout)),
    };
    // What a signal cut short is no failure of its own.
    let chosen = chosen.map_err(|error| signals.first().map_or(error.into(), Failure::Signal))?;
    log::stage("interpreter chosen");
    let verbose = if args.verbose { Verbose::Yes } else { Verbose::No };
    tell_about(&chosen, (verbose, &args.kernel.env), &args.python, settings, output);

    let is_coloured = settings.may_colour() && std::io::stderr().is_terminal();
    let colour = if is_coloured { Colour::On } else { Colour::Off };
    let show: Box<dyn Show> = match args.view {
        _ if output.is_json() => Box::new(Recorded::default()),
        View::Stream => Box::new(Live::new(colour)),
        View::Reply => Box::new(Replied),
        View::Blocks => {
            let is_coloured = settings.may_colour() && std::io::stdout().is_terminal();
            let colour = if is_coloured { Colour::On } else { Colour::Off };
            Box::new(Blocks::new(colour, timeout))
        }
    };
    let listener = Listener::start(show);
    let Listener { events, rest } =
        listener.map_err(|error| Failure::Io("cannot start a thread", error))?;
    let began = Instant::now();
    let id = engine.start(request, &chosen, OWNER, Some(events)).await?;
    let pass_on = async {
        for times in 1..=2 {
            signals.asked(times).await;
            // A call that is over has nothing to be taken back.
            let _ = engine.cancel(&id);
        }
        std::future::pending::<()>().await;
    };
    let report = tokio::select! {
        report = engine.settled(&id) => report?,
        () = pass_on => return Err(signals.first().map_or(Failure::Pipe, Failure::Signal)),
    };
    let took = began.elapsed();
    // Nothing of ours is left, whatever becomes of the answer.
    engine.shutdown().await;
    let has_begun = report.cells.iter().any(|cell| cell.count.is_some());
    if let (Some(signal), false) = (signals.first(), has_begun) {
        return Err(Failure::Signal(signal));
    }
    if let Some(failure) = not_begun(&report) {
        return Err(failure);
    }
    let python = chosen.interpreter.as_ref().map_or(Value::Null, |interpreter| {
        python::to_json(interpreter, &python::reason(interpreter, &args.python, settings))
    });
    let summary = Summary { report, took, python };
    let exit = summary.exit();
    let state = summary.report.state;
    let had_to_stop = matches!(state, State::TimedOut | State::Cancelled);
    let mut words = last_words(&summary, colour);
    let soon = Instant::now() + LAST_WORDS;
    let limit = match timeout {
        // Whoever reads may come back for as long as code may take to stop.
        Some(timeout) if state == State::TimedOut => {
            Some(soon.max(began + timeout + settings.python().ladder.rungs()[4].0))
        }
        _ if had_to_stop => Some(soon),
        Some(timeout) => Some(soon.max(began + timeout)),
        None => None,
    };
    let shown = tokio::select! {
        shown = rest.finish(summary) => Some(shown),
        () = signals.asked(1), if !had_to_stop => None,
        () = until(limit) => None,
    };
    if let Some(signal) = signals.first() {
        if shown.is_none() {
            Stream::stderr().write_within(words.as_bytes(), OTHER_STREAM);
        }
        return Err(Failure::Signal(signal));
    }
    match shown {
        Some(Ok(())) => Ok(exit),
        Some(Err(error)) if error.kind() == ErrorKind::BrokenPipe => {
            if state == State::Cancelled {
                // Code that was stopped halfway did not end well; other programs end by this signal.
                return Err(Failure::Signal(Signal::PIPE.as_raw()));
            }
            Stream::stderr().write_within(words.as_bytes(), OTHER_STREAM);
            Ok(exit)
        }
        Some(Err(error)) => Err(Failure::of_output(error)),
        // Whoever should read did not; what is left is dropped with the thread that holds it.
        None => {
            if exit != Exit::TimedOut {
                words.push_str(
                    "error: nobody read the output in time; the rest of it was dropped\n",
                );
            }
            Stream::stderr().write_within(words.as_bytes(), OTHER_STREAM);
            Ok(Exit::TimedOut)
        }
    }
}

/// Whether somebody wants to know which Python it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verbose {
    No,
    Yes,
}

/// Says which kernel and Python it is, if that was asked for, and what code does not get of what it was promised.
pub(super) fn tell_about(
    chosen: &Chosen,
    (verbose, env): (Verbose, &[Pattern]),
    args: &PythonArgs,
    settings: &Settings,
    output: &mut Output,
) {
    if verbose == Verbose::Yes {
        output.aside(&format!("kernel: {}", python::kernel_line(&chosen.kernel)));
        if let Some(interpreter) = &chosen.interpreter {
            let reason = python::reason(interpreter, args, settings);
            output.aside(&format!("python: {}", python::line(interpreter, &reason)));
            for skipped in &interpreter.skipped {
                output.aside(&format!("skipped: {skipped}: {}", skipped.reason));
            }
        }
    }
    for told in settings.decided_by_project(&chosen.spec.cwd) {
        output.aside(&format!("note: {told}"));
    }
    for name in &chosen.env.missing {
        output.aside(&format!("note: {name} is not set here, so the code does not get it"));
    }
    for pattern in env {
        if let Pattern::Name(name) = pattern
            && chosen.env.withheld.contains(name)
        {
            output.aside(&format!(
                "note: {name} is a secret of inkcell's own, which code never gets"
            ));
        }
    }
}

/// Python was not ready when the time that the code was given had passed.
fn late(args: &Py, timeout: Option<Duration>) -> Failure {
    let seconds = timeout.unwrap_or_default().as_secs_f64();
    let said_by = if args.timeout.is_some() { "--timeout" } else { "python.timeout" };
    Failure::Told {
        exit: Exit::TimedOut,
        kind: Kind::Unavailable,
        message: format!(
            "Python was not ready within the {seconds} s of {said_by}; nothing was run"
        ),
        hint: Some(hint::RAISE_TIMEOUT.to_owned()),
    }
}

/// Why nothing was run, if that is so.
pub(super) fn not_begun(report: &PythonReport) -> Option<Failure> {
    let end = report.cells.iter().find_map(|cell| cell.end.as_ref());
    let Some(EndReport::NoKernel(problem)) = end else { return None };
    let is_late = report.state == State::TimedOut;
    Some(Failure::Told {
        exit: if is_late { Exit::TimedOut } else { Exit::of_kind(problem.kind) },
        kind: problem.kind,
        message: problem.message.clone(),
        hint: problem.step.map(hint::of_step),
    })
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
