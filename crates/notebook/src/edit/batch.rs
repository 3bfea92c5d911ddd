//! Applies a batch of operations to a copy of the cell list.
//!
//! Owns what each operation does to a cell's fields, and makes ids; `order.rs` keeps the order of cells
//! meanwhile. The notebook changes only after the whole batch succeeded.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use super::metadata;
use super::operation::{CellPlace, EditOp, MetaChange, OutputsAfter};
use super::order::{Order, Spot, Target};
use super::patch::{
    CellPatch, SourceShape, find_member_indent, quote, write_cell, write_list, write_source,
};
use super::rename::CellCode;
use super::report::{Action, CellChange, EditNote, EditReport};
use super::substitute::{Matches, substitute};
use crate::cell::{CellKind, CellRef, IdSource};
use crate::document::{
    CellNames, CellView, Indent, Key, Notebook, Slot, join_source, resolve_index,
};
use crate::error::{EditError, OpError};
use crate::json;
use crate::matching::nearest_lines;

impl Notebook {
    /// Applies operations in order. Either all of them happen or none: on an error the notebook is
    /// unchanged. References name cells by their ids and positions before the batch; cells put at the
    /// same place keep the order of their operations.
    pub fn apply(&mut self, ops: &[EditOp], ids: &mut IdSource) -> Result<EditReport, EditError> {
        if ops.is_empty() {
            return Ok(EditReport::default());
        }
        if let Some(reason) = self.read_only() {
            return Err(EditError::ReadOnly(reason.clone()));
        }
        let mut batch = Batch::new(self, ids);
        for (op, operation) in ops.iter().enumerate() {
            batch.apply(op, operation).map_err(|problem| EditError::Op { op, problem })?;
        }
        let done = batch.finish();
        self.cells = done.cells;
        if let Some(metadata) = done.metadata {
            self.metadata = Some(metadata);
        }
        Ok(done.report)
    }
}

/// A batch in progress. A cell is identified by its number in `order`.
pub(crate) struct Batch<'a> {
    book: &'a Notebook,
    ids: &'a mut IdSource,
    order: Order,
    /// The content of each cell, at its number less one.
    cells: Vec<Cell>,
    /// Index of cell ids, built on first use: operations that name positions need none.
    names: OnceCell<CellNames<'a>>,
    /// Ids made in this batch.
    made: HashSet<String>,
    metadata: Option<Arc<Vec<u8>>>,
    indent: Indent,
    done: Vec<(Option<usize>, CellChange)>,
}

struct Cell {
    slot: Slot,
    /// Position of the operation that deleted the cell.
    deleted_by: Option<usize>,
}

/// The rule for a written cell without an id, in a format that wants ids.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IdRule {
    IfMissing,
    Leave,
}

/// The cells, metadata and report of a finished batch.
pub(crate) struct BatchResult {
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
                self.report(op, node, Action::Replaced, notes);
            }
            EditOp::Insert { at, kind, source } => {
                let spot = self.spot(at, None)?;
                let id = self.book.has_ids().then(|| self.fresh_id());
                let text = write_cell(*kind, source, id.as_deref(), &self.indent, &self.book.style);
                let node = self.order.insert(spot);
                self.cells.push(Cell { slot: Slot::own(text, None), deleted_by: None });
                self.report(op, node, Action::Inserted, Vec::new());
            }
            EditOp::Delete { cell } => {
                let node = self.find(cell)?;
                self.report(op, node, Action::Deleted, Vec::new());
                self.order.remove(node);
                self.cells[node - 1].deleted_by = Some(op);
            }
            EditOp::Move { cell, to } => {
                let node = self.find(cell)?;
                let spot = self.spot(to, Some(node))?;
                self.order.shift(node, spot);
                self.report(op, node, Action::Moved, Vec::new());
            }
            EditOp::SetKind { cell, kind } => {
                let node = self.find(cell)?;
                self.must_be_object(node)?;
                let mut patch = CellPatch::default();
                let note = patch.retype(self.view(node), *kind, &self.book.style);
                let mut notes = Vec::from_iter(note);
                // If the kind stays the same, the cell can only lose fields that do not belong to it.
                let is_new = self.view(node).kind() != Some(*kind);
                let id_rule = if is_new { IdRule::IfMissing } else { IdRule::Leave };
                self.patch(node, patch, &mut notes, id_rule)?;
                self.report(op, node, Action::Retyped, notes);
            }
            EditOp::Sub { cell: None, old, new, matches, outputs } => {
                self.substitute_in_all(op, (old, new), *matches, *outputs)?;
            }
            EditOp::Sub { cell: Some(cell), old, new, matches, outputs } => {
                let node = self.find(cell)?;
                let (source, count) = self.substitute_in(node, old, new, *matches)?;
                let notes = self.set_source(node, &source, None, *outputs, SourceShape::Keep)?;
                self.report(op, node, Action::Substituted { count }, notes);
            }
            EditOp::Rename { old, new, outputs } => self.rename(op, (old, new), *outputs)?,
            EditOp::Clear { cell: Some(cell) } => {
                let node = self.find(cell)?;
                let notes = self.clear(node)?;
                self.report(op, node, Action::Cleared, notes);
            }
            EditOp::Clear { cell: None } => self.clear_all(op)?,
            EditOp::SetMeta { cell: Some(cell), change } => {
                let node = self.find(cell)?;
                let notes = self.set_meta(node, change)?;
                self.report(op, node, Action::MetaChanged, notes);
            }
            EditOp::SetMeta { cell: None, change } => self.set_notebook_meta(op, change)?,
            EditOp::SetTags { cell, add, remove } => {
                let node = self.find(cell)?;
                let notes = self.set_tags(node, add, remove)?;
                self.report(op, node, Action::MetaChanged, notes);
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
                patch.set(Key::Outputs, write_list(&texts, &member, &self.book.style));
                patch.set(Key::ExecutionCount, count.into_bytes());
                let mut notes = Vec::new();
                // Storing outputs does not edit the source, so it adds no id.
                self.patch(node, patch, &mut notes, IdRule::Leave)?;
                self.report(op, node, Action::OutputsSet, notes);
            }
        }
        Ok(())
    }

    /// Returns the cells in their new order, and the report with their new positions.
    pub(crate) fn finish(self) -> BatchResult {
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
        BatchResult { cells, metadata: self.metadata, report: EditReport { changes } }
    }

    // Find and place cells.

    fn names(&self) -> &CellNames<'a> {
        self.names.get_or_init(|| self.book.names())
    }

    fn find(&self, cell: &CellRef) -> Result<usize, OpError> {
        let position = match cell {
            CellRef::Index(index) => resolve_index(*index, self.book.len())?,
            CellRef::Text(_) => self.names().resolve(cell)?,
        };
        match self.cells[position].deleted_by {
            Some(by) => Err(OpError::AlreadyDeleted { cell: self.book.view(position).name(), by }),
            None => Ok(position + 1),
        }
    }

    fn spot(&self, place: &CellPlace, moving: Option<usize>) -> Result<Spot, OpError> {
        let anchor = |cell: &CellRef| match self.find(cell)? {
            node if moving == Some(node) => {
                Err(OpError::MoveToItself { cell: self.book.view(node - 1).name() })
            }
            node => Ok(node),
        };
        let target = match place {
            CellPlace::After(cell) => Target::After(anchor(cell)?),
            CellPlace::Before(cell) => Target::Before(anchor(cell)?),
            CellPlace::Start => Target::Start,
            CellPlace::End => Target::End,
        };
        Ok(self.order.spot(target, moving))
    }

    /// The position before the batch; meaningless for a new cell, which no operation can name.
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

    /// The language of the code cells, if the metadata name one.
    pub(super) fn language(&self) -> Option<String> {
        self.book.language()
    }

    /// The code cells in order.
    pub(super) fn code_cells(&self) -> Vec<usize> {
        let is_code = |node: &usize| self.slot(*node).kind() == Some(CellKind::Code);
        self.order.nodes().filter(is_code).collect()
    }

    pub(super) fn cell_code(&self, node: usize) -> CellCode {
        let view = self.view(node);
        CellCode { cell: view.name(), source: view.source().text.into_owned() }
    }

    // Change one cell.

    fn member_indent(&self, node: usize) -> Indent {
        find_member_indent(self.body(node), &self.indent, &self.book.style)
    }

    pub(super) fn set_source(
        &mut self,
        node: usize,
        source: &str,
        kind: Option<CellKind>,
        outputs: OutputsAfter,
        shape: SourceShape,
    ) -> Result<Vec<EditNote>, OpError> {
        self.must_be_object(node)?;
        let slot = self.slot(node);
        let old = slot.fields.value(self.body(node), Key::Source);
        let changed = join_source(old.unwrap_or(b"\"\"")).text != source;
        let reshape =
            shape == SourceShape::Lines && old.is_none_or(|old| old.first() != Some(&b'['));
        let mut patch = CellPatch::default();
        let mut notes = Vec::new();
        if changed || reshape {
            let member = self.member_indent(node);
            let new = write_source(old, source, shape, &member, &self.book.style);
            if new.lost_surrogates && changed {
                notes.push(EditNote::SurrogatesLost);
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
        self.patch(node, patch, &mut notes, IdRule::IfMissing)?;
        Ok(notes)
    }

    fn clear(&mut self, node: usize) -> Result<Vec<EditNote>, OpError> {
        let mut notes = Vec::new();
        let mut patch = CellPatch::default();
        if self.slot(node).kind() == Some(CellKind::Code) {
            notes.extend(patch.clear(self.view(node)));
        }
        self.patch(node, patch, &mut notes, IdRule::Leave)?;
        Ok(notes)
    }

    fn clear_all(&mut self, op: usize) -> Result<(), OpError> {
        let mut total = 0;
        let mut unchanged = true;
        for node in self.order.nodes().collect::<Vec<_>>() {
            let notes = self.clear(node)?;
            unchanged &= notes.contains(&EditNote::Unchanged);
            for note in notes {
                if let EditNote::OutputsCleared(count) = note {
                    total += count;
                }
            }
        }
        let note = if unchanged { EditNote::Unchanged } else { EditNote::OutputsCleared(total) };
        self.report_notebook(op, Action::Cleared, vec![note]);
        Ok(())
    }

    fn substitute_in(
        &self,
        node: usize,
        old: &str,
        new: &str,
        matches: Matches,
    ) -> Result<(String, usize), OpError> {
        self.must_be_object(node)?;
        let CellCode { cell, source } = self.cell_code(node);
        substitute(&source, old, new, matches).map_err(|error| error.in_cell(cell))
    }

    fn substitute_in_all(
        &mut self,
        op: usize,
        (old, new): (&str, &str),
        matches: Matches,
        outputs: OutputsAfter,
    ) -> Result<(), OpError> {
        if old.is_empty() {
            return Err(OpError::EmptyPattern);
        }
        let is_cell = |node: &usize| self.slot(*node).fields.is_object;
        let nodes: Vec<usize> = self.order.nodes().filter(is_cell).collect();
        let count = |node: &usize| self.cell_code(*node).source.matches(old).count();
        let counted = nodes.iter().map(|node| (*node, count(node)));
        let found: Vec<(usize, usize)> = counted.filter(|(_, count)| *count > 0).collect();
        let count = found.iter().map(|(_, count)| count).sum();
        if count == 0 {
            let nearest = nodes.iter().find_map(|node| {
                let CellCode { cell, source } = self.cell_code(*node);
                Some((cell, nearest_lines(&source, old).into_iter().next()?))
            });
            return Err(OpError::NoMatchAnywhere { nearest });
        }
        if count > 1 && matches == Matches::One {
            let cells = found.iter().map(|(node, _)| self.view(*node).name()).collect();
            return Err(OpError::ManyMatchesAnywhere { count, cells });
        }
        for (node, count) in found {
            let source = self.cell_code(node).source.replace(old, new);
            let notes = self.set_source(node, &source, None, outputs, SourceShape::Keep)?;
            self.report(op, node, Action::Substituted { count }, notes);
        }
        Ok(())
    }

    fn set_meta(&mut self, node: usize, change: &MetaChange) -> Result<Vec<EditNote>, OpError> {
        self.must_be_object(node)?;
        metadata::check_cell(change)?;
        let member = self.member_indent(node);
        let old = self.slot(node).fields.value(self.body(node), Key::Metadata).unwrap_or(b"{}");
        let value = metadata::apply_change(old, change, &member, &self.book.style);
        let mut patch = CellPatch::default();
        if value != old {
            patch.set(Key::Metadata, value);
        }
        let mut notes = Vec::new();
        let id_rule = if change.set.is_empty() { IdRule::Leave } else { IdRule::IfMissing };
        self.patch(node, patch, &mut notes, id_rule)?;
        Ok(notes)
    }

    fn set_tags(
        &mut self,
        node: usize,
        add: &[String],
        remove: &[String],
    ) -> Result<Vec<EditNote>, OpError> {
        self.must_be_object(node)?;
        let old = self.slot(node).fields.value(self.body(node), Key::Metadata).unwrap_or_default();
        match metadata::change_tags(old, add, remove, &self.book.style) {
            Some(change) => self.set_meta(node, &change),
            None => Ok(vec![EditNote::Unchanged]),
        }
    }

    fn set_notebook_meta(&mut self, op: usize, change: &MetaChange) -> Result<(), OpError> {
        metadata::check_notebook(change)?;
        let old = self.metadata.as_ref().map_or(self.book.metadata_json(), |changed| changed);
        let value = metadata::apply_change(old, change, &self.book.top_indent(), &self.book.style);
        let mut notes = Vec::new();
        if value == old {
            notes.push(EditNote::Unchanged);
        } else {
            self.metadata = Some(Arc::new(value));
        }
        self.report_notebook(op, Action::MetaChanged, notes);
        Ok(())
    }

    fn must_be_object(&self, node: usize) -> Result<(), OpError> {
        if self.slot(node).fields.is_object {
            return Ok(());
        }
        Err(OpError::NotACell { index: self.index(node) })
    }

    /// Gives the cell its new text. A written cell that should have an id gets one. A cell that only
    /// loses fields gets none, so that cleaning a notebook always gives the same bytes.
    fn patch(
        &mut self,
        node: usize,
        mut patch: CellPatch,
        notes: &mut Vec<EditNote>,
        id_rule: IdRule,
    ) -> Result<(), OpError> {
        if patch.is_empty() {
            notes.push(EditNote::Unchanged);
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
        if id_rule == IdRule::IfMissing
            && self.book.has_ids()
            && slot.fields.member(Key::Id).is_none()
        {
            let id = self.fresh_id();
            patch.set(Key::Id, quote(&id, &self.book.style));
            notes.push(EditNote::IdAdded);
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

    pub(super) fn report(&mut self, op: usize, node: usize, action: Action, notes: Vec<EditNote>) {
        let slot = self.slot(node);
        let value = slot.fields.value(self.body(node), Key::Id);
        let id = value.map(|value| json::decode(value).text.into_owned());
        let kind = slot.kind();
        self.done.push((Some(node), CellChange { op, action, index: None, id, kind, notes }));
    }

    fn report_notebook(&mut self, op: usize, action: Action, notes: Vec<EditNote>) {
        let change = CellChange { op, action, index: None, id: None, kind: None, notes };
        self.done.push((None, change));
    }
}
