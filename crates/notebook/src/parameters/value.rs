//! Values of parameters, and their JSON form.
//!
//! It must not know cells or languages.

use crate::json::{self, NonAscii};

/// The value of a parameter, independent of any language.
#[derive(Clone, PartialEq, Debug)]
pub enum ParameterValue {
    /// The absence of a value: `None` in Python.
    Null,
    /// A truth value: `True` or `False` in Python.
    Bool(bool),
    /// A whole number with any number of digits.
    Int(WholeNumber),
    /// A floating-point number, including infinities and NaN.
    Float(f64),
    /// A text, which each language quotes in its own way.
    Text(String),
    /// Values of any kinds, in order.
    List(Vec<ParameterValue>),
    /// Values by name, in order.
    Map(Vec<(String, ParameterValue)>),
}

/// A whole number of any size, in decimal digits without leading zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WholeNumber(String);

impl WholeNumber {
    /// Parses digits with or without a sign; none for any other text.
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

    /// Its decimal digits, after a minus sign if it is negative.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number as 64 bits; none if it does not fit.
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
    /// The name of the value's kind with its article, for error messages.
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
            // Most JSON readers would round it.
            ParameterValue::Int(number) if number.as_i64().is_none() => {
                json::encode(out, number.as_str(), NonAscii::Raw);
            }
            ParameterValue::Int(number) => out.extend_from_slice(number.as_str().as_bytes()),
            // JSON cannot spell these numbers, and a browser refuses a whole notebook that contains
            // Python's spelling.
            ParameterValue::Float(number) if !number.is_finite() => {
                json::encode(out, &format_float(*number), NonAscii::Raw);
            }
            ParameterValue::Float(number) => {
                out.extend_from_slice(format_float(*number).as_bytes());
            }
            ParameterValue::Text(text) => json::encode(out, text, NonAscii::Raw),
            ParameterValue::List(items) => {
                write_separated(out, b"[]", items, |out, item| item.write_json(out));
            }
            ParameterValue::Map(entries) => write_members(out, entries),
        }
    }
}

fn write_members(out: &mut Vec<u8>, entries: &[(String, ParameterValue)]) {
    write_separated(out, b"{}", entries, |out, (name, value)| {
        json::encode(out, name, NonAscii::Raw);
        out.extend_from_slice(b": ");
        value.write_json(out);
    });
}

fn write_separated<T>(
    out: &mut Vec<u8>,
    around: &[u8; 2],
    of: &[T],
    write: impl Fn(&mut Vec<u8>, &T),
) {
    out.push(around[0]);
    for (at, one) in of.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(b", ");
        }
        write(out, one);
    }
    out.push(around[1]);
}

/// Values by name, in the order in which a cell sets them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Parameters(Vec<(String, ParameterValue)>);

impl Parameters {
    /// Sets a value; a name that exists keeps its position.
    pub fn set(&mut self, name: impl Into<String>, value: ParameterValue) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    /// The value of a name; none if the name is not set.
    pub fn get(&self, name: &str) -> Option<&ParameterValue> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// All names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// True if no value is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Formats all values as one JSON object. A number that JSON cannot hold exactly becomes text.
    pub fn to_json(&self) -> String {
        let mut out = Vec::new();
        write_members(&mut out, &self.0);
        String::from_utf8(out).unwrap_or_default()
    }
}

impl FromIterator<(String, ParameterValue)> for Parameters {
    /// The later of two values for one name counts.
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

/// Formats a number like Python's `repr`.
pub(super) fn format_float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let short = format!("{number:e}");
    let (mantissa, exponent) = short.split_once('e').unwrap_or((&short, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        return format!("{number:?}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}
