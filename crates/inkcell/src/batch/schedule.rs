//! The next step of a batch.
//!
//! Owns the order, the number of rows at once, the effect of a failure and the second tries. It is a machine
//! without a clock: ends come in, and the next tasks go out. It must not know what a row is.

use std::collections::{BTreeSet, VecDeque};

/// A row, by its index in the plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct RowId(pub(crate) usize);

/// A unit of work that can be begun.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Task {
    /// The common beginning of a group of rows, by the index of the group.
    Prefix(usize),
    Row(RowId),
}

/// The effect of a failure on the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnFailure {
    GoOn,
    /// Nothing more is begun; running rows go on to their end.
    Stop,
}

/// How often a failed row is tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Retries {
    None,
    Once,
}

/// The end of a row, as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowEnd {
    Well,
    Failed,
    /// It failed in a way that another try would repeat.
    Hopeless,
}

pub(crate) struct Schedule {
    width: usize,
    on_failure: OnFailure,
    retries: Retries,
    waiting: VecDeque<Task>,
    running: BTreeSet<Task>,
    /// Rows that wait for their common beginning, by group.
    held: Vec<Vec<RowId>>,
    /// Rows that have been tried before.
    tried: BTreeSet<RowId>,
    is_stopped: bool,
}

impl Schedule {
    /// A schedule of these rows, in this order. The rows of a group wait for their common beginning, which takes
    /// the position of the first of them.
    pub(crate) fn new(
        rows: impl IntoIterator<Item = RowId>,
        groups: &[Vec<RowId>],
        width: usize,
        on_failure: OnFailure,
        retries: Retries,
    ) -> Schedule {
        let mut held: Vec<Vec<RowId>> = vec![Vec::new(); groups.len()];
        let mut waiting = VecDeque::new();
        for row in rows {
            match groups.iter().position(|group| group.contains(&row)) {
                Some(group) => {
                    if held[group].is_empty() {
                        waiting.push_back(Task::Prefix(group));
                    }
                    held[group].push(row);
                }
                None => waiting.push_back(Task::Row(row)),
            }
        }
        Schedule {
            width: width.max(1),
            on_failure,
            retries,
            waiting,
            running: BTreeSet::new(),
            held,
            tried: BTreeSet::new(),
            is_stopped: false,
        }
    }

    /// The task to begin now, if there is room for one. It counts as running from here on.
    pub(crate) fn next(&mut self) -> Option<Task> {
        if self.is_stopped || self.running.len() >= self.width {
            return None;
        }
        let task = self.waiting.pop_front()?;
        self.running.insert(task);
        Some(task)
    }

    /// A common beginning has run, or cannot run: its rows come before rows that have not begun, since what they
    /// share exists now.
    pub(crate) fn prefix_ended(&mut self, group: usize) {
        self.running.remove(&Task::Prefix(group));
        let held = self.held.get_mut(group).map(std::mem::take).unwrap_or_default();
        for row in held.into_iter().rev() {
            self.waiting.push_front(Task::Row(row));
        }
    }

    /// A row is over. Returns whether it will be tried again.
    pub(crate) fn ended(&mut self, row: RowId, end: RowEnd) -> Again {
        self.running.remove(&Task::Row(row));
        let is_first = self.tried.insert(row);
        match end {
            RowEnd::Well => Again::No,
            RowEnd::Failed if is_first && self.retries == Retries::Once && !self.is_stopped => {
                match self.on_failure {
                    // All rows have their first try before any row has a second.
                    OnFailure::GoOn => self.waiting.push_back(Task::Row(row)),
                    // The second try comes at once, since it decides whether the batch stops.
                    OnFailure::Stop => self.waiting.push_front(Task::Row(row)),
                }
                Again::Yes
            }
            RowEnd::Failed | RowEnd::Hopeless => {
                if self.on_failure == OnFailure::Stop {
                    self.is_stopped = true;
                }
                Again::No
            }
        }
    }

    /// The user wants an end: nothing more is begun.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Returns whether a row needs its common beginning: it runs, or will be begun for the first time. Second tries
    /// come after all other rows, and for them the beginnings of as many groups would have to be kept.
    pub(crate) fn needs(&self, row: RowId) -> bool {
        let task = Task::Row(row);
        let is_to_come = !self.tried.contains(&row) && self.waiting.contains(&task);
        self.running.contains(&task) || (!self.is_stopped && is_to_come)
    }

    /// Returns whether nothing runs and nothing will be begun.
    pub(crate) fn is_over(&self) -> bool {
        self.running.is_empty() && (self.is_stopped || self.waiting.is_empty())
    }
}

/// Says whether a row is tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Again {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn schedule(rows: usize, width: usize, on_failure: OnFailure, retries: Retries) -> Schedule {
        Schedule::new((0..rows).map(RowId), &[], width, on_failure, retries)
    }

    fn begun(schedule: &mut Schedule) -> Vec<Task> {
        std::iter::from_fn(|| schedule.next()).collect()
    }

    fn row(number: usize) -> Task {
        Task::Row(RowId(number))
    }

    #[test]
    fn as_many_run_as_there_is_room_for() {
        let mut one = schedule(3, 2, OnFailure::GoOn, Retries::None);
        assert_eq!(begun(&mut one), [row(0), row(1)]);
        assert_eq!(one.ended(RowId(1), RowEnd::Well), Again::No);
        assert_eq!(begun(&mut one), [row(2)]);
        assert!(!one.is_over());
        one.ended(RowId(0), RowEnd::Failed);
        one.ended(RowId(2), RowEnd::Well);
        assert!(one.is_over());
    }

    /// A failed row is tried again after all others have had their turn, and only once.
    #[test]
    fn a_second_try_comes_last() {
        let mut one = schedule(3, 1, OnFailure::GoOn, Retries::Once);
        let mut order = Vec::new();
        while let Some(Task::Row(row)) = one.next() {
            order.push(row.0);
            one.ended(row, if row.0 == 0 { RowEnd::Failed } else { RowEnd::Well });
        }
        assert_eq!(order, [0, 1, 2, 0]);
        assert!(one.is_over());
        let mut hopeless = schedule(1, 1, OnFailure::GoOn, Retries::Once);
        hopeless.next();
        assert_eq!(hopeless.ended(RowId(0), RowEnd::Hopeless), Again::No);
        assert!(hopeless.is_over());
    }

    #[test]
    fn the_first_failure_stops_the_rest() {
        let mut one = schedule(4, 2, OnFailure::Stop, Retries::None);
        begun(&mut one);
        one.ended(RowId(0), RowEnd::Failed);
        assert_eq!((one.next(), one.is_over()), (None, false));
        one.ended(RowId(1), RowEnd::Well);
        assert!(one.is_over() && one.is_stopped());
        // With another try, that try decides, and it comes next.
        let mut one = schedule(3, 1, OnFailure::Stop, Retries::Once);
        begun(&mut one);
        assert_eq!(one.ended(RowId(0), RowEnd::Failed), Again::Yes);
        assert_eq!(begun(&mut one), [row(0)]);
        assert_eq!(one.ended(RowId(0), RowEnd::Failed), Again::No);
        assert!(one.is_over());
    }

    #[test]
    fn rows_wait_for_what_they_share() {
        let groups = [vec![RowId(0), RowId(2)]];
        let rows = (0..4).map(RowId);
        let mut one = Schedule::new(rows, &groups, 2, OnFailure::GoOn, Retries::None);
        assert_eq!(begun(&mut one), [Task::Prefix(0), row(1)]);
        one.ended(RowId(1), RowEnd::Well);
        assert_eq!(begun(&mut one), [row(3)]);
        one.prefix_ended(0);
        assert_eq!(begun(&mut one), [row(0)]);
        one.ended(RowId(3), RowEnd::Well);
        assert_eq!(begun(&mut one), [row(2)]);
        assert!(one.needs(RowId(2)) && !one.needs(RowId(3)));
        one.stop();
        assert!(!one.is_over());
    }

    #[test]
    fn what_is_shared_is_not_kept_for_second_tries() {
        let groups = [vec![RowId(0), RowId(1)]];
        let mut one = Schedule::new((0..2).map(RowId), &groups, 1, OnFailure::GoOn, Retries::Once);
        assert_eq!(begun(&mut one), [Task::Prefix(0)]);
        one.prefix_ended(0);
        assert_eq!(begun(&mut one), [row(0)]);
        assert_eq!(one.ended(RowId(0), RowEnd::Failed), Again::Yes);
        assert!(!one.needs(RowId(0)) && one.needs(RowId(1)));
        assert_eq!(begun(&mut one), [row(1)]);
        one.ended(RowId(1), RowEnd::Well);
        assert!(!one.needs(RowId(0)) && !one.needs(RowId(1)) && !one.is_over());
    }

    proptest! {
        /// In every case: never more rows than there is room for, every row once, or twice if it failed, and an
        /// end.
        #[test]
        fn every_row_has_its_turn(
            rows in 0usize..20,
            width in 1usize..6,
            fails in prop::collection::vec(any::<bool>(), 40),
            pick in prop::collection::vec(any::<prop::sample::Index>(), 200),
            retries in any::<bool>(),
            grouped in 0usize..5,
        ) {
            let retries = if retries { Retries::Once } else { Retries::None };
            let groups = [(0..grouped.min(rows)).map(RowId).collect::<Vec<_>>()];
            let mut one =
                Schedule::new((0..rows).map(RowId), &groups, width, OnFailure::GoOn, retries);
            let (mut running, mut tries) = (Vec::new(), vec![0; rows]);
            for pick in pick {
                running.extend(begun(&mut one));
                prop_assert!(running.len() <= width);
                if running.is_empty() {
                    break;
                }
                match running.swap_remove(pick.index(running.len())) {
                    Task::Prefix(group) => one.prefix_ended(group),
                    Task::Row(row) => {
                        tries[row.0] += 1;
                        let end = if fails[row.0] { RowEnd::Failed } else { RowEnd::Well };
                        one.ended(row, end);
                    }
                }
            }
            prop_assert!(one.is_over());
            for (row, tries) in tries.into_iter().enumerate() {
                let wanted = if fails[row] && retries == Retries::Once { 2 } else { 1 };
                prop_assert_eq!(tries, wanted);
            }
        }
    }
}
