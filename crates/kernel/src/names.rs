//! What code was found to use and make when it ran: names, and files it read.
//!
//! Owns the form in which a backend tells it. What follows from it is for others. A backend that cannot tell says
//! nothing, and so does one that could and found code whose names cannot be known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A name in code. Most are short and take no memory of their own: a long notebook has thousands of them on record.
pub type Name = compact_str::CompactString;

/// Whether whoever runs code wants to know its names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NamesWanted {
    /// No; nobody looks for them.
    #[default]
    No,
    /// Yes, where the backend can tell.
    Yes,
}

/// The names of one execution.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CodeNames {
    /// Names whose values come from before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Name>,
    /// Names that it bound, took away or changed in place; one that it changed is among its uses, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub makes: Vec<Name>,
    /// Names among its uses that it does not need from before: it binds them itself on some way, or only the bodies of its
    /// functions use them, which may not have been called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<Name>,
    /// What the bodies of its functions take, which counts for whoever uses the function.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub later: BTreeMap<Name, BodyNames>,
    /// Files that it read, as far as that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileRead>,
}

/// The names of the body of a function or class.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BodyNames {
    /// Names that it takes from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Name>,
    /// Names outside that it binds or changes; one that it binds, and does not need to be there before, is not among its
    /// uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub makes: Vec<Name>,
}

/// A file that was read: where it is, how many bytes it had, and when it was last changed, in nanoseconds since 1970.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FileRead(pub String, pub u64, pub i64);
