//! Lines that code asks for: whether it may, and what it gets.
//!
//! Owns the words every backend speaks about it. Who types a line, and where, is not known here.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whether code may ask for a line of input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputMode {
    /// It is told at once that there is none.
    #[default]
    Refuse,
    /// It waits for an answer.
    Ask,
}

/// What code that asked for a line gets.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputReply {
    /// This, without the end of the line.
    Line(String),
    /// The end of all input: `EOFError` in Python.
    End,
    /// Nothing: nobody is there to type.
    Refused,
}

/// Without the line, which may be a password.
impl fmt::Debug for InputReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InputReply::Line(_) => "Line",
            InputReply::End => "End",
            InputReply::Refused => "Refused",
        })
    }
}
