//! Errors of renaming a name, each with the next step.

use super::CellCandidate;

/// The reason why a name cannot be renamed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenameError {
    /// The notebook is not in Python.
    #[error(
        "the notebook is in {language}, and only names in Python can be renamed; replace text with sub"
    )]
    Language {
        /// The language in the notebook's metadata.
        language: String,
    },
    /// Python has no such name.
    #[error(
        "{name:?} cannot be a name in Python; use letters, digits and _, not a digit first, and \
         not a keyword"
    )]
    Name {
        /// The name as given.
        name: String,
    },
    /// No cell gives the notebook a value with this name.
    #[error(
        "no cell defines {name} at the top level, so there is nothing to rename; for names inside \
         a function, a class, an object or a magic, use sub"
    )]
    NotMade {
        /// The name as given.
        name: String,
    },
    /// The cells use the new name already.
    #[error("{name} is a name in the notebook already ({cell}, line {line}); choose another one")]
    Taken {
        /// The new name, as given.
        name: String,
        /// The first cell with this name.
        cell: CellCandidate,
        /// Line in the cell, from 1.
        line: usize,
    },
    /// A function, class or comprehension has the new name for itself, where the renamed one would stand.
    #[error(
        "{cell}, line {line}: {name} would mean a local name there; choose another one, or change the local one first"
    )]
    Hidden {
        /// The new name, as given.
        name: String,
        /// The cell with the local name.
        cell: CellCandidate,
        /// Line in the cell, from 1.
        line: usize,
    },
    /// A cell has a name in a way that cannot be followed.
    #[error("{cell}, line {line}: {problem}; change this line first, then rename {name}")]
    Unclear {
        /// The name that stands there.
        name: String,
        /// The cell with the problem.
        cell: CellCandidate,
        /// Line in the cell, from 1.
        line: usize,
        /// The problem in a few words.
        problem: &'static str,
    },
}
