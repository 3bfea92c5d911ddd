//! The table `stale` of the family `batch`: measures the cost of finding the stale cells of a
//! notebook.
//!
//! Owns the notebook, the two contenders and the goal. Must not know how a process is timed.

use std::path::Path;

use anyhow::{Result, bail};

use super::arena::Arena;
use super::contender::Contender;
use super::measure::Size;
use super::notebook_file::{settle, write_cells};
use super::table::{Column, Goal, PROCESS, Statistic, Table};

const RECORDED: Contender =
    Contender::quick("read --outline, with records", &["{inkcell}", "read", "--outline", RAN]);
const UNKNOWN: Contender =
    Contender::quick("read --outline, without", &["{inkcell}", "read", "--outline", COPY]);

/// Files of the table `stale`: a notebook that was run, and a copy without records of its run.
const RAN: &str = "ran.ipynb";
const COPY: &str = "copy.ipynb";

pub(super) fn stale(arena: &Arena, size: &Size) -> Result<Table> {
    let dir = arena.empty_folder("stale", &[])?;
    let sources: Vec<String> = (0..CELLS).map(source).collect();
    write_cells(&dir.join(RAN), sources.iter().map(|source| (source.as_str(), false)))?;
    let mut run = arena.command(&arena.inkcell, &dir);
    if !run.args(["run", "--quiet", RAN]).status()?.success() {
        bail!("the notebook whose outline is measured does not run");
    }
    std::fs::copy(dir.join(RAN), dir.join(COPY))?;
    for name in [RAN, COPY] {
        settle(&dir, &dir.join(name))?;
    }
    must_be_fresh(arena, &dir)?;
    let processes: Vec<_> =
        [RECORDED, UNKNOWN].iter().filter_map(|row| arena.process(row, &[])).collect();
    let times = Column("times without", Statistic::Times("ms", UNKNOWN.name));
    let columns = [&PROCESS[..], &[times]].concat();
    let title = "the outline of 1,000 cells that were run";
    let mut table = Table::measure("stale", title, columns, || {
        arena.run_in_turn(&processes, size.rounds(25, 1), |_| Ok(dir.clone()), |_| Ok(Ok(())))
    })?;
    let times = table.times("ms", RECORDED.name, UNKNOWN.name);
    table.goals = vec![Goal::at_most("stale, time to reading without records", times, 1.2)];
    Ok(table)
}

/// Checks that the cells of the first file are fresh, and that nothing is known about the copy's.
fn must_be_fresh(arena: &Arena, dir: &Path) -> Result<()> {
    for (name, wanted) in [(RAN, CELLS), (COPY, 0)] {
        let mut read = arena.command(&arena.inkcell, dir);
        let told = crate::child::capture(read.args(["read", "--outline", name]))?;
        let fresh = told.lines().filter(|line| line.contains(" fresh ")).count();
        if fresh != wanted {
            bail!("{fresh} cells of {name} are fresh, not {wanted}");
        }
    }
    Ok(())
}

const CELLS: usize = 1_000;

/// A cell with some lines that use variables of three cells above it, and an output.
fn source(index: usize) -> String {
    let name = |back: usize| match index.checked_sub(back) {
        Some(above) => format!("value_{above}"),
        None => "1".to_owned(),
    };
    format!(
        "# Step {index} of a long analysis\ndef step_{index}(rows, scale=2):\n    return [row * scale + {} for row in rows]\n\n\nvalue_{index} = sum(step_{index}(range(5))) % 1000 + len(str({}))\nprint(\"step\", {index}, value_{index}, {})",
        name(1),
        name(7),
        name(90),
    )
}
