//! Matches the entries of two lists by id, by order and by similarity.
//!
//! Owns those rules over ids, positions and texts. It must not know notebooks.

mod align;
mod nearest;

pub use align::{Alignment, align};
pub(crate) use nearest::nearest_lines;
pub use nearest::{nearest, nearest_few};

use std::collections::HashMap;
use std::hash::Hash;

/// Positions by id; none for an id that occurs more than once, because it does not name one cell.
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

/// Marks matched cells that can keep their place: a longest rising run of their old positions.
pub(crate) fn longest_rising(matched: &[Option<usize>]) -> Vec<bool> {
    // `ends[k]` is the index in `matched` at which the lowest-ending run of length k + 1 ends.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous: Vec<Option<usize>> = vec![None; matched.len()];
    for (at, origin) in matched.iter().enumerate() {
        let Some(origin) = origin else { continue };
        let length = ends.partition_point(|&end| matched[end].is_some_and(|old| old < *origin));
        previous[at] = length.checked_sub(1).map(|before| ends[before]);
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut stays = vec![false; matched.len()];
    let mut at = ends.last().copied();
    while let Some(place) = at {
        stays[place] = true;
        at = previous[place];
    }
    stays
}
