//! Carrying out a batch of operations on a copy of the cell list.
//!
//! Owns what each operation does to a cell's fields, and the making of ids; where cells stand meanwhile
//! is `order.rs`. The notebook itself is only replaced when the whole batch went well.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use crate::cell::{CellKind, CellRef, IdSource};
use crate::document::{Notebook, Slot};
use crate::edit::{
    Action, CellChange, EditOp, EditReport, Matches, MetaChange, Note, OutputsAfter, Place,
};
use crate::error::OpError;
use crate::fields::{
    CellPatch, Key, SourceShape, list_value, member_indent, new_cell, quoted, source_value,
};
use crate::json;
use crate::metadata;
use crate::names::{CellNames, at_index};
use crate::order::{Order, Spot, Target};
use crate::search::substitute;
use crate::style::Indent;
use crate::view::{CellView, joined};

/// A batch at work. Cells go by their number in `order`.
pub(crate) struct Batch<'a> {
    book: &'a Notebook,
    ids: &'a mut IdSource,
    order: Order,
    /// What is in each cell, by its number less one.
    cells: Vec<Cell>,
    /// Made when they are first asked for: operations that name positions need none.
    names: OnceCell<CellNames<'a>>,
    /// The ids made here.
    made: HashSet<String>,
    metadata: Option<Arc<Vec<u8>>>,
    indent: Indent,
    done: Vec<(Option<usize>, CellChange)>,
}

struct Cell {
    slot: Slot,
    /// The operation that deleted it.
    deleted_by: Option<usize>,
}

/// Whether a cell without an id gets one where the format wants it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    IfMissing,
    Leave,
}

/// What a finished batch hands back.
pub(crate) struct Done {
    pub(crate) cells: Vec<Slot>,
    pub(crate) metadata: Option<Arc<Vec<u8>>>,
    pub(crate) report: EditReport,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(book: &'a Notebook, ids: &'a mut IdSource) -> Batch<'a> {
        let cell = |slot: &Slot| Cell { slot: slot.clone(), deleted_by: None };
        Batch {
            book,
            ids,
            order: Order::new(book.cells.len()),
            cells: book.cells.iter().map(cell).collect(),
            names: OnceCell::new(),
            made: HashSet::new(),
            metadata: None,
            indent: book.cell_indent(),
            done: Vec::new(),
        }
    }

    pub(crate) fn apply(&mut self, op: usize, operation: &EditOp) -> Result<(), OpError> {
        match operation {
            EditOp::Replace { cell, source, kind, outputs, shape } => {
                let node = self.find(cell)?;
                let notes = self.set_source(node, source, *kind, *outputs, *shape)?;
                self.note(op, node, Action::Replaced, notes);
            }
            EditOp::Insert { at, kind, source } => {
                let spot = self.spot(at, None)?;
                let id = self.book.has_ids().then(|| self.fresh_id());
                let text = new_cell(*kind, source, id.as_deref(), &self.indent, &self.book.style);
                let node = self.order.insert(spot);
                self.cells.push(Cell { slot: Slot::own(text, None), deleted_by: None });
                self.note(op, node, Action::Inserted, Vec::new());
            }
            EditOp::Delete { cell } => {
                let node = self.find(cell)?;
                self.note(op, node, Action::Deleted, Vec::new());
                self.order.remove(node);
                self.cells[node - 1].deleted_by = Some(op);
            }
            EditOp::Move { cell, to } => {
                let node = self.find(cell)?;
                let spot = self.spot(to, Some(node))?;
                self.order.shift(node, spot);
                self.note(op, node, Action::Moved, Vec::new());
            }
            EditOp::SetKind { cell, kind } => {
                let node = self.find(cell)?;
                self.must_be_object(node)?;
                let mut patch = CellPatch::default();
                let note = patch.retype(self.view(node), *kind, &self.book.style);
                let mut notes = Vec::from_iter(note);
                // Of the kind it is already, a cell can only lose what does not belong to it.
                let is_new = self.view(node).kind() != Some(*kind);
                let naming = if is_new { Naming::IfMissing } else { Naming::Leave };
                self.patch(node, patch, &mut notes, naming)?;
                self.note(op, node, Action::Retyped, notes);
            }
            EditOp::Sub { cell, old, new, matches, outputs } => {
                let node = self.find(cell)?;
                let (source, count) = self.substituted(node, old, new, *matches)?;
                let notes = self.set_source(node, &source, None, *outputs, SourceShape::Keep)?;
                self.note(op, node, Action::Substituted { count }, notes);
            }
            EditOp::Clear { cell: Some(cell) } => {
                let node = self.find(cell)?;
                let notes = self.clear(node)?;
                self.note(op, node, Action::Cleared, notes);
            }
            EditOp::Clear { cell: None } => self.clear_all(op)?,
            EditOp::SetMeta { cell: Some(cell), change } => {
                let node = self.find(cell)?;
                let notes = self.set_meta(node, change)?;
                self.note(op, node, Action::MetaChanged, notes);
            }
            EditOp::SetMeta { cell: None, change } => self.set_notebook_meta(op, change)?,
            EditOp::SetTags { cell, add, remove } => {
                let node = self.find(cell)?;
                let notes = self.set_tags(node, add, remove)?;
                self.note(op, node, Action::MetaChanged, notes);
            }
            EditOp::SetOutputs { cell, count, outputs } => {
                let node = self.find(cell)?;
                let index = self.index(node);
                match self.slot(node).kind() {
                    Some(CellKind::Code) => {}
                    Some(kind) => return Err(OpError::NoOutputs { index, kind }),
                    None => return Err(OpError::NotACell { index }),
                }
                let member = self.member_indent(node);
                let texts: Vec<&[u8]> = outputs.iter().map(|output| output.json()).collect();
                let count = count.map_or("null".to_owned(), |count| count.to_string());
                let mut patch = CellPatch::default();
                patch.set(Key::Outputs, list_value(&texts, &member, &self.book.style));
                patch.set(Key::ExecutionCount, count.into_bytes());
                let mut notes = Vec::new();
                // A run is no edit: it gives nothing a name.
                self.patch(node, patch, &mut notes, Naming::Leave)?;
                self.note(op, node, Action::OutputsSet, notes);
            }
        }
        Ok(())
    }

    /// The cells in their new order, and the report with their new positions.
    pub(crate) fn finish(self) -> Done {
        let mut positions = vec![None; self.cells.len()];
        let mut slots: Vec<Option<Slot>> =
            self.cells.into_iter().map(|cell| Some(cell.slot)).collect();
        let mut cells = Vec::with_capacity(slots.len());
        for node in self.order.nodes() {
            positions[node - 1] = Some(cells.len());
            cells.extend(slots[node - 1].take());
        }
        let mut changes = Vec::with_capacity(self.done.len());
        for (node, mut change) in self.done {
            change.index = node.map(|node| positions[node - 1].unwrap_or(node - 1));
            changes.push(change);
        }
        Done { cells, metadata: self.metadata, report: EditReport { changes } }
    }

    // Finding and placing.

    fn names(&self) -> &CellNames<'a> {
        self.names.get_or_init(|| self.book.names())
    }

    fn find(&self, cell: &CellRef) -> Result<usize, OpError> {
        let position = match cell {
            CellRef::Index(index) => at_index(*index, self.book.len())?,
            CellRef::Text(_) => self.names().resolve(cell)?,
        };
        match self.cells[position].deleted_by {
            Some(by) => Err(OpError::AlreadyDeleted { cell: self.book.view(position).name(), by }),
            None => Ok(position + 1),
        }
    }

    fn spot(&self, place: &Place, moving: Option<usize>) -> Result<Spot, OpError> {
        let anchor = |cell: &CellRef| match self.find(cell)? {
            node if moving == Some(node) => {
                Err(OpError::MoveToItself { cell: self.book.view(node - 1).name() })
            }
            node => Ok(node),
        };
        let target = match place {
            Place::After(cell) => Target::After(anchor(cell)?),
            Place::Before(cell) => Target::Before(anchor(cell)?),
            Place::Start => Target::Start,
            Place::End => Target::End,
        };
        Ok(self.order.spot(target, moving))
    }

    /// The position before the batch; meaningless for new cells, which no operation can name.
    fn index(&self, node: usize) -> usize {
        node - 1
    }

    fn slot(&self, node: usize) -> &Slot {
        &self.cells[node - 1].slot
    }

    fn body(&self, node: usize) -> &[u8] {
        self.book.body(self.slot(node))
    }

    fn view(&self, node: usize) -> CellView<'_> {
        let fields = &self.slot(node).fields;
        CellView { index: self.index(node), body: self.body(node), fields }
    }

    // Changing one cell.

    fn member_indent(&self, node: usize) -> Indent {
        member_indent(self.body(node), &self.indent, &self.book.style)
    }

    fn set_source(
        &mut self,
        node: usize,
        source: &str,
        kind: Option<CellKind>,
        outputs: OutputsAfter,
        shape: SourceShape,
    ) -> Result<Vec<Note>, OpError> {
        self.must_be_object(node)?;
        let slot = self.slot(node);
        let old = slot.fields.value(self.body(node), Key::Source);
        let changed = joined(old.unwrap_or(b"\"\"")).text != source;
        let reshape =
            shape == SourceShape::Lines && old.is_none_or(|old| old.first() != Some(&b'['));
        let mut patch = CellPatch::default();
        let mut notes = Vec::new();
        if changed || reshape {
            let member = self.member_indent(node);
            let new = source_value(old, source, shape, &member, &self.book.style);
            if new.lost_surrogates && changed {
                notes.push(Note::SurrogatesLost);
            }
            patch.set(Key::Source, new.value);
        }
        let mut result = slot.kind();
        if let Some(kind) = kind {
            notes.extend(patch.retype(self.view(node), kind, &self.book.style));
            result = Some(kind);
        }
        let clear = match outputs {
            OutputsAfter::ClearIfChanged => changed,
            OutputsAfter::Keep => false,
            OutputsAfter::Clear => true,
        };
        if clear && result == Some(CellKind::Code) {
            notes.extend(patch.clear(self.view(node)));
        }
        self.patch(node, patch, &mut notes, Naming::IfMissing)?;
        Ok(notes)
    }

    fn clear(&mut self, node: usize) -> Result<Vec<Note>, OpError> {
        let mut notes = Vec::new();
        let mut patch = CellPatch::default();
        if self.slot(node).kind() == Some(CellKind::Code) {
            notes.extend(patch.clear(self.view(node)));
        }
        self.patch(node, patch, &mut notes, Naming::Leave)?;
        Ok(notes)
    }

    fn clear_all(&mut self, op: usize) -> Result<(), OpError> {
        let mut total = 0;
        let mut unchanged = true;
        for node in self.order.nodes().collect::<Vec<_>>() {
            let notes = self.clear(node)?;
            unchanged &= notes.contains(&Note::Unchanged);
            for note in notes {
                if let Note::OutputsCleared(count) = note {
                    total += count;
                }
            }
        }
        let note = if unchanged { Note::Unchanged } else { Note::OutputsCleared(total) };
        self.note_notebook(op, Action::Cleared, vec![note]);
        Ok(())
    }

    fn substituted(
        &self,
        node: usize,
        old: &str,
        new: &str,
        matches: Matches,
    ) -> Result<(String, usize), OpError> {
        self.must_be_object(node)?;
        let value = self.slot(node).fields.value(self.body(node), Key::Source).unwrap_or(b"\"\"");
        let name = || self.book.view(self.index(node)).name();
        substitute(&joined(value).text, old, new, matches).map_err(|error| error.in_cell(name()))
    }

    fn set_meta(&mut self, node: usize, change: &MetaChange) -> Result<Vec<Note>, OpError> {
        self.must_be_object(node)?;
        metadata::check_cell(change)?;
        let member = self.member_indent(node);
        let old = self.slot(node).fields.value(self.body(node), Key::Metadata).unwrap_or(b"{}");
        let value = metadata::changed(old, change, &member, &self.book.style);
        let mut patch = CellPatch::default();
        if value != old {
            patch.set(Key::Metadata, value);
        }
        let mut notes = Vec::new();
        let naming = if change.set.is_empty() { Naming::Leave } else { Naming::IfMissing };
        self.patch(node, patch, &mut notes, naming)?;
        Ok(notes)
    }

    fn set_tags(
        &mut self,
        node: usize,
        add: &[String],
        remove: &[String],
    ) -> Result<Vec<Note>, OpError> {
        self.must_be_object(node)?;
        let old = self.slot(node).fields.value(self.body(node), Key::Metadata).unwrap_or_default();
        match metadata::tags_change(old, add, remove, &self.book.style) {
            Some(change) => self.set_meta(node, &change),
            None => Ok(vec![Note::Unchanged]),
        }
    }

    fn set_notebook_meta(&mut self, op: usize, change: &MetaChange) -> Result<(), OpError> {
        metadata::check_notebook(change)?;
        let old = self.metadata.as_ref().map_or(self.book.metadata_json(), |changed| changed);
        let value = metadata::changed(old, change, &self.book.top_indent(), &self.book.style);
        let mut notes = Vec::new();
        if value == old {
            notes.push(Note::Unchanged);
        } else {
            self.metadata = Some(Arc::new(value));
        }
        self.note_notebook(op, Action::MetaChanged, notes);
        Ok(())
    }

    fn must_be_object(&self, node: usize) -> Result<(), OpError> {
        if self.slot(node).fields.is_object {
            return Ok(());
        }
        Err(OpError::NotACell { index: self.index(node) })
    }

    /// Gives the cell its new text. A cell that is written and should have an id gets one; one that
    /// only loses something does not, so that cleaning a notebook always gives the same bytes.
    fn patch(
        &mut self,
        node: usize,
        mut patch: CellPatch,
        notes: &mut Vec<Note>,
        naming: Naming,
    ) -> Result<(), OpError> {
        if patch.is_empty() {
            notes.push(Note::Unchanged);
            return Ok(());
        }
        let slot = self.slot(node);
        if let Some(key) = slot.fields.duplicate
            && patch.touches(key)
        {
            let (index, key) = (self.index(node), key.name().to_owned());
            return Err(OpError::DuplicateKey { index, key });
        }
        let origin = slot.origin;
        if naming == Naming::IfMissing
            && self.book.has_ids()
            && slot.fields.member(Key::Id).is_none()
        {
            let id = self.fresh_id();
            patch.set(Key::Id, quoted(&id, &self.book.style));
            notes.push(Note::IdAdded);
        }
        let text = patch.apply(self.body(node), &self.indent, &self.book.style);
        self.cells[node - 1].slot = Slot::own(text, origin);
        Ok(())
    }

    fn fresh_id(&mut self) -> String {
        loop {
            let id = self.ids.next_id().as_str().to_owned();
            if !self.names().contains(&id) && self.made.insert(id.clone()) {
                return id;
            }
        }
    }

    fn note(&mut self, op: usize, node: usize, action: Action, notes: Vec<Note>) {
        let slot = self.slot(node);
        let value = slot.fields.value(self.body(node), Key::Id);
        let id = value.map(|value| json::decode(value).text.into_owned());
        let kind = slot.kind();
        self.done.push((Some(node), CellChange { op, action, index: None, id, kind, notes }));
    }

    fn note_notebook(&mut self, op: usize, action: Action, notes: Vec<Note>) {
        let change = CellChange { op, action, index: None, id: None, kind: None, notes };
        self.done.push((None, change));
    }
}
