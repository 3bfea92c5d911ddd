//! New outputs as JSON text that was checked against nbformat.
//!
//! Owns the fields of each type of output. It must not know which program made them.

use crate::json::{self, Span, SyntaxError};

/// A rule for one key: returns the problem of a value, if any.
pub(crate) type Rule = fn(&[u8]) -> Option<&'static str>;

/// A [`Rule`] for strings.
pub(crate) fn expect_text(value: &[u8]) -> Option<&'static str> {
    (value.first() != Some(&b'"')).then_some("expected a string")
}

/// A [`Rule`] for objects.
pub(crate) fn expect_object(value: &[u8]) -> Option<&'static str> {
    (value.first() != Some(&b'{')).then_some("expected an object")
}

/// An output to store, as checked JSON text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NbOutput {
    json: Vec<u8>,
}

/// The reason why a text is not an output.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The text is not JSON.
    #[error("not JSON at byte {}: {}", .0.offset, .0.problem)]
    Syntax(SyntaxError),
    /// JSON, but not an object with one of the four output types.
    #[error(
        "expected an object whose \"output_type\" is stream, display_data, execute_result or error"
    )]
    NotAnOutput,
    /// A field that nbformat requires is missing or has a wrong value.
    #[error("{kind} output: \"{field}\" is missing or wrong; {problem}")]
    Field {
        /// The `output_type` of the text.
        kind: &'static str,
        /// Name of the field.
        field: &'static str,
        /// The value that nbformat expects, as the end of a sentence.
        problem: &'static str,
    },
}

/// Required fields for each type of output, with the rule for each.
const REQUIRED: [(&str, &[(&str, Rule)]); 4] = [
    ("stream", &[("name", expect_text), ("text", expect_text_or_lines)]),
    ("display_data", &[("data", expect_object), ("metadata", expect_object)]),
    (
        "execute_result",
        &[("data", expect_object), ("execution_count", expect_count), ("metadata", expect_object)],
    ),
    ("error", &[("ename", expect_text), ("evalue", expect_text), ("traceback", expect_lines)]),
];

fn expect_text_or_lines(value: &[u8]) -> Option<&'static str> {
    let fits = expect_text(value).is_none() || expect_lines(value).is_none();
    (!fits).then_some("expected a string or a list of strings")
}

fn expect_lines(value: &[u8]) -> Option<&'static str> {
    let is_text = |item: &Span| expect_text(item.of(value)).is_none();
    let fits = value.first() == Some(&b'[') && json::items(value).iter().all(is_text);
    (!fits).then_some("expected a list of strings")
}

fn expect_count(value: &[u8]) -> Option<&'static str> {
    let fits = value == b"null" || json::whole_number(value).is_some();
    (!fits).then_some("expected a whole number or null")
}

impl NbOutput {
    /// Checks an output given as JSON text.
    pub fn from_json(json: &str) -> Result<NbOutput, OutputError> {
        let json = json.trim().as_bytes();
        // An output is nested in four containers: the notebook, its cells, a cell and the list of
        // outputs.
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

    /// The JSON text, without blanks around it.
    pub fn json(&self) -> &[u8] {
        &self.json
    }
}

#[cfg(test)]
mod tests;
