//! `inkcell kernel specs`: the installed Jupyter kernels, and the defects of those that cannot be used.
//!
//! Owns how they are shown. The kernel crate finds them.

use inkcell_engine::Engine;
use inkcell_engine::kernel::{BackendKind, InterruptMode, Kernelspec, Kernelspecs};
use serde_json::{Value, json};

use crate::app::backends;
use crate::app::python::{self, text};
use crate::args::{Kernel, KernelCommand, Specs};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::{Profile, Settings, anchored, engine_config};
use crate::words;

pub(crate) fn run(
    args: &Kernel,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let KernelCommand::Specs(args) = &args.command;
    let found = super::runtime()?.block_on(installed(args, settings))?;
    let written = if output.is_json() {
        output.json(&to_json(&found))
    } else {
        lines(&found).iter().try_for_each(|line| output.line(line))
    };
    written.map_err(Failure::of_output)?;
    for broken in &found.broken {
        output.aside(&format!("warning: {broken}"));
    }
    Ok(Exit::Ok)
}

async fn installed(args: &Specs, settings: &Settings) -> Result<Kernelspecs, Failure> {
    let cwd = python::working_folder(&args.python, settings)?;
    let named = args.python.python.as_deref().map(|given| anchored(given, &settings.cwd));
    let profile = Profile::CommandLine;
    let engine = Engine::new(engine_config(settings, profile), backends(settings, profile)?);
    let backend = args.backend.map(BackendKind::from);
    Ok(engine.installed_kernels(&cwd, named.as_deref(), backend).await?)
}

/// One line each: name, language, display name and folder.
fn lines(found: &Kernelspecs) -> Vec<String> {
    if found.found.is_empty() {
        return vec![words::env::NO_KERNELS.to_owned()];
    }
    let width = |of: fn(&Kernelspec) -> &str| {
        found.found.iter().map(|spec| of(spec).chars().count()).max().unwrap_or_default()
    };
    let (name, language) = (width(|spec| &spec.name), width(|spec| &spec.language));
    let line = |spec: &Kernelspec| {
        // A gateway does not reveal the folder.
        let place = match spec.resource_dir.as_os_str().is_empty() {
            true => "on the gateway".to_owned(),
            false => spec.resource_dir.display().to_string(),
        };
        format!("{:name$}  {:language$}  {} ({place})", spec.name, spec.language, spec.display_name)
    };
    found.found.iter().map(line).collect()
}

fn to_json(found: &Kernelspecs) -> Value {
    let spec = |spec: &Kernelspec| {
        let interrupt_mode = match spec.interrupt_mode {
            InterruptMode::Signal => "signal",
            InterruptMode::Message => "message",
        };
        json!({
            "name": spec.name,
            "language": spec.language,
            "display_name": spec.display_name,
            "resource_dir": text(&spec.resource_dir),
            "argv": spec.argv,
            "env": spec.env,
            "interrupt_mode": interrupt_mode,
            "metadata": serde_json::from_str::<Value>(&spec.metadata).unwrap_or_else(|_| json!({})),
        })
    };
    json!({
        "kernels": found.found.iter().map(spec).collect::<Vec<_>>(),
        "broken": found.broken.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
