//! What a kernel can be asked between cells, and how it answers.
//!
//! Owns the questions and the forms of an answer. It must not know how a backend finds one, nor how it is
//! shown: an answer is JSON text that passes through unread.

/// Names one question to one kernel. The engine makes these; they are apart from those of executions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AskId(pub u64);

/// A question about the user's names. A `name` is a variable, its attributes and constant subscripts, such
/// as `model.layers[0]["w"]`; it is followed, never evaluated.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Question {
    /// All variables with type, shape, size and a preview.
    Variables {
        /// At most so many of them; the kernel has a limit of its own.
        limit: Option<u32>,
    },
    /// One value from nearer.
    Variable {
        /// Which.
        name: String,
    },
    /// The columns of a table, with nulls and ranges, and its first rows.
    Table {
        /// Which.
        name: String,
    },
    /// Signature, documentation and source of something; `prelude` names all helpers.
    Help {
        /// Of what.
        name: String,
    },
    /// What the code before the cursor can go on with.
    Complete {
        /// The whole code.
        code: String,
        /// Where the cursor is in it, in characters.
        cursor: usize,
    },
    /// The names that code will use and make, for each text the same as the end of its execution would tell.
    Names {
        /// The texts.
        codes: Vec<String>,
    },
}

/// What a kernel answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// An object, as the text the kernel sent.
    Json(String),
    /// It runs something and cannot look now.
    Busy,
    /// There is no answer; the text says why, for the user.
    Failed(String),
}
