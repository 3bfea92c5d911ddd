//! `inkcell settings`: every setting with its value and the origin of the value.

use serde_json::{Value, json};

use crate::args::ShowSettings;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::{ProjectFile, Row, Settings};
use crate::words;

pub(crate) fn run(
    args: &ShowSettings,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let wanted = args.name.as_deref().unwrap_or_default();
    let rows: Vec<_> =
        settings.resolved.iter().filter(|(row, _)| row.name.starts_with(wanted)).collect();
    if rows.is_empty() {
        let problem = words::env::no_setting(wanted);
        return Err(Failure::argument("NAME", problem));
    }
    let written = if output.is_json() {
        let listed = rows.iter().map(|(row, setting)| {
            let variables = [row.overriding_variables(), row.variables()].concat();
            json!({
                "name": row.name,
                "value": setting.value.to_json(),
                "source": setting.source.to_string(),
                "allowed": row.kind.allowed(),
                "default": row.default,
                "elsewhere": elsewhere(row),
                "variables": variables,
                "project_file": match row.project_file {
                    ProjectFile::May => "yes",
                    ProjectFile::InsideAndTold => "told",
                    ProjectFile::MayNot => "no",
                },
                "about": row.about,
            })
        });
        let listed: Vec<Value> = listed.collect();
        output.json(&json!({
            "settings": listed,
            "files": settings.files,
            "warnings": settings.warnings,
        }))
    } else {
        let width = rows.iter().map(|(row, _)| row.name.len()).max().unwrap_or_default();
        rows.iter().try_for_each(|(row, setting)| {
            output.line(&format!("{:<width$}  {}  ({})", row.name, setting.value, setting.source))
        })
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// The defaults that differ from the usual one, with the profiles in which they hold.
fn elsewhere(row: &Row) -> Value {
    let defaults = row.defaults_elsewhere.iter();
    defaults
        .map(|(profile, default)| json!({"where": profile.description(), "default": default}))
        .collect()
}
