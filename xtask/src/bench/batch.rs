//! The family `batch`: many notebooks in one command, beside one command for each.
//!
//! Owns its command line, the notebooks, the tables and the goals. Must not know how a command is timed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Parser;
use serde_json::{Value, json};

use super::family::{Family, Options, Report, forget, measured};
use super::notebook_file::{lines, to_text, with_cells};
use super::peers::{self, Peer};
use super::report::Goal;
use super::run::{Arena, Size, folder};
use super::sample::interleave_named;
use super::stale::stale;
use super::table::{Column, Shown, Table};
use super::wide::wide;
use crate::workspace::Workspace;

const FAMILY: Family =
    Family { name: "batch", title: "Batches of notebooks, and stale cells", notes: NOTES };

const NOTES: &[&str] = &[
    "Whole commands, from before the start to after the end; medians inside one table. They take turns within a round, each round begins with another one, one round before the first warms up. Goals are ratios of one run.",
    "Everybody uses the same interpreter and sees the same environment, made from a list. Each begins with fresh notebooks and must leave every one run, without an error; otherwise it has no figures.",
    "many: 20 notebooks of 10 small cells, two at a time. xargs -P 2 starts the next when one of two has ended.",
    "wide: 64 notebooks that compute for about 0.2 s each, 16 at once and as many as there are cores, beside the same code as scripts, as many at a time, started by xargs. taskset binds all of them to the same cores, at most 16.",
    "matrix: 20 combinations of a notebook whose first cell takes 3 s and does not use the parameters, beside 20 runs one after the other, and beside the same batch that shares nothing.",
    "stale: the outline of a notebook of 1,000 cells that inkcell has run, each using what cells above it made, beside the outline of the same file under another name, of which nothing is on record.",
];

const FAMILIES: [(&str, Measure); 4] =
    [("many", many), ("wide", wide), ("matrix", matrix), ("stale", stale)];

type Measure = fn(&Arena, &Size) -> Result<Table>;

const BATCH: &str = "inkcell run -j 2";
const EACH: &str = "inkcell run by xargs -P 2";
const PAPERMILL: &str = "papermill by xargs -P 2";
const SHARED: &str = "inkcell run --matrix --share-prefix -j 2";
const UNSHARED: &str = "inkcell run --matrix -j 2";
const RUNS: &str = "20 times inkcell run -p";

/// How many notebooks, or combinations.
const MANY: usize = 20;

/// How many cells each has.
const CELLS: usize = 10;

#[derive(Parser)]
#[command(name = "cargo xtask bench batch", bin_name = "cargo xtask bench batch")]
pub(super) struct BatchArgs {
    /// What to measure [default: all].
    #[arg(value_parser = FAMILIES.map(|family| family.0))]
    families: Vec<String>,
    /// Rounds for each table [default: its own].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    #[command(flatten)]
    options: Options,
}

pub(super) fn run(args: &BatchArgs) -> Result<()> {
    let workspace = Workspace::find()?;
    let mut report = Report::begin(&FAMILY, &args.options, &workspace)?;
    let python = peers::python_env(&workspace)?;
    report.head(&python, peers::pinned(&workspace)?);
    let arena = Arena::new(&workspace, FAMILY.name, python, None)?;
    let size = Size { is_quick: args.options.quick, rounds: args.rounds };
    let tables = measured(&args.families, &FAMILIES, |measure| measure(&arena, &size))?;
    forget(&arena.root)?;
    report.close(&tables)
}

/// One who takes part: a line for a shell, in which `$1` is inkcell and `$2` the interpreter.
struct Contender {
    name: &'static str,
    line: &'static str,
    /// Where its notebooks are in the end.
    leaves: &'static str,
}

impl Contender {
    fn peer(&self, arena: &Arena) -> Peer {
        let words = ["sh", "-c", self.line, "sh"].map(OsString::from);
        let mut command = Vec::from(words);
        command.push(arena.programs.inkcell.clone().into());
        command.push(arena.programs.python.clone().into());
        Peer { name: self.name, command, quick: self.name == BATCH || self.name == SHARED }
    }
}

fn measure(
    arena: &Arena,
    contenders: &[Contender],
    rounds: usize,
    write: impl Fn(&Path) -> Result<()>,
) -> Result<Vec<(&'static str, super::row::Row)>> {
    let peers: Vec<Peer> = contenders.iter().map(|contender| contender.peer(arena)).collect();
    let before = |peer: &Peer| -> Result<PathBuf> {
        let dir = folder(&arena.root, peer.name);
        if dir.exists() {
            std::fs::remove_dir_all(&dir)?;
        }
        for name in ["nb", "out"] {
            std::fs::create_dir_all(dir.join(name))?;
        }
        write(&dir.join("nb"))?;
        Ok(dir)
    };
    let after = |peer: &Peer| {
        let leaves = contenders.iter().find(|contender| contender.name == peer.name);
        let leaves = leaves.map_or("out", |contender| contender.leaves);
        Ok(check(&folder(&arena.root, peer.name).join(leaves), MANY))
    };
    interleave_named(&peers, rounds, &arena.watch, before, after)
}

fn many(arena: &Arena, size: &Size) -> Result<Table> {
    let contenders = [
        Contender {
            name: BATCH,
            line: "\"$1\" run --python \"$2\" 'nb/*.ipynb' -j 2 -q -o 'out/{name}'",
            leaves: "out",
        },
        Contender {
            name: EACH,
            line: "cd nb && ls | xargs -P 2 -I{} \"$1\" run --python \"$2\" -q -o ../out/{} {}",
            leaves: "out",
        },
        Contender {
            name: PAPERMILL,
            line: "cd nb && ls | xargs -P 2 -I{} papermill --no-progress-bar {} ../out/{} 2>/dev/null",
            leaves: "out",
        },
    ];
    let write = |dir: &Path| {
        (0..MANY).try_for_each(|number| {
            let cells: Vec<(String, bool)> = (0..CELLS)
                .map(|cell| (format!("x{cell} = {number}\nprint(x{cell})"), false))
                .collect();
            put(&dir.join(format!("{number:02}.ipynb")), &cells)
        })
    };
    let rows = measure(arena, &contenders, size.rounds(3), write)?;
    let against = Column("times the batch", Shown::Times("ms", BATCH));
    let mut table =
        Table::of_processes("many", "20 notebooks of 10 cells, two at a time", rows, against);
    table.goals = many_goals(&table);
    Ok(table)
}

fn many_goals(table: &Table) -> Vec<Goal> {
    let times = table.times("ms", PAPERMILL, BATCH);
    vec![Goal::at_least("20 notebooks, quicker than papermill by xargs", times, 3.0)]
}

fn matrix(arena: &Arena, size: &Size) -> Result<Table> {
    let contenders = [
        Contender {
            name: SHARED,
            line: "\"$1\" run --python \"$2\" nb/m.ipynb -j 2 -q --share-prefix -o 'out/{y}.ipynb' \
                   --matrix y=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19",
            leaves: "out",
        },
        Contender {
            name: UNSHARED,
            line: "\"$1\" run --python \"$2\" nb/m.ipynb -j 2 -q -o 'out/{y}.ipynb' \
                   --matrix y=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19",
            leaves: "out",
        },
        Contender {
            name: RUNS,
            line: "for y in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do \
                   \"$1\" run --python \"$2\" nb/m.ipynb -q -p y $y -o out/$y.ipynb || exit 1; done",
            leaves: "out",
        },
    ];
    let write = |dir: &Path| {
        let mut cells = vec![
            ("import time\ntime.sleep(3)\ntable = list(range(100_000))".to_owned(), false),
            ("y = -1".to_owned(), true),
        ];
        cells.extend((2..CELLS).map(|cell| (format!("print({cell}, y, table[y])"), false)));
        put(&dir.join("m.ipynb"), &cells)
    };
    let rows = measure(arena, &contenders, size.rounds(1), write)?;
    let against = Column("times the shared", Shown::Times("ms", SHARED));
    let title = "20 combinations with 3 s that all have in common";
    let mut table = Table::of_processes("matrix", title, rows, against);
    table.goals = matrix_goals(&table);
    Ok(table)
}

fn matrix_goals(table: &Table) -> Vec<Goal> {
    let times = table.times("ms", RUNS, SHARED);
    vec![Goal::at_least("a matrix of 20, quicker than 20 runs", times, 8.0)]
}

/// A notebook that was never run; of each cell its source, and whether it has the defaults.
pub(super) fn put(path: &Path, cells: &[(String, bool)]) -> Result<()> {
    let cell = |(index, (source, has_defaults)): (usize, &(String, bool))| {
        let tags: &[&str] = if *has_defaults { &["parameters"] } else { &[] };
        json!({"cell_type": "code", "execution_count": null, "id": format!("cell-{index:03}"),
            "metadata": {"tags": tags}, "outputs": [], "source": lines(source)})
    };
    let cells: Vec<Value> = cells.iter().enumerate().map(cell).collect();
    Ok(std::fs::write(path, to_text(&with_cells(&cells))?)?)
}

/// Why a folder does not hold every notebook, each with all cells run and none failed.
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
    use super::super::row::Row;
    use super::*;

    #[test]
    fn goals_are_made_of_the_figures() {
        let ms = |ms: f64| {
            let mut row = Row::default();
            row.add(&json!({"ms": ms}));
            row
        };
        let table = |rows| {
            let against = Column("times", Shown::Times("ms", BATCH));
            Table::of_processes("many", "", rows, against)
        };
        let quick = table(vec![(BATCH, ms(100.0)), (PAPERMILL, ms(300.0))]);
        let slow = table(vec![(BATCH, ms(100.0)), (PAPERMILL, ms(290.0))]);
        assert!(many_goals(&quick)[0].passed() && !many_goals(&slow)[0].passed());
        let shared = table(vec![(SHARED, ms(100.0)), (RUNS, ms(810.0))]);
        assert!(matrix_goals(&shared)[0].passed() && !matrix_goals(&slow)[0].passed());
    }

    #[test]
    fn a_notebook_that_was_not_run_counts_for_nothing() {
        assert!(is_well(&json!({"execution_count": 1, "outputs": []})));
        assert!(!is_well(&json!({"execution_count": null, "outputs": []})));
        assert!(!is_well(&json!({"execution_count": 1, "outputs": [{"output_type": "error"}]})));
        assert!(BatchArgs::try_parse_from(["batch", "many", "--quick"]).is_ok());
        assert!(BatchArgs::try_parse_from(["batch", "few"]).is_err());
    }
}
