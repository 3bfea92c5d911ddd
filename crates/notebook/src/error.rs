//! Errors of reading and changing a document, as values with fields.
//!
//! Owns the wording that is the same for every caller. It must not know paths: the caller that
//! opened the file adds its name.

use crate::cell::CellKind;
use crate::json::SyntaxError;

mod rename;

pub use rename::RenameError;

/// The reason why bytes are not a notebook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotebookError {
    /// The text is not JSON. `line` and `column` count from 1, columns in characters.
    #[error("line {line}, column {column}: {}", .syntax.problem)]
    Syntax {
        /// Offset and problem, as the scanner reports them.
        syntax: SyntaxError,
        /// Line of the first byte that does not fit, from 1.
        line: usize,
        /// Column of the first byte that does not fit, in characters from 1.
        column: usize,
        /// A guess at what the file is instead.
        oddity: Option<Oddity>,
    },
    /// JSON, but not an object.
    #[error("expected object")]
    NotAnObject,
    /// An object without an array named `cells`.
    #[error("missing cells array")]
    NoCells,
    /// The file has more bytes than 32-bit offsets can address.
    #[error("the file has {size_bytes} bytes; at most {limit_bytes} can be read")]
    TooLarge {
        /// Length of the file in bytes.
        size_bytes: u64,
        /// The largest file that is read, in bytes: 4 GiB less one.
        limit_bytes: u64,
    },
}

/// A guess at what a file is, if it is not a notebook.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oddity {
    /// No bytes, or blanks only.
    Empty,
    /// A pointer that Git LFS leaves when the content was not fetched.
    LfsPointer,
    /// Markers of an unfinished merge.
    ConflictMarkers {
        /// Line of the first marker, from 1.
        line: usize,
    },
    /// A web page, often an error page saved under the notebook's name.
    Html,
    /// Text in UTF-16, which needs converting to UTF-8.
    Utf16,
    /// Bytes that are not UTF-8, probably Latin-1 or the like.
    NotUtf8,
    /// A known binary format.
    Binary {
        /// Its usual name, for example `gzip`.
        format: &'static str,
    },
    /// A notebook that stops in the middle.
    CutOff,
    /// The virtual text of a notebook instead of its JSON.
    VirtualText,
    /// A script whose cells are marked by comments.
    Script,
}

impl std::fmt::Display for Oddity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Oddity::Empty => f.write_str(
                "the file is empty; if another program is saving it now, try again",
            ),
            Oddity::LfsPointer => {
                f.write_str("this is a Git LFS pointer, not the notebook itself; run: git lfs pull")
            }
            Oddity::ConflictMarkers { line } => write!(
                f,
                "conflict markers of an unfinished merge at line {line}; resolve the merge first, \
                 for example with: git checkout --ours FILE (or --theirs)"
            ),
            Oddity::Html => f.write_str(
                "this is an HTML page, not a notebook; a download probably saved an error page, so \
                 fetch the raw file again",
            ),
            Oddity::Utf16 => f.write_str(
                "the file is UTF-16; notebooks are UTF-8, convert it first, for example with: \
                 iconv -f UTF-16 -t UTF-8",
            ),
            Oddity::NotUtf8 => f.write_str(
                "the file is not UTF-8, perhaps Latin-1; convert it first, for example with: \
                 iconv -f LATIN1 -t UTF-8",
            ),
            Oddity::Binary { format } => write!(
                f,
                "this is a {format} file, not a notebook; check the path, and unpack the file if the \
                 notebook is inside"
            ),
            Oddity::CutOff => f.write_str(
                "the file is cut off; restore it from a backup, a checkpoint or version control",
            ),
            Oddity::Script => {
                f.write_str("this is a script with marked cells, not a notebook; run it as code")
            }
            Oddity::VirtualText => f.write_str(
                "this is the text form of a notebook, not its JSON; write it into a notebook instead",
            ),
        }
    }
}

/// The reason why a document can be read but not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadOnly {
    /// nbformat 3 or older.
    #[error(
        "this notebook is nbformat {major}, which can be read but not edited; convert it first, \
         for example: jupyter nbconvert --to notebook --nbformat 4 --inplace FILE"
    )]
    TooOld {
        /// `nbformat`, as the file states it.
        major: u64,
    },
    /// A version newer than this program knows.
    #[error(
        "this notebook is nbformat {major}, which is newer than inkcell knows: it can be read but \
         not edited; edit it in the program that wrote it, or save it there as nbformat 4"
    )]
    TooNew {
        /// `nbformat`, as the file states it.
        major: u64,
    },
    /// A top-level key that must be unique occurs twice.
    #[error(
        "the key \"{key}\" occurs more than once in this notebook, so an edit could change the \
         wrong one; remove the duplicate in a text editor first (Python reads the last one)"
    )]
    DuplicateKey {
        /// Name of the top-level key.
        key: &'static str,
    },
}

/// One cell in a list of candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellCandidate {
    /// Position of the cell, from 0.
    pub index: usize,
    /// Id, when the cell has one.
    pub id: Option<String>,
}

impl std::fmt::Display for CellCandidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.id {
            Some(id) => write!(f, "cell {} (id {id})", self.index),
            None => write!(f, "cell {}", self.index),
        }
    }
}

fn join_first_twenty<T: std::fmt::Display>(things: &[T]) -> String {
    const SHOWN: usize = 20;
    join_and_count(things.get(..SHOWN).unwrap_or(things), things.len())
}

/// Joins the first of `count` things and says how many more exist.
fn join_and_count<T: std::fmt::Display>(first: &[T], count: usize) -> String {
    let shown: Vec<String> = first.iter().map(T::to_string).collect();
    let more = count.saturating_sub(first.len());
    if more > 0 { format!("{}, and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

fn nearest_cells(cells: &[CellCandidate]) -> String {
    match cells {
        [] => String::new(),
        [one] => format!(", the nearest is {one}"),
        some => format!(", the nearest are {}", join_first_twenty(some)),
    }
}

/// The reason why a reference does not name exactly one cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefError {
    /// The notebook has no cells.
    #[error("cell {given} does not exist; the notebook has no cells")]
    Empty {
        /// The reference as given.
        given: String,
    },
    /// The position is outside the notebook.
    #[error("cell {given} is out of range; the notebook has {count} cells, 0 to {}", .count - 1)]
    OutOfRange {
        /// The reference as given.
        given: String,
        /// The number of cells in the notebook.
        count: usize,
    },
    /// The text matches no id, id prefix or position.
    #[error(
        "no cell has the id {given:?}{}; name a cell by its id, the first four or more characters \
         of it, or its position (0 to {}, negative from the end)",
        nearest_cells(.nearest), .count - 1
    )]
    Unknown {
        /// The reference as given.
        given: String,
        /// The cells whose ids look most like it, the nearest first.
        nearest: Vec<CellCandidate>,
        /// The number of cells in the notebook.
        count: usize,
    },
    /// More than one cell matches the reference.
    #[error("{given:?} names more than one cell: {}; give the whole id or the position", join_first_twenty(.candidates))]
    Ambiguous {
        /// The reference as given.
        given: String,
        /// All cells that match, in order.
        candidates: Vec<CellCandidate>,
    },
}

/// The reason why a batch of operations was refused. The notebook is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The document cannot be changed at all.
    #[error(transparent)]
    ReadOnly(#[from] ReadOnly),
    /// An operation failed; `op` is its position in the batch.
    #[error("{problem}")]
    Op {
        /// Position in the batch, from 0.
        op: usize,
        /// The problem of this operation.
        problem: OpError,
    },
}

/// The problem of one operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// The reference does not name exactly one cell.
    #[error(transparent)]
    Ref(#[from] RefError),
    /// An earlier operation of the batch deleted the cell.
    #[error("{cell} was deleted by operation {by} of the same batch")]
    AlreadyDeleted {
        /// The cell that the operation names.
        cell: CellCandidate,
        /// Position of the deleting operation, from 0.
        by: usize,
    },
    /// The entry of the cells array is not an object.
    #[error("cell {index} is not a cell object, so it can only be moved or deleted")]
    NotACell {
        /// Position of the cell, from 0.
        index: usize,
    },
    /// A key occurs twice in the cell.
    #[error(
        "the key \"{key}\" occurs more than once in cell {index}, so an edit could change the \
         wrong one; remove the duplicate in a text editor first (Python reads the last one)"
    )]
    DuplicateKey {
        /// Position of the cell, from 0.
        index: usize,
        /// Name of the repeated key.
        key: String,
    },
    /// The cell does not contain the text to substitute.
    #[error("the text to replace was not found in {cell}{}", describe_nearest(.nearest))]
    NoMatch {
        /// The cell that the operation names.
        cell: CellCandidate,
        /// The lines of the cell that look most like it, with their numbers from 1.
        nearest: Vec<(usize, String)>,
    },
    /// The cell contains the text to substitute more than once.
    #[error(
        "the text to replace occurs {count} times in {cell} (lines {}); give more of the text \
         around it, or ask for all of them",
        join_and_count(.lines, *.count)
    )]
    ManyMatches {
        /// The cell that the operation names.
        cell: CellCandidate,
        /// The number of matches.
        count: usize,
        /// Line numbers of the first 20 matches, from 1.
        lines: Vec<usize>,
    },
    /// No cell contains the text to substitute.
    #[error("the text to replace was not found in any cell{}", describe_nearest_cell(.nearest))]
    NoMatchAnywhere {
        /// A cell with a line that looks like it, and that line with its number from 1.
        nearest: Option<(CellCandidate, (usize, String))>,
    },
    /// The cells contain the text to substitute more than once.
    #[error(
        "the text to replace occurs {count} times in the notebook: in {}; name the cell, give \
         more of the text around it, or ask for all of them",
        join_first_twenty(.cells)
    )]
    ManyMatchesAnywhere {
        /// The number of matches.
        count: usize,
        /// The cells that contain it.
        cells: Vec<CellCandidate>,
    },
    /// The text to substitute is empty, so it would match everywhere.
    #[error("the text to replace is empty; give the text to search for")]
    EmptyPattern,
    /// The name cannot be renamed.
    #[error(transparent)]
    Rename(#[from] RenameError),
    /// The cell cannot have outputs, because it is not a code cell.
    #[error("cell {index} is a {kind} cell; only code cells have outputs")]
    NoOutputs {
        /// Position of the cell, from 0.
        index: usize,
        /// Its kind, which is not code.
        kind: CellKind,
    },
    /// The format does not allow this metadata value.
    #[error("metadata \"{key}\": {problem}")]
    BadMetadata {
        /// Name of the metadata key.
        key: String,
        /// The problem as the end of a sentence.
        problem: &'static str,
    },
    /// The cell would move next to itself.
    #[error("{cell} cannot be moved before or after itself")]
    MoveToItself {
        /// The cell that the operation names.
        cell: CellCandidate,
    },
}

/// The reason why a text could not be replaced in another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubError {
    /// The text to replace is empty, so it would match everywhere.
    #[error("the text to replace is empty; give the text to search for")]
    Empty,
    /// The text does not contain the text to replace.
    #[error("the text to replace was not found{}", describe_nearest(.nearest))]
    NoMatch {
        /// The lines that look most like it, with their numbers from 1.
        nearest: Vec<(usize, String)>,
    },
    /// The text contains the text to replace more than once.
    #[error(
        "the text to replace occurs {count} times (lines {}); give more of the text around it, or \
         ask for all of them",
        join_and_count(.lines, *.count)
    )]
    Many {
        /// The number of matches.
        count: usize,
        /// Line numbers of the first 20 matches, from 1.
        lines: Vec<usize>,
    },
}

impl SubError {
    /// Adds the cell whose source was searched.
    pub(crate) fn in_cell(self, cell: CellCandidate) -> OpError {
        match self {
            SubError::Empty => OpError::EmptyPattern,
            SubError::NoMatch { nearest } => OpError::NoMatch { cell, nearest },
            SubError::Many { count, lines } => OpError::ManyMatches { cell, count, lines },
        }
    }
}

/// Describes the lines nearest to the text that was searched for, as the end of a sentence.
fn describe_nearest(nearest: &[(usize, String)]) -> String {
    let shown: Vec<String> =
        nearest.iter().map(|(number, line)| format!("line {number}: {line}")).collect();
    if shown.is_empty() {
        String::new()
    } else {
        format!("; the nearest is {}", shown.join(", then "))
    }
}

fn describe_nearest_cell(nearest: &Option<(CellCandidate, (usize, String))>) -> String {
    let described = nearest
        .as_ref()
        .map(|(cell, (number, line))| format!("; the nearest is in {cell}, line {number}: {line}"));
    described.unwrap_or_default()
}

/// The reason why virtual text could not be turned back into cells. The notebook is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The first line is not a marker.
    #[error(
        "expected first line to be \"# %% [code] cell:0\", \"# %% [markdown] cell:0\", or \
         \"# %% [raw] cell:0\"."
    )]
    FirstLine {
        /// The first line, or its beginning.
        found: String,
    },
    /// A line begins a cell in scripts, but not in virtual text.
    #[error(
        "line {line} is {text:?}, which marks a cell in a script; in this text a cell begins with \"# %% [code]\", \
         \"# %% [markdown]\" or \"# %% [raw]\". Nothing was written"
    )]
    UnknownMarker {
        /// Line number, from 1.
        line: usize,
        /// The line, or its beginning.
        text: String,
    },
    /// An entry of the notebook cannot be written as text.
    #[error("cell {index} is not a code, markdown or raw cell")]
    BadCell {
        /// Position of the cell, from 0.
        index: usize,
    },
    /// The cells that the text leaves out are not those that the caller declared.
    #[error("{}", describe_left_out(.missing, *.declared))]
    LeavesOut {
        /// The cells that the text leaves out.
        missing: Vec<CellCandidate>,
        /// The number of cells that the caller declared as dropped.
        declared: usize,
    },
    /// The batch of operations made from the text was refused.
    #[error(transparent)]
    Edit(#[from] EditError),
}

fn describe_left_out(missing: &[CellCandidate], declared: usize) -> String {
    let meant = format!("but {} to be dropped", format_count(declared, "cell was", "cells were"));
    if missing.is_empty() {
        return format!("the text leaves no cell out, {meant}; nothing was written");
    }
    let count = format_count(missing.len(), "cell", "cells");
    let but = if declared > 0 { format!(", {meant}") } else { String::new() };
    format!(
        "the text leaves out {count}: {}{but}; nothing was written. To delete exactly {count}, say how \
         many are dropped; to change some cells only, write the whole text back or change them one by \
         one",
        join_first_twenty(missing)
    )
}

fn format_count(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
