//! The Python of a command: the arguments and settings, made into a search and its result.
//!
//! Owns the report of the choice. The kernel crate makes the choice.

use std::path::{Path, PathBuf};

use inkcell_engine::api::{Helpers, KernelChoice, KernelName, KernelWishes};
use inkcell_engine::kernel::{
    BackendKind, Finder, Interpreter, LaunchError, ModuleSearch, PythonCandidate, Reason, Search,
    Workspace, candidates, check_cwd, find_modules,
};
use inkcell_engine::{Backends, ChosenKernel, Engine, EngineError, GatewayChoice};
use serde_json::{Value, json};

use super::{backends, backends_for_many, backends_on};
use crate::args::{KernelArgs, PythonArgs, WhichKernel};
use crate::exit::Failure;
use crate::output::Output;
use crate::settings::{Key, Profile, Settings, anchored, engine_config};
use crate::words;

/// An engine for one command.
pub(crate) fn engine(settings: &Settings) -> Result<Engine, Failure> {
    Ok(made(settings, backends(settings, Profile::CommandLine)?))
}

/// An engine for a command that needs many kernels, whose number it bounds itself (B:K-05).
pub(crate) fn engine_for_many(settings: &Settings) -> Result<Engine, Failure> {
    let backends = backends_for_many(settings, Profile::CommandLine)?;
    let mut config = engine_config(settings, Profile::CommandLine);
    config.limits.sessions = usize::MAX;
    Ok(Engine::new(config, backends))
}

/// An engine with kernels of this gateway.
pub(crate) fn engine_on(settings: &Settings, gateway: GatewayChoice) -> Result<Engine, Failure> {
    Ok(made(settings, backends_on(settings, Profile::CommandLine, gateway)?))
}

fn made(settings: &Settings, backends: Backends) -> Engine {
    Engine::new(engine_config(settings, Profile::CommandLine), backends)
}

/// The kernel that the arguments select.
pub(crate) fn wanted(
    python: &PythonArgs,
    kernel: &KernelArgs,
    settings: &Settings,
) -> KernelWishes {
    let WhichKernel { backend, kernel, existing } = &kernel.which;
    let named = kernel.clone().map(|name| KernelChoice::Named(KernelName(name)));
    let running = || existing.as_deref().map(|file| settings.connection_file(file, &settings.cwd));
    KernelWishes {
        interpreter: python.python.as_deref().map(|given| anchored(given, &settings.cwd)),
        backend: backend.map(BackendKind::from),
        kernel: named.or_else(|| running().map(KernelChoice::Existing)),
        helpers: Helpers::AsSet,
    }
}

/// The folder in which code works.
pub(crate) fn working_folder(args: &PythonArgs, settings: &Settings) -> Result<PathBuf, Failure> {
    let cwd = match &args.cwd {
        Some(given) => settings.cwd.join(given),
        None => settings.cwd.clone(),
    };
    let checked = if cwd.is_absolute() {
        check_cwd(&cwd)
    } else {
        // The folder in which we were started is gone.
        Err(LaunchError::NoCwd { cwd: cwd.display().to_string() })
    };
    checked.map_err(EngineError::from)?;
    if cwd.to_str().is_none() {
        // A kernel receives its folder as text.
        let problem = words::env::folder_not_text(&cwd.display());
        return Err(Failure::argument("working folder", problem));
    }
    Ok(cwd)
}

/// The places to look for a Python.
pub(crate) fn search(args: &PythonArgs, settings: &Settings, cwd: PathBuf) -> Search {
    let named = args.python.as_deref().map(|given| anchored(given, &settings.cwd));
    Search {
        setting: named.or_else(|| settings.python().interpreter),
        cwd,
        home: settings.home.clone(),
        state: Some(settings.state_dir.clone()),
        env: settings.parent_env(),
        program: settings.surroundings.program.clone(),
    }
}

/// Prints which programs from the workspace are about to run, because others may have put them there.
pub(crate) fn announce(search: &Search, output: &mut Output) {
    let workspace = Workspace::around(&search.cwd);
    for PythonCandidate { path, reason, .. } in candidates(search).list {
        if path.exists() && workspace.holds(&path) {
            let said = words::env::checking(&path.display(), &reason);
            output.beforehand(&said);
        }
    }
}

/// Finds interpreters, and remembers in the state folder which ones work.
pub(crate) fn finder(settings: &Settings) -> Finder {
    Finder::with_cache_dir(settings.state_dir.clone())
}

/// The modules a kernel that works in this folder loads, by name and path.
pub(crate) fn modules(
    settings: &Settings,
    cwd: PathBuf,
) -> Result<Vec<(String, PathBuf)>, EngineError> {
    Ok(find_modules(&ModuleSearch {
        state: Some(settings.state_dir.clone()),
        home: settings.home.clone(),
        cwd,
        project: settings.python().project_modules,
    })?)
}

/// The origin of the choice of an interpreter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChoiceOrigin {
    /// An argument of the command.
    ByArgument,
    /// A setting, or the default.
    Elsewhere,
}

impl ChoiceOrigin {
    /// The origin of a choice that may come from the command line.
    pub(crate) fn of(given: Option<&str>) -> ChoiceOrigin {
        if given.is_some() { ChoiceOrigin::ByArgument } else { ChoiceOrigin::Elsewhere }
    }
}

/// The reason for this interpreter, with the origin of the choice.
pub(crate) fn reason(
    interpreter: &Interpreter,
    named: ChoiceOrigin,
    settings: &Settings,
) -> String {
    match interpreter.reason {
        Reason::Setting if named == ChoiceOrigin::ByArgument => words::env::BY_ARGUMENT.to_owned(),
        Reason::Setting => {
            let source = &settings.resolved.get(Key::PythonInterpreter).source;
            words::env::set_by(source)
        }
        other if interpreter.is_own() => words::env::own(&other),
        other => other.to_string(),
    }
}

/// The kernel in one line.
pub(crate) fn kernel_line(kernel: &ChosenKernel) -> String {
    let backend = kernel.backend.name();
    match (&kernel.name, &kernel.display_name) {
        (None, _) => backend.to_owned(),
        (Some(name), None) => format!("{name} ({backend})"),
        (Some(name), Some(display)) => format!("{name} ({display}; {backend})"),
    }
}

/// The interpreter in one line.
pub(crate) fn line(interpreter: &Interpreter, reason: &str) -> String {
    format!("{} (Python {}; {reason})", interpreter.path.display(), interpreter.version)
}

/// A path for programs. JSON cannot hold paths that are not UTF-8, so these appear as people see them.
pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The interpreter as JSON.
pub(crate) fn to_json(interpreter: &Interpreter, reason: &str) -> Value {
    let skipped = interpreter.skipped.iter().map(|skipped| {
        json!({
            "path": text(&skipped.path),
            "candidate": skipped.reason.to_string(),
            "why": skipped.why.to_string(),
        })
    });
    json!({
        "path": text(&interpreter.path),
        "found_at": text(&interpreter.found_at),
        "real_path": text(&interpreter.real_path),
        "version": interpreter.version.to_string(),
        "implementation": interpreter.implementation,
        "venv": interpreter.venv.as_deref().map(text),
        "reason": reason,
        "skipped": skipped.collect::<Vec<_>>(),
    })
}
