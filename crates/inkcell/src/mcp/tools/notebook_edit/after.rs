//! The run after an edit, and the answer about both.
//!
//! Owns which cells an edit has changed. `notebook_run` shares the code that runs them.

use std::collections::BTreeSet;

use inkcell_engine::SavedChange;
use inkcell_engine::api::{CellChoice, RunRequest};
use inkcell_engine::notebook::{Action, CellKind, CellView, EditNote, EditReport, Notebook};

use super::super::answer::{self, Readers};
use super::super::portion::Portion;
use super::super::running;
use super::super::{CallContext, Content, Desk, ToolError, ToolReply, weight};
use super::{EditResult, RunArg};
use crate::words;

/// The report of the edit gets at most one part in this many of the text.
const EDIT_SHARE: usize = 4;

/// The cells to run now; none when the edit changed nothing that can be run.
pub(super) fn chosen(saved: &SavedChange<EditReport>, run: RunArg) -> Option<CellChoice> {
    let is_changed = |change: &&inkcell_engine::notebook::CellChange| {
        let is_source = matches!(
            change.action,
            Action::Replaced
                | Action::Inserted
                | Action::Substituted { .. }
                | Action::Renamed { .. }
                | Action::Retyped
        );
        is_source && !change.notes.contains(&EditNote::Unchanged)
    };
    match run {
        RunArg::None => None,
        RunArg::Stale => Some(CellChoice::stale()),
        RunArg::Changed => {
            let changes = saved.value.changes.iter().filter(is_changed);
            let indexes: BTreeSet<usize> = changes.filter_map(|change| change.index).collect();
            let cells = indexes.into_iter().filter_map(|index| saved.after.cell(index));
            let code = cells.filter(|cell| cell.kind() == Some(CellKind::Code));
            let names: Vec<String> = code.map(|cell| named(&cell, &saved.after)).collect();
            let list = (!names.is_empty()).then(|| names.join(","));
            list.map(|list| CellChoice { list: Some(list), ..CellChoice::default() })
        }
        RunArg::ChangedAndBelow => {
            let index = first_difference(saved.before.as_ref(), &saved.after)?;
            let from = saved.after.cell(index).map(|cell| named(&cell, &saved.after));
            from.map(|from| CellChoice { from: Some(from), ..CellChoice::default() })
        }
    }
}

/// The first position at which another cell stands, or other code.
fn first_difference(before: Option<&Notebook>, after: &Notebook) -> Option<usize> {
    let is_same = |index: usize| {
        let (old, new) = (before?.cell(index)?, after.cell(index)?);
        let is_same = old.id() == new.id()
            && old.kind() == new.kind()
            && old.source().text == new.source().text;
        is_same.then_some(())
    };
    (0..after.len()).find(|index| is_same(*index).is_none())
}

/// A name for lists of cells: the id, which survives other edits, or else the position.
fn named(cell: &CellView<'_>, notebook: &Notebook) -> String {
    let is_only =
        |id: &str| notebook.cells().filter(|cell| cell.id().as_deref() == Some(id)).count() == 1;
    let is_good = |id: &str| !id.is_empty() && !id.contains(',') && id.trim() == id && is_only(id);
    let id = cell.id().filter(|id| is_good(id));
    id.map_or_else(|| cell.index().to_string(), |id| id.into_owned())
}

/// Runs the cells and answers with both: the edit is made, whatever becomes of the run.
pub(super) async fn run(
    desk: &Desk,
    (request, shown): (RunRequest, Portion),
    edited: EditResult,
    context: CallContext,
) -> Result<ToolReply, ToolError> {
    let EditResult { reply, cells } = edited;
    // The run gets most of the answer.
    let all = shown.room(desk).max_bytes;
    let reply = Portion { spent: all - all / EDIT_SHARE, ..shown }.fitted(desk, reply);
    let spent = reply.content.iter().map(weight::of_content).sum();
    let shown = Portion { spent, ..shown };
    let Some(cells) = cells else {
        let mut reply = ToolReply { structured: None, ..reply };
        add(&mut reply.content, &format!("\n\n{}", words::edit::NOTHING_RUN));
        return Ok(reply);
    };
    let request = RunRequest { cells, ..request };
    let ran = match running::run_notebook(desk, request, shown, context).await {
        Ok(followed) => answer::of(desk, followed, Readers::Model).await,
        Err(error) => Err(error),
    };
    let mut content = reply.content;
    Ok(match ran {
        Ok(ran) => {
            content.extend(ran.content);
            // Only an edit without a run has structured content: pictures and structured content do not mix.
            ToolReply { content, structured: None, ..ran }
        }
        Err(error) => {
            add(&mut content, &format!("\n\n{}", words::edit::NOT_RUN));
            let told = error.into_reply();
            content.extend(told.content);
            let edit = reply.structured.unwrap_or_default();
            let mut facts = told.structured.unwrap_or_default();
            // Clients show this in place of the text, so it reports the edit, too.
            facts["edit"] = edit;
            ToolReply { content, structured: Some(facts.clone()), details: Some(facts), ..told }
        }
    })
}

fn add(content: &mut [Content], more: &str) {
    if let Some(Content::Text(text)) = content.last_mut() {
        text.push_str(more);
    }
}
