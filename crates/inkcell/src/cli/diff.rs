//! `inkcell diff`: compares two notebooks, or one with its last commit, cell by cell.

use std::path::Path;

use inkcell_engine::notebook::Compare;
use inkcell_engine::{OpenNotebook, Version, parse_notebook};
use serde_json::json;

use crate::args::Diff;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::settings::Settings;
use crate::view::diff::{Differences, as_json};
use crate::view::diff_lines::write;
use crate::view::report;
use crate::{git, words};

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
    let found = Differences::between(&old.notebook, &new.notebook, compare);
    let written = if output.is_json() {
        output.json(&json!({
            "path": new.shown,
            "version": new.version.to_string(),
            "old": {"path": old.shown, "version": old.version.to_string()},
            "notebook": found.around,
            "cells": as_json(&found.cells),
            "note": found.about,
        }))
    } else {
        write(&found.lines(), output)
    };
    written.map_err(Failure::of_output)?;
    Ok(if !found.is_empty() && args.exit_code { Exit::Failed } else { Exit::Ok })
}

/// The notebook as it is in the last commit.
fn committed(shown: &str, path: &Path) -> Result<OpenNotebook, Failure> {
    let bytes = git::committed(git::LAST, shown, path)
        .map_err(|problem| Failure::argument("B", words::file::give_second(&problem)))?;
    let (shown, version) = (format!("{}:{shown}", git::LAST), Version::of(&bytes));
    let notebook = parse_notebook(&shown, bytes)?;
    Ok(OpenNotebook { notebook, version, path: path.to_owned(), shown, recovered: None })
}
