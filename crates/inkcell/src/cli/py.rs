//! `inkcell py`: code run in a kernel of its own, its output shown as it comes.

use std::collections::BTreeMap;
use std::io::{ErrorKind, IsTerminal};
use std::time::Duration;

use inkcell_engine::kernel::{
    Backend, ChildEnv, CodeRequest, Death, EnvMode, EnvRules, ExecId, ForkServer, History,
    Interpreter, KernelEvent, KernelSpec, LaunchError, Launched, Pattern, RunnerBackend,
    RunnerConfig, Startup, child_environment, withheld_hint_for,
};
use inkcell_engine::{Cancel, CellEnd, EngineError, KernelFate, Kind, Limits, execute};
use rustix::process::Signal;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::listener::Listener;
use super::signals::Signals;
use super::{code, python};
use crate::args::Py;
use crate::exit::{Exit, Failure};
use crate::output::{Output, Stream};
use crate::render::ending::Summary;
use crate::render::live::{Colour, Live, Show, last_words};
use crate::render::recorded::Recorded;
use crate::settings::Settings;

/// How long a kernel may take to end once its code has, for what the code left to be done at exit.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// How long a reader that does not read is waited for at the end, at least.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long standard error is waited for when nobody read the rest; it may be the same pipe.
const OTHER_STREAM: Duration = Duration::from_millis(300);

pub(crate) fn run(args: &Py, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let code = code::of(args, settings)?;
    super::runtime()?.block_on(run_code(args, code, settings, output))
}

async fn run_code(
    args: &Py,
    code: String,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let cancel = Cancel::default();
    let signals = Signals::listen(cancel.clone())?;
    let timeout = args.timeout.filter(|timeout| !timeout.is_zero());
    let started = tokio::select! {
        started = start(args, settings, output, &cancel) => started,
        () = until(timeout.map(|timeout| Instant::now() + timeout)) => Err(late(args)),
    };
    // What a signal cut short is no failure of its own.
    let Started { mut launched, backend, interpreter, reason, child } =
        started.map_err(|failure| signals.first().map_or(failure, Failure::Signal))?;

    let is_coloured = settings.may_colour() && std::io::stderr().is_terminal();
    let colour = if is_coloured { Colour::On } else { Colour::Off };
    let show: Box<dyn Show> =
        if output.is_json() { Box::new(Recorded::default()) } else { Box::new(Live::new(colour)) };
    let listener = Listener::start(show);
    let Listener { events, rest } =
        listener.map_err(|error| Failure::Io("cannot start a thread", error))?;
    let request =
        CodeRequest { exec: ExecId(1), code, history: History::Store, env: Vec::new(), cwd: None };
    let ladder = settings.python().ladder;
    let limits = Limits { timeout, ladder };
    let began = Instant::now();
    let execution = execute(&mut launched, request, limits, &cancel, events.clone()).await;
    let took = began.elapsed();
    let had_to_stop = had_to_stop(&execution.end);
    let death = shut_down(launched, &execution.end, &cancel, events).await;
    drop(backend);
    let hint = match &execution.end {
        CellEnd::PythonError(error) => withheld_hint_for(&child.withheld, error),
        _ => None,
    };
    let summary = Summary {
        end: execution.end,
        death,
        undelivered_bytes: execution.undelivered_bytes,
        took,
        hint,
        python: python::to_json(&interpreter, &reason),
    };
    let exit = summary.exit();
    let was_unheard = matches!(summary.end, CellEnd::Unheard { .. });
    let mut words = last_words(&summary, colour);
    let soon = Instant::now() + LAST_WORDS;
    let limit = match timeout {
        // Whoever reads may come back for as long as code may take to stop.
        Some(timeout) if exit == Exit::TimedOut => {
            Some(soon.max(began + timeout + ladder.rungs()[4].0))
        }
        _ if had_to_stop => Some(soon),
        Some(timeout) => Some(soon.max(began + timeout)),
        None => None,
    };
    let shown = tokio::select! {
        shown = rest.finish(summary) => Some(shown),
        () = cancel.token().cancelled(), if !had_to_stop => None,
        () = until(limit) => None,
    };
    if let Some(signal) = signals.first() {
        return Err(Failure::Signal(signal));
    }
    match shown {
        Some(Ok(())) => Ok(exit),
        Some(Err(error)) if error.kind() == ErrorKind::BrokenPipe => {
            if was_unheard {
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

/// Python was not ready when the time that the code was given had passed.
fn late(args: &Py) -> Failure {
    let seconds = args.timeout.unwrap_or_default().as_secs_f64();
    Failure::Told {
        exit: Exit::TimedOut,
        kind: Kind::Unavailable,
        message: format!("Python was not ready within the {seconds} s of --timeout; nothing was run"),
        hint: Some(
            "give it more time, see which Python it is and why (inkcell env), or name another one: --python \
             PATH"
                .to_owned(),
        ),
    }
}

/// Why there is no kernel, with the folder where that is the reason.
fn not_launched(error: LaunchError, settings: &Settings) -> Failure {
    match error {
        LaunchError::Resources { what, source } if what.contains("state folder") => Failure::Told {
            exit: Exit::Unavailable,
            kind: Kind::Unavailable,
            message: format!("cannot {what}, {}: {source}", settings.state_dir.display()),
            hint: Some(
                "name a folder of yours that can be written: INKCELL_STATE_DIR=DIR, or state.dir in your \
                 settings file"
                    .to_owned(),
            ),
        },
        error => EngineError::from(error).into(),
    }
}

/// A kernel that is ready, and how it came to be.
struct Started {
    launched: Launched,
    /// Its thread is the kernel's parent; the system ends a kernel whose parent is gone.
    backend: RunnerBackend,
    interpreter: Interpreter,
    reason: String,
    child: ChildEnv,
}

async fn start(
    args: &Py,
    settings: &Settings,
    output: &mut Output,
    cancel: &Cancel,
) -> Result<Started, Failure> {
    let set = settings.python();
    let cwd = python::working_folder(&args.python, settings)?;
    let search = python::search(&args.python, settings, cwd.clone());
    let finder = python::finder(settings);
    let found = tokio::select! {
        found = finder.find(&search) => found.map_err(EngineError::from)?,
        () = cancel.token().cancelled() => return Err(EngineError::from(LaunchError::Cancelled).into()),
    };
    let reason = python::reason(&found, &args.python, settings);
    if args.verbose {
        output.aside(&format!("python: {}", python::line(&found, &reason)));
        for skipped in &found.skipped {
            output.aside(&format!("skipped: {skipped}: {}", skipped.reason));
        }
    }
    let mode = if args.env_all { EnvMode::Inherit } else { set.env_mode };
    let pass = [set.env_pass, args.env.clone()].concat();
    let mut child = child_environment(&search.env, &EnvRules { mode, pass }, &BTreeMap::new());
    for name in &child.missing {
        output.aside(&format!("note: {name} is not set here, so the code does not get it"));
    }
    for pattern in &args.env {
        if let Pattern::Name(name) = pattern
            && child.withheld.contains(name)
        {
            output.aside(&format!(
                "note: {name} is a secret of inkcell's own, which code never gets"
            ));
        }
    }
    found.apply_to(&mut child.vars);
    let spec = KernelSpec {
        python: found.path.clone(),
        cwd: cwd.clone(),
        env: child.vars.clone(),
        start_timeout: set.start_timeout,
        startup: Startup {
            shell: args.shell.map_or(set.shell, Into::into),
            prelude: set.prelude,
            modules: python::modules(settings, cwd)?,
            // A kernel that runs once would only start later for them.
            preload: Vec::new(),
        },
    };
    let backend = RunnerBackend::new(RunnerConfig {
        state_dir: settings.state_dir.clone(),
        fork_server: ForkServer::Off,
        spares: 0,
    });
    let backend = backend.map_err(EngineError::from)?;
    let launched = backend.launch(&spec, cancel.token()).await;
    let launched = launched.map_err(|error| not_launched(error, settings))?;
    Ok(Started { launched, backend, interpreter: found, reason, child })
}

/// Whether the code did not end by itself.
fn had_to_stop(end: &CellEnd) -> bool {
    matches!(end, CellEnd::TimedOut { .. } | CellEnd::Cancelled { .. } | CellEnd::Unheard { .. })
}

/// Ends a kernel that is still there, politely: what the code left to be done at exit is done, and what
/// it says then is shown.
async fn shut_down(
    launched: Launched,
    end: &CellEnd,
    cancel: &Cancel,
    listener: mpsc::Sender<KernelEvent>,
) -> Option<Death> {
    let is_gone = match end {
        CellEnd::KernelDied { .. } => true,
        CellEnd::TimedOut { fate, .. }
        | CellEnd::Cancelled { fate, .. }
        | CellEnd::Unheard { fate } => *fate != KernelFate::Alive,
        CellEnd::Ok | CellEnd::PythonError(_) | CellEnd::InputRefused { .. } => false,
    };
    if is_gone {
        return None;
    }
    let Launched { kernel, mut events } = launched;
    let was_cancelled = cancel.token().is_cancelled();
    let pass_on = async {
        while let Some(event) = events.next().await {
            if listener.send(event).await.is_err() {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    // Dropped before it is done, the shutdown kills.
    tokio::select! {
        death = kernel.shutdown(SHUTDOWN_GRACE) => Some(death),
        () = cancel.token().cancelled(), if !was_cancelled => None,
        () = cancel.killed() => None,
        () = pass_on => None,
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
