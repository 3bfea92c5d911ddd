//! Carrying out a batch of operations on a copy of the cell list.
//!
//! Owns the order of cells while it changes, what each operation does to a cell's fields, and the
//! making of ids. The notebook itself is only replaced when the whole batch went well.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::cell::{CellKind, CellRef, IdSource, nearest_lines, resolve};
use crate::document::{Notebook, Slot};
use crate::edit::{
    Action, CellChange, EditOp, EditReport, Matches, MetaChange, Note, OutputsAfter, Place,
};
use crate::error::{Candidate, OpError};
use crate::fields::{
    CellPatch, Key, SourceShape, edit_object, list_value, member_indent, new_cell, quoted,
    source_value,
};
use crate::json;
use crate::metadata;
use crate::style::{Indent, format_value};

/// The list of cells is a ring of nodes, so that moving, adding and removing cost the same however
/// long the notebook is. Node 0 closes the ring; node `n + 1` is the cell at position `n` before the
/// batch.
pub(crate) struct Batch<'a> {
    book: &'a Notebook,
    ids: &'a mut IdSource,
    nodes: Vec<Node>,
    /// The nodes that were placed at an anchor, so that the next one goes behind the last.
    tails: HashMap<Anchor, Vec<usize>>,
    /// The same the other way round, for when such a node is moved away.
    tail_of: HashMap<usize, Anchor>,
    names: Vec<Option<String>>,
    taken: Option<HashSet<String>>,
    metadata: Option<Arc<[u8]>>,
    indent: Indent,
    done: Vec<(usize, CellChange)>,
}

struct Node {
    slot: Option<Slot>,
    before: usize,
    after: usize,
    /// The operation that deleted it.
    deleted_by: Option<usize>,
}

const RING: usize = 0;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Anchor {
    After(usize),
    Start,
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
    pub(crate) metadata: Option<Arc<[u8]>>,
    pub(crate) report: EditReport,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(book: &'a Notebook, ids: &'a mut IdSource) -> Batch<'a> {
        let count = book.cells.len();
        let link = |at: usize, slot| Node {
            slot,
            before: if at == 0 { count } else { at - 1 },
            after: if at == count { 0 } else { at + 1 },
            deleted_by: None,
        };
        let mut nodes = vec![link(0, None)];
        nodes.extend(
            book.cells.iter().enumerate().map(|(at, slot)| link(at + 1, Some(slot.clone()))),
        );
        Batch {
            book,
            ids,
            nodes,
            tails: HashMap::new(),
            tail_of: HashMap::new(),
            names: book.ids().into_iter().map(|id| id.map(|id| id.into_owned())).collect(),
            taken: None,
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
                let place = self.place(at, None)?;
                let id = self.book.has_ids().then(|| self.fresh_id());
                let text = new_cell(*kind, source, id.as_deref(), &self.indent, &self.book.style);
                let node = self.nodes.len();
                let slot = Some(Slot::own(text, None));
                self.nodes.push(Node { slot, before: node, after: node, deleted_by: None });
                self.link(node, place);
                self.note(op, node, Action::Inserted, Vec::new());
            }
            EditOp::Delete { cell } => {
                let node = self.find(cell)?;
                self.note(op, node, Action::Deleted, Vec::new());
                self.unlink(node);
                self.nodes[node].deleted_by = Some(op);
            }
            EditOp::Move { cell, to } => {
                let node = self.find(cell)?;
                let place = self.place(to, Some(node))?;
                self.unlink(node);
                self.link(node, place);
                self.note(op, node, Action::Moved, Vec::new());
            }
            EditOp::SetKind { cell, kind } => {
                let node = self.find(cell)?;
                let mut patch = CellPatch::default();
                let mut notes = Vec::new();
                self.retype(node, *kind, &mut patch, &mut notes)?;
                self.patch(node, &patch, &mut notes, Naming::IfMissing)?;
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
                self.patch(node, &patch, &mut notes, Naming::IfMissing)?;
                self.note(op, node, Action::OutputsSet, notes);
            }
        }
        Ok(())
    }

    /// The cells in their new order, and the report with their new positions.
    pub(crate) fn finish(mut self) -> Done {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut at = self.nodes[RING].after;
        while at != RING {
            order.push(at);
            at = self.nodes[at].after;
        }
        let mut positions = vec![None; self.nodes.len()];
        for (position, &node) in order.iter().enumerate() {
            positions[node] = Some(position);
        }
        let mut changes = Vec::with_capacity(self.done.len());
        for (node, mut change) in std::mem::take(&mut self.done) {
            if node != RING {
                change.index = positions[node].or(Some(self.index(node)));
            }
            changes.push(change);
        }
        let cells = order.into_iter().filter_map(|node| self.nodes[node].slot.take()).collect();
        Done { cells, metadata: self.metadata, report: EditReport { changes } }
    }

    // Finding and placing.

    fn find(&self, cell: &CellRef) -> Result<usize, OpError> {
        let names: Vec<Option<&str>>;
        let position = match cell {
            // Positions need no names, which matters for batches of many thousand operations.
            CellRef::Index(index) if (0..self.names.len() as i64).contains(index) => {
                *index as usize
            }
            _ => {
                names = self.names.iter().map(|name| name.as_deref()).collect();
                resolve(&names, cell)?
            }
        };
        let node = position + 1;
        match self.nodes[node].deleted_by {
            Some(by) => Err(OpError::AlreadyDeleted { cell: self.name(node), by }),
            None => Ok(node),
        }
    }

    /// The position before the batch; meaningless for new cells, which no operation can name.
    fn index(&self, node: usize) -> usize {
        node - 1
    }

    fn name(&self, node: usize) -> Candidate {
        let id = self.names.get(self.index(node)).cloned().flatten();
        Candidate { index: self.index(node), id }
    }

    fn slot(&self, node: usize) -> &Slot {
        match &self.nodes[node].slot {
            Some(slot) => slot,
            None => unreachable!("only the ring's own node has no slot, and it is never named"),
        }
    }

    fn body(&self, node: usize) -> &[u8] {
        self.book.body(self.slot(node))
    }

    /// The node after which a cell goes, and the anchor it is then the last of.
    fn place(
        &self,
        place: &Place,
        moving: Option<usize>,
    ) -> Result<(usize, Option<Anchor>), OpError> {
        let not_itself = |node: usize| match moving {
            Some(moving) if moving == node => Err(OpError::MoveToItself { cell: self.name(node) }),
            _ => Ok(node),
        };
        let behind = |anchor: Anchor, first: usize| {
            let mut placed = self.tails.get(&anchor).into_iter().flatten().rev().copied();
            (placed.find(|&tail| Some(tail) != moving).unwrap_or(first), Some(anchor))
        };
        Ok(match place {
            Place::After(cell) => {
                let node = not_itself(self.find(cell)?)?;
                behind(Anchor::After(node), node)
            }
            Place::Before(cell) => {
                let node = not_itself(self.find(cell)?)?;
                let before = self.nodes[node].before;
                (if Some(before) == moving { self.nodes[before].before } else { before }, None)
            }
            Place::Start => behind(Anchor::Start, RING),
            Place::End => {
                let last = self.nodes[RING].before;
                (if Some(last) == moving { self.nodes[last].before } else { last }, None)
            }
        })
    }

    fn link(&mut self, node: usize, (before, anchor): (usize, Option<Anchor>)) {
        let after = self.nodes[before].after;
        self.nodes[node].before = before;
        self.nodes[node].after = after;
        self.nodes[before].after = node;
        self.nodes[after].before = node;
        if let Some(anchor) = anchor {
            self.tails.entry(anchor).or_default().push(node);
            self.tail_of.insert(node, anchor);
        }
    }

    fn unlink(&mut self, node: usize) {
        let Node { before, after, .. } = self.nodes[node];
        self.nodes[before].after = after;
        self.nodes[after].before = before;
        if let Some(anchor) = self.tail_of.remove(&node)
            && let Some(placed) = self.tails.get_mut(&anchor)
        {
            placed.retain(|&other| other != node);
        }
        // What was placed after this cell stays behind, and no longer stands after it.
        self.tails.remove(&Anchor::After(node));
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
        let changed = crate::view::joined(old.unwrap_or(b"\"\"")).text != source;
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
            self.retype(node, kind, &mut patch, &mut notes)?;
            result = Some(kind);
        }
        let clear = match outputs {
            OutputsAfter::ClearIfChanged => changed,
            OutputsAfter::Keep => false,
            OutputsAfter::Clear => true,
        };
        if clear && result == Some(CellKind::Code) {
            self.clear_fields(node, &mut patch, &mut notes);
        }
        self.patch(node, &patch, &mut notes, Naming::IfMissing)?;
        Ok(notes)
    }

    /// Makes the fields fit a kind: code cells have outputs and a count, others have neither.
    fn retype(
        &self,
        node: usize,
        kind: CellKind,
        patch: &mut CellPatch,
        notes: &mut Vec<Note>,
    ) -> Result<(), OpError> {
        self.must_be_object(node)?;
        let slot = self.slot(node);
        if slot.kind() != Some(kind) {
            patch.set(Key::CellType, quoted(kind.name(), &self.book.style));
        }
        if kind == CellKind::Code {
            if !slot.has(Key::ExecutionCount) {
                patch.set(Key::ExecutionCount, b"null".to_vec());
            }
            if !slot.has(Key::Outputs) {
                patch.set(Key::Outputs, b"[]".to_vec());
            }
            if slot.has(Key::Attachments) {
                patch.remove(Key::Attachments);
                notes.push(Note::AttachmentsRemoved);
            }
            return Ok(());
        }
        if slot.has(Key::ExecutionCount) {
            patch.remove(Key::ExecutionCount);
        }
        if slot.has(Key::Outputs) {
            self.note_outputs(node, notes);
            patch.remove(Key::Outputs);
        }
        Ok(())
    }

    fn note_outputs(&self, node: usize, notes: &mut Vec<Note>) {
        let outputs = self.slot(node).fields.value(self.body(node), Key::Outputs);
        let count = json::items(outputs.unwrap_or_default()).len();
        if count > 0 {
            notes.push(Note::OutputsCleared(count));
        }
    }

    fn clear_fields(&self, node: usize, patch: &mut CellPatch, notes: &mut Vec<Note>) {
        let slot = self.slot(node);
        let outputs = slot.fields.value(self.body(node), Key::Outputs);
        let is_empty = |list: &[u8]| list.first() == Some(&b'[') && json::items(list).is_empty();
        if !outputs.is_some_and(is_empty) && !patch.touches(Key::Outputs) {
            self.note_outputs(node, notes);
            patch.set(Key::Outputs, b"[]".to_vec());
        }
        let count = slot.fields.value(self.body(node), Key::ExecutionCount);
        if count != Some(b"null") && !patch.touches(Key::ExecutionCount) {
            patch.set(Key::ExecutionCount, b"null".to_vec());
        }
    }

    fn clear(&mut self, node: usize) -> Result<Vec<Note>, OpError> {
        let mut notes = Vec::new();
        let mut patch = CellPatch::default();
        if self.slot(node).kind() == Some(CellKind::Code) {
            self.clear_fields(node, &mut patch, &mut notes);
        }
        self.patch(node, &patch, &mut notes, Naming::Leave)?;
        Ok(notes)
    }

    fn clear_all(&mut self, op: usize) -> Result<(), OpError> {
        let mut total = 0;
        let mut at = self.nodes[RING].after;
        let mut unchanged = true;
        while at != RING {
            let notes = self.clear(at)?;
            unchanged &= notes.contains(&Note::Unchanged);
            for note in notes {
                match note {
                    Note::OutputsCleared(count) => total += count,
                    _ => continue,
                }
            }
            at = self.nodes[at].after;
        }
        let notes =
            if unchanged { vec![Note::Unchanged] } else { vec![Note::OutputsCleared(total)] };
        self.note(op, RING, Action::Cleared, notes);
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
        if old.is_empty() {
            return Err(OpError::EmptyPattern);
        }
        let value = self.slot(node).fields.value(self.body(node), Key::Source).unwrap_or(b"\"\"");
        let source = crate::view::joined(value).text;
        let found: Vec<usize> = source.match_indices(old).map(|(at, _)| at).collect();
        let cell = self.name(node);
        match (found.len(), matches) {
            (0, _) => {
                let nearest = nearest_lines(&source, old);
                Err(OpError::NoMatch { cell, nearest })
            }
            (1, _) | (_, Matches::All) => Ok((source.replace(old, new), found.len())),
            (count, Matches::One) => {
                let line = |&at: &usize| source[..at].matches('\n').count() + 1;
                Err(OpError::ManyMatches { cell, count, lines: found.iter().map(line).collect() })
            }
        }
    }

    fn set_meta(&mut self, node: usize, change: &MetaChange) -> Result<Vec<Note>, OpError> {
        self.must_be_object(node)?;
        metadata::check_cell(change)?;
        let member = self.member_indent(node);
        let old = self.slot(node).fields.value(self.body(node), Key::Metadata).unwrap_or(b"{}");
        let value = self.changed_object(old, change, &member);
        let mut patch = CellPatch::default();
        if value != old {
            patch.set(Key::Metadata, value);
        }
        let mut notes = Vec::new();
        let naming = if change.set.is_empty() { Naming::Leave } else { Naming::IfMissing };
        self.patch(node, &patch, &mut notes, naming)?;
        Ok(notes)
    }

    fn set_notebook_meta(&mut self, op: usize, change: &MetaChange) -> Result<(), OpError> {
        metadata::check_notebook(change)?;
        let old = match &self.metadata {
            Some(changed) => Arc::clone(changed),
            None => Arc::from(self.book.metadata_json()),
        };
        let value = self.changed_object(&old, change, &self.book.top_indent());
        let notes = if *value == *old { vec![Note::Unchanged] } else { Vec::new() };
        if *value != *old {
            self.metadata = Some(value.into());
        }
        self.note(op, RING, Action::MetaChanged, notes);
        Ok(())
    }

    fn changed_object(&self, old: &[u8], change: &MetaChange, holder: &Indent) -> Vec<u8> {
        let style = &self.book.style;
        let old = if old.first() == Some(&b'{') { old } else { b"{}" };
        let inside = member_indent(old, holder, style);
        let mut changes: Vec<(String, Option<Vec<u8>>)> = Vec::new();
        for (key, value) in &change.set {
            let mut text = Vec::new();
            format_value(&mut text, value.as_bytes(), &inside, style);
            changes.push((key.clone(), Some(text)));
        }
        changes.extend(change.unset.iter().map(|key| (key.clone(), None)));
        edit_object(old, &changes, holder, style)
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
        patch: &CellPatch,
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
        let mut text = patch.apply(self.body(node), &self.indent, &self.book.style);
        if naming == Naming::IfMissing && self.book.has_ids() && !slot.has(Key::Id) {
            let mut with_id = CellPatch::default();
            let id = self.fresh_id();
            with_id.set(Key::Id, quoted(&id, &self.book.style));
            text = with_id.apply(&text, &self.indent, &self.book.style);
            notes.push(Note::IdAdded);
        }
        self.nodes[node].slot = Some(Slot::own(text, origin));
        Ok(())
    }

    fn fresh_id(&mut self) -> String {
        let names = &self.names;
        let taken = self.taken.get_or_insert_with(|| names.iter().flatten().cloned().collect());
        loop {
            let id = self.ids.next_id().as_str().to_owned();
            if taken.insert(id.clone()) {
                return id;
            }
        }
    }

    fn note(&mut self, op: usize, node: usize, action: Action, notes: Vec<Note>) {
        let (mut id, mut kind) = (None, None);
        if node != RING {
            let slot = self.slot(node);
            kind = slot.kind();
            let value = slot.fields.value(self.body(node), Key::Id);
            id = value.map(|value| json::decode(value).text.into_owned());
        }
        self.done.push((node, CellChange { op, action, index: None, id, kind, notes }));
    }
}
