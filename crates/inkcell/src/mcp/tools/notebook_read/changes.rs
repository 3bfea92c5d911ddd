//! `view: diff`: the differences between a notebook and an older state of it, or another notebook.
//!
//! Owns which states can be compared with. The rendering is shared with the command line.

use inkcell_engine::notebook::{Compare, Notebook, visible_line};
use inkcell_engine::{Notebooks, OpenNotebook, Version, parse_notebook};

use crate::mcp::tools::ToolError;
use crate::view::diff::Differences;
use crate::{git, words};

/// The differences to a commit, a version, or another notebook.
pub(super) fn since(
    opened: &OpenNotebook,
    against: &str,
    notebooks: &Notebooks,
) -> Result<Differences, ToolError> {
    let old = old(opened, against, notebooks)?;
    Ok(Differences::between(&old, &opened.notebook, Compare::All))
}

fn old(opened: &OpenNotebook, against: &str, notebooks: &Notebooks) -> Result<Notebook, ToolError> {
    if git::is_commit(against) {
        let bytes = git::committed(against, &opened.shown, &opened.path).map_err(|problem| {
            let problem = format!("against: {}", visible_line(&problem));
            ToolError::argument(problem).with_next(words::file::COMPARE_WITH)
        })?;
        return Ok(parse_notebook(&format!("{against}:{}", opened.shown), bytes)?);
    }
    match Version::parse(against) {
        Some(version) if version == opened.version => Ok(opened.notebook.clone()),
        Some(_) => Err(ToolError::argument(words::file::version_not_stored(against))
            .with_next(words::file::COMPARE_WITH)),
        None => Ok(notebooks.read(against)?.notebook),
    }
}
