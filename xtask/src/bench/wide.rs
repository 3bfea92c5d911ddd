//! The table `wide` of the family `batch`: compares many kernels at once with as many scripts.
//!
//! Owns the notebooks, the same code as scripts, the contenders, their cores, and the goals. Must not know how a
//! process is timed.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::arena::Arena;
use super::batch::{check, in_folders, shell};
use super::measure::Size;
use super::notebook_file::write_cells;
use super::table::{Column, Goal, PROCESS, Statistic, Table};

/// The number of notebooks, and the number of cells in each.
const MANY: usize = 64;
const CELLS: usize = 4;

/// The largest number at once: the cores of the widest machine that has goals.
const MOST: usize = 16;

const WIDE: &str = "inkcell run -j 16";
const WIDE_SCRIPTS: &str = "python by xargs -P 16";
const CORES: &str = "inkcell run -j of the cores";
const CORES_SCRIPTS: &str = "python by xargs -P of the cores";

/// In these lines `$1` is inkcell, `$2` the interpreter, `$3` the cores to use and `$4` the number at once.
const BATCH: &str =
    "exec taskset -c \"$3\" \"$1\" run --python \"$2\" 'nb/*.ipynb' -j \"$4\" -q -o 'out/{name}'";
const SCRIPTS: &str = "ls nb/*.py | taskset -c \"$3\" xargs -P \"$4\" -n 1 \"$2\" > out/said";

pub(super) fn wide(arena: &Arena, size: &Size) -> Result<Table> {
    let mut cores = allowed_cores()?;
    cores.truncate(MOST);
    let list = cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let (most, all) = (MOST.to_string(), cores.len().to_string());
    let processes = [
        (WIDE, BATCH, &most),
        (WIDE_SCRIPTS, SCRIPTS, &most),
        (CORES, BATCH, &all),
        (CORES_SCRIPTS, SCRIPTS, &all),
    ]
    .map(|(name, line, jobs)| shell(arena, name, line, &[&list, jobs], false));
    let check = |out: &Path, name: &str| match name {
        WIDE | CORES => check(out, MANY),
        _ => check_scripts(&out.join("said")),
    };
    let title = format!(
        "64 notebooks of about 0.2 s, 16 at once and as many as cores, beside scripts, on {} cores",
        cores.len()
    );
    let times = Column("times 16 scripts", Statistic::Times("ms", WIDE_SCRIPTS));
    let columns = [&PROCESS[..], &[times]].concat();
    let mut table = Table::measure("wide", title, columns, || {
        in_folders(arena, &processes, size.rounds(3, 1), write, check)
    })?;
    table.goals = goals(&table);
    Ok(table)
}

/// Issue 21, 20: at most 1.15 times the scripts, on as many cores as there are.
fn goals(table: &Table) -> Vec<Goal> {
    let goal = |text: &str, batch: &str, scripts: &str| {
        Goal::at_most(text, table.times("ms", batch, scripts), 1.15)
    };
    vec![
        goal("64 notebooks, -j 16, time to scripts by xargs -P 16", WIDE, WIDE_SCRIPTS),
        goal("64 notebooks, -j of the cores, time to scripts by xargs -P", CORES, CORES_SCRIPTS),
    ]
}

/// Lists the cores that this process may use.
fn allowed_cores() -> Result<Vec<usize>> {
    let status = std::fs::read_to_string("/proc/self/status").context("which cores there are")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    parse_cores(list.unwrap_or_default()).context("the list of cores cannot be read")
}

/// Parses a list of cores such as `0-3,8`.
fn parse_cores(list: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cores.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(cores)
}

/// Makes code that computes for about 50 ms.
fn source(number: usize, cell: usize) -> String {
    format!("x{cell} = sum(i * i for i in range(800_000 + {number}))\nprint(x{cell})")
}

fn write(dir: &Path, who: &str) -> Result<()> {
    for number in 0..MANY {
        let sources: Vec<String> = (0..CELLS).map(|cell| source(number, cell)).collect();
        if matches!(who, WIDE | CORES) {
            let cells = sources.iter().map(|source| (source.as_str(), false));
            write_cells(&dir.join(format!("{number:02}.ipynb")), cells)?;
        } else {
            let text = sources.join("\n") + "\n";
            std::fs::write(dir.join(format!("{number:02}.py")), text)?;
        }
    }
    Ok(())
}

/// Checks that the output of the scripts is complete.
fn check_scripts(said: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(said).map_err(|error| format!("left nothing: {error}"))?;
    let (lines, wanted) = (text.lines().count(), MANY * CELLS);
    if lines == wanted { Ok(()) } else { Err(format!("printed {lines} lines of {wanted}")) }
}

#[cfg(test)]
mod tests {
    use super::super::table::table_of;
    use super::*;

    #[test]
    fn cores_are_read_as_the_system_lists_them() {
        assert_eq!(parse_cores("\t0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(parse_cores("5"), Some(vec![5]));
        assert_eq!(parse_cores(""), None);
    }

    #[test]
    fn goals_are_made_of_the_figures() {
        let table = table_of(&[
            (WIDE, 114.0),
            (WIDE_SCRIPTS, 100.0),
            (CORES, 120.0),
            (CORES_SCRIPTS, 100.0),
        ]);
        let goals = goals(&table);
        assert!(goals[0].passed() && !goals[1].passed());
    }
}
