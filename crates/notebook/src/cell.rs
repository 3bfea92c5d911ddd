//! The words for cells: kinds, ids, references, and how a source is split into lines.
//!
//! Owns the vocabulary; which cell a reference names is told in `names.rs`. It must not know bytes or
//! spans.

use std::collections::HashMap;
use std::hash::Hash;

/// The three kinds of cell nbformat 4 knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CellKind {
    /// Python or whatever the kernel runs.
    Code,
    /// Prose.
    Markdown,
    /// Neither run nor rendered.
    Raw,
}

impl CellKind {
    /// All kinds, in the order they are listed to people.
    pub const ALL: [CellKind; 3] = [CellKind::Code, CellKind::Markdown, CellKind::Raw];

    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            CellKind::Code => "code",
            CellKind::Markdown => "markdown",
            CellKind::Raw => "raw",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<CellKind> {
        CellKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl std::fmt::Display for CellKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A cell id that nbformat allows: 1 to 64 letters, digits, `-` and `_`.
#[derive(Clone, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct CellId(String);

impl CellId {
    /// Checks the id.
    pub fn parse(id: &str) -> Option<CellId> {
        is_valid_id(id).then(|| CellId(id.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for CellId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn is_valid_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&id.len()) && id.bytes().all(allowed)
}

/// Where new ids come from. Randomness is the caller's: tests give a fixed seed.
#[derive(Clone, Debug)]
pub struct IdSource {
    state: u64,
}

impl IdSource {
    /// Ids that follow from `seed` alone.
    pub fn seeded(seed: u64) -> IdSource {
        IdSource { state: seed }
    }

    /// The next id: eight lower-case hexadecimal digits.
    pub fn next_id(&mut self) -> CellId {
        // SplitMix64: every seed gives a full-period sequence, which is all that is needed here
        // because uniqueness is checked against the notebook.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        CellId(format!("{:08x}", (z ^ (z >> 31)) as u32))
    }
}

/// A cell as a caller names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CellRef {
    /// A position; negative counts from the end.
    Index(i64),
    /// Text: an id, a unique prefix of one, or a position in digits, tried in this order.
    Text(String),
}

impl CellRef {
    /// The reference as text, for messages.
    pub fn shown(&self) -> String {
        match self {
            CellRef::Index(index) => index.to_string(),
            CellRef::Text(text) => text.clone(),
        }
    }
}

/// Positions by id; none for an id that stands more than once, which names no cell.
pub fn unique_ids<K: Eq + Hash>(
    ids: impl IntoIterator<Item = Option<K>>,
) -> HashMap<K, Option<usize>> {
    let ids = ids.into_iter();
    let mut found: HashMap<K, Option<usize>> = HashMap::with_capacity(ids.size_hint().0);
    for (at, id) in ids.enumerate() {
        if let Some(id) = id {
            found.entry(id).and_modify(|seen| *seen = None).or_insert(Some(at));
        }
    }
    found
}

/// Splits a source the way Jupyter stores it: every line keeps its line feed, a last line without
/// one stays without, nothing gives nothing. Only LF ends a line.
pub(crate) fn split_lines(source: &str) -> Vec<&str> {
    source.split_inclusive('\n').collect()
}

#[cfg(test)]
#[path = "cell/tests.rs"]
mod tests;
