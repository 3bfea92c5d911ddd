//! The names that chosen cells need and that other cells of the notebook make: those that the kernel does not hold, and
//! those that it may hold from an earlier run.
//!
//! Owns that comparison. It is pure: the kernel has said which names of a cell are absent, so code that ran at a prompt
//! counts as well. A name counts as missing only if that is certain.

use std::collections::HashSet;

use inkcell_kernel::{CodeNames, Name};

use crate::error::MissingName;

/// Which names of the cells of a run are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Takes {
    /// Those that the kernel does not hold.
    Absent,
    /// All that a cell takes from before it.
    Any,
}

/// Names that no earlier cell of the run makes, each with the position of the cell that needs it. `planned` holds the
/// cells of the run in order, with their names if they are known.
pub(super) fn wanted(planned: &[(usize, Option<CodeNames>)], which: Takes) -> Vec<(usize, &Name)> {
    let mut made: HashSet<&Name> = HashSet::new();
    let mut wanted = Vec::new();
    for (user, names) in planned {
        // Such a cell may make every name that a later one needs.
        let Some(names) = names else { break };
        let meant = match which {
            Takes::Absent => &names.absent,
            Takes::Any => &names.uses,
        };
        let is_own = |name: &Name| which == Takes::Any && names.own.contains(name);
        let is_meant = |name: &&Name| !made.contains(*name) && !is_own(name);
        wanted.extend(meant.iter().filter(is_meant).map(|name| (*user, name)));
        made.extend(&names.makes);
    }
    wanted
}

/// Those of the wanted names that a cell above makes, with the nearest such cell. `others` holds the cells that are not
/// of the run.
pub(super) fn found_above(
    wanted: &[(usize, &Name)],
    others: &[(usize, Option<CodeNames>)],
) -> Vec<MissingName> {
    let makes = |names: &Option<CodeNames>, name: &Name| {
        names.as_ref().is_some_and(|names| names.makes.contains(name))
    };
    let found = |&(user, name): &(usize, &Name)| {
        let mut above = others.iter().rev().filter(|(at, _)| *at < user);
        let (maker, _) = above.find(|(_, names)| makes(names, name))?;
        Some(MissingName { name: name.to_string(), maker: *maker, user })
    };
    wanted.iter().filter_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Names = &'static [&'static str];
    type Cell = (usize, Option<(Names, Names)>);
    /// The cells of a run, the other cells, and what is missing: a name, its maker and its user.
    type Row = (&'static [Cell], &'static [Cell], &'static [(&'static str, usize, usize)]);

    /// Cells with the names that are absent and those that they make.
    fn cells(cells: &[Cell]) -> Vec<(usize, Option<CodeNames>)> {
        let texts = |names: &[&str]| names.iter().map(|name| Name::from(*name)).collect();
        let names = |(absent, makes): (&[&str], &[&str])| CodeNames {
            absent: texts(absent),
            makes: texts(makes),
            ..CodeNames::default()
        };
        cells.iter().map(|(at, known)| (*at, known.map(names))).collect()
    }

    #[test]
    fn names_are_missing_if_only_cells_that_do_not_run_make_them() {
        let table: &[Row] = &[
            (&[(4, Some((&["x"], &[])))], &[(0, Some((&[], &["x"])))], &[("x", 0, 4)]),
            // The nearest cell above counts, and one below does not.
            (
                &[(4, Some((&["x", "y"], &[])))],
                &[
                    (0, Some((&[], &["x"]))),
                    (2, Some((&["x"], &["x"]))),
                    (5, Some((&[], &["x", "y"]))),
                ],
                &[("x", 2, 4)],
            ),
            // The run makes it itself.
            (
                &[(1, Some((&[], &["x"]))), (4, Some((&["x"], &[])))],
                &[(0, Some((&[], &["x"])))],
                &[],
            ),
            // A later cell of the run makes it too late.
            (
                &[(2, Some((&["x"], &["x"]))), (4, Some((&["x", "y"], &[])))],
                &[(0, Some((&[], &["x"]))), (3, Some((&[], &["y"])))],
                &[("x", 0, 2), ("y", 3, 4)],
            ),
            // No cell makes it: the run shows what becomes of that.
            (&[(4, Some((&["x"], &[])))], &[(0, Some((&[], &["y"])))], &[]),
            // The kernel has it.
            (&[(4, Some((&[], &[])))], &[(0, Some((&[], &["x"])))], &[]),
            // What is unknown may make everything, or nothing.
            (&[(1, None), (4, Some((&["x"], &[])))], &[(0, Some((&[], &["x"])))], &[]),
            (&[(4, Some((&["x"], &[])))], &[(0, None)], &[]),
            (&[(4, None)], &[(0, Some((&[], &["x"])))], &[]),
        ];
        for (planned, others, missing) in table {
            let planned_cells = cells(planned);
            let found = found_above(&wanted(&planned_cells, Takes::Absent), &cells(others));
            let found: Vec<(&str, usize, usize)> =
                found.iter().map(|one| (one.name.as_str(), one.maker, one.user)).collect();
            assert_eq!(found, *missing, "{planned:?} {others:?}");
        }
    }
}
