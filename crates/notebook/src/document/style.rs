//! Detects the layout of a file and lays out new text to match: indentation, line ends, the space
//! after a colon, and the spelling of non-ASCII text.
//!
//! Owns every byte of layout that inkcell writes. It must not know cells, only containers.

use std::borrow::Cow;

use crate::json::{self, NonAscii, Span};

/// The layout habits of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Style {
    /// The line end: `\n` or `\r\n`.
    pub(crate) newline: &'static str,
    /// One level of indentation.
    pub(crate) unit: String,
    /// The bytes between a key and its value.
    pub(crate) colon: String,
    /// The bytes between two items on one line.
    pub(crate) comma: &'static str,
    pub(crate) non_ascii: NonAscii,
}

impl Style {
    /// The layout of Jupyter, for new files.
    pub(crate) fn jupyter() -> Style {
        Style {
            newline: "\n",
            unit: " ".to_owned(),
            colon: ": ".to_owned(),
            comma: ", ",
            non_ascii: NonAscii::Raw,
        }
    }

    /// Detects the habits of a checked object, usually the whole document.
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

    /// Appends a string in the spelling of this file.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, text: &str) {
        json::encode(out, text, self.non_ascii);
    }
}

/// Returns the blanks after the last line break of a gap; none when the gap has no line break.
fn indent_after_newline(gap: &[u8]) -> Option<&str> {
    let at = memchr::memrchr(b'\n', gap)?;
    std::str::from_utf8(&gap[at + 1..]).ok()
}

/// The indentation of the members or items of a container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Indent {
    /// All entries on one line.
    Inline,
    /// Each entry on its own line, after these blanks.
    Lines(String),
}

impl Indent {
    /// Reads the indentation from the gap after an opening bracket.
    pub(crate) fn of_gap(gap: &[u8]) -> Indent {
        match indent_after_newline(gap) {
            Some(blanks) => Indent::Lines(blanks.to_owned()),
            None => Indent::Inline,
        }
    }

    /// The indentation one level deeper.
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

/// One entry of a container in its new text.
pub(crate) enum Entry<'a> {
    /// The entry at this position of the old container, unchanged.
    Old(usize),
    /// The entry at this position, with new text.
    Changed(usize, Text<'a>),
    /// An entry that the old container does not have.
    New(Text<'a>),
}

/// The text of an entry in two parts, such as a key with its colon and a value; either may be empty.
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
    /// From just past the opening bracket to the closing bracket.
    inner: Span,
    entries: &'a [Span],
    /// Indentation of the line that holds the container.
    holder: Indent,
    /// Indentation of the entries.
    indent: Indent,
    style: &'a Style,
}

/// A run of bytes of the new text: a span of the old text, or new bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Piece<'a> {
    Kept(Span),
    Given(Cow<'a, [u8]>),
}

impl<'a> Container<'a> {
    /// The container with `entries` in `bytes[inner]`. `holder` is the indentation of the line that
    /// holds the container; it serves containers that have no entry yet.
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

    /// Rewrites the inside of the container with other entries. Entries that were neighbours keep the
    /// gap between them. A gap beside a new, moved or removed entry is generated.
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

    /// The first gap between two entries, as a sample of what the file puts there.
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

/// Collects pieces and joins adjacent ranges, so that an untouched stretch stays one piece.
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

/// Reformats a checked value: every token keeps its spelling, and the blanks follow the style.
/// `holder` is the indentation of the line on which the value begins.
pub(crate) fn format_value(out: &mut Vec<u8>, value: &[u8], holder: &Indent, style: &Style) {
    // `levels[n]` is the indentation of the entries of the n-th open container; the holder is below
    // them.
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
