//! The fields of one cell object: where each is, and how a cell's text is made with other fields.
//!
//! Owns the keys nbformat gives cells and their order. It must not know the rest of the file.

use crate::cell::{CellKind, split_lines};
use crate::edit::Note;
use crate::json::{self, Member, Span};
use crate::style::{Container, Entry, Indent, Style, format_value};
use crate::view::CellView;

/// The keys of a cell, in the order Jupyter writes them (which is alphabetical).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    Attachments,
    CellType,
    ExecutionCount,
    Id,
    Metadata,
    Outputs,
    Source,
}

impl Key {
    pub(crate) const ALL: [Key; 7] = [
        Key::Attachments,
        Key::CellType,
        Key::ExecutionCount,
        Key::Id,
        Key::Metadata,
        Key::Outputs,
        Key::Source,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Key::Attachments => "attachments",
            Key::CellType => "cell_type",
            Key::ExecutionCount => "execution_count",
            Key::Id => "id",
            Key::Metadata => "metadata",
            Key::Outputs => "outputs",
            Key::Source => "source",
        }
    }

    fn from_name(name: &str) -> Option<Key> {
        Key::ALL.into_iter().find(|key| key.name() == name)
    }
}

/// Where the known fields of a cell are, relative to the cell's first byte.
#[derive(Clone, Default, Debug)]
pub(crate) struct Fields {
    members: [Option<Span>; 7],
    pub(crate) kind: Option<CellKind>,
    /// A known key that stands more than once; the last one counts.
    pub(crate) duplicate: Option<Key>,
    pub(crate) is_object: bool,
    /// Level of an nbformat 3 heading cell, which is shown as Markdown; 0 otherwise.
    pub(crate) heading: u8,
}

impl Fields {
    /// The fields of a checked cell.
    pub(crate) fn of(cell: &[u8]) -> Fields {
        let mut fields = Fields { is_object: cell.first() == Some(&b'{'), ..Fields::default() };
        for member in json::members(cell) {
            fields.note(cell, member.key, member.value);
        }
        fields
    }

    /// Takes note of one member.
    pub(crate) fn note(&mut self, cell: &[u8], key: Span, value: Span) {
        let name = json::decode(key.of(cell)).text;
        let Some(key) = Key::from_name(&name) else { return };
        if self.members[key as usize].replace(value).is_some() {
            self.duplicate = Some(key);
        }
        if key == Key::CellType {
            self.kind = CellKind::from_name(&json::decode(value.of(cell)).text);
        }
    }

    pub(crate) fn member(&self, key: Key) -> Option<Span> {
        self.members[key as usize]
    }

    pub(crate) fn set_member(&mut self, key: Key, value: Span) {
        self.members[key as usize] = Some(value);
    }

    /// The value of a field as JSON text.
    pub(crate) fn value<'a>(&self, cell: &'a [u8], key: Key) -> Option<&'a [u8]> {
        self.member(key).map(|span| span.of(cell))
    }
}

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

    /// Makes the fields fit a kind: code cells have outputs and a count, others have neither.
    pub(crate) fn retype(
        &mut self,
        cell: CellView<'_>,
        kind: CellKind,
        style: &Style,
    ) -> Option<Note> {
        let has = |key| cell.fields.member(key).is_some();
        if cell.kind() != Some(kind) {
            self.set(Key::CellType, quoted(kind.name(), style));
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
                Note::AttachmentsRemoved
            });
        }
        for key in [Key::ExecutionCount, Key::Outputs] {
            if has(key) {
                self.remove(key);
            }
        }
        outputs_cleared(cell)
    }

    /// Empties outputs and count, where nothing was done to them yet.
    pub(crate) fn clear(&mut self, cell: CellView<'_>) -> Option<Note> {
        let mut note = None;
        let is_empty = |list: &[u8]| list.first() == Some(&b'[') && json::items(list).is_empty();
        if !cell.outputs_json().is_some_and(is_empty) && !self.touches(Key::Outputs) {
            note = outputs_cleared(cell);
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

    /// Whether the patch sets or removes this field.
    pub(crate) fn touches(&self, key: Key) -> bool {
        self.changes.iter().any(|(changed, _)| *changed == key)
    }

    /// The cell with these changes. Values are replaced where they stand; a new key goes where the
    /// order of the others puts it; everything else keeps its bytes.
    pub(crate) fn apply(&self, cell: &[u8], holder: &Indent, style: &Style) -> Vec<u8> {
        let changes: Vec<Change<'_>> =
            self.changes.iter().map(|(key, value)| (key.name(), value.as_deref())).collect();
        edit_object(cell, &changes, Some(Key::CellType.name()), holder, style)
    }
}

fn outputs_cleared(cell: CellView<'_>) -> Option<Note> {
    let count = json::items(cell.outputs_json().unwrap_or_default()).len();
    (count > 0).then_some(Note::OutputsCleared(count))
}

/// A key that gets a value, or that goes.
pub(crate) type Change<'a> = (&'a str, Option<&'a [u8]>);

/// An object with members set or removed. Of duplicate keys the last is the one replaced and all are
/// removed; of several changes of one key the last counts. A new key goes where the order of the others
/// puts it; where they have none, behind the key `behind` or at the end.
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
            let mut head = quoted(name, style);
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

/// Where the members of a cell stand.
pub(crate) fn member_indent(cell: &[u8], holder: &Indent, style: &Style) -> Indent {
    match json::first_key(cell) {
        Some((key, _)) => Indent::of_gap(&cell[1..key.start as usize]),
        None => holder.deeper(style),
    }
}

/// How a source is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceShape {
    /// As it is now: a string stays a string, a list stays a list.
    Keep,
    /// As a list of lines.
    Lines,
}

/// The new text of a source, and whether something unspellable in the old one was lost.
pub(crate) struct NewSource {
    pub(crate) value: Vec<u8>,
    pub(crate) lost_surrogates: bool,
}

/// Writes a source. Lines that stay at the head or the tail keep the bytes they had, so that a change
/// of one line leaves the spelling of the others alone.
pub(crate) fn source_value(
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

    let same = |(line, item): (&&str, &json::Decoded<'_>)| **line == *item.text;
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
        // A changed line in the place of an old one keeps the gaps around it.
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

/// The text of a cell that was not there before.
pub(crate) fn new_cell(
    kind: CellKind,
    source: &str,
    id: Option<&str>,
    indent: &Indent,
    style: &Style,
) -> Vec<u8> {
    let member = indent.deeper(style);
    let mut patch = CellPatch::default();
    patch.set(Key::CellType, quoted(kind.name(), style));
    if let Some(id) = id {
        patch.set(Key::Id, quoted(id, style));
    }
    patch.set(Key::Metadata, b"{}".to_vec());
    patch.set(Key::Source, source_value(None, source, SourceShape::Lines, &member, style).value);
    if kind == CellKind::Code {
        patch.set(Key::ExecutionCount, b"null".to_vec());
        patch.set(Key::Outputs, b"[]".to_vec());
    }
    patch.apply(b"{}", indent, style)
}

pub(crate) fn quoted(text: &str, style: &Style) -> Vec<u8> {
    let mut out = Vec::new();
    style.encode(&mut out, text);
    out
}

/// A list of checked values, laid out as the file would.
pub(crate) fn list_value(values: &[&[u8]], member: &Indent, style: &Style) -> Vec<u8> {
    let mut text = b"[".to_vec();
    text.extend_from_slice(&values.join(&b","[..]));
    text.push(b']');
    let mut out = Vec::with_capacity(text.len());
    format_value(&mut out, &text, member, style);
    out
}
