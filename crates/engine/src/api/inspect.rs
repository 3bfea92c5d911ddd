//! Inspection of a session's names: the requests, and the forms of an answer.
//!
//! Owns the shapes. Values are texts that the kernel makes and limits; a field is missing if its value is
//! unknown. The kernel finds the values, the frontends render them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::SessionRef;
use crate::types::SessionName;

/// A request to inspect a session's names. It runs no user code and leaves no trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InspectRequest {
    /// The session to inspect; none is created for an inspection.
    pub session: SessionRef,
    /// The question about the session's names.
    pub what: Inspect,
    /// The time limit; the default is a few seconds.
    #[serde(default, with = "crate::types::encoding::seconds_option")]
    pub wait: Option<Duration>,
    /// How long the question waits for the calls that the session already has; then the kernel counts as busy. Later
    /// calls wait for the answer. Without it, the question waits for no call.
    #[serde(default, with = "crate::types::encoding::seconds_option")]
    pub behind: Option<Duration>,
}

/// The object of an inspection. A `name` is a variable with attributes and constant subscripts, such as
/// `model.layers[0]["w"]`; it is followed, never evaluated.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Inspect {
    /// All variables of the user, one line each.
    Variables {
        /// The most variables in the answer; the default is the kernel's.
        #[serde(default)]
        limit: Option<u32>,
    },
    /// One value in detail; for a table, with the figures of its columns.
    Name {
        /// The name or the path to follow.
        name: String,
    },
    /// The figures of a table; a list of dicts or a dict of lists counts as a table too.
    Table {
        /// The name or the path to follow.
        name: String,
    },
    /// The help for a function or another object; `prelude` names all helpers.
    Help {
        /// The name or the path to follow.
        name: String,
    },
    /// The completions of the code before a cursor.
    Complete {
        /// The code up to the cursor and, if known, beyond it.
        code: String,
        /// The position of the cursor in characters; the default is the end of the code.
        #[serde(default)]
        cursor: Option<usize>,
    },
}

/// The answer to an inspection, with the session that gave it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InspectReport {
    /// The session that was inspected.
    pub session: SessionName,
    /// What the kernel found.
    pub seen: InspectionAnswer,
}

/// The answer to an inspection. The variant follows the request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InspectionAnswer {
    /// One line for each variable of the user.
    Variables(VariableList),
    /// One value in detail.
    Name(Box<VariableDigest>),
    /// The figures of a table, column by column.
    Table(Box<TableDigest>),
    /// The help for one object.
    Help(Box<Help>),
    /// The helpers of the prelude.
    Helpers(HelperList),
    /// Ways to complete the code at the cursor.
    Completions(Completions),
}

/// The variables of a session, data first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VariableList {
    /// The first variables, up to the limit.
    pub variables: Vec<Variable>,
    /// The number of variables in the session.
    pub total: u64,
    /// True if there was time to inspect each of them.
    pub complete: bool,
}

/// A variable, as one line of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Variable {
    /// The name to which the value is bound.
    pub name: String,
    /// The name of its class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The sort of the value: scalar, text, sequence, mapping, table, array, function, class, module,
    /// other.
    pub kind: String,
    /// The sizes of the dimensions of an array or a table.
    pub shape: Option<Vec<u64>>,
    /// The length of any other value that has one.
    pub length: Option<u64>,
    /// The size in bytes, without the objects that the value refers to.
    pub bytes: Option<u64>,
    /// A short text of the value.
    pub preview: Option<String>,
}

/// One value in detail.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct VariableDigest {
    /// The line of the list, with a longer preview.
    #[serde(flatten)]
    pub variable: Variable,
    /// The type of the elements.
    pub dtype: Option<String>,
    /// The name for the parts: keys, items, attributes, columns.
    pub inside: Option<String>,
    /// The first parts; the kernel sets the limit.
    pub items: Vec<ValuePart>,
    /// The number of parts.
    pub total: u64,
    /// The figures, if the value is a table.
    #[serde(default)]
    pub table: Option<TableDigest>,
}

/// A part of a value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ValuePart {
    /// The key, position or name of the part.
    pub name: String,
    /// The name of its class, or the type of a column.
    #[serde(rename = "type")]
    pub type_name: String,
    /// A short text of the value.
    pub preview: Option<String>,
}

/// The figures of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TableDigest {
    /// The name of the table, as requested.
    pub name: String,
    /// The name of its class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The number of rows.
    pub rows: u64,
    /// The number of columns, also of those that are not described.
    pub width: u64,
    /// The first columns; the kernel sets the limit.
    pub columns: Vec<Column>,
    /// The labels of the rows, if rows have labels.
    pub index: Option<RowLabels>,
    /// The first rows, as short texts in the order of the columns.
    pub head: Vec<Vec<String>>,
    /// The size in bytes; none if the table does not know it.
    pub bytes: Option<u64>,
    /// The number of rows that the figures are based on, unless it is all of them.
    pub sampled: Option<u64>,
    /// True if there was time, and a way, to describe every column.
    pub complete: bool,
}

/// The labels of a table's rows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RowLabels {
    /// The name of the labels.
    pub name: Option<String>,
    /// The type of the labels, as the library spells it.
    pub dtype: String,
    /// The labels of the first rows.
    pub head: Vec<String>,
}

/// The figures of one column.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Column {
    /// The label of the column, as text.
    pub name: String,
    /// The type of the elements, as the library spells it; none if the table has no types.
    pub dtype: Option<String>,
    /// The number of missing values.
    pub nulls: Option<u64>,
    /// The smallest value, as text; none if values have no order.
    pub min: Option<String>,
    /// The largest value, as text; none if values have no order.
    pub max: Option<String>,
    /// The lengths of the shortest and the longest text.
    pub lengths: Option<(u64, u64)>,
    /// The number of different values.
    pub distinct: Option<u64>,
}

/// The help for one object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Help {
    /// The name of the object, as requested.
    pub name: String,
    /// The sort of the object, for example a function.
    pub kind: String,
    /// The name of its class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The signature for a call, if the object can be called.
    pub signature: Option<String>,
    /// The documentation, as the object carries it.
    pub doc: Option<String>,
    /// The file that defines the object.
    pub file: Option<String>,
    /// The line in `file` where the definition starts, from 1.
    pub line: Option<u64>,
    /// The source code, if a cell defined the object.
    pub source: Option<String>,
}

/// The helper functions that kernels start with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HelperList {
    /// The level of helpers that a session of this kind gets.
    pub level: String,
    /// Every helper of every level, installed or not.
    pub helpers: Vec<Helper>,
}

/// One helper function of the prelude.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Helper {
    /// The name under which code calls it.
    pub name: String,
    /// The signature for a call.
    pub signature: Option<String>,
    /// The first line of the documentation.
    pub doc: Option<String>,
    /// The subject of the helper.
    pub category: Option<String>,
    /// The documentation in full length.
    pub text: Option<String>,
    /// True if this session has the helper.
    pub installed: bool,
}

/// The completions of some code.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Completions {
    /// The start of the text that a completion replaces, in characters.
    pub start: u64,
    /// The end of the text that a completion replaces, in characters; usually the cursor.
    pub end: u64,
    /// The first completions; the kernel sets the limit.
    pub matches: Vec<Completion>,
    /// The number of completions.
    pub total: u64,
}

/// A text that can follow or replace the text before the cursor.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Completion {
    /// The text to insert.
    pub text: String,
    /// The sort of the completion, for example a function.
    #[serde(rename = "type")]
    pub kind: String,
}
