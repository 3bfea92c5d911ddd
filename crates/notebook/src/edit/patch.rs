//! Fields of one cell object: finds each, and rewrites a cell with other fields.
//!
//! Owns the keys of nbformat cells and their order. It must not know the rest of the file.

use super::report::EditNote;
use crate::cell::CellKind;
use crate::document::{CellView, Container, Entry, Indent, Key, Style, format_value, split_lines};
use crate::json::{self, Member, Span};

/// Changes to the fields of one cell.
#[derive(Default)]
pub(crate) struct CellPatch {
    changes: Vec<(Key, Option<Vec<u8>>)>,
}

impl CellPatch {
    pub(crate) fn set(&mut self, key: Key, value: Vec<u8>) {
        self.changes.push((key, Some(value)));
    }

    fn remove(&mut self, key: Key) {
        self.changes.push((key, None));
    }

    /// Adapts the fields to a kind: code cells have outputs and a count, others have neither.
    pub(crate) fn retype(
        &mut self,
        cell: CellView<'_>,
        kind: CellKind,
        style: &Style,
    ) -> Option<EditNote> {
        let has = |key| cell.fields.member(key).is_some();
        if cell.kind() != Some(kind) {
            self.set(Key::CellType, quote(kind.name(), style));
        }
        if kind == CellKind::Code {
            if !has(Key::ExecutionCount) {
                self.set(Key::ExecutionCount, b"null".to_vec());
            }
            if !has(Key::Outputs) {
                self.set(Key::Outputs, b"[]".to_vec());
            }
            return has(Key::Attachments).then(|| {
                self.remove(Key::Attachments);
                EditNote::AttachmentsRemoved
            });
        }
        for key in [Key::ExecutionCount, Key::Outputs] {
            if has(key) {
                self.remove(key);
            }
        }
        note_cleared_outputs(cell)
    }

    /// Clears outputs and count, unless the patch already changes them.
    pub(crate) fn clear(&mut self, cell: CellView<'_>) -> Option<EditNote> {
        let mut note = None;
        let is_empty = |list: &[u8]| list.first() == Some(&b'[') && json::items(list).is_empty();
        if !cell.outputs_json().is_some_and(is_empty) && !self.touches(Key::Outputs) {
            note = note_cleared_outputs(cell);
            self.set(Key::Outputs, b"[]".to_vec());
        }
        let count = cell.fields.value(cell.body, Key::ExecutionCount);
        if count != Some(b"null") && !self.touches(Key::ExecutionCount) {
            self.set(Key::ExecutionCount, b"null".to_vec());
        }
        note
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// True if the patch sets or removes this field.
    pub(crate) fn touches(&self, key: Key) -> bool {
        self.changes.iter().any(|(changed, _)| *changed == key)
    }

    /// Applies the changes to a cell. Values are replaced in place; a new key goes where the order of
    /// the others puts it; everything else keeps its bytes.
    pub(crate) fn apply(&self, cell: &[u8], holder: &Indent, style: &Style) -> Vec<u8> {
        let changes: Vec<Change<'_>> =
            self.changes.iter().map(|(key, value)| (key.name(), value.as_deref())).collect();
        edit_object(cell, &changes, Some(Key::CellType.name()), holder, style)
    }
}

fn note_cleared_outputs(cell: CellView<'_>) -> Option<EditNote> {
    let count = json::items(cell.outputs_json().unwrap_or_default()).len();
    (count > 0).then_some(EditNote::OutputsCleared(count))
}

/// A key with its new value; none removes the key.
pub(crate) type Change<'a> = (&'a str, Option<&'a [u8]>);

/// Sets or removes members of an object. Setting a duplicate key replaces its last occurrence; removing
/// it removes all of them. If one key is changed several times, the last change counts. A new key goes
/// where the order of the others puts it; if they are not sorted, it goes behind the key `behind` or at
/// the end.
pub(crate) fn edit_object(
    object: &[u8],
    changes: &[Change<'_>],
    behind: Option<&str>,
    holder: &Indent,
    style: &Style,
) -> Vec<u8> {
    let members = json::members(object);
    let names: Vec<_> =
        members.iter().map(|member| json::decode(member.key.of(object)).text).collect();
    let mut order: Vec<(&str, Entry<'_>)> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        match changes.iter().rfind(|(changed, _)| changed == name) {
            Some((_, None)) => {}
            Some((_, Some(value))) if !names[at + 1..].contains(name) => {
                let Member { key, value: old } = members[at];
                let head = Span { start: key.start, end: old.start }.of(object);
                order.push((name, Entry::Changed(at, [head, value])));
            }
            _ => order.push((name, Entry::Old(at))),
        }
    }
    let is_new = |at: usize, name: &str| {
        !names.iter().any(|known| known == name)
            && !changes[at + 1..].iter().any(|(later, _)| *later == name)
    };
    let mut added: Vec<(&str, Vec<u8>, &[u8])> = Vec::new();
    for (at, (name, value)) in changes.iter().enumerate() {
        if let Some(value) = value
            && is_new(at, name)
        {
            let mut head = quote(name, style);
            head.extend_from_slice(style.colon.as_bytes());
            added.push((name, head, value));
        }
    }
    let is_sorted = names.is_sorted();
    for (name, head, value) in &added {
        let place = if is_sorted {
            order.iter().position(|(other, _)| other > name)
        } else {
            order.iter().position(|(other, _)| Some(*other) == behind).map(|at| at + 1)
        };
        order.insert(place.unwrap_or(order.len()), (name, Entry::New([head, value])));
    }
    let entries: Vec<Entry<'_>> = order.into_iter().map(|(_, entry)| entry).collect();
    let spans: Vec<Span> = members.iter().map(|member| member.whole()).collect();
    Container::whole(object, &spans, holder.clone(), style).rewrite_whole(&entries)
}

/// Finds the indentation of the members of a cell.
pub(crate) fn find_member_indent(cell: &[u8], holder: &Indent, style: &Style) -> Indent {
    match json::first_key(cell) {
        Some((key, _)) => Indent::of_gap(&cell[1..key.start as usize]),
        None => holder.deeper(style),
    }
}

/// The stored shape of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceShape {
    /// The current shape: a string stays a string, a list stays a list.
    Keep,
    /// A list of lines, as Jupyter writes it.
    Lines,
}

/// The JSON text of a source, and whether a lone surrogate of the old source was lost.
pub(crate) struct NewSource {
    pub(crate) value: Vec<u8>,
    pub(crate) lost_surrogates: bool,
}

/// Writes a source. Unchanged lines at the head and the tail keep their bytes, so that a change of one
/// line leaves the spelling of the others alone.
pub(crate) fn write_source(
    old: Option<&[u8]>,
    source: &str,
    shape: SourceShape,
    member: &Indent,
    style: &Style,
) -> NewSource {
    let old = old.unwrap_or(b"[]");
    if shape == SourceShape::Keep && old.first() == Some(&b'"') {
        let mut value = Vec::with_capacity(source.len() + 2);
        style.encode(&mut value, source);
        return NewSource { value, lost_surrogates: json::decode(old).lossy };
    }
    let is_list = old.first() == Some(&b'[');
    let (list, items): (&[u8], Vec<Span>) =
        if is_list { (old, json::items(old)) } else { (b"[]", Vec::new()) };
    let decoded: Vec<_> = items.iter().map(|item| json::decode(item.of(list))).collect();
    let lines = split_lines(source);

    let same = |(line, item): (&&str, &json::DecodedString<'_>)| **line == *item.text;
    let head = lines.iter().zip(&decoded).take_while(|&pair| same(pair)).count();
    let room = lines.len().min(decoded.len()) - head;
    let backwards = lines.iter().rev().zip(decoded.iter().rev());
    let tail = backwards.take(room).take_while(|&pair| same(pair)).count();

    let middle = head..lines.len() - tail;
    let texts: Vec<Vec<u8>> = lines[middle]
        .iter()
        .map(|line| {
            let mut text = Vec::with_capacity(line.len() + 2);
            style.encode(&mut text, line);
            text
        })
        .collect();
    let dropped = decoded.get(head..decoded.len() - tail).unwrap_or_default();
    let lost_surrogates = dropped.iter().any(|item| item.lossy);

    let mut entries: Vec<Entry<'_>> = (0..head).map(Entry::Old).collect();
    for (at, text) in texts.iter().enumerate() {
        // A changed line that replaces an old one keeps the gaps around it.
        let place = head + at;
        if place < decoded.len() - tail {
            entries.push(Entry::Changed(place, [text, b""]));
        } else {
            entries.push(Entry::New([text, b""]));
        }
    }
    entries.extend((decoded.len() - tail..decoded.len()).map(Entry::Old));
    let value = Container::whole(list, &items, member.clone(), style).rewrite_whole(&entries);
    NewSource { value, lost_surrogates }
}

/// Writes the text of a new cell.
pub(crate) fn write_cell(
    kind: CellKind,
    source: &str,
    id: Option<&str>,
    indent: &Indent,
    style: &Style,
) -> Vec<u8> {
    let member = indent.deeper(style);
    let mut patch = CellPatch::default();
    patch.set(Key::CellType, quote(kind.name(), style));
    if let Some(id) = id {
        patch.set(Key::Id, quote(id, style));
    }
    patch.set(Key::Metadata, b"{}".to_vec());
    patch.set(Key::Source, write_source(None, source, SourceShape::Lines, &member, style).value);
    if kind == CellKind::Code {
        patch.set(Key::ExecutionCount, b"null".to_vec());
        patch.set(Key::Outputs, b"[]".to_vec());
    }
    patch.apply(b"{}", indent, style)
}

pub(crate) fn quote(text: &str, style: &Style) -> Vec<u8> {
    let mut out = Vec::new();
    style.encode(&mut out, text);
    out
}

/// Writes a list of checked values in the layout of the file.
pub(crate) fn write_list(values: &[&[u8]], member: &Indent, style: &Style) -> Vec<u8> {
    let mut text = b"[".to_vec();
    text.extend_from_slice(&values.join(&b","[..]));
    text.push(b']');
    let mut out = Vec::with_capacity(text.len());
    format_value(&mut out, &text, member, style);
    out
}
