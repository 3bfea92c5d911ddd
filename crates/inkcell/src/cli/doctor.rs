//! `inkcell doctor`: which parts work here, which do not, and what to type (B:C-09).
//!
//! Owns how the answers are shown, and the exit code. The checks are in `machine`, `kernels`, `backend` and
//! `gateway`.

mod backends;
mod kernels;
mod machine;

use inkcell_engine::EngineError;
use serde_json::{Value, json};

use super::signals::Signals;
use crate::app::python::{self, working_folder};
use crate::args::Doctor;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::words;
use crate::words::step::Audience;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    Ok,
    /// It works, and the user should know something about it.
    Warn,
    /// It does not work, and the command ends with this code.
    Fail(Exit),
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Warn => "warn",
            Level::Fail(_) => "fail",
        }
    }
}

/// One check: its subject, its result, and the next step.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Check {
    level: Level,
    what: &'static str,
    found: String,
    next: Option<String>,
}

impl Check {
    fn ok(what: &'static str, found: impl Into<String>) -> Check {
        Check { level: Level::Ok, what, found: found.into(), next: None }
    }

    fn warn(what: &'static str, found: impl Into<String>) -> Check {
        Check { level: Level::Warn, ..Check::ok(what, found) }
    }

    fn fail(what: &'static str, exit: Exit, found: impl Into<String>) -> Check {
        Check { level: Level::Fail(exit), ..Check::ok(what, found) }
    }

    fn of_error(what: &'static str, error: &EngineError) -> Check {
        let check = Check::fail(what, Exit::of_kind(error.kind()), error.to_string());
        Check { next: Audience::Person.step_after(error), ..check }
    }

    fn next(mut self, step: impl Into<String>) -> Check {
        self.next = Some(step.into());
        self
    }
}

pub(crate) fn run(
    args: &Doctor,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let mut checks = machine::checks(settings);
    match working_folder(&args.python, settings) {
        Ok(cwd) => {
            checks.push(Check::ok("working folder", cwd.display().to_string()));
            python::announce(&python::search(&args.python, settings, cwd.clone()), output);
            checks.extend(super::runtime()?.block_on(ask_python(args, settings, cwd.clone()))?);
            checks.extend(super::runtime()?.block_on(backends::backend(
                &args.python,
                settings,
                cwd,
            )));
        }
        Err(Failure::Engine(error)) => checks.push(Check::of_error("working folder", &error)),
        Err(other) => return Err(other),
    }
    checks.extend(machine::advice(settings));
    checks.push(super::runtime()?.block_on(backends::gateway(settings)));
    show(&checks, output).map_err(Failure::of_output)?;
    let failed = checks.iter().find_map(|check| match check.level {
        Level::Fail(exit) => Some(exit),
        Level::Ok | Level::Warn => None,
    });
    Ok(failed.unwrap_or(Exit::Ok))
}

async fn ask_python(
    args: &Doctor,
    settings: &Settings,
    cwd: std::path::PathBuf,
) -> Result<Vec<Check>, Failure> {
    let signals = Signals::listen()?;
    let asked = kernels::Probe::new(args, settings, cwd)?;
    let mut checks = Vec::new();
    let is_cut_short = tokio::select! {
        () = asked.checks(&mut checks) => false,
        () = signals.asked(1) => true,
    };
    // Leave no kernel behind, whatever the result.
    asked.end().await;
    match signals.first() {
        Some(signal) if is_cut_short => Err(Failure::Signal(signal)),
        _ => Ok(checks),
    }
}

fn show(checks: &[Check], output: &mut Output) -> std::io::Result<()> {
    let number = |word: &str| checks.iter().filter(|check| check.level.name() == word).count();
    let (failed, warned) = (number("fail"), number("warn"));
    if output.is_json() {
        let listed: Vec<Value> = checks.iter().map(to_json).collect();
        return output.json(&json!({"ok": failed == 0, "checks": listed}));
    }
    let width = checks.iter().map(|check| check.what.len()).max().unwrap_or_default();
    for Check { level, what, found, next } in checks {
        let mut lines = found.lines();
        let first = lines.next().unwrap_or_default();
        output.line(&format!("{:<4}  {what:<width$}  {first}", level.name()))?;
        // The steps that solve something stand at the end, together.
        let next = next.as_ref().filter(|_| *level == Level::Ok);
        for line in lines.chain(next.map(String::as_str)) {
            output.line(&format!("{:<4}  {:<width$}  {line}", "", ""))?;
        }
    }
    output.line("")?;
    if failed + warned == 0 {
        return output.line(words::doctor::ALL_WELL);
    }
    output.line(&words::doctor::to_do(failed, checks.len(), warned))?;
    let (fails, warnings): (Vec<_>, Vec<_>) = checks
        .iter()
        .filter(|check| check.level != Level::Ok)
        .partition(|check| matches!(check.level, Level::Fail(_)));
    for Check { what, found, next, .. } in fails.into_iter().chain(warnings) {
        let step = next.as_deref().or(found.lines().next()).unwrap_or_default();
        output.line(&format!("  {what}: {step}"))?;
    }
    Ok(())
}

fn to_json(check: &Check) -> Value {
    let Check { level, what, found, next } = check;
    json!({"level": level.name(), "what": what, "found": found, "next": next})
}
