//! Looking at the names of a session: what can be asked, and the forms of an answer.
//!
//! Owns the shapes. Values are texts made by the kernel, bounded there; what is not known is left open. How
//! they are found is the kernel's business, how they are shown that of the faces.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::SessionRef;
use crate::registry::SessionName;

/// A look at a session's names. It runs no code of the user's and leaves no trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InspectRequest {
    /// Which session.
    pub session: SessionRef,
    /// At what.
    pub what: Inspect,
    /// How long it may take; some seconds when nothing is said.
    #[serde(default, with = "crate::encoding::seconds_option")]
    pub wait: Option<Duration>,
}

/// What is looked at. A `name` is a variable, its attributes and constant subscripts, such as
/// `model.layers[0]["w"]`; it is followed, never evaluated.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Inspect {
    /// All variables.
    Variables {
        /// At most so many of them.
        #[serde(default)]
        limit: Option<u32>,
    },
    /// One value from nearer, and a table also in figures.
    Name {
        /// Which.
        name: String,
    },
    /// A table in figures: also a list of dicts or a dict of lists.
    Table {
        /// Which.
        name: String,
    },
    /// How something is used; `prelude` names all helpers.
    Help {
        /// What.
        name: String,
    },
    /// What the code before a cursor can go on with.
    Complete {
        /// The whole code.
        code: String,
        /// Where the cursor is, in characters; at the end when nothing is said.
        #[serde(default)]
        cursor: Option<usize>,
    },
}

/// What was seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InspectReport {
    /// Of which session.
    pub session: SessionName,
    /// What.
    pub seen: Inspected,
}

/// What was seen, by what was asked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inspected {
    /// All variables.
    Variables(VariableList),
    /// One value.
    Name(Box<VariableDigest>),
    /// A table.
    Table(Box<TableDigest>),
    /// Help.
    Help(Box<Help>),
    /// The helpers of the prelude.
    Helpers(HelperList),
    /// Completions.
    Completions(Completions),
}

/// The variables of a session, data first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VariableList {
    /// The first of them.
    pub variables: Vec<Variable>,
    /// How many there are.
    pub total: u64,
    /// Whether there was time to look at each.
    pub complete: bool,
}

/// A variable, in a line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The name of its class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// What sort of thing it is: scalar, text, sequence, mapping, table, array, function, class, module,
    /// other.
    pub kind: String,
    /// The sides of an array or a table.
    pub shape: Option<Vec<u64>>,
    /// The length of anything else that has one.
    pub length: Option<u64>,
    /// Its size, without what it refers to.
    pub bytes: Option<u64>,
    /// A few words of it.
    pub preview: Option<String>,
}

/// One value from nearer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VariableDigest {
    /// As in the list, with a longer preview.
    #[serde(flatten)]
    pub variable: Variable,
    /// The type of its elements.
    pub dtype: Option<String>,
    /// What its parts are called: keys, items, attributes, columns.
    pub inside: Option<String>,
    /// The first of them.
    pub items: Vec<Item>,
    /// How many there are.
    pub total: u64,
    /// Its figures, when it is a table.
    #[serde(default)]
    pub table: Option<TableDigest>,
}

/// A part of a value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Item {
    /// Its key, number or name.
    pub name: String,
    /// The name of its class, or the type of a column.
    #[serde(rename = "type")]
    pub type_name: String,
    /// A few words of it.
    pub preview: Option<String>,
}

/// A table in figures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TableDigest {
    /// What it is called.
    pub name: String,
    /// The name of its class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// How many rows it has.
    pub rows: u64,
    /// How many columns.
    pub width: u64,
    /// The first of them.
    pub columns: Vec<Column>,
    /// The labels of its rows, where rows have some.
    pub index: Option<RowLabels>,
    /// The first rows.
    pub head: Vec<Vec<String>>,
    /// Its size.
    pub bytes: Option<u64>,
    /// How many rows the figures are taken from, where that is not all of them.
    pub sampled: Option<u64>,
    /// Whether there was time, and a way, to describe every column.
    pub complete: bool,
}

/// The labels of a table's rows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RowLabels {
    /// What they are called.
    pub name: Option<String>,
    /// Their type.
    pub dtype: String,
    /// Those of the first rows.
    pub head: Vec<String>,
}

/// A column in figures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub dtype: Option<String>,
    /// How many values are missing.
    pub nulls: Option<u64>,
    /// The least value.
    pub min: Option<String>,
    /// The greatest.
    pub max: Option<String>,
    /// The shortest and the longest text.
    pub lengths: Option<(u64, u64)>,
    /// How many different values there are.
    pub distinct: Option<u64>,
}

/// How something is used.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Help {
    /// What it is called.
    pub name: String,
    /// What sort of thing it is.
    pub kind: String,
    /// The name of its class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// How it is called.
    pub signature: Option<String>,
    /// Its documentation.
    pub doc: Option<String>,
    /// Where it is defined.
    pub file: Option<String>,
    /// At which line.
    pub line: Option<u64>,
    /// Its source, when a cell defined it.
    pub source: Option<String>,
}

/// The helpers that kernels start with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HelperList {
    /// Which of them a session of this kind gets.
    pub level: String,
    /// All of them.
    pub helpers: Vec<Helper>,
}

/// One helper.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Helper {
    /// Its name.
    pub name: String,
    /// How it is called.
    pub signature: Option<String>,
    /// The first line of its documentation.
    pub doc: Option<String>,
    /// What it is about.
    pub category: Option<String>,
    /// All of its documentation.
    pub text: Option<String>,
    /// Whether this session has it.
    pub installed: bool,
}

/// What code can go on with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Completions {
    /// Where the text that they replace begins, in characters.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// The first of them.
    pub matches: Vec<Completion>,
    /// How many there are.
    pub total: u64,
}

/// One way to go on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Completion {
    /// What to put there.
    pub text: String,
    /// What sort of thing it is.
    #[serde(rename = "type")]
    pub kind: String,
}
