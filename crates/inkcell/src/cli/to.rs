//! `inkcell to`: a notebook as a script or as Markdown.

use inkcell_engine::notebook::{Outputs, to_markdown, to_script};
use serde_json::json;

use crate::args::{ExportForm, OutputsArg, To};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;

pub(crate) fn run(args: &To, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let opened = settings.notebooks.read(&args.path)?;
    let text = match args.form {
        ExportForm::Script => to_script(&opened.notebook),
        ExportForm::Markdown => {
            let outputs = match args.outputs {
                OutputsArg::None => Outputs::None,
                OutputsArg::Digest => Outputs::Digest,
                OutputsArg::Full => Outputs::Full,
            };
            to_markdown(&opened.notebook, outputs)
        }
    };
    if let Some(path) = &args.output {
        settings.notebooks.export(path, &opened, text.as_bytes())?;
        output.aside(&format!("wrote {path}"));
        return Ok(Exit::Ok);
    }
    let written = if output.is_json() {
        output
            .json(&json!({"path": args.path, "version": opened.version.to_string(), "text": text}))
    } else {
        output.raw(text.as_bytes())
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}
