//! Questions to a kernel between cells, and the forms of an answer.
//!
//! Owns the questions and the forms of an answer. It must not know how a backend finds an answer, nor
//! how a surface renders it: an answer is JSON text that passes through unread.

use serde::Serialize;

/// Identifies one question to one kernel. The engine makes these, apart from the ids of executions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AskId(pub u64);

/// A question about the user's names. A `name` is a variable with its attributes and constant subscripts,
/// such as `model.layers[0]["w"]`; the kernel follows it and never evaluates code for it.
/// The Python side reads this type as JSON.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum Question {
    /// All variables with type, shape, size and a preview.
    Variables {
        /// The most variables to list; the kernel has a limit of its own.
        limit: Option<u32>,
    },
    /// One value in detail.
    Variable {
        /// A name, as described at [`Question`].
        name: String,
    },
    /// The columns of a table, with nulls and ranges, and its first rows.
    Table {
        /// A name, as described at [`Question`].
        name: String,
    },
    /// Signature, documentation and source of an object; `prelude` lists all helpers.
    Help {
        /// A name, as described at [`Question`].
        name: String,
    },
    /// Completions of the code before the cursor.
    Complete {
        /// The code before and after the cursor.
        code: String,
        /// The position of the cursor in the code, in characters.
        cursor: usize,
    },
    /// The names that each text will use and make, the same as the end of its execution would report.
    Names {
        /// The pieces of code.
        codes: Vec<String>,
    },
}

/// The kernel's reply to a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A JSON object, as the text that the kernel sent.
    Json(String),
    /// The kernel runs code and cannot look now.
    Busy,
    /// The kernel has no answer; the text tells the user why.
    Failed(String),
}
