//! Which cells have to run so that all are fresh, and why each.
//!
//! Owns that choice. It foresees what a run will do to a kernel, as far as names are known; what turns out different is
//! decided anew, by whoever runs.

use std::collections::BTreeSet;

use inkcell_kernel::Name;

use super::held::closure;
use super::{CellNow, EVERYTHING, Freshness, Held, Makers, TO_COME, Why};

/// For each cell why it has to run; none where it need not.
pub(crate) fn needed(cells: &[CellNow<'_>], marks: &[Freshness], held: &Held) -> Vec<Option<Why>> {
    let marked = |mark: &Freshness| (*mark != Freshness::Fresh).then(|| Why::Marked(mark.clone()));
    let mut whys: Vec<Option<Why>> = marks.iter().map(marked).collect();
    // Every round adds a cell or is the last.
    while add_needed(cells, held, &mut whys) {}
    whys
}

/// Goes through the run as it is planned, and adds what is found missing; whether there was anything.
fn add_needed(cells: &[CellNow<'_>], held: &Held, whys: &mut [Option<Why>]) -> bool {
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
                    whys[maker] = Some(Why::Needed { name, by: cell.index });
                    has_added = true;
                }
            }
            run(place, cell, whys[place].as_ref(), &mut held);
        }
        makers.pass(place, cell);
    }
    has_added
}

/// What the cell will be looking for; none where nobody knows.
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
    // A function may be another one by now, and take something else.
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

/// Cells that make one of these names, which is not held as they made it.
fn missing(
    names: &BTreeSet<&str>,
    cells: &[CellNow<'_>],
    makers: &Makers<'_>,
    held: &Held,
) -> Vec<(usize, Option<String>)> {
    let missing = |name: &&str| {
        let maker = makers.of(name)?;
        let is_held = is_held(name, &cells[maker], maker, held);
        (!is_held).then(|| (maker, Some((*name).to_owned())))
    };
    names.iter().filter_map(missing).collect()
}

/// The same of everything that was made above.
fn missing_of_all(
    above: &[CellNow<'_>],
    makers: &Makers<'_>,
    held: &Held,
) -> Vec<(usize, Option<String>)> {
    let mut missing = Vec::new();
    for (place, cell) in above.iter().enumerate() {
        let Some(trace) = cell.trace() else { continue };
        let is_done = held.has_done(trace.made()) || held.has_done(TO_COME + place as u64);
        let is_held = match cell.makes() {
            // What it does besides making names may matter, too.
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

/// Whether the kernel holds a name as this cell made it, or will have made it by then.
fn is_held(name: &str, cell: &CellNow<'_>, place: usize, held: &Held) -> bool {
    let maker = held.maker(name);
    maker.is_some()
        && (maker == cell.trace().map(super::Trace::made) || maker == Some(TO_COME + place as u64))
}

/// What the kernel will hold when the cell has run.
fn run(place: usize, cell: &CellNow<'_>, why: Option<&Why>, held: &mut Held) {
    let made = match (why, cell.trace()) {
        (Some(Why::Needed { .. }), Some(trace)) => trace.made(),
        _ => TO_COME + place as u64,
    };
    match cell.makes() {
        Some(makes) => held.put(made, makes),
        None if cell.trace().is_some() => held.put_all(made),
        None => held.put(made, []),
    }
}
