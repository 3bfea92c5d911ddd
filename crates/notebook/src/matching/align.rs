//! Finds which cells of two lists are the same.
//!
//! Owns the rule: an id that is unique in both lists names the same cell; all other cells are compared by content, in
//! order. The caller says what the content of a cell is, and what to make of cells that replaced others.

use std::hash::Hash;

use similar::{Algorithm, DiffOp};

use super::unique_ids;

/// The cells that two lists have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alignment {
    /// For each cell of the new list, the position of the same cell in the old one.
    pub pairs: Vec<Option<usize>>,
    /// Runs of cells without a partner, where the second run stands in the place of the first.
    pub replaced: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Alignment {
    /// For each of `count` cells of the old list, the position of the same cell in the new one.
    pub fn places(&self, count: usize) -> Vec<Option<usize>> {
        let mut places = vec![None; count];
        for (at, index) in self.pairs.iter().enumerate() {
            if let Some(place) = index.and_then(|index| places.get_mut(index)) {
                *place = Some(at);
            }
        }
        places
    }
}

/// Aligns two lists, each given as the ids of its cells and a function that returns the content of a cell.
pub fn align<I: Eq + Hash, K: Eq + Hash>(
    (old_ids, old_content): (&[Option<I>], impl Fn(usize) -> K),
    (new_ids, new_content): (&[Option<I>], impl Fn(usize) -> K),
) -> Alignment {
    let [in_old, in_new] = [old_ids, new_ids].map(|ids| unique_ids(ids.iter().map(Option::as_ref)));
    let mut pairs = vec![None; new_ids.len()];
    let mut is_paired = vec![false; old_ids.len()];
    for (id, at) in &in_new {
        if let (Some(at), Some(Some(index))) = (*at, in_old.get(id)) {
            pairs[at] = Some(*index);
            is_paired[*index] = true;
        }
    }
    let old: Vec<usize> = (0..old_ids.len()).filter(|&index| !is_paired[index]).collect();
    let new: Vec<usize> = (0..new_ids.len()).filter(|&at| pairs[at].is_none()).collect();
    let old_contents: Vec<K> = old.iter().map(|&index| old_content(index)).collect();
    let new_contents: Vec<K> = new.iter().map(|&at| new_content(at)).collect();
    let mut replaced = Vec::new();
    for op in similar::capture_diff_slices(Algorithm::Myers, &old_contents, &new_contents) {
        let (olds, news) = (&old[op.old_range()], &new[op.new_range()]);
        match op {
            DiffOp::Equal { .. } => {
                for (index, at) in olds.iter().zip(news) {
                    pairs[*at] = Some(*index);
                }
            }
            DiffOp::Replace { .. } => replaced.push((olds.to_vec(), news.to_vec())),
            DiffOp::Delete { .. } | DiffOp::Insert { .. } => {}
        }
    }
    Alignment { pairs, replaced }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Cells = Vec<(Option<u8>, u8)>;

    /// Few ids and contents, so that many occur more than once.
    fn cells() -> impl Strategy<Value = Cells> {
        proptest::collection::vec((proptest::option::of(0..9u8), 0..5u8), 0..12)
    }

    fn aligned(old: &Cells, new: &Cells) -> Alignment {
        let ids = |cells: &Cells| cells.iter().map(|cell| cell.0).collect::<Vec<_>>();
        align((&ids(old), |index| old[index].1), (&ids(new), |at| new[at].1))
    }

    /// The pairs as old and new positions: those of ids, and those of contents.
    fn split(old: &Cells, new: &Cells, found: &Alignment) -> [Vec<(usize, usize)>; 2] {
        let is_unique = |cells: &Cells, id: Option<u8>| {
            id.is_some() && cells.iter().filter(|cell| cell.0 == id).count() == 1
        };
        let pairs = found.pairs.iter().enumerate().filter_map(|(at, old)| Some(((*old)?, at)));
        let (by_id, by_content) = pairs.partition(|&(index, at)| {
            old[index].0 == new[at].0 && is_unique(old, old[index].0) && is_unique(new, new[at].0)
        });
        [by_id, by_content]
    }

    #[test]
    fn replaced_run_stands_between_its_neighbours() {
        let cells = |contents: &[u8]| contents.iter().map(|one| (None, *one)).collect::<Cells>();
        let found = aligned(&cells(&[1, 2, 3, 4]), &cells(&[1, 5, 4, 6]));
        assert_eq!(found.pairs, [Some(0), None, Some(3), None]);
        assert_eq!(found.replaced, [(vec![1, 2], vec![1])]);
        assert_eq!(found.places(4), [Some(0), None, None, Some(2)]);
    }

    /// A copy with the same id does not take the place of the unchanged cell.
    #[test]
    fn repeated_id_names_no_cell() {
        let found = aligned(&vec![(Some(1), 7)], &vec![(Some(1), 8), (Some(1), 7)]);
        assert_eq!(found.pairs, [None, Some(0)]);
    }

    proptest! {
        #[test]
        fn list_aligns_with_itself(list in cells()) {
            let itself: Vec<_> = (0..list.len()).map(Some).collect();
            prop_assert_eq!(aligned(&list, &list).pairs, itself);
        }

        #[test]
        fn pairs_name_each_cell_once(old in cells(), new in cells()) {
            let found = aligned(&old, &new);
            let mut used: Vec<usize> = found.pairs.iter().copied().flatten().collect();
            used.sort_unstable();
            let count = used.len();
            used.dedup();
            prop_assert_eq!(used.len(), count);
            for (olds, news) in &found.replaced {
                prop_assert!(!olds.is_empty() && !news.is_empty());
                prop_assert!(olds.iter().all(|index| used.binary_search(index).is_err()));
                prop_assert!(news.iter().all(|at| found.pairs[*at].is_none()));
            }
        }

        /// Unique ids pair whatever the content is; contents pair in order.
        #[test]
        fn contents_do_not_cross(old in cells(), new in cells()) {
            let [by_id, by_content] = split(&old, &new, &aligned(&old, &new));
            let shared = new.iter().filter(|(id, _)| {
                let count = |cells: &Cells| cells.iter().filter(|cell| cell.0 == *id).count();
                id.is_some() && count(&old) == 1 && count(&new) == 1
            });
            prop_assert_eq!(by_id.len(), shared.count());
            prop_assert!(by_content.is_sorted());
            prop_assert!(by_content.iter().all(|&(index, at)| old[index].1 == new[at].1));
        }

        /// Which of two equal cells is paired may depend on the side, but not how many are.
        #[test]
        fn sides_are_alike(old in cells(), new in cells()) {
            let [by_id, by_content] = split(&old, &new, &aligned(&old, &new));
            let [id_back, content_back] = split(&new, &old, &aligned(&new, &old));
            let mut turned: Vec<_> = id_back.into_iter().map(|(at, index)| (index, at)).collect();
            turned.sort_by_key(|pair| pair.1);
            prop_assert_eq!(by_id, turned);
            prop_assert_eq!(by_content.len(), content_back.len());
        }
    }
}
