//! Turns virtual text into operations: matches its cells with those of the notebook, and inserts, moves or deletes
//! the rest.
//!
//! Owns the rules by which a marked cell is an existing one. [`EditOp`]s change the document.

use std::borrow::Cow;
use std::collections::HashSet;

use super::controls::visible_controls;
use super::parse::{TextCell, parse_text};
use crate::cell::{CellKind, CellRef, IdSource};
use crate::document::{CellView, Notebook};
use crate::edit::{CellPlace, EditOp, EditReport, OutputsAfter, SourceShape};
use crate::error::{CellCandidate, TextError};
use crate::matching::{longest_rising, unique_ids};
/// The number of cells that a text may leave out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropRule {
    /// Exactly this many cells must be left out; they are deleted. 0 allows none.
    Exactly(usize),
    /// Any number of cells may be left out and is deleted, but an empty text is refused.
    Any,
}

/// Rules for changing a notebook by a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextRules {
    /// The number of cells that the text may leave out.
    pub drop: DropRule,
    /// The fate of outputs of cells whose source changed.
    pub outputs: OutputsAfter,
    /// The stored shape of changed sources.
    pub shape: SourceShape,
}

/// The cells of the version from which a text was made.
pub trait TextBase {
    /// Number of cells in that version.
    fn count(&self) -> usize;
    /// Id of the cell at this position, if it had one.
    fn id(&self, index: usize) -> Option<&str>;
    /// True if the cell at this position had this kind and source.
    fn is_same(&self, index: usize, kind: CellKind, source: &str) -> bool;
}

/// Returns the operations that turn the cells of `base` into the cells of a text. No operation names a cell that the
/// text leaves unchanged.
pub fn lower_text(
    base: &dyn TextBase,
    cells: Vec<TextCell>,
    rules: TextRules,
) -> Result<Vec<EditOp>, TextError> {
    let matched = match_cells(base, &cells);
    let mut is_used = vec![false; base.count()];
    for &index in matched.iter().flatten() {
        is_used[index] = true;
    }
    let missing: Vec<usize> = (0..base.count()).filter(|&index| !is_used[index]).collect();
    let (is_allowed, declared) = match rules.drop {
        DropRule::Exactly(count) => (missing.len() == count, count),
        DropRule::Any => (!cells.is_empty() || base.count() == 0, 0),
    };
    if !is_allowed {
        let name = |&index: &usize| CellCandidate { index, id: base.id(index).map(str::to_owned) };
        return Err(TextError::LeavesOut { missing: missing.iter().map(name).collect(), declared });
    }

    let fixed = longest_rising(&matched);
    let last = cells.len().saturating_sub(1);
    let mut ops: Vec<EditOp> = missing
        .iter()
        .map(|&index| EditOp::Delete { cell: CellRef::Index(index as i64) })
        .collect();
    let mut previous: Option<usize> = None;
    for (at, (cell, origin)) in cells.into_iter().zip(&matched).enumerate() {
        let place = match previous {
            Some(index) => CellPlace::After(CellRef::Index(index as i64)),
            None => CellPlace::Start,
        };
        let Some(index) = *origin else {
            ops.push(EditOp::Insert { at: place, kind: cell.kind, source: cell.source });
            continue;
        };
        let this = || CellRef::Index(index as i64);
        if !fixed[at] {
            ops.push(EditOp::Move { cell: this(), to: place });
        }
        // Editors end a file with a line feed; one more at the very end belongs to the file, not to the cell.
        let ended = cell.source.strip_suffix('\n').filter(|_| at == last);
        let is_same = base.is_same(index, cell.kind, &cell.source)
            || ended.is_some_and(|source| base.is_same(index, cell.kind, source));
        if !is_same {
            ops.push(EditOp::Replace {
                cell: this(),
                source: cell.source,
                kind: Some(cell.kind),
                outputs: rules.outputs,
                shape: rules.shape,
            });
        }
        previous = Some(index);
    }
    Ok(ops)
}

/// Finds, for each cell of the text, the same cell of the base: by id if the marker has one, else by number. The
/// first use of a cell wins.
fn match_cells(base: &dyn TextBase, cells: &[TextCell]) -> Vec<Option<usize>> {
    let by_id = unique_ids((0..base.count()).map(|index| base.id(index)));
    let mut is_used = vec![false; base.count()];
    let mut pick = |index: Option<usize>| {
        let index = index.filter(|&index| index < is_used.len() && !is_used[index])?;
        is_used[index] = true;
        Some(index)
    };
    cells
        .iter()
        .map(|cell| match &cell.id {
            Some(id) => pick(by_id.get(id.as_str()).copied().flatten()),
            None => pick(cell.number),
        })
        .collect()
}

/// Adapts a notebook as the base of a text.
struct NotebookBase<'a> {
    book: &'a Notebook,
    ids: Vec<Option<Cow<'a, str>>>,
}

impl TextBase for NotebookBase<'_> {
    fn count(&self) -> usize {
        self.book.len()
    }

    fn id(&self, index: usize) -> Option<&str> {
        self.ids.get(index)?.as_deref()
    }

    fn is_same(&self, index: usize, kind: CellKind, source: &str) -> bool {
        let cell = self.book.view(index);
        cell.kind() == Some(kind) && is_same_text(&cell.source().text, source)
    }
}

/// True if a submitted source equals the stored one. Line ends may differ: an editor that saves CR LF as LF (or the
/// reverse) has not changed the cell. Control characters may come back as the pictures that readers get.
pub fn is_same_text(stored: &str, submitted: &str) -> bool {
    let is_same = |stored: &str| {
        stored == submitted
            || (stored.contains('\r') || submitted.contains('\r'))
                && stored.replace("\r\n", "\n") == submitted.replace("\r\n", "\n")
    };
    is_same(stored) || matches!(visible_controls(stored), Cow::Owned(shown) if is_same(&shown))
}

impl Notebook {
    /// Returns the operations that a text requests for the current notebook.
    pub fn text_ops(&self, text: &str, rules: TextRules) -> Result<Vec<EditOp>, TextError> {
        if let Some(bad) = self.cells().find(|cell| cell.kind().is_none()) {
            return Err(TextError::BadCell { index: bad.index() });
        }
        lower_text(&NotebookBase { book: self, ids: self.ids() }, parse_text(text)?, rules)
    }

    /// Checks that another notebook may replace this one: the number of cells that it lacks, by id and by content,
    /// must be the number that the caller declares.
    pub fn may_become(&self, new: &Notebook, drop: DropRule) -> Result<(), TextError> {
        let DropRule::Exactly(declared) = drop else { return Ok(()) };
        let key = |cell: CellView<'_>| (cell.kind(), cell.source().text.into_owned());
        let ids: HashSet<String> =
            new.cells().filter_map(|cell| cell.id()).map(|id| id.into_owned()).collect();
        let held: HashSet<_> = new.cells().map(key).collect();
        let is_there = |cell: &CellView<'_>| {
            cell.id().is_some_and(|id| ids.contains(&*id)) || held.contains(&key(*cell))
        };
        let missing: Vec<CellCandidate> =
            self.cells().filter(|cell| !is_there(cell)).map(|cell| cell.name()).collect();
        if missing.len() == declared {
            return Ok(());
        }
        Err(TextError::LeavesOut { missing, declared })
    }

    /// Changes the notebook to match a text, all or nothing. A notebook's own text changes nothing.
    pub fn apply_text(
        &mut self,
        text: &str,
        rules: TextRules,
        ids: &mut IdSource,
    ) -> Result<EditReport, TextError> {
        let ops = self.text_ops(text, rules)?;
        Ok(self.apply(&ops, ids)?)
    }
}
