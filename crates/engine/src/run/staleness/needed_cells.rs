//! Which cells have to run so that all are fresh, or so that some can run, and the reason for each.
//!
//! Owns that choice. It predicts the effect of a run on the kernel as far as names are known. If a cell turns out
//! different, the run decides again.

use std::collections::BTreeSet;

use inkcell_kernel::Name;

use super::held::closure;
use super::{CellNow, EVERYTHING, ExecutionTrace, KernelNames, Makers, TO_COME};
use crate::types::{Freshness, StaleReason};

/// The goal of a run that chooses its cells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Goal<'a> {
    /// All cells are fresh, except those that depend on cells at these positions, which have failed.
    Fresh(&'a BTreeSet<usize>),
    /// The cells at these positions run, with the names as the cells above them make them.
    Run(&'a BTreeSet<usize>),
}

/// For each cell, why it runs or is blocked; `None` if it need not run.
pub(crate) fn needed(
    cells: &[CellNow<'_>],
    marks: &[Freshness],
    held: &KernelNames,
    goal: Goal<'_>,
) -> Vec<Option<StaleReason>> {
    let marked =
        |mark: &Freshness| (*mark != Freshness::Fresh).then(|| StaleReason::Marked(mark.clone()));
    let is_chosen = |chosen: &BTreeSet<usize>, cell: &CellNow<'_>| {
        chosen.contains(&cell.index).then_some(StaleReason::Chosen)
    };
    let mut whys: Vec<Option<StaleReason>> = match goal {
        Goal::Fresh(failed) => {
            let blocked = blocked(cells, failed).into_iter();
            blocked.zip(marks).map(|(blocked, mark)| blocked.or_else(|| marked(mark))).collect()
        }
        Goal::Run(chosen) => cells.iter().map(|cell| is_chosen(chosen, cell)).collect(),
    };
    // Each round adds a cell or is the last.
    while add_needed((cells, marks), held, &mut whys) {}
    whys
}

/// The cells that depend on one of those that failed, each with the nearest cell above that it lacks.
fn blocked(cells: &[CellNow<'_>], failed: &BTreeSet<usize>) -> Vec<Option<StaleReason>> {
    if failed.is_empty() {
        return vec![None; cells.len()];
    }
    let mut makers = Makers::default();
    let mut found: Vec<Option<StaleReason>> = Vec::with_capacity(cells.len());
    for (place, cell) in cells.iter().enumerate() {
        let is_lost = |at: &usize| failed.contains(&cells[*at].index) || found[*at].is_some();
        let because = match uses(cell, &makers, cells) {
            _ if failed.contains(&cell.index) => None,
            Some(uses) => uses.into_iter().find_map(|name| {
                let maker = makers.of(name).filter(is_lost)?;
                Some((Some(name.to_owned()), maker))
            }),
            None => (0..place).rfind(is_lost).map(|above| (None, above)),
        };
        let why = |(name, at): (_, usize)| StaleReason::Blocked { name, by: cells[at].index };
        found.push(because.map(why));
        makers.pass(place, cell);
    }
    found
}

/// Simulates the planned run and adds cells whose results are missing. Returns true if it added any.
fn add_needed(
    (cells, marks): (&[CellNow<'_>], &[Freshness]),
    held: &KernelNames,
    whys: &mut [Option<StaleReason>],
) -> bool {
    let mut held = held.clone();
    let mut makers = Makers::default();
    let mut has_added = false;
    for (place, cell) in cells.iter().enumerate() {
        if whys[place].as_ref().is_some_and(StaleReason::runs) {
            let missing = match uses(cell, &makers, cells) {
                Some(uses) => missing(&uses, (cells, marks), &makers, &held),
                None => missing_of_all((&cells[..place], marks), cell, &makers, &held),
            };
            for (maker, name) in missing {
                if whys[maker].is_none() {
                    whys[maker] = Some(StaleReason::Needed { name, by: cell.index });
                    has_added = true;
                }
            }
            run(place, cell, whys[place].as_ref(), &mut held);
        }
        makers.pass(place, cell);
    }
    has_added
}

/// The names that the cell will look for; `None` if unknown.
fn uses<'a>(
    cell: &CellNow<'a>,
    makers: &Makers<'a>,
    cells: &[CellNow<'a>],
) -> Option<BTreeSet<&'a str>> {
    let body = |name: &str| cells[makers.of(name)?].body(name);
    if let Some(names) = cell.foreseen.flatten() {
        return Some(closure(names, body).uses);
    }
    let trace = cell.known.filter(|known| known.is_same)?.trace?;
    if trace.saw.get(EVERYTHING).is_some() {
        return None;
    }
    let is_made = |name: &&str| {
        let makes = trace.makes.iter().flatten();
        trace.saw.get(name).is_none() && makes.into_iter().any(|made| made == name)
    };
    // A function may have changed by now and use other names.
    let mut uses = BTreeSet::new();
    let mut open: Vec<&str> = trace.saw.iter().map(|(name, _)| name).collect();
    while let Some(name) = open.pop() {
        if uses.insert(name) {
            let taken = body(name).into_iter().flat_map(|body| &body.uses);
            open.extend(taken.map(Name::as_str).filter(|name| !is_made(name)));
        }
    }
    Some(uses)
}

/// Cells that make one of these names, where the kernel does not hold a result that is fresh.
fn missing(
    names: &BTreeSet<&str>,
    (cells, marks): (&[CellNow<'_>], &[Freshness]),
    makers: &Makers<'_>,
    held: &KernelNames,
) -> Vec<(usize, Option<String>)> {
    let missing = |name: &&str| {
        let maker = makers.of(name)?;
        let is_held = marks[maker] == Freshness::Fresh && is_held(name, &cells[maker], maker, held);
        (!is_held).then(|| (maker, Some((*name).to_owned())))
    };
    names.iter().filter_map(missing).collect()
}

/// Cells above whose results or work are missing, for a cell that may use everything.
fn missing_of_all(
    (above, marks): (&[CellNow<'_>], &[Freshness]),
    user: &CellNow<'_>,
    makers: &Makers<'_>,
    held: &KernelNames,
) -> Vec<(usize, Option<String>)> {
    let mut missing = Vec::new();
    for (place, cell) in above.iter().enumerate() {
        let has_done = |trace: &ExecutionTrace| held.has_done(trace.made());
        let is_done = marks[place] == Freshness::Fresh && cell.trace().is_some_and(has_done)
            || held.has_done(TO_COME + place as u64);
        let is_held = match cell.makes() {
            // Effects besides names may matter, too.
            Some(names) => {
                let mut own = names.iter().filter(|name| makers.of(name) == Some(place));
                is_done && own.all(|name| is_held(name, cell, place, held))
            }
            // No other cell has made, or may have made, what the notebook has from this one.
            None if makers.all == Some(place) && user.is_unforeseen() => {
                let (all, mut since) = held.maker_of_all();
                let is_over = since.any(|name| makers.of(name) == Some(place));
                is_done && is_own(all, cell, place) && !is_over
            }
            None => is_done,
        };
        if !is_held {
            missing.push((place, None));
        }
    }
    missing
}

/// Returns true if the kernel holds the name as this cell made it, or will make it in this run.
fn is_held(name: &str, cell: &CellNow<'_>, place: usize, held: &KernelNames) -> bool {
    is_own(held.maker(name), cell, place)
}

/// Returns true if this is the cell's last execution, or its execution in this run.
fn is_own(made: Option<u64>, cell: &CellNow<'_>, place: usize) -> bool {
    let own = [cell.trace().map(ExecutionTrace::made), Some(TO_COME + place as u64)];
    made.is_some() && own.contains(&made)
}

/// Adds the results that the cell will leave in the kernel.
fn run(place: usize, cell: &CellNow<'_>, why: Option<&StaleReason>, held: &mut KernelNames) {
    let made = match (why, cell.trace()) {
        (Some(StaleReason::Needed { .. }), Some(trace)) => trace.made(),
        _ => TO_COME + place as u64,
    };
    match cell.makes() {
        Some(makes) => held.put(made, makes),
        None if cell.trace().is_some() => held.put_all(made),
        None => held.put(made, []),
    }
}
