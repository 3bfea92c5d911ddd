//! `inkcell read`: a notebook as text, by lines, cells, outline or pattern.

use std::borrow::Cow;
use std::sync::Arc;

use inkcell_engine::notebook::{
    Form, MarkerIds, Notebook, Outputs, PageLimits, SearchIn, Selector, page,
};
use inkcell_engine::{CellFilter, EngineError, LastRuns, OpenNotebook, read_with_runs};
use serde_json::json;

use super::inputs::Files;
use crate::args::{CheckArg, Read};
use crate::client::hosts;
use crate::exit::{Exit, Failure};
use crate::output::{Output, count};
use crate::settings::Settings;
use crate::view::answer::{self, Shape};
use crate::view::{outline, reading, report, source};
use crate::words;

pub(crate) fn run(args: &Read, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    if args.textconv {
        return textconv(&args.path, settings, output);
    }
    if let Some(wanted) = args.check {
        return check(wanted, args, settings, output);
    }
    let (path, selector) = split(&args.path, settings)?;
    let path = &*Files { cwd: &settings.cwd }.only(path)?;
    let outputs = args.outputs.map_or(Outputs::None, Outputs::from);
    refuse_mixed(args, &selector, outputs)?;
    let selector = if args.pad { selector.padded() } else { selector };
    if selector.form == Form::Raw {
        return raw(path, &selector, settings, output);
    }
    let filters = args.cells.as_deref().map(CellFilter::parse_all).unwrap_or_default();
    let needs_runs = filters.iter().any(|filter| filter.needs_runs());
    let is_outline = args.outline && args.search.is_none();
    let (opened, runs) = if is_outline || needs_runs {
        read_with_runs(&settings.notebooks, path)?
    } else {
        (settings.notebooks.read(path)?, LastRuns::default())
    };
    report::tell_recovered(&opened, output);
    let cells = match &args.cells {
        Some(_) if !filters.is_empty() => CellFilter::pick_all(&filters, &opened, &runs),
        Some(list) => pick_cells(&opened, list)?,
        None => (0..opened.notebook.len()).collect(),
    };
    let written = if let Some(pattern) = &args.search {
        search(path, pattern, outputs, &opened, &cells, output)?
    } else if args.outline {
        // Only a notebook that has run can have left something in a kernel.
        let kernels = match runs.cells.is_empty() {
            true => Vec::new(),
            false => hosts::kernels_of(&opened.path, settings),
        };
        outline::write(output, path, &opened, &cells, &runs, &kernels)
    } else if outputs != Outputs::None {
        reading::write(output, path, &opened, &cells, outputs)
    } else {
        let ids = if args.no_ids { MarkerIds::Off } else { settings.marker_ids };
        let text = opened.cells_to_text(&cells, ids)?;
        let paged = args.page.then(|| page(&text, &selector, PageLimits::STANDARD));
        let shown = match &paged {
            Some(page) => vec![page.as_bytes()],
            None => selector.pick(text.as_bytes()),
        };
        // A gap of whole cells is noticed when the text is written back; a cell that is cut is not.
        let is_whole = match &paged {
            Some(page) => *page == text,
            None => shown.iter().map(|piece| piece.len()).sum::<usize>() == text.len(),
        };
        if !is_whole {
            settings.notebooks.note_part(&opened, &shown);
        }
        let is_beyond = shown.iter().all(|piece| piece.is_empty());
        let written = text_answer(output, path, &opened, &shown);
        if is_beyond {
            tell_end(output, &selector, text.as_bytes());
        }
        written
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// The path and the selector of an argument.
fn split<'a>(path: &'a str, settings: &Settings) -> Result<(&'a str, Selector), Failure> {
    settings.notebooks.split_path(path).map_err(|error| match error {
        EngineError::Argument { argument, problem } => {
            Failure::argument(&argument, words::file::cells_option(&problem))
        }
        other => other.into(),
    })
}

/// Lists the cells of these notebooks that are stale or failed, and fails if there are any.
fn check(
    wanted: CheckArg,
    args: &Read,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let filter = match wanted {
        CheckArg::Stale => CellFilter::Stale,
        CheckArg::Failed => CellFilter::Failed,
    };
    let mut answers = Vec::new();
    let mut found = 0;
    let files = Files { cwd: &settings.cwd };
    for path in files.expanded(std::iter::once(&args.path).chain(&args.more).map(String::as_str))? {
        let (path, selector) = split(&path, settings)?;
        refuse_mixed(args, &selector, Outputs::None)?;
        let (opened, runs) = read_with_runs(&settings.notebooks, path)?;
        report::tell_recovered(&opened, output);
        let cells = CellFilter::pick_all(&[filter], &opened, &runs);
        found += cells.len();
        let kernels = hosts::kernels_of(&opened.path, settings);
        if output.is_json() {
            answers.push(outline::to_json(path, &opened, &cells, &runs, &kernels));
        } else if cells.is_empty() {
            let line = words::file::no_such_cells(&path, wanted == CheckArg::Stale);
            output.line(&line).map_err(Failure::of_output)?;
        } else {
            let written = outline::write(output, path, &opened, &cells, &runs, &kernels);
            written.map_err(Failure::of_output)?;
        }
    }
    if output.is_json() {
        output.json(&json!({"notebooks": answers})).map_err(Failure::of_output)?;
    }
    Ok(if found == 0 { Exit::Ok } else { Exit::Failed })
}

/// A notebook as git compares it: as text if possible, else its bytes.
fn textconv(path: &str, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    if output.is_json() {
        return Err(Failure::argument("--textconv", words::file::ANSWERS_WITH_TEXT));
    }
    let (bytes, _) = settings.notebooks.read_bytes(path)?;
    let bytes = Arc::new(bytes);
    let notebook = Notebook::parse_shared(Arc::clone(&bytes)).ok();
    let text = notebook.and_then(|notebook| notebook.to_text(MarkerIds::Off).ok());
    let shown = text.as_ref().map_or(bytes.as_slice(), |text| text.as_bytes());
    output.raw(shown).map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

/// Reports that the requested lines are beyond the end.
fn tell_end(output: &mut Output, selector: &Selector, text: &[u8]) {
    if !selector.ranges.is_empty() {
        let lines = text.split_inclusive(|byte| *byte == b'\n').count();
        output.aside(&format!("the text has {}", count(lines, "line")));
    }
}

/// Refuses lines together with cells. Lines count in the text, or in the stored JSON; answers by cell have none.
fn refuse_mixed(args: &Read, selector: &Selector, outputs: Outputs) -> Result<(), Failure> {
    let by_cell = [
        ("--check", args.check.is_some()),
        ("--outline", args.outline),
        ("--search", args.search.is_some()),
        ("--outputs", outputs != Outputs::None),
    ];
    let by_cell = by_cell.iter().find(|(_, given)| *given).map(|(flag, _)| *flag);
    let by_line = [
        ("a line selector", !selector.ranges.is_empty()),
        ("--pad", args.pad),
        ("--page", args.page),
    ];
    let by_line = by_line.iter().find(|(_, given)| *given).map(|(flag, _)| *flag);
    if selector.form == Form::Raw {
        let cells = args.cells.is_some().then_some("--cells");
        let Some(flag) = by_cell.or(cells).or(args.page.then_some("--page")) else { return Ok(()) };
        return Err(Failure::argument(flag, words::file::raw_by_lines(":raw")));
    }
    match (by_cell, by_line) {
        (Some(flag), Some(line)) => Err(Failure::argument(flag, words::file::shows_cells(line))),
        _ => Ok(()),
    }
}

fn joined<'a>(pieces: &[&'a [u8]]) -> Cow<'a, str> {
    match pieces {
        [one] => String::from_utf8_lossy(one),
        many => String::from_utf8_lossy(&many.concat()).into_owned().into(),
    }
}

fn text_answer(
    output: &mut Output,
    path: &str,
    opened: &OpenNotebook,
    shown: &[&[u8]],
) -> std::io::Result<()> {
    if output.is_json() {
        return output.json(&json!({
            "path": path,
            "version": opened.version.to_string(),
            "cells": opened.notebook.len(),
            "text": joined(shown),
        }));
    }
    // Elsewhere the text may be written back.
    if output.is_terminal() && output.is_coloured() {
        let is_python = opened.notebook.language().is_none_or(|language| language == "python");
        let text = joined(shown);
        let lines = if text.is_empty() { Vec::new() } else { source::painted(&text, is_python) };
        answer::paint(output, Shape::Text, &lines)?;
    } else {
        shown.iter().try_for_each(|piece| output.raw(piece))?;
    }
    output.flush()?;
    output.aside(&format!(
        "{path}: version {}, {}",
        opened.version,
        count(opened.notebook.len(), "cell")
    ));
    Ok(())
}

fn raw(
    path: &str,
    selector: &Selector,
    settings: &Settings,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let (bytes, version) = settings.notebooks.read_bytes(path)?;
    let shown = selector.pick(&bytes);
    let is_beyond = shown.is_empty();
    let written = if output.is_json() {
        let text = joined(&shown);
        output.json(&json!({"path": path, "version": version.to_string(), "raw": text}))
    } else {
        shown.into_iter().try_for_each(|line| output.raw(line)).and_then(|()| output.flush())
    };
    written.map_err(Failure::of_output)?;
    output.aside(&format!("{path}: version {version}, {} bytes", bytes.len()));
    if is_beyond {
        tell_end(output, selector, &bytes);
    }
    Ok(Exit::Ok)
}

fn search(
    path: &str,
    pattern: &str,
    outputs: Outputs,
    opened: &OpenNotebook,
    cells: &[usize],
    output: &mut Output,
) -> Result<std::io::Result<()>, Failure> {
    let pattern = regex::Regex::new(pattern).map_err(|error| {
        Failure::argument("--search", format!("{pattern:?} is not a pattern: {error}"))
    })?;
    let place = match outputs {
        Outputs::Full => SearchIn::SourcesAndOutputs,
        _ => SearchIn::Sources,
    };
    let mut hits = opened.notebook.search(&pattern, place);
    hits.retain(|hit| cells.binary_search(&hit.cell).is_ok());
    Ok(outline::write_hits(output, path, opened, &hits))
}

/// The cells that `--cells` names.
fn pick_cells(opened: &OpenNotebook, list: &str) -> Result<Vec<usize>, Failure> {
    opened.pick_cells(list).map_err(|error| match error {
        EngineError::Argument { problem, .. } => Failure::argument("--cells", problem),
        other => other.into(),
    })
}
