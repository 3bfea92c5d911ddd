//! How a file is laid out, and how new text is laid out to match: indentation, line ends, the space
//! after a colon, and whether non-ASCII text is escaped.
//!
//! Owns every byte of layout that inkcell writes. It must not know cells, only containers.

use std::borrow::Cow;

use crate::json::{self, NonAscii, Span};

/// The layout habits found in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Style {
    /// `\n` or `\r\n`.
    pub(crate) newline: &'static str,
    /// One level of indentation.
    pub(crate) unit: String,
    /// What stands between a key and its value.
    pub(crate) colon: String,
    /// What stands between two items on one line.
    pub(crate) comma: &'static str,
    pub(crate) non_ascii: NonAscii,
}

impl Style {
    /// What Jupyter writes; used for files that are made here.
    pub(crate) fn jupyter() -> Style {
        Style {
            newline: "\n",
            unit: " ".to_owned(),
            colon: ": ".to_owned(),
            comma: ", ",
            non_ascii: NonAscii::Raw,
        }
    }

    /// Reads the habits from a checked object, the whole document as a rule.
    pub(crate) fn of(document: &[u8], non_ascii: NonAscii) -> Style {
        let mut style = Style { non_ascii, ..Style::jupyter() };
        if let Some(at) = memchr::memchr(b'\n', document)
            && at > 0
            && document[at - 1] == b'\r'
        {
            style.newline = "\r\n";
        }
        if let Some((key, value)) = json::first_key(document) {
            let between = &document[key.end as usize..value];
            style.colon = String::from_utf8_lossy(between).into_owned();
            if style.colon.contains('\n') {
                ": ".clone_into(&mut style.colon);
            }
            if style.colon == ":" {
                style.comma = ",";
            }
            let lead = &document[1..key.start as usize];
            if let Some(indent) = indent_after_newline(lead) {
                style.unit = indent.to_owned();
            }
        }
        style
    }

    /// Appends a string as this file would spell it.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, text: &str) {
        json::encode(out, text, self.non_ascii);
    }
}

/// The blanks after the last line break of a gap; none when the gap has no line break.
fn indent_after_newline(gap: &[u8]) -> Option<&str> {
    let at = memchr::memrchr(b'\n', gap)?;
    std::str::from_utf8(&gap[at + 1..]).ok()
}

/// Where the members or items of a container stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Indent {
    /// All on one line.
    Inline,
    /// Each on a line of its own, after these blanks.
    Lines(String),
}

impl Indent {
    /// As the gap after an opening bracket shows it.
    pub(crate) fn of_gap(gap: &[u8]) -> Indent {
        match indent_after_newline(gap) {
            Some(blanks) => Indent::Lines(blanks.to_owned()),
            None => Indent::Inline,
        }
    }

    /// One level further in.
    pub(crate) fn deeper(&self, style: &Style) -> Indent {
        match self {
            Indent::Inline => Indent::Inline,
            Indent::Lines(blanks) => Indent::Lines(format!("{blanks}{}", style.unit)),
        }
    }

    /// The gap that starts a line at this indentation.
    pub(crate) fn gap(&self, style: &Style) -> Vec<u8> {
        match self {
            Indent::Inline => Vec::new(),
            Indent::Lines(blanks) => format!("{}{blanks}", style.newline).into_bytes(),
        }
    }

    /// The gap between two items.
    pub(crate) fn separator(&self, style: &Style) -> Vec<u8> {
        match self {
            Indent::Inline => style.comma.as_bytes().to_vec(),
            Indent::Lines(blanks) => format!(",{}{blanks}", style.newline).into_bytes(),
        }
    }
}

/// One entry of a container that is written anew.
pub(crate) enum Entry<'a> {
    /// The entry at this position of the old container, as it was.
    Old(usize),
    /// The entry at this position with another text.
    Changed(usize, Text<'a>),
    /// An entry that was not there.
    New(Text<'a>),
}

/// The text of an entry in two parts, as a key with its colon and a value; either may be empty.
pub(crate) type Text<'a> = [&'a [u8]; 2];

impl Entry<'_> {
    fn position(&self) -> Option<usize> {
        match *self {
            Entry::Old(at) | Entry::Changed(at, _) => Some(at),
            Entry::New(_) => None,
        }
    }
}

/// A container in checked text: its entries and the gaps around them.
pub(crate) struct Container<'a> {
    bytes: &'a [u8],
    /// Just past the opening bracket, and the closing bracket itself.
    inner: Span,
    entries: &'a [Span],
    /// Where the line that holds the container stands.
    holder: Indent,
    /// Where its entries stand.
    indent: Indent,
    style: &'a Style,
}

/// A run of bytes of the new text: taken from the old text, or given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Piece<'a> {
    Kept(Span),
    Given(Cow<'a, [u8]>),
}

impl<'a> Container<'a> {
    /// `entries` in `bytes[inner]`; `holder` says where the line stands that the container is on, for
    /// containers that have no entry yet.
    pub(crate) fn new(
        bytes: &'a [u8],
        inner: Span,
        entries: &'a [Span],
        holder: Indent,
        style: &'a Style,
    ) -> Container<'a> {
        let indent = match entries.first() {
            Some(first) => Indent::of_gap(Span { end: first.start, ..inner }.of(bytes)),
            None => holder.deeper(style),
        };
        Container { bytes, inner, entries, holder, indent, style }
    }

    /// A whole array or object: `bytes[0]` is its opening bracket.
    pub(crate) fn whole(
        bytes: &'a [u8],
        entries: &'a [Span],
        holder: Indent,
        style: &'a Style,
    ) -> Container<'a> {
        Container::new(bytes, Span::new(1, bytes.len().max(2) - 1), entries, holder, style)
    }

    pub(crate) fn indent(&self) -> &Indent {
        &self.indent
    }

    fn gap_after(&self, position: usize) -> Option<Span> {
        let this = self.entries.get(position)?;
        let next = self.entries.get(position + 1)?;
        Some(Span { start: this.end, end: next.start })
    }

    /// The inside of the container with other entries. Entries that were neighbours keep the gap
    /// between them; only beside a new, moved or removed entry is a gap written anew.
    pub(crate) fn rewrite(&self, new: &[Entry<'a>]) -> Vec<Piece<'a>> {
        let mut pieces = Pieces(Vec::new());
        let Some(first) = new.first() else {
            if self.entries.is_empty() {
                pieces.keep(self.inner);
            }
            return pieces.0;
        };
        match self.entries.first() {
            Some(old) => pieces.keep(Span { start: self.inner.start, end: old.start }),
            None => pieces.give(self.indent.gap(self.style)),
        }
        self.entry(&mut pieces, first);
        for pair in new.windows(2) {
            let neighbours = match (pair[0].position(), pair[1].position()) {
                (Some(before), Some(after)) if after == before + 1 => self.gap_after(before),
                _ => None,
            };
            match neighbours.or_else(|| self.typical_gap()) {
                Some(gap) => pieces.keep(gap),
                None => pieces.give(self.indent.separator(self.style)),
            }
            self.entry(&mut pieces, &pair[1]);
        }
        match self.entries.last() {
            Some(old) => pieces.keep(Span { start: old.end, end: self.inner.end }),
            None => pieces.give(self.holder.gap(self.style)),
        }
        pieces.0
    }

    /// The first gap between two entries: what the file itself puts there.
    fn typical_gap(&self) -> Option<Span> {
        self.gap_after(0)
    }

    fn entry(&self, pieces: &mut Pieces<'a>, entry: &Entry<'a>) {
        match *entry {
            Entry::Old(at) => {
                if let Some(&span) = self.entries.get(at) {
                    pieces.keep(span);
                }
            }
            Entry::Changed(_, text) | Entry::New(text) => {
                text.into_iter().for_each(|part| pieces.give(part));
            }
        }
    }

    /// [`Container::rewrite`] as bytes, brackets included.
    pub(crate) fn rewrite_whole(&self, new: &[Entry<'a>]) -> Vec<u8> {
        let mut out = self.bytes[..self.inner.start as usize].to_vec();
        for piece in self.rewrite(new) {
            match piece {
                Piece::Kept(span) => out.extend_from_slice(span.of(self.bytes)),
                Piece::Given(bytes) => out.extend_from_slice(&bytes),
            }
        }
        out.extend_from_slice(&self.bytes[self.inner.end as usize..]);
        out
    }
}

/// Collects pieces, joining ranges that touch so that untouched stretches stay one piece.
struct Pieces<'a>(Vec<Piece<'a>>);

impl<'a> Pieces<'a> {
    fn keep(&mut self, span: Span) {
        match self.0.last_mut() {
            Some(Piece::Kept(last)) if last.end == span.start => last.end = span.end,
            _ if span.start == span.end => {}
            _ => self.0.push(Piece::Kept(span)),
        }
    }

    fn give(&mut self, bytes: impl Into<Cow<'a, [u8]>>) {
        let bytes = bytes.into();
        if !bytes.is_empty() {
            self.0.push(Piece::Given(bytes));
        }
    }
}

/// Lays a checked value out anew: every token keeps its spelling, blanks follow the style. `holder`
/// is where the line stands that the value begins on.
pub(crate) fn format_value(out: &mut Vec<u8>, value: &[u8], holder: &Indent, style: &Style) {
    // `levels[n]` is where the entries of the n-th open container stand; the holder is below them.
    let mut levels = vec![holder.clone()];
    let mut at = 0;
    while let Some(&byte) = value.get(at) {
        let here = levels.last().unwrap_or(holder);
        match byte {
            b'"' => {
                let end = json::skip(value, at);
                out.extend_from_slice(&value[at..end]);
                at = end;
                continue;
            }
            b' ' | b'\n' | b'\r' | b'\t' => {}
            b'[' | b'{' => {
                out.push(byte);
                let rest = &value[at + 1..];
                let inside = rest.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
                if let Some(close @ (b']' | b'}')) = rest.get(inside) {
                    out.push(*close);
                    at += inside + 1;
                } else {
                    let entries = here.deeper(style);
                    out.extend_from_slice(&entries.gap(style));
                    levels.push(entries);
                }
            }
            b']' | b'}' => {
                levels.pop();
                out.extend_from_slice(&levels.last().unwrap_or(holder).gap(style));
                out.push(byte);
            }
            b',' => out.extend_from_slice(&here.separator(style)),
            b':' => out.extend_from_slice(style.colon.as_bytes()),
            _ => out.push(byte),
        }
        at += 1;
    }
}
