//! `inkcell py`: code run in a kernel of its own, its output shown as it comes.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use inkcell_engine::kernel::{
    Backend, ChildEnv, CodeRequest, Death, EnvMode, EnvRules, ExecId, ForkServer, History,
    Interpreter, KernelEvent, KernelSpec, LaunchError, Launched, RunnerBackend, RunnerConfig,
    Startup, child_environment, withheld_hint_for,
};
use inkcell_engine::{Cancel, CellEnd, EngineError, KernelFate, Limits, execute, is_notebook_path};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::listener::Listener;
use super::signals::Signals;
use super::{input, python};
use crate::args::Py;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::render::ending::Summary;
use crate::render::live::{Colour, Live, Show};
use crate::render::recorded::Recorded;
use crate::settings::Settings;

/// How long a kernel may take to end once its code has, for what the code left to be done at exit.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// How long a reader that does not read is waited for once the code had to stop.
const LAST_WORDS: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &Py, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let code = code(args, settings)?;
    super::runtime()?.block_on(run_code(args, code, settings, output))
}

/// The code, from wherever it is.
fn code(args: &Py, settings: &Settings) -> Result<String, Failure> {
    match (&args.code, &args.file) {
        (Some(code), _) if code != "-" => Ok(code.clone()),
        (_, Some(path)) if path != "-" => {
            if is_notebook_path(path) {
                let problem = format!(
                    "{path} is a notebook, not Python code; for its code: inkcell to script {path} | \
                     inkcell py -"
                );
                return Err(Failure::argument("--file", problem));
            }
            let text = input::file_text("--file", path, settings)?;
            // Python itself takes a mark of the encoding at the start of a file, not of a text.
            Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
        }
        (None, None) if std::io::stdin().is_terminal() => Err(Failure::argument(
            "CODE",
            "there is none; give it, for example: inkcell py '1 + 1', or inkcell py -f FILE",
        )),
        _ if std::io::stdin().is_terminal() => Err(Failure::argument(
            "standard input",
            "it is a terminal; pipe the code in, for example: echo 'print(1)' | inkcell py -",
        )),
        _ => input::stdin_text(),
    }
}

async fn run_code(
    args: &Py,
    code: String,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let cancel = Cancel::default();
    let signals = Signals::listen(cancel.clone())?;
    let started = start(args, settings, output, &cancel).await;
    // What a signal cut short is no failure of its own.
    let Started { mut launched, backend, interpreter, reason, child } =
        started.map_err(|failure| signals.first().map_or(failure, Failure::Signal))?;

    let show: Box<dyn Show> = if output.is_json() {
        Box::new(Recorded::default())
    } else {
        let is_coloured = settings.may_colour() && std::io::stderr().is_terminal();
        Box::new(Live::new(if is_coloured { Colour::On } else { Colour::Off }))
    };
    let listener = Listener::start(show);
    let Listener { events, rest } =
        listener.map_err(|error| Failure::Io("cannot start a thread", error))?;
    let request =
        CodeRequest { exec: ExecId(1), code, history: History::Store, env: Vec::new(), cwd: None };
    let timeout = args.timeout.filter(|timeout| !timeout.is_zero());
    let limits = Limits { timeout, ladder: settings.python().ladder };
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
    let soon = Instant::now() + LAST_WORDS;
    let limit = match timeout {
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
        Some(shown) => shown.map_err(Failure::of_output).map(|()| exit),
        // Whoever should read did not; what is left is dropped with the thread that holds it.
        None => Ok(Exit::TimedOut),
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
    let launched = backend.launch(&spec, cancel.token()).await.map_err(EngineError::from)?;
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
