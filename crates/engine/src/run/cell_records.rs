//! The current cells of a notebook, each with its record.
//!
//! Owns which record belongs to which cell, and whether the file shows the recorded run. `staleness` draws the
//! conclusions.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;

use inkcell_kernel::{CodeNames, FileRead};
use inkcell_notebook::{CellKind, CellView, Notebook};

use super::plan::{MAY_FAIL, SKIP};
use super::record::{LastRuns, Latest, RanCell, SourceDigest};
use super::stamps;
use crate::edit::OpenNotebook;
use crate::run::staleness::{CellNow, KnownRun, Shows, marks};
use crate::types::Freshness;

/// The records of a notebook, indexed by cell.
pub struct Records<'a> {
    by_id: HashMap<&'a str, &'a RanCell>,
    by_place: HashMap<(Option<&'a str>, usize), &'a RanCell>,
}

impl<'a> Records<'a> {
    pub(crate) fn new(cells: &'a [RanCell]) -> Records<'a> {
        let by_id = HashMap::with_capacity(cells.len());
        let mut records = Records { by_id, by_place: HashMap::new() };
        for cell in cells {
            match &cell.id {
                Some(id) if !cell.is_twin => drop(records.by_id.insert(id, cell)),
                id => drop(records.by_place.insert((id.as_deref(), cell.index), cell)),
            }
        }
        records
    }

    /// The latest record of this cell, whatever its source is now.
    pub fn of(&self, id: Option<&str>, index: usize) -> Option<&'a RanCell> {
        let by_place = || self.by_place.get(&(id, index)).copied();
        by_place().or_else(|| self.by_id.get(id?).copied())
    }
}

/// How far the file may lag behind the records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Behind {
    No,
    /// Any output may still wait for a save.
    Maybe,
    /// Outputs of executions after this number may wait for a save.
    After(u64),
}

/// The cells that can run.
pub(crate) fn standing<'a>(
    notebook: &Notebook,
    records: &Records<'a>,
    behind: Behind,
    foreseen: &'a HashMap<SourceDigest, Option<CodeNames>>,
) -> Vec<CellNow<'a>> {
    let now = |cell: CellView<'_>| {
        let (source, tags) = code(&cell)?;
        let id = cell.id();
        let record = records.of(id.as_deref(), cell.index());
        // Without a record or foreseen names, the digest has no use.
        let is_compared = record.is_some() || !foreseen.is_empty();
        let own = is_compared.then(|| SourceDigest::of(&source));
        let is_same = record.is_some_and(|record| Some(record.source) == own);
        let known = |record: &'a RanCell| KnownRun {
            is_same,
            state: record.state,
            trace: record.trace.as_ref(),
        };
        Some(CellNow {
            index: cell.index(),
            known: record.map(known),
            shows: shows(&cell, record, behind),
            may_fail: tags.iter().any(|tag| tag == MAY_FAIL),
            foreseen: own
                .and_then(|own| foreseen.get(&own))
                .filter(|_| !is_same)
                .map(Option::as_ref),
        })
    };
    notebook.cells().filter_map(now).collect()
}

/// Returns true if a cell has code and no tag forbids running it.
pub(crate) fn can_run(cell: &CellView<'_>) -> bool {
    code(cell).is_some()
}

/// The code of a cell that may run, and its tags.
fn code<'a>(cell: &CellView<'a>) -> Option<(Cow<'a, str>, Vec<String>)> {
    let tags = (cell.kind() == Some(CellKind::Code)).then(|| cell.tags())?;
    let source = cell.source().text;
    let is_code = !source.trim().is_empty() && !tags.iter().any(|tag| tag == SKIP);
    is_code.then_some((source, tags))
}

/// Compares the count in the file with the record. Another runner leaves another count, and a program that clears
/// outputs clears the count, too.
fn shows(cell: &CellView<'_>, record: Option<&RanCell>, behind: Behind) -> Shows {
    let count = cell.execution_count();
    let is_waiting = |record: &RanCell| match behind {
        Behind::No => false,
        Behind::Maybe => true,
        Behind::After(ran) => record.trace.as_ref().is_some_and(|trace| trace.ran > ran),
    };
    match record {
        Some(record) if is_waiting(record) => Shows::Recorded,
        Some(record) if record.count.map(u64::from) == count => Shows::Recorded,
        _ if count.is_none() && cell.outputs().is_empty() => Shows::Nothing,
        _ => Shows::Another,
    }
}

/// Compares files with their state when code read them. Each file is checked once.
#[derive(Debug, Default)]
pub(crate) struct FilesNow(RefCell<HashMap<String, Option<(u64, i64)>>>);

impl FilesNow {
    pub(crate) fn is_changed(&self, FileRead(path, size, mtime): &FileRead) -> bool {
        let mut known = self.0.borrow_mut();
        let now = match known.get(path) {
            Some(now) => *now,
            None => *known.entry(path.clone()).or_insert_with(|| stamp(path)),
        };
        now != Some((*size, *mtime))
    }

    /// Returns true if one of the checked files has changed since the check.
    pub(crate) fn is_any_changed(&self) -> bool {
        self.0.borrow().iter().any(|(path, known)| stamp(path) != *known)
    }
}

/// Size and modification time of a file; `None` if it does not exist or its time is out of range.
fn stamp(path: &str) -> Option<(u64, i64)> {
    let found = std::fs::metadata(path).ok()?;
    let nanos = found.mtime().checked_mul(1_000_000_000)?.checked_add(found.mtime_nsec())?;
    Some((found.size(), nanos))
}

/// Freshness of each cell that can run, by position.
pub(crate) fn cell_marks(opened: &OpenNotebook, runs: &LastRuns) -> HashMap<usize, Freshness> {
    let noted;
    let cells = match with_noted(&opened.notebook, &runs.cells) {
        Some(more) => {
            noted = more;
            &noted
        }
        None => &runs.cells,
    };
    let behind = if runs.is_ahead { Behind::Maybe } else { Behind::No };
    let (foreseen, files) = (HashMap::new(), FilesNow::default());
    let cells = standing(&opened.notebook, &Records::new(cells), behind, &foreseen);
    let marks = marks(&cells, |file| files.is_changed(file));
    cells.iter().map(|cell| cell.index).zip(marks).collect()
}

/// The records, updated with notes in the file itself about later runs or runs elsewhere; `None` if the file has no
/// such notes.
pub(crate) fn with_noted(notebook: &Notebook, known: &[RanCell]) -> Option<Vec<RanCell>> {
    let noted: Vec<RanCell> = notebook.cells().filter_map(|cell| stamps::recorded(&cell)).collect();
    if noted.is_empty() {
        return None;
    }
    let mut all: Latest = known.iter().cloned().collect();
    let ran = |cell: &RanCell| cell.trace.as_ref().map(|trace| trace.ran);
    for cell in noted {
        let old = all.of(cell.id.as_deref(), cell.index);
        if old.is_none_or(|old| ran(old) < ran(&cell)) {
            let is_twin = old.is_some_and(|old| old.is_twin);
            all.put(RanCell { is_twin, ..cell });
        }
    }
    Some(all.into_cells())
}
