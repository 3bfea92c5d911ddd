//! `inkcell diff`: compares two notebooks, or one with its last commit, cell by cell.

use std::path::Path;
use std::process::Command;

use inkcell_engine::notebook::{Compare, diff, notebook_changes};
use inkcell_engine::{OpenNotebook, Version, parse_notebook};
use serde_json::json;

use crate::args::Diff;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::view::{diff as render, report};
use crate::words;

pub(crate) fn run(args: &Diff, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    let (old, new) = match &args.b {
        Some(b) => (settings.notebooks.read(&args.a)?, settings.notebooks.read(b)?),
        None => {
            let new = settings.notebooks.read(&args.a)?;
            (committed(&args.a, &new.path)?, new)
        }
    };
    for opened in [&old, &new] {
        report::tell_recovered(opened, output);
    }
    let compare = if args.sources { Compare::Sources } else { Compare::All };
    let differences = diff(&old.notebook, &new.notebook, compare);
    let is_same = || old.notebook.original_bytes() == new.notebook.original_bytes();
    let around = match compare {
        Compare::All => notebook_changes(&old.notebook, &new.notebook),
        Compare::Sources => Vec::new(),
    };
    let is_layout = differences.is_empty() && around.is_empty() && !args.sources && !is_same();
    let about = is_layout.then_some(words::file::SAME_CELLS);
    let written = if output.is_json() {
        output.json(&json!({
            "path": new.shown,
            "version": new.version.to_string(),
            "old": {"path": old.shown, "version": old.version.to_string()},
            "notebook": around,
            "cells": render::as_json(&differences),
            "note": about,
        }))
    } else {
        around
            .iter()
            .try_for_each(|line| output.line(&format!("~ {line}")))
            .and_then(|()| render::write(output, &differences, about))
    };
    written.map_err(Failure::of_output)?;
    let differs = !differences.is_empty() || !around.is_empty() || about.is_some();
    Ok(if differs && args.exit_code { Exit::Failed } else { Exit::Ok })
}

/// The notebook as it is in the last commit.
fn committed(shown: &str, path: &Path) -> Result<OpenNotebook, Failure> {
    let bad = |problem: String| Failure::argument("B", words::file::give_second(&problem));
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(bad(format!("{shown} has no folder")));
    };
    let name = name.to_string_lossy();
    let said = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["show", &format!("HEAD:./{name}")])
        .output()
        .map_err(|error| bad(words::file::git_failed(&error)))?;
    if !said.status.success() {
        let reason = String::from_utf8_lossy(&said.stderr).trim().to_owned();
        return Err(bad(words::file::in_no_commit(shown, &reason)));
    }
    let (shown, version) = (format!("HEAD:{shown}"), Version::of(&said.stdout));
    let notebook = parse_notebook(&shown, said.stdout)?;
    Ok(OpenNotebook { notebook, version, path: path.to_owned(), shown, recovered: None })
}
