//! The part of a notebook that a caller picks: lines by a selector after the path, cells by a list.
//!
//! Owns the grammar of lists such as `0,3-5,ab12,-1`, and the split of a path from its selector. The notebook crate
//! resolves each name.

use inkcell_notebook::{CellNames, CellRef, Selector, split_selector};

use super::{Notebooks, OpenNotebook};
use crate::error::EngineError;

impl Notebooks {
    /// Splits `path:selector`. A file with exactly that name comes first. After the path of an existing file, the rest
    /// must be a valid selector.
    pub fn split_path<'a>(&self, given: &'a str) -> Result<(&'a str, Selector), EngineError> {
        if self.exists(given) {
            return Ok((given, Selector::default()));
        }
        let (path, selector) = split_selector(given)?;
        if !path.contains(':') || self.exists(path) {
            return Ok((path, selector));
        }
        let mut colons = path.match_indices(':').map(|(at, _)| at);
        let Some(at) = colons.find(|at| self.exists(&path[..*at])) else {
            return Ok((path, selector));
        };
        let problem =
            "not a selector; a selector is :10-20, :5, :3+4, :1-9,40-50, :raw or :raw:1-9";
        let (argument, problem) = (path[at..].to_owned(), problem.to_owned());
        Err(EngineError::Argument { argument, problem })
    }
}

impl OpenNotebook {
    /// The cells of a list such as `0,3-5,ab12,-1`, sorted. An item that is an id, or begins one, is an id, even if it
    /// could be something else.
    pub fn pick_cells(&self, list: &str) -> Result<Vec<usize>, EngineError> {
        let path = &self.shown;
        let bad = |problem: String, step: &str| EngineError::Argument {
            argument: "cells".to_owned(),
            problem: format!("{problem} in {path}; {step}"),
        };
        let ids: Vec<_> = self.notebook.cells().map(|cell| cell.id()).collect();
        let is_id = |id: &str, item: &str| id == item || item.len() >= 4 && id.starts_with(item);
        let begins_id = |item: &str| ids.iter().flatten().any(|id| is_id(id, item));
        let names = CellNames::new(ids.iter().cloned());
        let count = self.notebook.len();
        let mut picked = Vec::new();
        for item in list.split(',').map(str::trim) {
            if item.is_empty() {
                let problem = match list.trim().is_empty() {
                    true => "no cell is named".to_owned(),
                    false => format!("{list:?} has an empty entry"),
                };
                return Err(bad(problem, "give positions or ids, such as 0,3-5,ab12"));
            }
            let Some((start, end)) = range(item).filter(|_| !begins_id(item)) else {
                let found = names.resolve(&CellRef::Text(item.to_owned()));
                picked.push(found.map_err(|error| EngineError::Ref { path: path.clone(), error })?);
                continue;
            };
            let last = count.saturating_sub(1);
            let end = end.unwrap_or(last);
            if start > end && start <= last {
                let step = format!("the first cell comes first, as in {end}-{start}");
                return Err(bad(format!("{item} is not a range of cells"), &step));
            }
            if start > end || end > last || count == 0 {
                let step = format!("the notebook has {count} cells, and the first is 0");
                return Err(bad(format!("{item} is not a range of cells"), &step));
            }
            picked.extend(start..=end);
        }
        picked.sort_unstable();
        picked.dedup();
        Ok(picked)
    }
}

/// Parses `A-B`, `A-` or `A..B`.
fn range(item: &str) -> Option<(usize, Option<usize>)> {
    let (start, end) = item.split_once("..").or_else(|| item.split_once('-'))?;
    let end = if end.is_empty() { None } else { Some(end.parse().ok()?) };
    Some((start.parse().ok()?, end))
}
