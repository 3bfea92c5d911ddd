//! `inkcell read`: a notebook as text, by lines, cells, outline or pattern.

use inkcell_engine::notebook::{
    CellRef, Form, MarkerIds, Notebook, PageLimits, SearchIn, Selector, page, split_selector,
};
use inkcell_engine::{EngineError, Opened, text_error};
use serde_json::json;

use crate::args::{OutputsArg, Read};
use crate::exit::{Exit, Failure};
use crate::output::{Output, count};
use crate::render::{outline, reading};
use crate::settings::Settings;

pub(crate) fn run(args: &Read, settings: &Settings, output: &mut Output) -> Result<Exit, Failure> {
    // A file whose name looks like a path with a selector is still found by its name.
    let (path, selector) = if settings.notebooks.exists(&args.path) {
        (args.path.as_str(), Selector::default())
    } else {
        split_selector(&args.path).map_err(EngineError::from)?
    };
    let selector = if args.pad { selector.padded() } else { selector };
    if selector.form == Form::Raw {
        return raw(path, &selector, settings, output);
    }
    let opened = settings.notebooks.read(path)?;
    let cells = match &args.cells {
        None => (0..opened.notebook.len()).collect(),
        Some(list) => pick_cells(&opened.notebook, list, path)?,
    };
    let written = if let Some(pattern) = &args.search {
        search(args, path, pattern, &opened, &cells, output)?
    } else if args.outline {
        outline::write(output, path, &opened, &cells)
    } else if args.outputs.is_some_and(|outputs| outputs != OutputsArg::None) {
        let full = args.outputs == Some(OutputsArg::Full);
        reading::write(
            output,
            path,
            &opened,
            &cells,
            if full { reading::Detail::Full } else { reading::Detail::Digest },
        )
    } else {
        let ids = if args.no_ids { MarkerIds::Off } else { settings.marker_ids };
        let text =
            opened.notebook.cells_to_text(&cells, ids).map_err(|error| text_error(path, error))?;
        let shown = if args.page {
            page(&text, &selector, PageLimits::STANDARD).text.into_bytes()
        } else {
            selector.pick(text.as_bytes()).concat()
        };
        // Whole cells that are left out are noticed when they are written back; a cell that is cut is not.
        if shown != text.as_bytes() {
            settings.notebooks.note_part(&opened, &shown);
        }
        text_answer(output, path, &opened, &shown)
    };
    written.map_err(Failure::of_output)?;
    Ok(Exit::Ok)
}

fn text_answer(
    output: &mut Output,
    path: &str,
    opened: &Opened,
    shown: &[u8],
) -> std::io::Result<()> {
    if output.is_json() {
        return output.json(&json!({
            "path": path,
            "version": opened.version.to_string(),
            "cells": opened.notebook.len(),
            "text": String::from_utf8_lossy(shown),
        }));
    }
    output.raw(shown)?;
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
    let written = if output.is_json() {
        let text = String::from_utf8_lossy(&shown.concat()).into_owned();
        output.json(&json!({"path": path, "version": version.to_string(), "raw": text}))
    } else {
        shown.into_iter().try_for_each(|line| output.raw(line)).and_then(|()| output.flush())
    };
    written.map_err(Failure::of_output)?;
    output.aside(&format!("{path}: version {version}, {} bytes", bytes.len()));
    Ok(Exit::Ok)
}

fn search(
    args: &Read,
    path: &str,
    pattern: &str,
    opened: &Opened,
    cells: &[usize],
    output: &mut Output,
) -> Result<std::io::Result<()>, Failure> {
    let pattern = regex::Regex::new(pattern).map_err(|error| {
        Failure::argument("--search", format!("{pattern:?} is not a pattern: {error}"))
    })?;
    let place = match args.outputs {
        Some(OutputsArg::Full) => SearchIn::SourcesAndOutputs,
        _ => SearchIn::Sources,
    };
    let mut hits = opened.notebook.search(&pattern, place);
    hits.retain(|hit| cells.binary_search(&hit.cell).is_ok() || cells.contains(&hit.cell));
    Ok(outline::write_hits(output, path, opened, &hits))
}

/// A list such as `0,3-5,ab12,-1`. What is an id is an id, whatever else it could be.
fn pick_cells(notebook: &Notebook, list: &str, path: &str) -> Result<Vec<usize>, Failure> {
    let bad = |problem: String| Failure::argument("--cells", format!("{problem} in {path}"));
    let mut picked = Vec::new();
    for item in list.split(',').map(str::trim) {
        if item.is_empty() {
            return Err(bad(format!("{list:?} has an empty entry")));
        }
        let found = notebook.find(&CellRef::Text(item.to_owned()));
        match (found, range(item)) {
            (Ok(index), _) => picked.push(index),
            (Err(_), Some((start, end))) => {
                let last = notebook.len().saturating_sub(1);
                let end = end.unwrap_or(last);
                if start > end || end > last || notebook.is_empty() {
                    let count = notebook.len();
                    return Err(bad(format!(
                        "{item} is not a range of cells; there are {count} cells"
                    )));
                }
                picked.extend(start..=end);
            }
            (Err(error), None) => {
                let error = inkcell_engine::notebook::OpError::Ref(error);
                let error = inkcell_engine::notebook::EditError::Op { op: 0, problem: error };
                return Err(EngineError::Edit { path: path.to_owned(), error, batch: 1 }.into());
            }
        }
    }
    picked.sort_unstable();
    picked.dedup();
    Ok(picked)
}

/// `A-B`, `A-` or `A..B`.
fn range(item: &str) -> Option<(usize, Option<usize>)> {
    let (start, end) = item.split_once("..").or_else(|| item.split_once('-'))?;
    let end = if end.is_empty() { None } else { Some(end.parse().ok()?) };
    Some((start.parse().ok()?, end))
}
