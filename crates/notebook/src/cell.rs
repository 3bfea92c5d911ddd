//! The words for cells: kinds, ids, references, and how a source is split into lines.
//!
//! Owns lookup rules (id, id prefix, position) as a pure function over a list of ids. It must not
//! know bytes or spans.

use crate::error::{Candidate, RefError};

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

/// How short a prefix of an id may be.
pub(crate) const MIN_PREFIX_CHARS: usize = 4;

/// Finds the cell in a list of ids by position. A text is an id first; only when no id is equal to
/// it is it tried as a prefix and as a position, and when both fit the reference is ambiguous.
pub fn resolve(ids: &[Option<&str>], cell: &CellRef) -> Result<usize, RefError> {
    let given = cell.shown();
    let candidate = |index: usize| Candidate { index, id: ids[index].map(str::to_owned) };
    let one_of = |found: Vec<usize>| match found.as_slice() {
        [one] => Ok(*one),
        many => Err(RefError::Ambiguous {
            given: given.clone(),
            candidates: many.iter().map(|&index| candidate(index)).collect(),
        }),
    };
    let matching = |test: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..ids.len()).filter(|&index| ids[index].is_some_and(test)).collect()
    };
    let text = match cell {
        CellRef::Index(index) => return at_index(*index, ids.len(), given),
        CellRef::Text(text) => text.as_str(),
    };
    let exact = matching(&|id| id == text);
    if !exact.is_empty() {
        return one_of(exact);
    }
    let mut found = Vec::new();
    if text.len() >= MIN_PREFIX_CHARS {
        found = matching(&|id| id.starts_with(text));
    }
    let position = text.parse::<i64>().ok().filter(|_| is_position(text));
    if let Some(index) = position {
        match at_index(index, ids.len(), given.clone()) {
            Ok(index) if !found.contains(&index) => found.push(index),
            Ok(_) => {}
            Err(error) if found.is_empty() => return Err(error),
            Err(_) => {}
        }
    }
    if !found.is_empty() {
        return one_of(found);
    }
    if ids.is_empty() {
        return Err(RefError::Empty { given });
    }
    let nearest = nearest(ids.iter().map(|id| id.unwrap_or_default()), text).map(candidate);
    Err(RefError::Unknown { given, nearest, count: ids.len() })
}

/// Digits with an optional minus sign; `+3`, ` 3` and `3.0` are not positions.
fn is_position(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn at_index(index: i64, count: usize, given: String) -> Result<usize, RefError> {
    if count == 0 {
        return Err(RefError::Empty { given });
    }
    let from_start = if index < 0 { index.saturating_add(count as i64) } else { index };
    usize::try_from(from_start)
        .ok()
        .filter(|&at| at < count)
        .ok_or(RefError::OutOfRange { given, count })
}

/// The position of the candidate that looks most like `wanted`, if any looks like it at all.
pub fn nearest<'a>(candidates: impl Iterator<Item = &'a str>, wanted: &str) -> Option<usize> {
    // Similarity by shared characters in order; long candidates are not worth the time.
    const MAX_CHARS: usize = 400;
    let mut best: Option<(usize, f32)> = None;
    for (at, candidate) in candidates.enumerate() {
        if candidate.is_empty() || candidate.len() > MAX_CHARS || wanted.len() > MAX_CHARS {
            continue;
        }
        let ratio = similar::TextDiff::from_chars(candidate, wanted).ratio();
        if ratio >= 0.5 && best.is_none_or(|(_, least)| ratio > least) {
            best = Some((at, ratio));
        }
    }
    best.map(|(at, _)| at)
}

/// The lines of a text that look most like a pattern that is not in it, best first, with their numbers
/// from 1: those that hold most of its characters in order, and little else.
pub fn nearest_lines(text: &str, pattern: &str) -> Vec<(usize, String)> {
    const SHOWN: usize = 2;
    const MAX_CHARS: usize = 400;
    let wanted = pattern.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let wanted: String = wanted.chars().take(MAX_CHARS).collect();
    let length = wanted.chars().count();
    let mut scored: Vec<(f32, f32, usize, &str)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.len() > MAX_CHARS {
            continue;
        }
        let diff = similar::TextDiff::from_chars(wanted.as_str(), line);
        let equal = diff.ops().iter().filter(|op| op.tag() == similar::DiffTag::Equal);
        let held: usize = equal.map(|op| op.old_range().len()).sum();
        let share = held as f32 / length.max(1) as f32;
        if share >= 0.6 {
            scored.push((share, diff.ratio(), at + 1, line));
        }
    }
    scored.sort_by(|one, other| {
        (other.0, other.1).partial_cmp(&(one.0, one.1)).unwrap_or(std::cmp::Ordering::Equal)
    });
    scored
        .into_iter()
        .take(SHOWN)
        .map(|(_, _, number, line)| (number, line.trim().to_owned()))
        .collect()
}

/// Splits a source the way Jupyter stores it: every line keeps its line feed, a last line without
/// one stays without, nothing gives nothing. Only LF ends a line.
pub fn split_lines(source: &str) -> Vec<&str> {
    source.split_inclusive('\n').collect()
}

#[cfg(test)]
#[path = "cell/tests.rs"]
mod tests;
