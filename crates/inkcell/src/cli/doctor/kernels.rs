//! Checks that need a Python: which one it is, and whether its kernels really run.
//!
//! Owns the questions. Kernels are started as for an agent, and ended before the answer.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use inkcell_engine::Backends;
use inkcell_engine::api::{
    CellKernel, CellSource, EndReport, KernelMode, KernelWishes, PythonReport, PythonRequest,
    Reading, State,
};
use inkcell_engine::kernel::{
    ForkServer, InputMode, Interpreter, Origin, RunnerBackend, RunnerConfig, Shell, SkipReason,
    SkippedCandidate, ZygoteState,
};
use inkcell_engine::registry::OwnerId;
use inkcell_engine::{CallOptions, Engine, EngineError, NextStep};
use tokio::time::Instant;

use super::Check;
use crate::app::python::{self, ChoiceOrigin};
use crate::args::{Doctor, PythonArgs};
use crate::exit::{Exit, Failure};
use crate::settings::{Key, Profile, Settings, Value, anchored, engine_config, runner_config};
use crate::setup::quoted;
use crate::view::run::duration;
use crate::words::{self, step::Audience};

/// The time limit for code that is run here.
const CODE_LIMIT: Duration = Duration::from_secs(30);

/// How long a fork server may import its modules.
const FORK_LIMIT: Duration = Duration::from_secs(30);

/// The interval at which the fork server is checked meanwhile.
const FORK_LOOK: Duration = Duration::from_millis(20);

/// The only caller of these engines.
const OWNER: OwnerId = OwnerId(0);

/// The probed packages that notebooks use most; the other backends need the rest.
const COMMON: [&str; 3] = ["numpy", "pandas", "matplotlib"];

/// Prints the versions of these packages without importing them, and runs no file of the working folder.
const PROBE: &str = "\
import sys
del sys.path[0]
import importlib.metadata as _m, json as _j
_found = {}
for _name in ['ipython', 'ipykernel', 'jupyter_client', 'jupyter_server', 'numpy', 'pandas', 'matplotlib']:
    try:
        _found[_name] = _m.version(_name)
    except Exception:
        pass
print(_j.dumps(_found))";

pub(super) struct Probe<'a> {
    args: &'a PythonArgs,
    settings: &'a Settings,
    cwd: PathBuf,
    backend: Arc<RunnerBackend>,
    /// Has the lite shell.
    engine: Engine,
    /// Has the shell of the interpreter's own IPython.
    ipython: Engine,
}

impl<'a> Probe<'a> {
    pub(super) fn new(
        args: &'a Doctor,
        settings: &'a Settings,
        cwd: PathBuf,
    ) -> Result<Probe<'a>, Failure> {
        let mut config = RunnerConfig { spares: 0, ..runner_config(settings, Profile::Default) };
        if let ForkServer::On { wait } = &mut config.fork_server {
            // A slow copy is reported with its time, and does not count as a missing one.
            *wait = FORK_LIMIT;
        }
        let backend = Arc::new(crate::log::runner(config).map_err(EngineError::from)?);
        let mut config = engine_config(settings, Profile::Default);
        // The shell without requirements shows whether kernels run at all; the other has a check of its own.
        config.kernels.shell = Shell::Lite;
        let backends = Backends::only(backend.clone());
        let engine = Engine::new(config.clone(), backends.clone());
        config.kernels.shell = Shell::IPython;
        let ipython = Engine::new(config, backends);
        Ok(Probe { args: &args.python, settings, cwd, backend, engine, ipython })
    }

    /// Ends the kernels that were started.
    pub(super) async fn end(&self) {
        self.engine.shutdown().await;
        self.ipython.shutdown().await;
    }

    pub(super) async fn checks(&self, checks: &mut Vec<Check>) {
        let chosen = match self.engine.choose(&self.cwd, &self.wanted()).await {
            Ok(chosen) => chosen,
            Err(error) => return checks.push(no_python(&error)),
        };
        // Only Python was asked for, so the choice names an interpreter.
        let Some(interpreter) = chosen.interpreter else { return };
        let reason = python::reason(
            &interpreter,
            ChoiceOrigin::of(self.args.python.as_deref()),
            self.settings,
        );
        let line = python::line(&interpreter, &reason);
        checks.push(match interpreter.is_own() {
            true => Check::warn("python", line).next(words::doctor::OWN_PYTHON),
            false => Check::ok("python", line),
        });
        checks.extend(interpreter.skipped.iter().map(passed_over));
        let began = Instant::now();
        let ran = self.run(&self.engine, &["1+1", PROBE]).await;
        let report = match settled("kernel", ran) {
            Ok(report) => report,
            Err(check) => return checks.push(check),
        };
        checks.push(started(&report, began.elapsed()));
        let packages = packages(&report);
        checks.push(common(&packages, &interpreter));
        checks.push(jupyter(&packages, &interpreter));
        checks.push(self.fork_server().await);
        checks.push(self.shell(&packages, &interpreter).await);
    }

    fn wanted(&self) -> KernelWishes {
        let named = self.args.python.as_deref();
        KernelWishes::interpreter(named.map(|given| anchored(given, &self.settings.cwd)))
    }

    async fn run(&self, engine: &Engine, cells: &[&str]) -> Result<PythonReport, EngineError> {
        let cell = |code: &&str| CellSource {
            code: (*code).to_owned(),
            title: None,
            timeout: None,
            kernel: CellKernel::default(),
        };
        let request = PythonRequest {
            cells: cells.iter().map(cell).collect(),
            session: None,
            cwd: self.cwd.clone(),
            wanted: self.wanted(),
            mode: KernelMode::PerCall,
            timeout: Some(CODE_LIMIT),
            wait: None,
            reading: Reading::default(),
            input: InputMode::Refuse,
        };
        let resolved = engine.resolve(&request.session_ref(), request.mode).await?;
        let options = CallOptions::of(OWNER);
        let call = engine.submit(request.on(&resolved.chosen), options).await?;
        Ok(call.settled().await)
    }

    /// Checks that kernels can be copies of one that has imported everything.
    async fn fork_server(&self) -> Check {
        const WHAT: &str = "fork server";
        let setting = self.settings.resolved.get(Key::KernelZygote);
        if setting.value == Value::Choice("off") {
            return Check::ok(WHAT, words::doctor::switched_off(&setting.source));
        }
        // The first kernel has started the fork server, which imports in the background.
        let end = Instant::now() + FORK_LIMIT;
        let state = loop {
            let state =
                self.backend.fork_servers().await.into_iter().next().map(|(.., state)| state);
            match state {
                Some(ZygoteState::Starting) if Instant::now() < end => {
                    tokio::time::sleep(FORK_LOOK).await;
                }
                other => break other,
            }
        };
        let began = Instant::now();
        let report = match settled(WHAT, self.run(&self.engine, &["1+1"]).await) {
            Ok(report) => report,
            Err(check) => return check,
        };
        let took = duration(began.elapsed());
        match report.kernel.map(|kernel| kernel.origin) {
            Some(Origin::Forked) => match state {
                Some(ZygoteState::Ready { failed }) if !failed.is_empty() => {
                    let failed: Vec<String> =
                        failed.iter().map(|(module, why)| format!("{module}: {why}")).collect();
                    let found = words::doctor::not_imported(&took, &failed.join("; "));
                    Check::warn(WHAT, found).next(words::doctor::CHANGE_PRELOAD)
                }
                _ => Check::ok(WHAT, words::doctor::copied_in(&took)),
            },
            Some(
                Origin::Spare { reason } | Origin::Started { reason } | Origin::Joined { reason },
            ) => {
                let found = words::doctor::not_used(&reason, &took);
                Check::warn(WHAT, found)
            }
            None => Check::warn(WHAT, words::doctor::ORIGIN_UNKNOWN),
        }
    }

    /// Checks that the interpreter's own IPython can be the shell.
    async fn shell(&self, packages: &BTreeMap<String, String>, python: &Interpreter) -> Check {
        const WHAT: &str = "ipython shell";
        let is_wanted =
            self.settings.resolved.get(Key::PythonShell).value == Value::Choice("ipython");
        let Some(version) = packages.get("ipython") else {
            let next = install(python, &["ipython"]);
            return match is_wanted {
                true => Check::fail(WHAT, Exit::Unavailable, words::doctor::NO_IPYTHON).next(next),
                false => Check::ok(WHAT, words::doctor::NO_IPYTHON_NEEDED).next(next),
            };
        };
        let began = Instant::now();
        match settled(WHAT, self.run(&self.ipython, &["1+1"]).await) {
            Ok(_) => Check::ok(WHAT, format!("IPython {version}, {}", duration(began.elapsed()))),
            Err(check) if is_wanted => check,
            Err(check) => Check { level: super::Level::Warn, ..check },
        }
    }
}

/// The check of a choice that found no Python, or none that works.
fn no_python(error: &EngineError) -> Check {
    let check = Check::of_error("python", error);
    // The usual step is this command.
    match error.next_step() {
        Some(NextStep::InstallPython) => check.next(words::doctor::INSTALL_PYTHON),
        Some(NextStep::NameOtherPython) => check.next(words::doctor::NAME_PYTHON),
        _ => check,
    }
}

/// A Python that was not chosen. To pass over inkcell's own environment is not a fault.
fn passed_over(skipped: &SkippedCandidate) -> Check {
    let SkippedCandidate { path, reason, why } = skipped;
    let found = format!("{}: {why}", path.display());
    match why {
        SkipReason::OwnEnvironment => Check::ok("passed over", found),
        _ => {
            let next = words::doctor::mend(&path.display(), reason);
            Check::warn("passed over", found).next(next)
        }
    }
}

/// The report of a call that ended well, or a check that says why not.
fn settled(
    what: &'static str,
    ran: Result<PythonReport, EngineError>,
) -> Result<PythonReport, Check> {
    let report = ran.map_err(|error| Check::of_error(what, &error))?;
    if report.state == State::Done {
        return Ok(report);
    }
    let end = report.cells.iter().find_map(|cell| cell.end.as_ref());
    if let Some(EndReport::NoKernel(problem)) = end {
        let check = Check::fail(what, Exit::of_kind(problem.kind), problem.message.clone());
        return Err(Check {
            next: problem.step.map(|step| Audience::Person.kernel_step(step)),
            ..check
        });
    }
    let exit = match report.state {
        State::KernelDied => Exit::KernelDied,
        State::TimedOut => Exit::TimedOut,
        _ => Exit::Failed,
    };
    let sentence = words::call::sentence(report.state, end);
    let found = sentence.unwrap_or_else(|| words::doctor::FAILED_SUM.to_owned());
    Err(Check::fail(what, exit, found).next(words::doctor::NAME_PYTHON))
}

fn started(report: &PythonReport, took: Duration) -> Check {
    let answer = report.cells.first().map(|cell| cell.output.text()).unwrap_or_default();
    let took = duration(took);
    match answer.trim() {
        "2" => Check::ok("kernel", words::doctor::started_in(&took)),
        other => Check::fail("kernel", Exit::Failed, words::doctor::wrong_sum(other)),
    }
}

/// The packages that the probe found, with their versions.
fn packages(report: &PythonReport) -> BTreeMap<String, String> {
    let text = report.cells.get(1).map(|cell| cell.output.text()).unwrap_or_default();
    serde_json::from_str(text.trim()).unwrap_or_default()
}

fn common(packages: &BTreeMap<String, String>, python: &Interpreter) -> Check {
    let (there, missing): (Vec<&str>, Vec<&str>) =
        COMMON.iter().partition(|name| packages.contains_key(**name));
    let mut found = named(packages, &there);
    if missing.is_empty() {
        return Check::ok("packages", found);
    }
    if !there.is_empty() {
        found.push_str("; ");
    }
    found.push_str(&words::doctor::not_installed(&missing.join(", ")));
    Check::warn("packages", found).next(install(python, &missing))
}

fn jupyter(packages: &BTreeMap<String, String>, python: &Interpreter) -> Check {
    let names = ["ipykernel", "jupyter_client", "jupyter_server"];
    let there: Vec<&str> = names.into_iter().filter(|name| packages.contains_key(*name)).collect();
    if packages.contains_key("ipykernel") {
        return Check::ok("jupyter", named(packages, &there));
    }
    let found = words::doctor::NO_IPYKERNEL;
    Check::ok("jupyter", found).next(install(python, &["ipykernel"]))
}

fn named(packages: &BTreeMap<String, String>, names: &[&str]) -> String {
    let version = |name: &&str| packages.get(*name).map(|version| format!("{name} {version}"));
    names.iter().filter_map(version).collect::<Vec<_>>().join(", ")
}

/// The command that installs packages into this Python, or into one that is inkcell's own.
fn install(python: &Interpreter, names: &[&str]) -> String {
    let names = names.join(" ");
    let path = quoted(&python.path.display().to_string());
    words::doctor::install(&path, &names)
}
