//! What can go wrong with a document, as values with fields.
//!
//! Owns the wording that is the same for every caller. Paths are not known here: the caller that
//! opened the file adds its name.

use crate::cell::CellKind;
use crate::diagnose::Oddity;
use crate::json::SyntaxError;

/// Why bytes are not a notebook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotebookError {
    /// The text is not JSON. `line` and `column` count from 1, columns in characters.
    #[error("line {line}, column {column}: {}", .syntax.problem)]
    Syntax {
        /// What the scanner found.
        syntax: SyntaxError,
        /// Line of the first byte that cannot be.
        line: usize,
        /// Column of the first byte that cannot be.
        column: usize,
        /// What the file seems to be instead, when it can be told.
        oddity: Option<Oddity>,
    },
    /// JSON, but not an object.
    #[error("expected object")]
    NotAnObject,
    /// An object without an array named `cells`.
    #[error("missing cells array")]
    NoCells,
    /// More bytes than positions can be kept for.
    #[error("the file has {size_bytes} bytes; at most {limit_bytes} can be read")]
    TooLarge {
        /// Size found.
        size_bytes: u64,
        /// Size allowed.
        limit_bytes: u64,
    },
}

/// Why a document as a whole cannot be changed, although it can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadOnly {
    /// nbformat 3 or older.
    #[error(
        "this notebook is nbformat {major}, which can be read but not edited; convert it first, \
         for example: jupyter nbconvert --to notebook --nbformat 4 --inplace FILE"
    )]
    TooOld {
        /// Major version found.
        major: u64,
    },
    /// A version that did not exist when this was written.
    #[error(
        "this notebook is nbformat {major}, which is newer than this program knows; it can be read, but \
         editing it could break rules that are not known here; edit it in the program that wrote it, or \
         save it there as nbformat 4"
    )]
    TooNew {
        /// Major version found.
        major: u64,
    },
    /// A key that must be unique stands twice at the top level.
    #[error(
        "the key \"{key}\" stands more than once in this notebook, so an edit could change the wrong \
         one; remove the duplicate in a text editor first (Python reads the last one)"
    )]
    DuplicateKey {
        /// The key.
        key: &'static str,
    },
}

/// One cell in a list of candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Position.
    pub index: usize,
    /// Id, when the cell has one.
    pub id: Option<String>,
}

impl std::fmt::Display for Candidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.id {
            Some(id) => write!(f, "cell {} (id {id})", self.index),
            None => write!(f, "cell {}", self.index),
        }
    }
}

fn list<T: std::fmt::Display>(things: &[T]) -> String {
    const SHOWN: usize = 20;
    list_of(things.get(..SHOWN).unwrap_or(things), things.len())
}

/// The first of `count` things, and how many more there are.
fn list_of<T: std::fmt::Display>(first: &[T], count: usize) -> String {
    let shown: Vec<String> = first.iter().map(T::to_string).collect();
    let more = count.saturating_sub(first.len());
    if more > 0 { format!("{}, and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

/// Why a cell reference names no single cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefError {
    /// There are no cells at all.
    #[error("the notebook has no cells, so there is no cell {given}")]
    Empty {
        /// The reference as given.
        given: String,
    },
    /// A position outside the notebook.
    #[error("cell {given} is out of range; the notebook has {count} cells, 0 to {}", .count - 1)]
    OutOfRange {
        /// The reference as given.
        given: String,
        /// How many cells there are.
        count: usize,
    },
    /// Neither id, prefix nor position.
    #[error(
        "no cell has the id {given:?}{}; a cell is named by its id, by the first four or more \
         characters of its id, or by its position (0 to {}, negative from the end)",
        .nearest.as_ref().map(|c| format!(", the nearest is {c}")).unwrap_or_default(), .count - 1
    )]
    Unknown {
        /// The reference as given.
        given: String,
        /// The cell whose id looks most like it.
        nearest: Option<Candidate>,
        /// How many cells there are.
        count: usize,
    },
    /// More than one cell answers to it.
    #[error("{given:?} names more than one cell: {}; give the whole id or the position", list(.candidates))]
    Ambiguous {
        /// The reference as given.
        given: String,
        /// All that match.
        candidates: Vec<Candidate>,
    },
}

/// Why a batch of operations was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The document cannot be changed at all.
    #[error(transparent)]
    ReadOnly(#[from] ReadOnly),
    /// An operation failed; `op` is its position in the batch.
    #[error("{problem}")]
    Op {
        /// Position in the batch, from 0.
        op: usize,
        /// What is wrong with it.
        problem: OpError,
    },
}

/// What is wrong with one operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpError {
    /// The cell cannot be told.
    #[error(transparent)]
    Ref(#[from] RefError),
    /// An earlier operation of the batch deleted the cell.
    #[error("{cell} was deleted by operation {by} of the same batch")]
    AlreadyDeleted {
        /// The cell.
        cell: Candidate,
        /// Position of the deleting operation, from 0.
        by: usize,
    },
    /// The entry of the cells array is not an object.
    #[error("cell {index} is not a cell object, so it can only be moved or deleted")]
    NotACell {
        /// Position.
        index: usize,
    },
    /// A key stands twice in the cell.
    #[error(
        "the key \"{key}\" stands more than once in cell {index}, so an edit could change the wrong \
         one; remove the duplicate in a text editor first (Python reads the last one)"
    )]
    DuplicateKey {
        /// Position.
        index: usize,
        /// The key.
        key: String,
    },
    /// The text to substitute is not there.
    #[error("the text to replace was not found in {cell}{}", shown_lines(.nearest))]
    NoMatch {
        /// The cell.
        cell: Candidate,
        /// The lines of the cell that look most like it, with their numbers from 1.
        nearest: Vec<(usize, String)>,
    },
    /// The text to substitute is there more than once.
    #[error(
        "the text to replace stands {count} times in {cell} (lines {}); give more of the text around \
         it, or ask for all of them",
        list_of(.lines, *.count)
    )]
    ManyMatches {
        /// The cell.
        cell: Candidate,
        /// How often.
        count: usize,
        /// The lines of the first 20, from 1.
        lines: Vec<usize>,
    },
    /// An empty text matches everywhere.
    #[error("the text to replace is empty; give the text that should be replaced")]
    EmptyPattern,
    /// Outputs belong to code cells only.
    #[error("cell {index} is a {kind} cell; only code cells have outputs")]
    NoOutputs {
        /// Position.
        index: usize,
        /// Its kind.
        kind: CellKind,
    },
    /// A metadata value is not what the format allows.
    #[error("metadata \"{key}\": {problem}")]
    BadMetadata {
        /// The key.
        key: String,
        /// What is wrong, as a sentence end.
        problem: &'static str,
    },
    /// A cell would be moved next to itself.
    #[error("{cell} cannot be moved before or after itself")]
    MoveToItself {
        /// The cell.
        cell: Candidate,
    },
}

/// Why a text could not be replaced in another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubError {
    /// An empty text matches everywhere.
    #[error("the text to replace is empty; give the text that should be replaced")]
    Empty,
    /// It is not there.
    #[error("the text to replace was not found{}", shown_lines(.nearest))]
    NoMatch {
        /// The lines that look most like it, with their numbers from 1.
        nearest: Vec<(usize, String)>,
    },
    /// It is there more than once.
    #[error(
        "the text to replace stands {count} times (lines {}); give more of the text around it, or ask \
         for all of them",
        list_of(.lines, *.count)
    )]
    Many {
        /// How often.
        count: usize,
        /// The lines of the first 20, from 1.
        lines: Vec<usize>,
    },
}

impl SubError {
    /// The same about the source of a cell.
    pub(crate) fn in_cell(self, cell: Candidate) -> OpError {
        match self {
            SubError::Empty => OpError::EmptyPattern,
            SubError::NoMatch { nearest } => OpError::NoMatch { cell, nearest },
            SubError::Many { count, lines } => OpError::ManyMatches { cell, count, lines },
        }
    }
}

/// Lines that come near what was looked for, as the end of a sentence.
fn shown_lines(nearest: &[(usize, String)]) -> String {
    let shown: Vec<String> =
        nearest.iter().map(|(number, line)| format!("line {number}: {line}")).collect();
    if shown.is_empty() {
        String::new()
    } else {
        format!("; the nearest is {}", shown.join(", then "))
    }
}

/// Why virtual text could not be turned back into cells. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The first line is not a marker.
    #[error(
        "expected first line to be \"# %% [code] cell:0\", \"# %% [markdown] cell:0\", or \
         \"# %% [raw] cell:0\"."
    )]
    FirstLine,
    /// A line marks a cell in scripts, but not in this text.
    #[error(
        "line {line} is {text:?}, which marks a cell in a script; in this text a cell begins with \"# %% [code]\", \
         \"# %% [markdown]\" or \"# %% [raw]\". Nothing was written"
    )]
    UnknownMarker {
        /// Its number, from 1.
        line: usize,
        /// The line, or its beginning.
        text: String,
    },
    /// An entry of the notebook has no text form.
    #[error("cell {index} is not a code, markdown or raw cell")]
    BadCell {
        /// Position.
        index: usize,
    },
    /// The cells that do not appear in the text are not those the caller meant to drop.
    #[error("{}", leaves_out(.missing, *.declared))]
    LeavesOut {
        /// The cells that do not appear.
        missing: Vec<Candidate>,
        /// How many the caller said it meant to drop.
        declared: usize,
    },
    /// The operations that follow from the text were refused.
    #[error(transparent)]
    Edit(#[from] EditError),
}

fn leaves_out(missing: &[Candidate], declared: usize) -> String {
    let meant = format!("but {} to be dropped", plural(declared, "cell was", "cells were"));
    if missing.is_empty() {
        return format!("the text leaves no cell out, {meant}; nothing was written");
    }
    let count = plural(missing.len(), "cell", "cells");
    let but = if declared > 0 { format!(", {meant}") } else { String::new() };
    format!(
        "the text leaves out {count}: {}{but}; nothing was written. To delete exactly {count}, say how \
         many are dropped; to change some cells only, write the whole text back or change them one by \
         one",
        list(missing)
    )
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
