//! The family `notebook`: compares a one-cell edit and an outline, at several sizes, with the peers.
//!
//! Owns its command line, the state from which each measured process starts, and the goals. Must not know the
//! command line of any peer.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Parser;
use serde_json::{Value, json};

use super::arena::Arena;
use super::contender::{Contender, EDITS, FLOOR, INKCELL, NBFORMAT, NOTEBOOK, OUTLINES};
use super::family::fail_unless_met;
use super::measure::{Process, Rounds, Rows};
use super::notebook_file::{SOURCE_AFTER, SOURCE_BEFORE, cell_count, settle, target_index};
use super::peers;
use super::table::{Column, Goal, PROCESS, Statistic, Table, load};
use crate::child;
use crate::workspace::Workspace;

const NOTES: &[&str] = &[
    "Whole processes, from before the start to after the end. Medians; compare only inside a table.",
    "Peers take turns within a round, each round begins with another one, one round before the first warms up.",
    "Only the floor and inkcell fsync (file and folder) and rename; the others leave their bytes to the kernel, which is in their favour.",
    "Each edit starts from a fresh copy, synced and in the page cache. Reads find the file in the page cache too.",
    "The floor of an edit is a copy in pieces of 1 MiB; of an outline, a read into fresh memory and a BLAKE3 on one thread.",
    "jupytext makes both conversions in one process, which spares it a start. Peak memory is the largest of all samples.",
];

#[derive(Parser)]
#[command(name = "cargo xtask bench notebook", bin_name = "cargo xtask bench notebook")]
struct NotebookArgs {
    /// Sizes of the notebooks in MB.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100])]
    sizes: Vec<usize>,
    /// Rounds for each size [default: fewer for larger files].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Write all figures to this file too.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Exit with a failure if a goal is missed.
    #[arg(long)]
    check: bool,
}

/// The state of each contender's file or output, checked once.
type Verdicts = BTreeMap<&'static str, String>;

/// A notebook on disk, and the same notebook after a faultless edit.
struct Subject {
    megabytes: usize,
    file: PathBuf,
    expected: PathBuf,
    bytes: u64,
}

pub(super) fn run(args: &[String]) -> Result<()> {
    let args = NotebookArgs::parse_from(args);
    let workspace = Workspace::find()?;
    let mut missing = peers::build(&workspace)?;
    let mut arena = Arena::new(&workspace, "notebook", &peers::python_env(&workspace)?)?;
    let versions = prepare(&workspace, &mut arena, &mut missing)?;
    println!("\n## Notebook files\n\nVersions: {}. {}", versions.join(", "), load());
    println!("{}", smallest_peak(&arena)?);

    let mut tables = Vec::new();
    for megabytes in &args.sizes {
        let rounds = Rounds::warm(args.rounds.unwrap_or(match megabytes {
            0..=5 => 15,
            6..=50 => 9,
            _ => 5,
        }));
        let subject = make(&arena, *megabytes)?;
        for table in [edit(&arena, &subject, rounds)?, outline(&arena, &subject, rounds)?] {
            table.print();
            tables.push(table);
        }
    }
    println!("\nNotes:");
    for note in NOTES {
        println!("- {note}");
    }
    println!("- At the end: {}", load());
    for missing in &missing {
        println!("MISSING PEER: {missing}");
    }
    let figures: Vec<Value> = tables.iter().map(Table::to_json).collect();
    let goals: Vec<Goal> = tables.into_iter().flat_map(|table| table.goals).collect();
    println!("\nGoals:");
    for goal in &goals {
        println!("{}", goal.line());
    }
    if let Some(path) = &args.json {
        let report = json!({"family": "notebook", "versions": versions, "missing": missing, "tables": figures});
        std::fs::write(path, serde_json::to_string_pretty(&report)? + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    fail_unless_met(args.check, &goals)
}

/// Finds the programs that may be missing; returns the versions of all.
fn prepare(
    workspace: &Workspace,
    arena: &mut Arena,
    missing: &mut Vec<String>,
) -> Result<Vec<String>> {
    let mut versions = vec![peers::first_line(Command::new(&arena.python).arg("--version"))];
    arena.programs.nb = peers::nb_cli(workspace, missing);
    arena.programs.node = child::on_path("node");
    match &arena.programs.node {
        Some(node) => versions
            .push("Node ".to_owned() + &peers::first_line(Command::new(node).arg("--version"))),
        None => missing.push("node is not on PATH, no row for its JSON".to_owned()),
    }
    versions.extend(peers::pinned(workspace)?);
    versions.push(peers::nb_cli_version());
    Ok(versions)
}

fn make(arena: &Arena, megabytes: usize) -> Result<Subject> {
    let file = arena.root.join(format!("notebook-{megabytes}mb.ipynb"));
    let expected = arena.root.join(format!("notebook-{megabytes}mb-edited.ipynb"));
    let mut maker = Command::new(&arena.xtask);
    maker.args(["bench", "floor", "make"]).arg(&file).arg(&expected).arg(megabytes.to_string());
    child::capture(&mut maker)?;
    let bytes = file.metadata()?.len();
    Ok(Subject { megabytes, file, expected, bytes })
}

fn edit(arena: &Arena, subject: &Subject, rounds: Rounds) -> Result<Table> {
    let file_of = |name: &str| arena.folder(name).join(NOTEBOOK);
    let cell = target_index(subject.megabytes);
    let process = |contender: &Contender| {
        let words: [OsString; 3] =
            [cell.to_string().into(), SOURCE_AFTER.into(), SOURCE_BEFORE.into()];
        let values: Vec<OsString> =
            [file_of(contender.name).into()].into_iter().chain(words).collect();
        arena.process(contender, &values)
    };
    let processes: Vec<Process> = EDITS.iter().filter_map(process).collect();
    let verdicts = RefCell::new(Verdicts::new());
    let before = |process: &Process| {
        let dir = arena.empty_folder(process.name, &[])?;
        let file = file_of(process.name);
        std::fs::copy(&subject.file, &file)?;
        settle(&dir, &file)?;
        warm(&file)?;
        Ok(dir)
    };
    let after = |process: &Process| {
        let (dir, file) = (arena.folder(process.name), file_of(process.name));
        // Data that a peer left in the kernel's buffers must not be written in the next one's time.
        settle(&dir, &file)?;
        let mut verdicts = verdicts.borrow_mut();
        if process.name == FLOOR || verdicts.contains_key(process.name) {
            return Ok(Ok(()));
        }
        Ok(verify(arena, subject, &file, cell).map(|verdict| {
            verdicts.insert(process.name, verdict);
        }))
    };
    let take = || arena.run_in_turn(&processes, rounds, before, after);
    let mut table = table("edit", subject, take)?;
    judge(&mut table, &verdicts.borrow());
    let to_floor = table.times("ms", INKCELL, FLOOR);
    let peak = table.row(INKCELL).and_then(|row| row.most(SHARE));
    table.goals = match subject.megabytes {
        100 => vec![
            Goal::at_most("edit 100 MB, time to floor", to_floor, 2.5),
            Goal::at_most("edit 100 MB, peak memory to file size", peak, 1.3),
        ],
        1 => vec![
            Goal::at_most("edit 1 MB, time to floor", to_floor, 2.0),
            Goal::at_least(
                "edit 1 MB, quicker than nbformat",
                table.times("ms", NBFORMAT, INKCELL),
                20.0,
            ),
        ],
        _ => Vec::new(),
    };
    Ok(table)
}

/// The contenders only read, so they share a file.
fn outline(arena: &Arena, subject: &Subject, rounds: Rounds) -> Result<Table> {
    let values: [OsString; 1] = [subject.file.clone().into()];
    let processes: Vec<Process> =
        OUTLINES.iter().filter_map(|contender| arena.process(contender, &values)).collect();
    warm(&subject.file)?;
    let verdicts = RefCell::new(Verdicts::new());
    let after = |process: &Process| {
        let mut verdicts = verdicts.borrow_mut();
        if process.name == FLOOR || verdicts.contains_key(process.name) {
            return Ok(Ok(()));
        }
        let (program, args) = process.command.split_first().context("a command has a program")?;
        let printed = child::capture(arena.command(program, &arena.root).args(args))?;
        let (lines, cells) = (printed.lines().count(), cell_count(subject.megabytes));
        if lines == 0 {
            return Ok(Err("printed nothing".to_owned()));
        }
        verdicts.insert(process.name, format!("{lines} lines for {cells} cells"));
        Ok(Ok(()))
    };
    let take = || arena.run_in_turn(&processes, rounds, |_| Ok(arena.root.clone()), after);
    let mut table = table("outline", subject, take)?;
    judge(&mut table, &verdicts.borrow());
    if subject.megabytes == 100 {
        let to_floor = table.times("ms", INKCELL, FLOOR);
        table.goals = vec![Goal::at_most("outline 100 MB, time to floor", to_floor, 1.7)];
    }
    Ok(table)
}

/// The peak memory as a multiple of the file's size.
const SHARE: &str = "peak_to_file";

fn table(
    job: &'static str,
    subject: &Subject,
    take: impl FnOnce() -> Result<Rows>,
) -> Result<Table> {
    let mebibytes = subject.bytes as f64 / 1024.0 / 1024.0;
    let mut columns = PROCESS.to_vec();
    columns.extend([
        Column("peak / file", Statistic::MostShare(SHARE)),
        Column("time / floor", Statistic::Times("ms", FLOOR)),
        Column("quicker than nbformat", Statistic::Under("ms", NBFORMAT)),
    ]);
    let title = format!("{} MB ({mebibytes:.1} MiB)", subject.megabytes);
    Table::measure(job, title, columns, || {
        let mut rows = take()?;
        for (_, row) in &mut rows {
            if let Some(peak) = row.most("peak_mib") {
                row.add(&json!({SHARE: peak / mebibytes}));
            }
        }
        Ok(rows)
    })
}

/// Adds the result of each job under the table, and a note if the floor cannot be trusted.
fn judge(table: &mut Table, verdicts: &Verdicts) {
    let mut notes = Vec::new();
    for (name, _) in &table.rows {
        if table.times("ms", name, FLOOR).is_some_and(|ratio| ratio < 0.97) {
            notes.push(format!(
                "WARNING: the floor is slower than {name}, which stands on it: read neither as exact."
            ));
        }
    }
    for (name, _) in &table.rows {
        notes.extend(verdicts.get(name).map(|verdict| format!("result of {name}: {verdict}")));
    }
    table.notes = notes;
}

fn warm(file: &Path) -> Result<()> {
    let mut file = File::open(file)?;
    let mut chunk = vec![0; 1 << 20];
    while file.read(&mut chunk)? > 0 {}
    Ok(())
}

/// Rates a peer's file, or returns the reason why its time has no meaning.
fn verify(arena: &Arena, subject: &Subject, file: &Path, cell: usize) -> Result<String, String> {
    let mut verifier = Command::new(&arena.xtask);
    verifier.args(["bench", "floor", "verify"]).arg(&subject.expected).arg(file);
    verifier.arg(cell.to_string());
    child::capture(&mut verifier)
        .map(|text| text.trim().to_owned())
        .map_err(|error| format!("did not make the edit: {error:#}"))
}

/// A peak cannot read below that of the stop watch; a program that does nothing shows that limit.
fn smallest_peak(arena: &Arena) -> Result<String> {
    let nothing = child::on_path("true").context("there is no program `true` on PATH")?;
    let found = arena.time(&[nothing.into()], &arena.root)?.map_err(anyhow::Error::msg)?;
    let peak = found["peak_mib"].as_f64().context("the stop watch says no peak")?;
    Ok(format!("Smallest peak this can read (`true`): {peak:.1} MiB."))
}

#[cfg(test)]
mod tests {
    use super::super::table::table_of;
    use super::*;

    #[test]
    fn floor_that_is_slower_is_not_to_be_trusted() {
        let mut table = table_of(&[(FLOOR, 100.0), (INKCELL, 90.0), (NBFORMAT, 200.0)]);
        judge(&mut table, &[(INKCELL, "edited".to_owned())].into());
        assert_eq!(table.notes.len(), 2);
        assert!(table.notes[0].starts_with("WARNING: the floor is slower than inkcell"));
        assert_eq!(table.notes[1], "result of inkcell: edited");
    }
}
