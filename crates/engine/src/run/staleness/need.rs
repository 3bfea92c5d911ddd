//! Which cells have to run so that all are fresh, and the reason for each.
//!
//! Owns that choice. It predicts the effect of a run on the kernel as far as names are known. If a cell turns out
//! different, the run decides again.

use std::collections::BTreeSet;

use inkcell_kernel::Name;

use super::held::closure;
use super::{CellNow, EVERYTHING, KernelNames, Makers, TO_COME};
use crate::types::{Freshness, StaleReason};

/// For each cell the reason to run it; `None` if it need not run.
pub(crate) fn needed(
    cells: &[CellNow<'_>],
    marks: &[Freshness],
    held: &KernelNames,
) -> Vec<Option<StaleReason>> {
    let marked =
        |mark: &Freshness| (*mark != Freshness::Fresh).then(|| StaleReason::Marked(mark.clone()));
    let mut whys: Vec<Option<StaleReason>> = marks.iter().map(marked).collect();
    // Each round adds a cell or is the last.
    while add_needed(cells, held, &mut whys) {}
    whys
}

/// Simulates the planned run and adds cells whose results are missing. Returns true if it added any.
fn add_needed(cells: &[CellNow<'_>], held: &KernelNames, whys: &mut [Option<StaleReason>]) -> bool {
    let mut held = held.clone();
    let mut makers = Makers::default();
    let mut has_added = false;
    for (place, cell) in cells.iter().enumerate() {
        if whys[place].is_some() {
            let missing = match uses(cell, &makers, cells) {
                Some(uses) => missing(&uses, cells, &makers, &held),
                None => missing_of_all(&cells[..place], &makers, &held),
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
    if let Some(names) = cell.foreseen {
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

/// Cells that make one of these names, where the kernel does not hold their result.
fn missing(
    names: &BTreeSet<&str>,
    cells: &[CellNow<'_>],
    makers: &Makers<'_>,
    held: &KernelNames,
) -> Vec<(usize, Option<String>)> {
    let missing = |name: &&str| {
        let maker = makers.of(name)?;
        let is_held = is_held(name, &cells[maker], maker, held);
        (!is_held).then(|| (maker, Some((*name).to_owned())))
    };
    names.iter().filter_map(missing).collect()
}

/// Cells above whose results or work are missing, for a cell that may use everything.
fn missing_of_all(
    above: &[CellNow<'_>],
    makers: &Makers<'_>,
    held: &KernelNames,
) -> Vec<(usize, Option<String>)> {
    let mut missing = Vec::new();
    for (place, cell) in above.iter().enumerate() {
        let Some(trace) = cell.trace() else { continue };
        let is_done = held.has_done(trace.made()) || held.has_done(TO_COME + place as u64);
        let is_held = match cell.makes() {
            // Effects besides names may matter, too.
            Some(names) => {
                let mut own = names.iter().filter(|name| makers.of(name) == Some(place));
                is_done && own.all(|name| is_held(name, cell, place, held))
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
    let maker = held.maker(name);
    maker.is_some()
        && (maker == cell.trace().map(super::ExecutionTrace::made)
            || maker == Some(TO_COME + place as u64))
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
