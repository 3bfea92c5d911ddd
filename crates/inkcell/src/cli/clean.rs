//! `inkcell clean`: removes outputs, counts and chosen metadata, in files or as a filter.

use inkcell_engine::{
    Backup, Cleaning, FileEffect, Force, IfMissing, Mode, SaveOptions, Version, parse_notebook,
};
use serde_json::{Value, json};

use super::inputs::Files;
use crate::args::Clean;
use crate::cli::input;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::words;

/// The name of standard input in answers and errors.
const STDIN: &str = "standard input";

pub(crate) fn run(args: &Clean, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let cleaning = Cleaning {
        outputs: !args.keep_outputs,
        output_metadata: !args.keep_outputs && !args.keep_metadata,
        cell_keys: args.cell_meta.clone(),
        notebook_keys: args.notebook_meta.clone(),
    };
    if args.paths.iter().any(|path| path == "-") {
        return filter(args, &cleaning, output);
    }
    let paths = Files { cwd: &settings.cwd }.expanded(args.paths.iter().map(String::as_str))?;
    if args.output.is_some() && paths.len() > 1 {
        return Err(Failure::argument("-o", words::file::ONE_NOTEBOOK));
    }
    let options = SaveOptions {
        base: None,
        output: input::output(args.output.as_deref())?,
        if_missing: IfMissing::Fail,
        backup: Backup::No,
        force: if args.force { Force::Yes } else { Force::No },
        mode: if args.check { Mode::DryRun } else { Mode::Write },
    };
    let mut rows = Vec::new();
    let mut dirty = false;
    for path in &paths {
        let saved = settings
            .notebooks
            .change(path, &options, |notebook, _| cleaning.apply(notebook, path))
            .inspect_err(|error| {
                // The notebooks before this one are cleaned, and the answer says so.
                rows.push(json!({"path": path, "error": error.to_string()}));
                output.keep_done(json!({"notebooks": rows}));
            })?;
        dirty |= saved.effect != FileEffect::Nothing;
        if output.is_json() {
            rows.push(row(path, saved.effect, saved.version));
        } else {
            let word = match saved.effect {
                FileEffect::WouldWrite => "would be cleaned",
                FileEffect::Written => "cleaned",
                FileEffect::Nothing => "clean",
            };
            output.line(&format!("{path}: {word}")).map_err(Failure::of_output)?;
        }
    }
    if output.is_json() {
        output.json(&json!({"notebooks": rows})).map_err(Failure::of_output)?;
    }
    Ok(if dirty && args.check { Exit::Failed } else { Exit::Ok })
}

fn row(path: &str, effect: FileEffect, version: Version) -> Value {
    json!({"path": path, "changed": effect != FileEffect::Nothing, "version": version.to_string()})
}

/// Standard input to standard output, as git calls a clean filter.
fn filter(args: &Clean, cleaning: &Cleaning, output: &mut Output) -> Result<Exit, Failure> {
    if args.paths.len() > 1 {
        let problem = words::file::FILTER_ALONE;
        return Err(Failure::argument("-", problem));
    }
    if args.output.is_some() {
        let problem = words::file::FILTER_WRITES;
        return Err(Failure::argument("-o", problem));
    }
    if output.is_json() && !args.check {
        let problem = words::file::FILTER_ANSWERS;
        return Err(Failure::argument("--json", problem));
    }
    let mut notebook = parse_notebook(STDIN, input::stdin_bytes()?)?;
    cleaning.apply(&mut notebook, STDIN)?;
    let chunks = notebook.chunks();
    if !args.check {
        let written = chunks.iter().try_for_each(|chunk| output.raw(chunk));
        written.map_err(Failure::of_output)?;
        return Ok(Exit::Ok);
    }
    let effect = if notebook.is_changed() { FileEffect::WouldWrite } else { FileEffect::Nothing };
    if output.is_json() {
        let version = Version::of_chunks(chunks.iter().map(|chunk| &**chunk));
        let answer = json!({"notebooks": [row(STDIN, effect, version)]});
        output.json(&answer).map_err(Failure::of_output)?;
    }
    Ok(if effect == FileEffect::Nothing { Exit::Ok } else { Exit::Failed })
}
