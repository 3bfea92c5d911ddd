//! `inkcell clean`: outputs, counts and chosen metadata removed, in files or as a filter.

use inkcell_engine::notebook::{CellRef, EditOp, IdSource, MetaChange, Notebook};
use inkcell_engine::{Backup, EngineError, Force, IfMissing, Mode, SaveOptions, not_a_notebook};
use serde_json::json;

use crate::args::Clean;
use crate::cli::input;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;

pub(crate) fn run(args: &Clean, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    if args.output.is_some() && args.paths.len() > 1 {
        return Err(Failure::argument("-o", "it takes one notebook, not several"));
    }
    if args.paths == ["-"] {
        return filter(args, output);
    }
    let options = SaveOptions {
        base: None,
        output: args.output.clone(),
        if_missing: IfMissing::Fail,
        backup: Backup::No,
        force: if args.force { Force::Yes } else { Force::No },
        mode: if args.check { Mode::DryRun } else { Mode::Write },
    };
    let mut rows = Vec::new();
    let mut dirty = false;
    for path in &args.paths {
        let saved =
            settings.notebooks.change(path, &options, |notebook, _| clean(notebook, args, path))?;
        let changed = saved.after.is_changed();
        dirty |= changed;
        let word = match (changed, args.check) {
            (true, true) => "would be cleaned",
            (true, false) => "cleaned",
            (false, _) => "clean",
        };
        if output.is_json() {
            rows.push(
                json!({"path": path, "changed": changed, "version": saved.version.to_string()}),
            );
        } else {
            output.line(&format!("{path}: {word}")).map_err(Failure::of_output)?;
        }
    }
    if output.is_json() {
        output.json(&json!({"notebooks": rows})).map_err(Failure::of_output)?;
    }
    Ok(if dirty && args.check { Exit::Differs } else { Exit::Ok })
}

/// Standard input to standard output, as git calls a clean filter.
fn filter(args: &Clean, output: &mut Output) -> Result<Exit, Failure> {
    let bytes = input::stdin_bytes()?;
    let mut notebook =
        Notebook::parse(bytes).map_err(|error| not_a_notebook("standard input", error))?;
    clean(&mut notebook, args, "standard input")?;
    if args.check {
        return Ok(if notebook.is_changed() { Exit::Differs } else { Exit::Ok });
    }
    for chunk in notebook.chunks() {
        output.raw(&chunk).map_err(Failure::of_output)?;
    }
    Ok(Exit::Ok)
}

fn clean(notebook: &mut Notebook, args: &Clean, path: &str) -> Result<(), EngineError> {
    let mut ops = Vec::new();
    if !args.keep_outputs {
        ops.push(EditOp::Clear { cell: None });
    }
    let unset = |keys: &[String]| MetaChange { set: Vec::new(), unset: keys.to_vec() };
    if !args.cell_meta.is_empty() {
        // A cell without any of the keys is not written, so that it stays as it is.
        for cell in notebook.cells().filter(|cell| cell.has_any_metadata(&args.cell_meta)) {
            let cell = Some(CellRef::Index(cell.index() as i64));
            ops.push(EditOp::SetMeta { cell, change: unset(&args.cell_meta) });
        }
    }
    if !args.notebook_meta.is_empty() {
        ops.push(EditOp::SetMeta { cell: None, change: unset(&args.notebook_meta) });
    }
    let batch = ops.len();
    notebook.apply(&ops, &mut IdSource::seeded(0)).map_err(|error| EngineError::Edit {
        path: path.to_owned(),
        error,
        batch,
    })?;
    Ok(())
}
