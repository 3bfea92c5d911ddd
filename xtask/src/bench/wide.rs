//! The table `wide` of the family `batch`: many kernels at once, beside as many scripts.
//!
//! Owns the notebooks, the same code as scripts, who takes part, on which cores, and the goals. Must not know how a
//! process is timed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::batch::{check, put};
use super::peers::Peer;
use super::report::Goal;
use super::run::{Arena, Size, folder};
use super::sample::interleave_named;
use super::table::{Column, Shown, Table};

/// How many notebooks, and how many cells each has.
const MANY: usize = 64;
const CELLS: usize = 4;

/// How many at once: the cores of the widest machine that has goals.
const MOST: usize = 16;

const WIDE: &str = "inkcell run -j 16";
const WIDE_SCRIPTS: &str = "python by xargs -P 16";
const CORES: &str = "inkcell run -j of the cores";
const CORES_SCRIPTS: &str = "python by xargs -P of the cores";

/// In these lines `$1` is inkcell, `$2` the interpreter, `$3` the cores to use and `$4` how many at once.
const BATCH: &str =
    "exec taskset -c \"$3\" \"$1\" run --python \"$2\" 'nb/*.ipynb' -j \"$4\" -q -o 'out/{name}'";
const SCRIPTS: &str = "ls nb/*.py | taskset -c \"$3\" xargs -P \"$4\" -n 1 \"$2\" > out/said";

pub(super) fn wide(arena: &Arena, size: &Size) -> Result<Table> {
    let mut cores = allowed_cores()?;
    cores.truncate(MOST);
    let list = cores.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let peer = |name, line: &str, jobs: usize| {
        let mut command = Vec::from(["sh", "-c", line, "sh"].map(OsString::from));
        command.push(arena.programs.inkcell.clone().into());
        command.push(arena.programs.python.clone().into());
        command.push(list.clone().into());
        command.push(jobs.to_string().into());
        Peer { name, command, quick: false }
    };
    let peers = [
        peer(WIDE, BATCH, MOST),
        peer(WIDE_SCRIPTS, SCRIPTS, MOST),
        peer(CORES, BATCH, cores.len()),
        peer(CORES_SCRIPTS, SCRIPTS, cores.len()),
    ];
    let before = |peer: &Peer| -> Result<PathBuf> {
        let dir = folder(&arena.root, peer.name);
        if dir.exists() {
            std::fs::remove_dir_all(&dir)?;
        }
        for name in ["nb", "out"] {
            std::fs::create_dir_all(dir.join(name))?;
        }
        write(&dir.join("nb"), peer.name)?;
        Ok(dir)
    };
    let after = |peer: &Peer| {
        let out = folder(&arena.root, peer.name).join("out");
        Ok(match peer.name {
            WIDE | CORES => check(&out, MANY),
            _ => check_scripts(&out.join("said")),
        })
    };
    let rows = interleave_named(&peers, size.rounds(3), &arena.watch, before, after)?;
    let title = format!(
        "64 notebooks of about 0.2 s, 16 at once and as many as cores, beside scripts, on {} cores",
        cores.len()
    );
    let against = Column("times 16 scripts", Shown::Times("ms", WIDE_SCRIPTS));
    let mut table = Table::of_processes("wide", &title, rows, against);
    table.goals = goals(&table);
    Ok(table)
}

fn goals(table: &Table) -> Vec<Goal> {
    let goal = |text: &str, batch: &str, scripts: &str| {
        Goal::at_most(text, table.times("ms", batch, scripts), 1.15)
    };
    vec![
        goal("64 notebooks, -j 16, time to scripts by xargs -P 16", WIDE, WIDE_SCRIPTS),
        goal("64 notebooks, -j of the cores, time to scripts by xargs -P", CORES, CORES_SCRIPTS),
    ]
}

/// The cores that this process may use.
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

/// Code that computes for about 50 ms.
fn source(number: usize, cell: usize) -> String {
    format!("x{cell} = sum(i * i for i in range(800_000 + {number}))\nprint(x{cell})")
}

fn write(dir: &Path, who: &str) -> Result<()> {
    for number in 0..MANY {
        let sources = (0..CELLS).map(|cell| source(number, cell));
        if matches!(who, WIDE | CORES) {
            let cells: Vec<(String, bool)> = sources.map(|source| (source, false)).collect();
            put(&dir.join(format!("{number:02}.ipynb")), &cells)?;
        } else {
            let text = sources.collect::<Vec<_>>().join("\n") + "\n";
            std::fs::write(dir.join(format!("{number:02}.py")), text)?;
        }
    }
    Ok(())
}

/// Why the output of the scripts is not complete.
fn check_scripts(said: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(said).map_err(|error| format!("left nothing: {error}"))?;
    let (lines, wanted) = (text.lines().count(), MANY * CELLS);
    if lines == wanted { Ok(()) } else { Err(format!("printed {lines} lines of {wanted}")) }
}

#[cfg(test)]
mod tests {
    use super::super::row::Row;
    use super::*;

    #[test]
    fn cores_are_read_as_the_system_lists_them() {
        assert_eq!(parse_cores("\t0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(parse_cores("5"), Some(vec![5]));
        assert_eq!(parse_cores(""), None);
    }

    #[test]
    fn goals_are_made_of_the_figures() {
        let ms = |ms: f64| {
            let mut row = Row::default();
            row.add(&serde_json::json!({"ms": ms}));
            row
        };
        let rows = vec![
            (WIDE, ms(114.0)),
            (WIDE_SCRIPTS, ms(100.0)),
            (CORES, ms(120.0)),
            (CORES_SCRIPTS, ms(100.0)),
        ];
        let against = Column("times", Shown::Times("ms", WIDE_SCRIPTS));
        let goals = goals(&Table::of_processes("wide", "", rows, against));
        assert!(goals[0].passed() && !goals[1].passed());
    }
}
