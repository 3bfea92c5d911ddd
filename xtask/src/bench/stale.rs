//! The table `stale` of the family `batch`: what it costs to know which cells of a notebook are stale.
//!
//! Owns the notebook, the two who take part and the goal. Must not know how a process is timed.

use std::path::Path;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::notebook::settle;
use super::notebook_file::{lines, to_text, with_cells};
use super::peers::Peer;
use super::report::Goal;
use super::run::{Arena, Size, folder};
use super::sample::interleave_named;
use super::table::{Column, Shown, Table};

const RECORDED: &str = "read --outline, with records";
const UNKNOWN: &str = "read --outline, without";

/// The two files of the table `stale`: one that was run, and the same without what is known about it.
const RAN: &str = "ran.ipynb";
const COPY: &str = "copy.ipynb";

pub(super) fn stale(arena: &Arena, size: &Size) -> Result<Table> {
    let dir = folder(&arena.root, "stale");
    std::fs::create_dir_all(&dir)?;
    let file = dir.join(RAN);
    std::fs::write(&file, to_text(&long())?)?;
    let inkcell = &arena.programs.inkcell;
    let mut run = arena.watch.command(inkcell, &dir);
    if !run.args(["run", "--quiet", RAN]).status()?.success() {
        bail!("the notebook whose outline is measured does not run");
    }
    std::fs::copy(&file, dir.join(COPY))?;
    for name in [RAN, COPY] {
        settle(&dir, &dir.join(name))?;
    }
    must_be_fresh(arena, &dir)?;
    let peer = |name, file: &str| {
        let args = ["read", "--outline", file].map(Into::into);
        let command = [inkcell.into()].into_iter().chain(args).collect();
        Peer { name, command, quick: true }
    };
    let peers = [peer(RECORDED, RAN), peer(UNKNOWN, COPY)];
    let here = |_: &Peer| Ok(dir.clone());
    let rows = interleave_named(&peers, size.rounds(25), &arena.watch, here, |_| Ok(Ok(())))?;
    let against = Column("times without", Shown::Times("ms", UNKNOWN));
    let mut table =
        Table::of_processes("stale", "the outline of 1,000 cells that were run", rows, against);
    let times = table.times("ms", RECORDED, UNKNOWN);
    table.goals = vec![Goal::at_most("stale, time to reading without records", times, 1.2)];
    Ok(table)
}

/// What is measured must be what it is called.
fn must_be_fresh(arena: &Arena, dir: &Path) -> Result<()> {
    for (name, wanted) in [(RAN, CELLS), (COPY, 0)] {
        let mut read = arena.watch.command(&arena.programs.inkcell, dir);
        let told = crate::child::capture(read.args(["read", "--outline", name]))?;
        let fresh = told.lines().filter(|line| line.contains(" fresh ")).count();
        if fresh != wanted {
            bail!("{fresh} cells of {name} are fresh, not {wanted}");
        }
    }
    Ok(())
}

const CELLS: usize = 1_000;

/// A thousand cells, each with some lines that use what three cells above it made, and an output.
fn long() -> Value {
    let cell = |index: usize| {
        let name = |back: usize| match index.checked_sub(back) {
            Some(above) => format!("value_{above}"),
            None => "1".to_owned(),
        };
        let source = format!(
            "# Step {index} of a long analysis\ndef step_{index}(rows, scale=2):\n    return [row * scale + {} for row in rows]\n\n\nvalue_{index} = sum(step_{index}(range(5))) % 1000 + len(str({}))\nprint(\"step\", {index}, value_{index}, {})",
            name(1),
            name(7),
            name(90),
        );
        json!({
            "cell_type": "code", "execution_count": null, "id": format!("step-{index:04}"),
            "metadata": {}, "outputs": [], "source": lines(&source),
        })
    };
    with_cells(&(0..CELLS).map(cell).collect::<Vec<_>>())
}
