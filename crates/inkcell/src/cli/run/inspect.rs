//! `inkcell run --inspect`: shows the parameters of a notebook, and runs nothing.
//!
//! Owns how they are shown. The notebook crate defines what a parameter is.

use inkcell_engine::api::KernelChoice;
use inkcell_engine::notebook::{NoParameters, Parameter, ParameterError, ParameterLanguage};
use inkcell_engine::{Kind, OpenNotebook, notebook_kernel};
use serde_json::{Value, json};

use super::NotebookSource;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::setup::quoted;
use crate::words;

pub(super) fn run(
    path: &str,
    given: &NotebookSource,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let file = given.copy().map(|(file, _)| file.display().to_string());
    let opened = settings.notebooks.read(file.as_deref().unwrap_or(path))?;
    let name = given.copy().map_or(path, |(_, name)| name);
    let language = language(&opened).map_err(|error| refused(name, &error))?;
    let defaults = opened.notebook.defaults_cell();
    let found = match opened.notebook.parameters(language) {
        Err(_) if defaults.is_none() => Vec::new(),
        found => found.map_err(|error| unreadable(name, &error))?,
    };
    let written = match output.is_json() {
        true => output.json(&json!({
            "path": name,
            "cell": defaults,
            "injected": opened.notebook.injected_cell(),
            "language": language.name(),
            "parameters": found.iter().map(as_json).collect::<Vec<_>>(),
        })),
        false => lines(name, defaults, &found).iter().try_for_each(|line| output.line(line)),
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

fn refused(name: &str, error: &ParameterError) -> Failure {
    Failure::argument("--inspect", format!("{name}: {error}"))
}

fn unreadable(name: &str, error: &NoParameters) -> Failure {
    let quoted = quoted(name);
    let step = match error {
        NoParameters::NoCode { cell, .. } => Some(words::parameters::move_tag(&quoted, cell)),
        NoParameters::Broken { cell, .. } => Some(words::parameters::look_at(&quoted, cell)),
        NoParameters::NoCell | NoParameters::Language(_) => None,
    };
    let message = format!("{name}: {error}");
    Failure::new(Kind::Invalid, message, step)
}

fn language(opened: &OpenNotebook) -> Result<ParameterLanguage, ParameterError> {
    match notebook_kernel(opened) {
        Some(KernelChoice::OfNotebook { name, language }) => {
            let name = name.map(|name| name.0);
            ParameterLanguage::of(name.as_deref(), language.as_deref())
        }
        _ => ParameterLanguage::of(None, None),
    }
}

fn as_json(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "type": parameter.type_name(),
        "declared": parameter.declared,
        "default": parameter.default,
        "help": parameter.help,
    })
}

fn lines(name: &str, defaults: Option<usize>, found: &[Parameter]) -> Vec<String> {
    let Some(cell) = defaults else {
        return vec![words::parameters::no_cell(name)];
    };
    if found.is_empty() {
        return vec![words::parameters::sets_none(cell, name)];
    }
    let shown: Vec<String> = found.iter().map(defined).collect();
    let width = shown.iter().map(|line| line.chars().count()).max().unwrap_or(0).min(48);
    let mut lines = vec![format!("Parameters of {name} (cell {cell}):")];
    for (parameter, line) in found.iter().zip(shown) {
        let help = &parameter.help;
        lines.push(match help.is_empty() {
            true => format!("  {line}"),
            false => format!("  {line:<width$}  {help}"),
        });
    }
    lines
}

fn defined(parameter: &Parameter) -> String {
    match parameter.type_name() {
        Some(kind) => format!("{}: {kind} = {}", parameter.name, parameter.default),
        None => format!("{} = {}", parameter.name, parameter.default),
    }
}
