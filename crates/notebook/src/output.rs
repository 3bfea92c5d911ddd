//! Outputs of code cells: a digest of each for the outline, their text for reading, and outputs to
//! be stored.
//!
//! Owns the shapes nbformat gives outputs. It must not know what made them.

use std::borrow::Cow;

use crate::json::{self, Cursor, Span, SyntaxError};
use crate::metadata::{self, Rule};
use crate::view::joined;

/// One stored output.
#[derive(Clone, Copy)]
pub struct OutputView<'a> {
    object: &'a [u8],
}

/// What an output is, without its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OutputDigest {
    /// Text written to a stream.
    Stream {
        /// `stdout` or `stderr`.
        name: String,
        /// How many lines.
        lines: usize,
        /// About how many bytes.
        bytes: usize,
    },
    /// A result or a display, with the size of each of its forms.
    Data {
        /// MIME type and about how many bytes.
        forms: Vec<(String, usize)>,
        /// Whether it is the value of the cell and not a display on the way.
        is_result: bool,
    },
    /// An exception.
    Error {
        /// Its class.
        name: String,
        /// Its message.
        value: String,
    },
    /// Something the format does not know.
    Other {
        /// What it calls itself.
        kind: String,
    },
}

/// A size as people read it: bytes, then one decimal.
fn human_size(bytes: usize) -> String {
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
                write!(f, "{name} {lines} {unit} {}", human_size(*bytes))
            }
            OutputDigest::Data { forms, .. } if forms.is_empty() => f.write_str("empty display"),
            OutputDigest::Data { forms, .. } => {
                let shown: Vec<String> = forms
                    .iter()
                    .map(|(mime, bytes)| format!("{mime} {}", human_size(*bytes)))
                    .collect();
                f.write_str(&shown.join(" + "))
            }
            OutputDigest::Error { name, value } if value.is_empty() => write!(f, "error {name}"),
            OutputDigest::Error { name, value } => {
                write!(f, "error {name}: {}", crate::outline::first_line(value, 80))
            }
            OutputDigest::Other { kind } => write!(f, "{kind}"),
        }
    }
}

/// Digests of all outputs in a list, in one walk over it.
pub(crate) fn digests(list: &[u8]) -> Vec<OutputDigest> {
    let mut found = Vec::new();
    let mut cursor = Cursor::new(list);
    if !cursor.enter(b'[') {
        return found;
    }
    while cursor.next_entry() {
        found.push(digest(list, &mut cursor));
    }
    found
}

/// The digest of the output the cursor is at; steps over it.
fn digest(list: &[u8], cursor: &mut Cursor<'_>) -> OutputDigest {
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
            "text" => text = text_size(list, cursor),
            "data" if cursor.enter(b'{') => {
                while cursor.next_entry() {
                    let mime = json::decode(cursor.key().of(list)).text.into_owned();
                    let (_, bytes) = text_size(list, cursor);
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

/// Lines and bytes of a string or list of strings, from its JSON text; escapes count as spelled.
fn text_size(list: &[u8], cursor: &mut Cursor<'_>) -> (usize, usize) {
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

    /// The output as it stands in the file.
    pub fn json(&self) -> &'a [u8] {
        self.object
    }

    /// Its digest.
    pub fn digest(&self) -> OutputDigest {
        digest(self.object, &mut Cursor::new(self.object))
    }

    /// Its text: what a stream wrote, a traceback, or the plain form of a display. Colours and other
    /// escapes are as stored.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        if let Some(text) = json::get(self.object, "text") {
            return Some(joined(text).text);
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
        form.map(|form| joined(form).text)
    }
}

/// An output to be stored, as JSON text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NbOutput {
    json: Vec<u8>,
}

/// Why a text is not an output.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OutputError {
    /// Not JSON.
    #[error("not JSON at byte {}: {}", .0.offset, .0.problem)]
    Syntax(SyntaxError),
    /// JSON, but not an object with one of the four output types.
    #[error(
        "expected an object whose \"output_type\" is stream, display_data, execute_result or error"
    )]
    NotAnOutput,
    /// A field that nbformat demands is missing or holds something else.
    #[error("{kind} output: \"{field}\" is missing or wrong; {problem}")]
    Field {
        /// The output's type.
        kind: &'static str,
        /// The field.
        field: &'static str,
        /// What is expected there.
        problem: &'static str,
    },
}

/// The fields nbformat demands of each type of output.
const REQUIRED: [(&str, &[(&str, Rule)]); 4] = [
    ("stream", &[("name", metadata::text), ("text", text_or_lines)]),
    ("display_data", &[("data", metadata::object), ("metadata", metadata::object)]),
    (
        "execute_result",
        &[("data", metadata::object), ("execution_count", count), ("metadata", metadata::object)],
    ),
    ("error", &[("ename", metadata::text), ("evalue", metadata::text), ("traceback", lines)]),
];

fn text_or_lines(value: &[u8]) -> Option<&'static str> {
    let fits = metadata::text(value).is_none() || lines(value).is_none();
    (!fits).then_some("expected a string or a list of strings")
}

fn lines(value: &[u8]) -> Option<&'static str> {
    let is_text = |item: &Span| metadata::text(item.of(value)).is_none();
    let fits = value.first() == Some(&b'[') && json::items(value).iter().all(is_text);
    (!fits).then_some("expected a list of strings")
}

fn count(value: &[u8]) -> Option<&'static str> {
    let fits = value == b"null" || json::whole_number(value).is_some();
    (!fits).then_some("expected a whole number or null")
}

impl NbOutput {
    /// Checks an output given as JSON text.
    pub fn from_json(json: &str) -> Result<NbOutput, OutputError> {
        let json = json.trim().as_bytes();
        // An output stands in the notebook, its cells, a cell and the list of outputs.
        json::check(json, 4).map_err(OutputError::Syntax)?;
        let given = json::decode(json::get(json, "output_type").unwrap_or_default()).text;
        let Some((kind, fields)) = REQUIRED.into_iter().find(|(kind, _)| *kind == given) else {
            return Err(OutputError::NotAnOutput);
        };
        for &(field, rule) in fields {
            if let Some(problem) = rule(json::get(json, field).unwrap_or_default()) {
                return Err(OutputError::Field { kind, field, problem });
            }
        }
        Ok(NbOutput { json: json.to_vec() })
    }

    /// The JSON text.
    pub fn json(&self) -> &[u8] {
        &self.json
    }
}

#[cfg(test)]
#[path = "output/tests.rs"]
mod tests;
