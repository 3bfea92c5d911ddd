//! `view: diff`: the differences between a notebook and an older state of it, or another notebook.
//!
//! Owns which states can be compared with. The rendering is shared with the command line.

use inkcell_engine::notebook::{Compare, Notebook, visible_line};
use inkcell_engine::{Kind, Notebooks, OpenNotebook, Version, parse_notebook};

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
        return committed(opened, against);
    }
    let Some(version) = Version::parse(against) else {
        return match notebooks.read(against) {
            // A branch, a tag or the digest of a commit can have any name.
            Err(error) if error.kind() == Kind::NotFound => committed(opened, against),
            read => Ok(read?.notebook),
        };
    };
    notebooks.seen_version(opened, version)?.ok_or_else(|| {
        let known = notebooks.seen_versions(opened, version);
        let problem = words::file::version_not_kept(against, &known);
        ToolError::argument(problem).with_next(words::file::COMPARE_WITH)
    })
}

fn committed(opened: &OpenNotebook, commit: &str) -> Result<Notebook, ToolError> {
    let bytes = git::committed(commit, &opened.shown, &opened.path).map_err(|problem| {
        let problem = format!("against: {}", visible_line(&problem));
        ToolError::argument(problem).with_next(words::file::COMPARE_WITH)
    })?;
    Ok(parse_notebook(&format!("{commit}:{}", opened.shown), bytes)?)
}
