//! The type of a single word of a command line: as in papermill, by what Python's `int` and `float` accept.
//!
//! Owns that guess. It must not know where the word comes from.

use inkcell_engine::notebook::{ParameterValue, WholeNumber};

/// The value of a word: a boolean, None, a number, else text.
pub(crate) fn of_word(word: &str) -> ParameterValue {
    match word {
        "True" => return ParameterValue::Bool(true),
        "False" => return ParameterValue::Bool(false),
        "None" => return ParameterValue::Null,
        _ => {}
    }
    // Python accepts blanks around a number.
    let trimmed = word.trim();
    if let Some(digits) = without_underscores(trimmed) {
        if let Some(whole) = WholeNumber::parse(&digits) {
            return ParameterValue::Int(whole);
        }
        if let Some(number) = float(&digits) {
            return ParameterValue::Float(number);
        }
    }
    ParameterValue::Text(word.to_owned())
}

/// Removes underscores as Python does: each between two digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let stands_well = |(at, byte): (usize, &u8)| {
        *byte != b'_' || is_digit(at.checked_sub(1)) && is_digit(Some(at + 1))
    };
    bytes.iter().enumerate().all(stands_well).then(|| text.replace('_', ""))
}

fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let word = unsigned.to_ascii_lowercase();
    let is_word = matches!(word.as_str(), "inf" | "infinity" | "nan");
    let is_number = unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    // Rust parses the same numbers, once the text is known to be one.
    if is_word || is_number { text.parse().ok() } else { None }
}
