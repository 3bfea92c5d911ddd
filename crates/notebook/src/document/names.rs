//! Cell ids of a notebook, and the search for the cell that a reference names.
//!
//! Owns the lookup rules (id, id prefix, position) over a list of ids. It must not know bytes or spans.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::cell::CellRef;
use crate::error::{CellCandidate, RefError};
use crate::matching::{nearest_few, unique_ids};

/// The shortest prefix of an id that names a cell, in characters.
const MIN_PREFIX_CHARS: usize = 4;

/// The most cells that an error suggests.
const SUGGESTIONS: usize = 5;

/// The ids of all cells in order, built once to resolve any number of references.
#[derive(Clone, Debug)]
pub struct CellNames<'a> {
    ids: Vec<Option<Cow<'a, str>>>,
    /// Position of each id; none for an id that several cells have.
    by_id: HashMap<Cow<'a, str>, Option<usize>>,
}

impl<'a> CellNames<'a> {
    /// Indexes these ids, in cell order.
    pub fn new<T: Into<Cow<'a, str>>>(ids: impl IntoIterator<Item = Option<T>>) -> CellNames<'a> {
        let ids: Vec<_> = ids.into_iter().map(|id| id.map(T::into)).collect();
        let by_id = unique_ids(ids.iter().cloned());
        CellNames { ids, by_id }
    }

    /// True if any cell has this id.
    pub fn contains(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// Finds the cell that a reference names. A text is an id first. If it equals no id, it may be a
    /// prefix or a position; if it is both, the reference is ambiguous.
    pub fn resolve(&self, cell: &CellRef) -> Result<usize, RefError> {
        let text = match cell {
            CellRef::Index(index) => return resolve_index(*index, self.ids.len()),
            CellRef::Text(text) => self.without_label(text),
        };
        match self.by_id.get(text) {
            Some(Some(index)) => return Ok(*index),
            Some(None) => return self.one_of(self.matching(|id| id == text), text),
            None => {}
        }
        let mut found = Vec::new();
        if text.len() >= MIN_PREFIX_CHARS {
            found = self.matching(|id| id.starts_with(text));
        }
        if let Some(index) = parse_position(text) {
            match check_range(index, self.ids.len()) {
                Some(index) if !found.contains(&index) => found.push(index),
                None if found.is_empty() => {
                    return Err(refuse_position(text.to_owned(), self.ids.len()));
                }
                _ => {}
            }
        }
        if !found.is_empty() {
            return self.one_of(found, text);
        }
        let (given, count) = (text.to_owned(), self.ids.len());
        if count == 0 {
            return Err(RefError::Empty { given });
        }
        let ids = self.ids.iter().map(|id| id.as_deref().unwrap_or_default());
        let nearest = nearest_few(ids, text, SUGGESTIONS);
        let nearest = nearest.into_iter().map(|index| self.candidate(index)).collect();
        Err(RefError::Unknown { given, nearest, count })
    }

    /// Strips the label of a marker such as `cell:3 id:ab12`, so that a reference copied from one names
    /// the cell.
    fn without_label<'t>(&self, text: &'t str) -> &'t str {
        if self.contains(text) {
            return text;
        }
        let number = text.strip_prefix("cell:").filter(|number| parse_position(number).is_some());
        number.or_else(|| text.strip_prefix("id:")).unwrap_or(text)
    }

    fn matching(&self, test: impl Fn(&str) -> bool) -> Vec<usize> {
        let fits = |index: &usize| self.ids[*index].as_deref().is_some_and(&test);
        (0..self.ids.len()).filter(fits).collect()
    }

    fn one_of(&self, found: Vec<usize>, text: &str) -> Result<usize, RefError> {
        if let [one] = found.as_slice() {
            return Ok(*one);
        }
        let candidates = found.into_iter().map(|index| self.candidate(index)).collect();
        Err(RefError::Ambiguous { given: text.to_owned(), candidates })
    }

    fn candidate(&self, index: usize) -> CellCandidate {
        CellCandidate { index, id: self.ids[index].as_deref().map(str::to_owned) }
    }
}

/// Parses a position: digits with an optional minus sign. `+3`, ` 3` and `3.0` are not positions. A
/// number too large for any notebook is out of range like any other.
fn parse_position(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_position = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let beyond = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    is_position.then(|| text.parse().unwrap_or(beyond))
}

/// Turns an index among `count` cells into a position; a negative index counts from the end.
pub(crate) fn resolve_index(index: i64, count: usize) -> Result<usize, RefError> {
    check_range(index, count).ok_or_else(|| refuse_position(index.to_string(), count))
}

fn check_range(index: i64, count: usize) -> Option<usize> {
    let from_start = if index < 0 { index.saturating_add(count as i64) } else { index };
    usize::try_from(from_start).ok().filter(|&at| at < count)
}

fn refuse_position(given: String, count: usize) -> RefError {
    if count == 0 { RefError::Empty { given } } else { RefError::OutOfRange { given, count } }
}

#[cfg(test)]
mod tests;
