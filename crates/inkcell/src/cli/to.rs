//! `inkcell to`: converts a notebook to a script or to Markdown.

use inkcell_engine::notebook::{to_markdown, to_script};
use serde_json::json;

use super::inputs::Files;
use crate::args::{ExportForm, OutputsArg, To};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::view::report;
use crate::words;

pub(crate) fn run(args: &To, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let path = Files { cwd: &settings.cwd }.only(&args.path)?;
    let opened = settings.notebooks.read(&path)?;
    report::tell_recovered(&opened, output);
    let text = match args.form {
        ExportForm::Script if args.outputs.is_some() => {
            return Err(Failure::argument("--outputs", words::file::SCRIPT_HAS_NONE));
        }
        ExportForm::Script => to_script(&opened.notebook),
        ExportForm::Markdown => {
            to_markdown(&opened.notebook, args.outputs.unwrap_or(OutputsArg::Full).into())
        }
    };
    let file = args.output.as_deref().filter(|path| *path != "-");
    if let Some(file) = file {
        settings.notebooks.export(file, &opened, text.as_bytes())?;
        output.aside(&format!("wrote {file}"));
    }
    let version = opened.version.to_string();
    let written = if output.is_json() {
        output.json(&match file {
            Some(file) => json!({"path": path, "version": version, "output": file}),
            None => json!({"path": path, "version": version, "text": text}),
        })
    } else if file.is_some() {
        Ok(())
    } else {
        output.raw(text.as_bytes())
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}
