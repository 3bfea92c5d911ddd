//! `inkcell env`: which Python would run code here, and why; `inkcell env setup` makes the managed one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use inkcell_engine::EngineError;
use inkcell_engine::kernel::{
    EnvMode, EnvRules, EnvSetup as Setup, Existing, Interpreter, LaunchError, ManagedEnv,
    PythonCandidate, Reason, SetupDone, SetupError, SetupEvent, candidates, child_environment,
    set_up_environment,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::signals::Signals;
use crate::app::python::{self, ChoiceOrigin, text};
use crate::args::{Env, EnvCommand, EnvSetup, PythonArgs};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::{Key, Settings, Source};
use crate::words;

/// The package that the managed environment always contains.
const ALWAYS: &str = "ipykernel";

/// The time limit for one program that makes an environment: packages come over the network.
const STEP_TIMEOUT: Duration = Duration::from_secs(900);

pub(crate) fn run(args: &Env, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let runtime = super::runtime()?;
    match &args.command {
        None => runtime.block_on(show(&args.python, settings, output)),
        Some(EnvCommand::Setup(setup)) => runtime.block_on(set_up(setup, settings, output)),
    }
}

/// Everything that decides how code would run here.
struct Here {
    cwd: PathBuf,
    python: Interpreter,
    reason: String,
    /// Other interpreters, found but not tried.
    others: Vec<PythonCandidate>,
    modules: Vec<(String, PathBuf)>,
}

async fn show(
    args: &PythonArgs,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let cwd = python::working_folder(args, settings)?;
    let search = python::search(args, settings, cwd.clone());
    python::announce(&search, output);
    let found = python::finder(settings).find(&search).await.map_err(EngineError::from)?;
    let is_other = |other: &PythonCandidate| {
        other.path != found.found_at && found.skipped.iter().all(|tried| tried.path != other.path)
    };
    let here = Here {
        reason: python::reason(&found, ChoiceOrigin::of(args.python.as_deref()), settings),
        others: candidates(&search).list.into_iter().filter(is_other).collect(),
        modules: python::modules(settings, cwd.clone())?,
        python: found,
        cwd,
    };
    let written = if output.is_json() {
        output.json(&here.to_json(settings))
    } else {
        here.lines(settings).iter().try_for_each(|line| output.line(line))
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

impl Here {
    fn lines(&self, settings: &Settings) -> Vec<String> {
        let Here { cwd, python, reason, others, modules } = self;
        let mut lines = vec![
            format!("Python {} ({})", python.version, python.implementation),
            format!("  path: {}", python.path.display()),
            format!("  why: {reason}"),
        ];
        if python.found_at != python.path {
            lines.push(format!("  found at: {}", python.found_at.display()));
        }
        if let Some(venv) = &python.venv {
            lines.push(format!("  environment: {}", venv.display()));
        }
        if !python.skipped.is_empty() {
            lines.push(words::env::PASSED_OVER.to_owned());
            lines.extend(python.skipped.iter().map(|skipped| {
                format!("  {} ({}): {}", skipped.path.display(), skipped.reason, skipped.why)
            }));
        }
        if !others.is_empty() {
            lines.push(words::env::NOT_NEEDED.to_owned());
            let other =
                |other: &PythonCandidate| format!("  {} ({})", other.path.display(), other.reason);
            lines.extend(others.iter().map(other));
        }
        let value = |key| &settings.resolved.get(key).value;
        let (shell, prelude) = (value(Key::PythonShell), value(Key::PythonPrelude));
        lines.push(format!("Shell: {shell}; prelude: {prelude}"));
        lines.push(match modules.as_slice() {
            [] => "Modules: none".to_owned(),
            _ => "Modules:".to_owned(),
        });
        let module = |(name, path): &(String, PathBuf)| format!("  {name} ({})", path.display());
        lines.extend(modules.iter().map(module));
        lines.push(format!("Variables: {}", value(Key::EnvMode)));
        lines.push(format!("Working folder: {}", cwd.display()));
        lines.push(format!("State: {}", settings.state_dir.display()));
        lines.push(match managed(settings) {
            Some(folder) => format!("Managed environment: {}", folder.display()),
            None => words::env::NONE_MANAGED.to_owned(),
        });
        let set: Vec<_> =
            settings.resolved.iter().filter(|(_, set)| set.source != Source::Default).collect();
        if !set.is_empty() {
            lines.push(words::env::SETTINGS.to_owned());
            lines.extend(set.iter().map(|(row, setting)| {
                format!("  {} = {} ({})", row.name, setting.value, setting.source)
            }));
        }
        lines
    }

    fn to_json(&self, settings: &Settings) -> Value {
        let others = self.others.iter().map(|other| {
            json!({
                "path": text(&other.path),
                "candidate": other.reason.to_string(),
                "venv": other.venv.as_deref().map(text),
            })
        });
        let modules =
            self.modules.iter().map(|(name, path)| json!({"name": name, "path": text(path)}));
        let set = settings.resolved.iter().map(|(row, setting)| {
            let value = json!({
                "value": setting.value.to_json(),
                "source": setting.source.to_string(),
            });
            (row.name.to_owned(), value)
        });
        json!({
            "python": python::to_json(&self.python, &self.reason),
            "others": others.collect::<Vec<_>>(),
            "modules": modules.collect::<Vec<_>>(),
            "cwd": text(&self.cwd),
            "state": text(&settings.state_dir),
            "managed": managed(settings).as_deref().map(text),
            "settings": set.collect::<serde_json::Map<_, _>>(),
            "files": settings.files.iter().map(|path| text(path)).collect::<Vec<_>>(),
            "warnings": settings.warnings,
        })
    }
}

/// The folder of the managed environment, if it exists.
fn managed(settings: &Settings) -> Option<PathBuf> {
    Some(settings.state_dir.join("python-env")).filter(|folder| folder.is_dir())
}

async fn set_up(
    args: &EnvSetup,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let signals = Signals::listen()?;
    let cancel = CancellationToken::new();
    let pass_on = async {
        signals.asked(1).await;
        cancel.cancel();
        std::future::pending::<()>().await;
    };
    let made = tokio::select! {
        made = make(args, settings, output, &cancel) => made,
        () = pass_on => Err(LaunchError::Cancelled.into()),
    };
    // A step that a signal cut short is not a failure of its own.
    let made = made.map_err(|error| match signals.first() {
        Some(signal) => Failure::Signal(signal),
        None => Failure::Engine(error),
    })?;
    let ManagedEnv { python, version, done } = made;
    let (word, sentence) = match done {
        SetupDone::Made => ("made", words::env::MADE),
        SetupDone::Extended => ("extended", words::env::EXTENDED),
        SetupDone::Nothing => ("nothing", words::env::COMPLETE),
    };
    let written = if output.is_json() {
        output.json(&json!({"python": text(&python), "version": version.to_string(), "done": word}))
    } else {
        let lines = [
            sentence.to_owned(),
            format!("  Python: {}", python.display()),
            format!("  Version: {version}"),
        ];
        lines.iter().try_for_each(|line| output.line(line))
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

async fn make(
    args: &EnvSetup,
    settings: &Settings,
    output: &mut Output,
    cancel: &CancellationToken,
) -> Result<ManagedEnv, EngineError> {
    let named = PythonArgs { cwd: None, python: args.python.clone() };
    let mut search = python::search(&named, settings, settings.cwd.clone());
    // The managed environment must not be made from itself.
    search.state = None;
    python::announce(&search, output);
    let finder = python::finder(settings);
    let base = tokio::select! {
        found = finder.find(&search) => found?,
        () = cancel.cancelled() => return Err(LaunchError::Cancelled.into()),
    };
    if base.reason != Reason::Setting {
        let reason = python::reason(&base, ChoiceOrigin::of(named.python.as_deref()), settings);
        output.aside(&format!("base: {}", python::line(&base, &reason)));
    }
    let rules = EnvRules { mode: EnvMode::Inherit, pass: Vec::new() };
    let setup = Setup {
        state: settings.state_dir.clone(),
        base: base.path,
        packages: std::iter::once(ALWAYS.to_owned()).chain(args.packages.iter().cloned()).collect(),
        existing: if args.fresh { Existing::Replace } else { Existing::Keep },
        env: child_environment(&search.env, &rules, &BTreeMap::new()).vars,
        step_timeout: STEP_TIMEOUT,
    };
    let mut report = |event: SetupEvent| match event {
        SetupEvent::Began(step) => output.aside(&format!("{step} ...")),
        SetupEvent::Line(line) => output.aside(&format!("  {line}")),
        SetupEvent::Failed(step) => output.aside(&format!("{step}: did not work")),
        SetupEvent::Done(_) => {}
    };
    let made = set_up_environment(&setup, cancel, &mut report).await;
    made.map_err(|error: SetupError| error.into())
}
