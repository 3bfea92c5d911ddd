//! `inkcell new`: an empty notebook where there is none.

use inkcell_engine::is_notebook_path;
use inkcell_engine::notebook::{EditOp, IdSource, MetaChange, Notebook};
use serde_json::json;

use crate::args::New;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;

pub(crate) fn run(args: &New, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    if !is_notebook_path(&args.path) {
        let problem = format!(
            "{:?} does not end in .ipynb, so nothing would open it as a notebook",
            args.path
        );
        return Err(Failure::argument("PATH", problem));
    }
    let mut notebook = Notebook::empty();
    if let Some(kernel) = &args.kernel {
        let spec = json!({"display_name": kernel, "name": kernel}).to_string();
        let change = MetaChange { set: vec![("kernelspec".to_owned(), spec)], unset: Vec::new() };
        let op = EditOp::SetMeta { cell: None, change };
        notebook.apply(&[op], &mut IdSource::seeded(0)).map_err(|error| {
            inkcell_engine::EngineError::Edit { path: args.path.clone(), error, batch: 1 }
        })?;
    }
    let version = settings.notebooks.create(&args.path, &notebook)?;
    let written = if output.is_json() {
        output.json(&json!({"path": args.path, "version": version.to_string(), "cells": 0}))
    } else {
        let lines = [
            "✓ Notebook created".to_owned(),
            format!("  Notebook: {}", args.path),
            format!("  Version: {version}"),
        ];
        lines.iter().try_for_each(|line| output.line(line))
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}
