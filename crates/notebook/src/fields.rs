//! The fields of one cell object: where each is, and how a cell's text is made with other fields.
//!
//! Owns the keys nbformat gives cells and their order. It must not know the rest of the file.

use crate::cell::{CellKind, split_lines};
use crate::json::{self, Member, Span};
use crate::style::{Container, Entry, Indent, Style, format_value};

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

    pub(crate) fn remove(&mut self, key: Key) {
        self.changes.push((key, None));
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
        let changes: Vec<(String, Option<Vec<u8>>)> = self
            .changes
            .iter()
            .map(|(key, value)| (key.name().to_owned(), value.clone()))
            .collect();
        edit_object(cell, &changes, holder, style)
    }
}

/// An object with members set (`Some`) or removed (`None`). Of duplicate keys the last is the one
/// replaced and all are removed.
pub(crate) fn edit_object(
    object: &[u8],
    changes: &[(String, Option<Vec<u8>>)],
    holder: &Indent,
    style: &Style,
) -> Vec<u8> {
    let members = json::members(object);
    let names: Vec<String> = members
        .iter()
        .map(|member| json::decode(member.key.of(object)).text.into_owned())
        .collect();
    let is_sorted = names.is_sorted();

    // First the new text of every member, then the list of entries in their new order.
    let mut texts: Vec<(Option<usize>, String, Vec<u8>)> = Vec::new();
    let mut removed: Vec<&str> = Vec::new();
    for (at, (name, value)) in changes.iter().enumerate() {
        // Of several changes of one key the last counts.
        if changes[at + 1..].iter().any(|(later, _)| later == name) {
            continue;
        }
        let old = names.iter().rposition(|known| known == name);
        match (value, old) {
            (None, _) => removed.push(name),
            (Some(value), Some(at)) => {
                let Member { key, value: span } = members[at];
                let mut text = object[key.start as usize..span.start as usize].to_vec();
                text.extend_from_slice(value);
                texts.push((Some(at), name.clone(), text));
            }
            (Some(value), None) => {
                let mut text = Vec::new();
                style.encode(&mut text, name);
                text.extend_from_slice(style.colon.as_bytes());
                text.extend_from_slice(value);
                texts.push((None, name.clone(), text));
            }
        }
    }
    let mut order: Vec<(&str, Entry<'_>)> = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if removed.contains(&name.as_str()) {
            continue;
        }
        match texts.iter().find(|(old, _, _)| *old == Some(at)) {
            Some((_, _, text)) => order.push((name, Entry::Changed(at, text))),
            None => order.push((name, Entry::Old(at))),
        }
    }
    for (_, name, text) in texts.iter().filter(|(old, _, _)| old.is_none()) {
        let place = if is_sorted {
            order.iter().position(|(other, _)| *other > name.as_str())
        } else {
            order.iter().position(|(other, _)| *other == "cell_type").map(|at| at + 1)
        };
        order.insert(place.unwrap_or(order.len()), (name, Entry::New(text)));
    }
    let entries: Vec<Entry<'_>> = order.into_iter().map(|(_, entry)| entry).collect();
    let spans = members.iter().map(|member| member.whole()).collect();
    Container::whole(object, spans, holder.clone(), style).rewrite_whole(&entries)
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
            entries.push(Entry::Changed(place, text));
        } else {
            entries.push(Entry::New(text));
        }
    }
    entries.extend((decoded.len() - tail..decoded.len()).map(Entry::Old));
    let value = Container::whole(list, items, member.clone(), style).rewrite_whole(&entries);
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
    let mut cell = Vec::new();
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
    cell.extend_from_slice(&patch.apply(b"{}", indent, style));
    cell
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
