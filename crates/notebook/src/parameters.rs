//! Parameters of a notebook: values that are put into a cell of their own before it is run.
//!
//! Owns what a value is, where the cell stands and what it is tagged with; `language.rs` knows the languages,
//! `literal.rs` how each writes a value, `inspect.rs` what a notebook says about its parameters. It must not know where
//! values come from.

mod inspect;
mod language;
mod literal;

pub use inspect::{NoParameters, Parameter};
pub use language::ParameterLanguage;

use crate::cell::{CellKind, CellRef, IdSource};
use crate::document::Notebook;
use crate::edit::{EditOp, OutputsAfter, Place};
use crate::error::EditError;
use crate::fields::SourceShape;
use crate::json::{self, NonAscii};

/// The tag of the cell with the defaults.
const DEFAULTS: &str = "parameters";

/// The tag of the cell with the values of a run.
const INJECTED: &str = "injected-parameters";

/// What the cell begins with, as a comment.
const TITLE: &str = "Parameters";

/// The value of a parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum ParameterValue {
    /// Nothing.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A whole number of any size.
    Int(WholeNumber),
    /// A number with a fraction, or one of those that are none.
    Float(f64),
    /// Text.
    Text(String),
    /// Values in order.
    List(Vec<ParameterValue>),
    /// Values by name, in order.
    Map(Vec<(String, ParameterValue)>),
}

/// A whole number of any size, in decimal digits without leading zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WholeNumber(String);

impl WholeNumber {
    /// Digits with or without a sign; none for anything else.
    pub fn parse(text: &str) -> Option<WholeNumber> {
        let (is_negative, digits) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(match digits.trim_start_matches('0') {
            "" => WholeNumber("0".to_owned()),
            digits if is_negative => WholeNumber(format!("-{digits}")),
            digits => WholeNumber(digits.to_owned()),
        })
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same number, where it is small enough.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }
}

impl From<i64> for WholeNumber {
    fn from(number: i64) -> WholeNumber {
        WholeNumber(number.to_string())
    }
}

impl ParameterValue {
    /// What this kind of value is called.
    pub fn kind(&self) -> &'static str {
        match self {
            ParameterValue::Null => "nothing",
            ParameterValue::Bool(_) => "a truth value",
            ParameterValue::Int(_) => "a whole number",
            ParameterValue::Float(_) => "a number",
            ParameterValue::Text(_) => "text",
            ParameterValue::List(_) => "a list",
            ParameterValue::Map(_) => "a mapping",
        }
    }

    fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            ParameterValue::Null => out.extend_from_slice(b"null"),
            ParameterValue::Bool(yes) => out.extend_from_slice(yes.to_string().as_bytes()),
            // Most readers of JSON would round it.
            ParameterValue::Int(number) if number.as_i64().is_none() => {
                json::encode(out, number.as_str(), NonAscii::Raw);
            }
            ParameterValue::Int(number) => out.extend_from_slice(number.as_str().as_bytes()),
            // JSON has no word for these, and a browser refuses a whole notebook that has Python's.
            ParameterValue::Float(number) if !number.is_finite() => {
                json::encode(out, &literal::float(*number), NonAscii::Raw);
            }
            ParameterValue::Float(number) => {
                out.extend_from_slice(literal::float(*number).as_bytes());
            }
            ParameterValue::Text(text) => json::encode(out, text, NonAscii::Raw),
            ParameterValue::List(items) => {
                separated(out, b"[]", items, |out, item| item.write_json(out));
            }
            ParameterValue::Map(entries) => write_members(out, entries),
        }
    }
}

fn write_members(out: &mut Vec<u8>, entries: &[(String, ParameterValue)]) {
    separated(out, b"{}", entries, |out, (name, value)| {
        json::encode(out, name, NonAscii::Raw);
        out.extend_from_slice(b": ");
        value.write_json(out);
    });
}

fn separated<T>(out: &mut Vec<u8>, around: &[u8; 2], of: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    out.push(around[0]);
    for (at, one) in of.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        write(out, one);
    }
    out.push(around[1]);
}

/// Values by name, in the order in which they are written.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Parameters(Vec<(String, ParameterValue)>);

impl Parameters {
    /// Sets one; a name that is there already keeps its place.
    pub fn set(&mut self, name: impl Into<String>, value: ParameterValue) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    /// The value of one.
    pub fn get(&self, name: &str) -> Option<&ParameterValue> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them as one JSON object. What JSON cannot hold to the last digit is text in it.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        write_members(&mut out, &self.0);
        String::from_utf8(out).unwrap_or_default()
    }
}

impl FromIterator<(String, ParameterValue)> for Parameters {
    /// Of two values of one name the later counts.
    fn from_iter<I: IntoIterator<Item = (String, ParameterValue)>>(values: I) -> Parameters {
        let mut parameters = Parameters::default();
        parameters.extend(values);
        parameters
    }
}

impl IntoIterator for Parameters {
    type Item = (String, ParameterValue);
    type IntoIter = std::vec::IntoIter<(String, ParameterValue)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Extend<(String, ParameterValue)> for Parameters {
    fn extend<I: IntoIterator<Item = (String, ParameterValue)>>(&mut self, values: I) {
        values.into_iter().for_each(|(name, value)| self.set(name, value));
    }
}

/// Why values cannot be put into a notebook.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParameterError {
    /// The name is none in the notebook's language.
    #[error(
        "{name:?} cannot be the name of a parameter in {language}: names are made of letters, digits and _, and do \
         not begin with a digit"
    )]
    Name {
        /// As given.
        name: String,
        /// The notebook's language.
        language: ParameterLanguage,
    },
    /// The name is a word of the language.
    #[error(
        "{name} is a word of {language} itself and cannot be the name of a parameter; choose another name"
    )]
    Keyword {
        /// As given.
        name: String,
        /// The notebook's language.
        language: ParameterLanguage,
    },
    /// The language has no form for such a value.
    #[error(
        "the parameter {name} is {kind}, which cannot be written in {language}; give it as text"
    )]
    Value {
        /// The parameter.
        name: String,
        /// What it is, or has inside.
        kind: &'static str,
        /// The notebook's language.
        language: ParameterLanguage,
    },
    /// No such language is known here.
    #[error(
        "parameters cannot be written in {language}; they can be in {}",
        ParameterLanguage::list()
    )]
    Language {
        /// As the notebook or its kernel names it.
        language: String,
    },
    /// The notebook cannot be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// Where values were put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Injected {
    /// The position of their cell.
    pub index: usize,
    /// How it came there.
    pub way: InjectedWay,
}

/// How the cell with the values came to its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InjectedWay {
    /// An earlier one was there.
    InPlace,
    /// After the cell with the defaults.
    AfterDefaults,
    /// At the top, since no cell has defaults.
    AtTop,
}

impl Injected {
    /// Where a cell stands that stood here before.
    pub fn moved(&self, index: usize) -> usize {
        let is_moved = self.way != InjectedWay::InPlace && index >= self.index;
        if is_moved { index + 1 } else { index }
    }
}

impl Notebook {
    /// Puts values into the cell that is for them: in place of those of an earlier run, else after the cell with the
    /// defaults, else at the top. Everything else keeps its bytes. On an error the notebook is as it was.
    pub fn inject(
        &mut self,
        parameters: &Parameters,
        language: ParameterLanguage,
        ids: &mut IdSource,
    ) -> Result<Injected, ParameterError> {
        let source = parameters_cell(parameters, language)?;
        if let Some(index) = self.first_tagged(INJECTED) {
            let op = EditOp::Replace {
                cell: CellRef::Index(index as i64),
                source,
                kind: Some(CellKind::Code),
                outputs: OutputsAfter::ClearIfChanged,
                shape: SourceShape::Keep,
            };
            self.apply(&[op], ids)?;
            return Ok(Injected { index, way: InjectedWay::InPlace });
        }
        let defaults = self.first_tagged(DEFAULTS);
        let (at, index, way) = match defaults {
            Some(index) => {
                let after = Place::After(CellRef::Index(index as i64));
                (after, index + 1, InjectedWay::AfterDefaults)
            }
            None => (Place::Start, 0, InjectedWay::AtTop),
        };
        // The tag needs the cell, so there are two steps; neither is taken alone.
        let mut changed = self.clone();
        changed.apply(&[EditOp::Insert { at, kind: CellKind::Code, source }], ids)?;
        let tag = EditOp::SetTags {
            cell: CellRef::Index(index as i64),
            add: vec![INJECTED.to_owned()],
            remove: Vec::new(),
        };
        changed.apply(&[tag], ids)?;
        *self = changed;
        Ok(Injected { index, way })
    }

    /// The cell with the defaults.
    pub fn defaults_cell(&self) -> Option<usize> {
        self.first_tagged(DEFAULTS)
    }

    /// The cell with the values of an earlier run.
    pub fn injected_cell(&self) -> Option<usize> {
        self.first_tagged(INJECTED)
    }

    fn first_tagged(&self, wanted: &str) -> Option<usize> {
        let is_tagged = |tags: Vec<String>| tags.iter().any(|tag| tag == wanted);
        self.cells().find(|cell| is_tagged(cell.tags())).map(|cell| cell.index())
    }
}

/// The source of a cell that sets these values.
pub fn parameters_cell(
    parameters: &Parameters,
    language: ParameterLanguage,
) -> Result<String, ParameterError> {
    let mut source = language.comment(TITLE);
    source.push('\n');
    for (name, value) in parameters.iter() {
        source.push_str(&literal::assignment(language, name, value)?);
        source.push('\n');
    }
    Ok(source)
}

#[cfg(test)]
mod tests;
