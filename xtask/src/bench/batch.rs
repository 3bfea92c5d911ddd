//! The family `batch`: compares many notebooks in one command with one command for each.
//!
//! Owns its command line, the notebooks, the tables and the goals. Must not know how a command is timed.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::arena::Arena;
use super::family::{Family, RoundsArg};
use super::measure::{Process, Rounds, Rows, Size};
use super::notebook_file::write_cells;
use super::peers;
use super::stale::stale;
use super::table::{Column, Goal, PROCESS, Statistic, Table};
use super::wide::wide;

const NOTES: &[&str] = &[
    "Whole commands, from before the start to after the end; medians inside one table. They take turns within a round, each round begins with another one, one round before the first warms up. Goals are ratios of one run.",
    "Everybody uses the same interpreter and sees the same environment, made from a list. Each begins with fresh notebooks and must leave every one run, without an error; otherwise it has no figures.",
    "many: 20 notebooks of 10 small cells, two at a time. xargs -P 2 starts the next when one of two has ended.",
    "wide: 64 notebooks that compute for about 0.2 s each, 16 at once and as many as there are cores, beside the same code as scripts, as many at a time, started by xargs. taskset binds all of them to the same cores, at most 16.",
    "matrix: 20 combinations of a notebook whose first cell takes 3 s and does not use the parameters, beside 20 runs one after the other, and beside the same batch that shares nothing.",
    "stale: the outline of a notebook of 1,000 cells that inkcell has run, each using what cells above it made, beside the outline of the same file under another name, of which nothing is on record.",
];

type Measure = fn(&Arena, &Size) -> Result<Table>;

static FAMILY: Family<Measure> = Family {
    name: "batch",
    title: "Batches of notebooks, and stale cells",
    parts: &[("many", many), ("wide", wide), ("matrix", matrix), ("stale", stale)],
    notes: NOTES,
};

const BATCH: &str = "inkcell run -j 2";
const EACH: &str = "inkcell run by xargs -P 2";
const PAPERMILL: &str = "papermill by xargs -P 2";
const SHARED: &str = "inkcell run --matrix --share-prefix -j 2";
const UNSHARED: &str = "inkcell run --matrix -j 2";
const RUNS: &str = "20 times inkcell run -p";

/// The number of notebooks, or of combinations.
const MANY: usize = 20;

/// The number of cells in each.
const CELLS: usize = 10;

pub(super) fn run(args: &[String]) -> Result<()> {
    let mut report = FAMILY.begin::<RoundsArg>(args)?;
    let python = peers::python_env(&report.workspace)?;
    report.head(&python, peers::pinned(&report.workspace)?);
    let arena = Arena::new(&report.workspace, FAMILY.name, &python)?;
    let size = report.size(report.extra.rounds, None);
    report.measure(|_, measure| Ok(vec![measure(&arena, &size)?]))?;
    report.close()
}

/// A contender in a folder with notebooks in `nb`: a line for a shell, in which `$1` is inkcell and `$2` the
/// interpreter; the table adds the rest.
pub(super) fn shell(
    arena: &Arena,
    name: &'static str,
    line: &str,
    more: &[&str],
    is_quick: bool,
) -> Process {
    let mut command = Vec::from(["sh", "-c", line, "sh"].map(OsString::from));
    command.extend([arena.inkcell.clone().into(), arena.python.clone().into()]);
    command.extend(more.iter().map(OsString::from));
    Process { name, command, is_quick }
}

/// Runs all contenders by turns, each in a folder with new notebooks, and checks the contents of `out`
/// afterwards.
pub(super) fn in_folders(
    arena: &Arena,
    processes: &[Process],
    rounds: Rounds,
    write: impl Fn(&Path, &str) -> Result<()>,
    check: impl Fn(&Path, &str) -> Result<(), String>,
) -> Result<Rows> {
    let before = |process: &Process| {
        let dir = arena.empty_folder(process.name, &["nb", "out"])?;
        write(&dir.join("nb"), process.name)?;
        Ok(dir)
    };
    let after =
        |process: &Process| Ok(check(&arena.folder(process.name).join("out"), process.name));
    arena.run_in_turn(processes, rounds, before, after)
}

fn many(arena: &Arena, size: &Size) -> Result<Table> {
    let processes = [
        (BATCH, "\"$1\" run --python \"$2\" 'nb/*.ipynb' -j 2 -q -o 'out/{name}'"),
        (EACH, "cd nb && ls | xargs -P 2 -I{} \"$1\" run --python \"$2\" -q -o ../out/{} {}"),
        (
            PAPERMILL,
            "cd nb && ls | xargs -P 2 -I{} papermill --no-progress-bar {} ../out/{} 2>/dev/null",
        ),
    ]
    .map(|(name, line)| shell(arena, name, line, &[], name == BATCH));
    let write = |dir: &Path, _: &str| {
        (0..MANY).try_for_each(|number| {
            let cells: Vec<String> =
                (0..CELLS).map(|cell| format!("x{cell} = {number}\nprint(x{cell})")).collect();
            let cells = cells.iter().map(|source| (source.as_str(), false));
            write_cells(&dir.join(format!("{number:02}.ipynb")), cells)
        })
    };
    let times = Column("times the batch", Statistic::Times("ms", BATCH));
    let columns = [&PROCESS[..], &[times]].concat();
    let title = "20 notebooks of 10 cells, two at a time";
    let mut table = Table::measure("many", title, columns, || {
        in_folders(arena, &processes, size.rounds(3, 1), write, |out, _| check(out, MANY))
    })?;
    table.goals = many_goals(&table);
    Ok(table)
}

fn many_goals(table: &Table) -> Vec<Goal> {
    let times = table.times("ms", PAPERMILL, BATCH);
    vec![Goal::at_least("20 notebooks, quicker than papermill by xargs", times, 3.0)]
}

fn matrix(arena: &Arena, size: &Size) -> Result<Table> {
    let processes = [
        (
            SHARED,
            "\"$1\" run --python \"$2\" nb/m.ipynb -j 2 -q --share-prefix -o 'out/{y}.ipynb' \
             --matrix y=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19",
        ),
        (
            UNSHARED,
            "\"$1\" run --python \"$2\" nb/m.ipynb -j 2 -q -o 'out/{y}.ipynb' \
             --matrix y=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19",
        ),
        (
            RUNS,
            "for y in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do \
             \"$1\" run --python \"$2\" nb/m.ipynb -q -p y $y -o out/$y.ipynb || exit 1; done",
        ),
    ]
    .map(|(name, line)| shell(arena, name, line, &[], name == SHARED));
    let write = |dir: &Path, _: &str| {
        let slow = "import time\ntime.sleep(3)\ntable = list(range(100_000))".to_owned();
        let mut cells = vec![(slow, false), ("y = -1".to_owned(), true)];
        cells.extend((2..CELLS).map(|cell| (format!("print({cell}, y, table[y])"), false)));
        let cells = cells.iter().map(|(source, has_defaults)| (source.as_str(), *has_defaults));
        write_cells(&dir.join("m.ipynb"), cells)
    };
    let times = Column("times the shared", Statistic::Times("ms", SHARED));
    let columns = [&PROCESS[..], &[times]].concat();
    let title = "20 combinations with 3 s that all have in common";
    let mut table = Table::measure("matrix", title, columns, || {
        in_folders(arena, &processes, size.rounds(1, 1), write, |out, _| check(out, MANY))
    })?;
    table.goals = matrix_goals(&table);
    Ok(table)
}

fn matrix_goals(table: &Table) -> Vec<Goal> {
    let times = table.times("ms", RUNS, SHARED);
    vec![Goal::at_least("a matrix of 20, quicker than 20 runs", times, 8.0)]
}

/// Checks that a folder holds every notebook, each with all cells run and none failed.
pub(super) fn check(dir: &Path, wanted: usize) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("left no notebooks: {error}");
    let mut found = 0;
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let text = std::fs::read(&path).map_err(failed)?;
        let notebook: Value = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
        let mut cells = notebook["cells"].as_array().into_iter().flatten();
        if !cells.all(is_well) {
            return Err(format!("{} was not run to its end", path.display()));
        }
        found += 1;
    }
    if found == wanted { Ok(()) } else { Err(format!("left {found} notebooks of {wanted}")) }
}

fn is_well(cell: &Value) -> bool {
    let outputs = cell["outputs"].as_array();
    cell["execution_count"].is_u64()
        && outputs.is_some_and(|all| all.iter().all(|output| output["output_type"] != "error"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::table::table_of;
    use super::*;

    #[test]
    fn goals_are_made_of_the_figures() {
        let quick = table_of(&[(BATCH, 100.0), (PAPERMILL, 300.0)]);
        let slow = table_of(&[(BATCH, 100.0), (PAPERMILL, 290.0)]);
        assert!(many_goals(&quick)[0].passed() && !many_goals(&slow)[0].passed());
        let shared = table_of(&[(SHARED, 100.0), (RUNS, 810.0)]);
        assert!(matrix_goals(&shared)[0].passed() && !matrix_goals(&slow)[0].passed());
    }

    #[test]
    fn a_notebook_that_was_not_run_counts_for_nothing() {
        assert!(is_well(&json!({"execution_count": 1, "outputs": []})));
        assert!(!is_well(&json!({"execution_count": null, "outputs": []})));
        assert!(!is_well(&json!({"execution_count": 1, "outputs": [{"output_type": "error"}]})));
    }
}
