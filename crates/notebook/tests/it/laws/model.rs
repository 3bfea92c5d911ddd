//! A model: a notebook as a plain list, with the effects of operations and texts.

use inkcell_notebook::{
    CellKind, CellPlace, CellRef, EditOp, MetaChange, Notebook, OutputsAfter, SourceShape,
};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use regex::Regex;

use super::random;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) kind: CellKind,
    pub(crate) source: String,
    pub(crate) id: Option<String>,
    /// The cell's bytes, as long as nothing changed them.
    pub(crate) body: Option<Vec<u8>>,
    /// Position of the cell before the edit.
    origin: Option<usize>,
    /// A unique key: the position before the edit, or a number above all positions.
    key: usize,
}

pub(crate) fn cells(notebook: &Notebook) -> Vec<Cell> {
    let cell = |cell: inkcell_notebook::CellView<'_>| Cell {
        kind: cell.kind().unwrap(),
        source: cell.source().text.into_owned(),
        id: cell.id().map(|id| id.into_owned()),
        body: Some(cell.json().to_vec()),
        origin: Some(cell.index()),
        key: cell.index(),
    };
    notebook.cells().map(cell).collect()
}

fn fresh(kind: CellKind, source: &str, key: usize) -> Cell {
    Cell { kind, source: source.to_owned(), id: None, body: None, origin: None, key }
}

/// Checks that the notebook contains these cells, and that unchanged cells keep their bytes.
pub(crate) fn compare(
    notebook: &Notebook,
    before: &[Cell],
    expected: &[Cell],
) -> Result<(), TestCaseError> {
    // The file counts, so parse it again.
    let again = Notebook::parse(notebook.to_bytes()).unwrap();
    let shown = |cell: &Cell| (cell.kind, cell.source.clone());
    let found: Vec<_> = cells(&again).iter().map(shown).collect();
    prop_assert_eq!(found, expected.iter().map(shown).collect::<Vec<_>>());
    let old_ids: Vec<&String> = before.iter().filter_map(|cell| cell.id.as_ref()).collect();
    for (cell, expected) in again.cells().zip(expected) {
        if let Some(body) = &expected.body {
            prop_assert_eq!(cell.json(), &body[..]);
        }
        let id = cell.id().map(|id| id.into_owned());
        match (&expected.id, expected.body.is_some()) {
            (Some(kept), _) => prop_assert_eq!(id.as_ref(), Some(kept)),
            (None, true) => prop_assert_eq!(id, None),
            // A written cell has an id exactly if the version requires one.
            (None, false) => {
                prop_assert_eq!(id.is_some(), again.has_ids());
                prop_assert!(id.is_none_or(|id| !old_ids.contains(&&id)));
            }
        }
    }
    Ok(())
}

/// An operation before the number of cells is known.
#[derive(Clone, Debug)]
pub(crate) struct RandomOp {
    what: u8,
    cell: prop::sample::Index,
    anchor: prop::sample::Index,
    place: u8,
    kind: CellKind,
    source: String,
}

fn kind() -> impl Strategy<Value = CellKind> {
    prop::sample::select(&CellKind::ALL[..])
}

pub(crate) fn random_op() -> impl Strategy<Value = RandomOp> {
    let index = any::<prop::sample::Index>;
    (0..7u8, index(), index(), 0..4u8, kind(), random::source()).prop_map(
        |(what, cell, anchor, place, kind, source)| RandomOp {
            what,
            cell,
            anchor,
            place,
            kind,
            source,
        },
    )
}

impl RandomOp {
    /// Makes the operation for a notebook with this many cells; about one reference in fifteen is
    /// bad.
    pub(crate) fn aim(&self, count: usize) -> EditOp {
        let name = |index: &prop::sample::Index| {
            let at = index.index(count * 2 + 1);
            // The upper half counts from the end.
            CellRef::Index(if at <= count { at as i64 } else { at as i64 - 2 * count as i64 - 1 })
        };
        let cell = name(&self.cell);
        let place = match self.place {
            0 => CellPlace::Start,
            1 => CellPlace::End,
            2 => CellPlace::After(name(&self.anchor)),
            _ => CellPlace::Before(name(&self.anchor)),
        };
        let (kind, source) = (self.kind, self.source.clone());
        match self.what {
            0 => EditOp::Delete { cell },
            1 | 2 => EditOp::Move { cell, to: place },
            3 | 4 => EditOp::Insert { at: place, kind, source },
            5 => EditOp::SetKind { cell, kind },
            _ if self.place == 0 => EditOp::SetMeta {
                cell: Some(cell),
                change: MetaChange {
                    set: vec![("m".to_owned(), "[1.0]".to_owned())],
                    unset: vec![],
                },
            },
            _ => EditOp::Replace {
                cell,
                source,
                kind: (self.place == 1).then_some(kind),
                outputs: OutputsAfter::ClearIfChanged,
                shape: SourceShape::Keep,
            },
        }
    }
}

/// Applies the operations to the cells; none if one of them is impossible.
pub(crate) fn apply(before: &[Cell], ops: &[EditOp]) -> Option<Vec<Cell>> {
    let mut list = before.to_vec();
    // Keys of the cells put at each place, in the order of operations. Anchors are keys too.
    let mut placed: Vec<(CellPlace, usize)> = Vec::new();
    for (time, op) in ops.iter().enumerate() {
        match op {
            EditOp::Delete { cell } => {
                let at = find(&list, before.len(), cell)?;
                let gone = list.remove(at);
                placed.retain(|(_, key)| *key != gone.key);
            }
            EditOp::Insert { at, kind, source } => {
                let at = keyed(&list, before.len(), at)?;
                let cell = fresh(*kind, source, before.len() + time);
                put(&mut list, &mut placed, at, cell);
            }
            EditOp::Move { cell, to } => {
                let from = find(&list, before.len(), cell)?;
                let to = keyed(&list, before.len(), to)?;
                if to == after(list[from].key) || to == ahead(list[from].key) {
                    return None;
                }
                let moved = list.remove(from);
                // Cells that were put after the moved one stay behind and lose it as their anchor.
                placed.retain(|(place, key)| *place != after(moved.key) && *key != moved.key);
                put(&mut list, &mut placed, to, moved);
            }
            EditOp::SetKind { cell, kind } => {
                let at = find(&list, before.len(), cell)?;
                if list[at].kind != *kind {
                    (list[at].kind, list[at].body) = (*kind, None);
                }
            }
            EditOp::SetMeta { cell, .. } => {
                let at = find(&list, before.len(), cell.as_ref()?)?;
                list[at].body = None;
            }
            EditOp::Replace { cell, source, kind, .. } => {
                let at = find(&list, before.len(), cell)?;
                let kind = kind.unwrap_or(list[at].kind);
                if list[at].source != *source || list[at].kind != kind {
                    list[at].body = None;
                }
                (list[at].source, list[at].kind) = (source.clone(), kind);
            }
            other => panic!("operation {time} is not made here: {other:?}"),
        }
    }
    Some(list)
}

fn after(key: usize) -> CellPlace {
    CellPlace::After(CellRef::Index(key as i64))
}

fn ahead(key: usize) -> CellPlace {
    CellPlace::Before(CellRef::Index(key as i64))
}

/// Finds the current position of the cell that was at this position among `count` cells.
fn find(list: &[Cell], count: usize, cell: &CellRef) -> Option<usize> {
    let CellRef::Index(index) = cell else { return None };
    let index = if *index < 0 { *index + count as i64 } else { *index };
    let origin = usize::try_from(index).ok().filter(|&at| at < count)?;
    list.iter().position(|cell| cell.origin == Some(origin))
}

/// Replaces the anchor of the place by its key.
fn keyed(list: &[Cell], count: usize, place: &CellPlace) -> Option<CellPlace> {
    Some(match place {
        CellPlace::After(cell) => after(list[find(list, count, cell)?].key),
        CellPlace::Before(cell) => ahead(list[find(list, count, cell)?].key),
        other => other.clone(),
    })
}

/// Puts a cell behind those put at the same place before it.
fn put(list: &mut Vec<Cell>, placed: &mut Vec<(CellPlace, usize)>, place: CellPlace, cell: Cell) {
    let at = |key: usize| list.iter().position(|cell| cell.key == key).unwrap();
    let behind = placed.iter().rfind(|(other, _)| *other == place).map(|(_, key)| at(*key) + 1);
    let index = match &place {
        CellPlace::After(CellRef::Index(key)) => behind.unwrap_or_else(|| at(*key as usize) + 1),
        CellPlace::Before(CellRef::Index(key)) => at(*key as usize),
        CellPlace::Start => behind.unwrap_or(0),
        _ => list.len(),
    };
    placed.push((place, cell.key));
    list.insert(index, cell);
}

/// A change of a text before the cells are known.
#[derive(Clone, Debug)]
pub(crate) struct RandomText {
    has_ids: bool,
    steps: Vec<(u8, prop::sample::Index, prop::sample::Index, CellKind, String)>,
}

pub(crate) fn random_text() -> impl Strategy<Value = RandomText> {
    let index = any::<prop::sample::Index>;
    let step = (0..5u8, index(), index(), kind(), random::source());
    (any::<bool>(), prop::collection::vec(step, 0..8))
        .prop_map(|(has_ids, steps)| RandomText { has_ids, steps })
}

impl RandomText {
    /// Returns the text, the cells that it stands for, and how many it leaves out.
    pub(crate) fn write(&self, before: &[Cell]) -> (String, Vec<Cell>, usize) {
        let mut list = before.to_vec();
        for (what, one, other, kind, source) in &self.steps {
            if list.is_empty() || *what == 0 {
                list.insert(one.index(list.len() + 1), fresh(*kind, source, usize::MAX));
                continue;
            }
            let at = one.index(list.len());
            match what {
                1 => {
                    let other = other.index(list.len());
                    list.swap(at, other);
                }
                2 => drop(list.remove(at)),
                3 => (list[at].kind, list[at].body) = (*kind, None),
                _ => {
                    list[at].source = format!("{source}\n# changed");
                    list[at].body = None;
                }
            }
        }
        let valid = Regex::new("^[A-Za-z0-9_-]{1,64}$").unwrap();
        let marker = Regex::new(
            r"^# %%+ \[(code|markdown|raw)\]( cell:[0-9]+)?( id:[A-Za-z0-9_-]{1,64})?\r?$",
        )
        .unwrap();
        let mut lines = Vec::new();
        for cell in &mut list {
            let mut line = format!("# %% [{}]", cell.kind);
            if let Some(origin) = cell.origin {
                line.push_str(&format!(" cell:{origin}"));
                let is_unique = |id: &&String| {
                    before.iter().filter(|other| other.id.as_ref() == Some(id)).count() == 1
                };
                let id = cell.id.as_ref().filter(|id| valid.is_match(id)).filter(is_unique);
                if let (Some(id), true) = (id, self.has_ids) {
                    line.push_str(&format!(" id:{id}"));
                }
                // The same kind and the same source do not count as a change.
                let old = &before[origin];
                if (old.kind, &old.source) == (cell.kind, &cell.source) {
                    cell.body.clone_from(&old.body);
                }
            }
            lines.push(line);
            if !cell.source.is_empty() {
                lines.extend(cell.source.split('\n').map(|line| match marker.is_match(line) {
                    true => line.replacen("# %", "# %%", 1),
                    false => line.to_owned(),
                }));
            }
        }
        let kept = list.iter().filter(|cell| cell.origin.is_some()).count();
        let missing = before.len() - kept;
        (lines.join("\n"), list, missing)
    }
}
