//! Outputs of code cells: a digest of each for the outline, and their text for readers.
//!
//! Owns the output shapes of nbformat. It must not know which program made them.

use std::borrow::Cow;

use super::source::{first_line, join_source};
use crate::json::{self, Cursor, Span};

/// One output as the file stores it.
#[derive(Clone, Copy)]
pub struct OutputView<'a> {
    object: &'a [u8],
}

/// The type and size of an output, without its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OutputDigest {
    /// Text that a program wrote to a stream.
    Stream {
        /// Name of the stream, `stdout` or `stderr`.
        name: String,
        /// Number of lines; a last line without a line feed counts.
        lines: usize,
        /// Approximate size in bytes.
        bytes: usize,
    },
    /// A result or a display, with the size of each of its forms.
    Data {
        /// MIME type and approximate size in bytes of each form.
        forms: Vec<(String, usize)>,
        /// True for the value of the cell, false for a display.
        is_result: bool,
    },
    /// The exception that ended the cell.
    Error {
        /// Class of the exception, for example `ValueError`.
        name: String,
        /// Message of the exception, which may be empty.
        value: String,
    },
    /// An output of a type that the format does not define.
    Other {
        /// The `output_type`, or a note that the output has none.
        kind: String,
    },
}

/// Formats a size for people: whole bytes first, then units with one decimal.
fn format_size(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..1_048_576 => format!("{:.1}KB", bytes as f64 / 1024.0),
        _ => format!("{:.1}MB", bytes as f64 / 1_048_576.0),
    }
}

impl std::fmt::Display for OutputDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OutputDigest::Stream { name, lines, bytes } => {
                let unit = if *lines == 1 { "line" } else { "lines" };
                write!(f, "{name} {lines} {unit} {}", format_size(*bytes))
            }
            OutputDigest::Data { forms, .. } if forms.is_empty() => f.write_str("empty display"),
            OutputDigest::Data { forms, .. } => {
                let shown: Vec<String> = forms
                    .iter()
                    .map(|(mime, bytes)| format!("{mime} {}", format_size(*bytes)))
                    .collect();
                f.write_str(&shown.join(" + "))
            }
            OutputDigest::Error { name, value } if value.is_empty() => write!(f, "error {name}"),
            OutputDigest::Error { name, value } => {
                write!(f, "error {name}: {}", first_line(value, 80))
            }
            OutputDigest::Other { kind } => write!(f, "{kind}"),
        }
    }
}

/// Reads digests of all outputs in a list, in one walk over it.
pub(crate) fn read_digests(list: &[u8]) -> Vec<OutputDigest> {
    let mut found = Vec::new();
    let mut cursor = Cursor::new(list);
    if !cursor.enter(b'[') {
        return found;
    }
    while cursor.next_entry() {
        found.push(read_digest(list, &mut cursor));
    }
    found
}

/// Reads the digest of the output at the cursor and steps over it.
fn read_digest(list: &[u8], cursor: &mut Cursor<'_>) -> OutputDigest {
    let nothing = || OutputDigest::Other { kind: "not an output".to_owned() };
    if !cursor.enter(b'{') {
        cursor.value();
        return nothing();
    }
    let string = |span: Option<Span>| {
        span.map(|span| json::decode(span.of(list)).text.into_owned()).unwrap_or_default()
    };
    let (mut kind, mut name, mut ename, mut evalue) = (None, None, None, None);
    let mut text = (0, 0);
    let mut forms = Vec::new();
    while cursor.next_entry() {
        let key = cursor.key();
        match &*json::decode(key.of(list)).text {
            "output_type" => kind = Some(cursor.value()),
            "name" => name = Some(cursor.value()),
            "ename" => ename = Some(cursor.value()),
            "evalue" => evalue = Some(cursor.value()),
            "text" => text = measure_text(list, cursor),
            "data" if cursor.enter(b'{') => {
                while cursor.next_entry() {
                    let mime = json::decode(cursor.key().of(list)).text.into_owned();
                    let (_, bytes) = measure_text(list, cursor);
                    let is_base64 = mime.starts_with("image/") && mime != "image/svg+xml";
                    forms.push((mime, if is_base64 { bytes / 4 * 3 } else { bytes }));
                }
            }
            _ => drop(cursor.value()),
        }
    }
    match string(kind).as_str() {
        "stream" => OutputDigest::Stream { name: string(name), lines: text.0, bytes: text.1 },
        "execute_result" => OutputDigest::Data { forms, is_result: true },
        "display_data" => OutputDigest::Data { forms, is_result: false },
        "error" => OutputDigest::Error { name: string(ename), value: string(evalue) },
        "" => nothing(),
        other => OutputDigest::Other { kind: other.to_owned() },
    }
}

/// Measures lines and bytes of a string or list of strings from its JSON text; an escape counts with
/// its spelled length.
fn measure_text(list: &[u8], cursor: &mut Cursor<'_>) -> (usize, usize) {
    let size = |cursor: &mut Cursor<'_>| {
        let (span, lines) = cursor.value_lines();
        (lines, span.of(list).len().saturating_sub(2))
    };
    if !cursor.enter(b'[') {
        return size(cursor);
    }
    let mut total = (0, 0);
    while cursor.next_entry() {
        let (lines, bytes) = size(cursor);
        total = (total.0 + lines, total.1 + bytes);
    }
    total
}

impl<'a> OutputView<'a> {
    pub(crate) fn new(object: &'a [u8]) -> OutputView<'a> {
        OutputView { object }
    }

    /// The output as JSON text, with the bytes of the file.
    pub fn json(&self) -> &'a [u8] {
        self.object
    }

    /// Type and size of the output, without its content.
    pub fn digest(&self) -> OutputDigest {
        read_digest(self.object, &mut Cursor::new(self.object))
    }

    /// The text of a stream, a traceback, or the plain form of a display. Colours and other escapes
    /// are as stored.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        if let Some(text) = json::get(self.object, "text") {
            return Some(join_source(text).text);
        }
        if let Some(traceback) = json::get(self.object, "traceback") {
            let lines: Vec<String> = json::items(traceback)
                .into_iter()
                .map(|line| json::decode(line.of(traceback)).text.into_owned())
                .collect();
            return Some(Cow::Owned(lines.join("\n")));
        }
        let data = json::get(self.object, "data")?;
        let form =
            ["text/markdown", "text/plain"].into_iter().find_map(|mime| json::get(data, mime));
        form.map(|form| join_source(form).text)
    }
}

#[cfg(test)]
mod tests;
