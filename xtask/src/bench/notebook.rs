//! The family `notebook`: a one-cell edit and an outline, at several sizes, beside the peers.
//!
//! Owns the files under `target/bench` and the state each measured process starts from. Must not
//! know the command line of any peer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::NotebookArgs;
use super::notebook_file::{cell_count, target_index};
use super::peers::{FLOOR, Peer, Tools};
use super::report::{Job, Table};
use super::sample::{StopWatch, interleave};
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

/// A notebook on disk, and the same one as a faultless edit leaves it.
struct Subject {
    megabytes: usize,
    file: PathBuf,
    expected: PathBuf,
    bytes: u64,
}

pub(super) fn run(args: &NotebookArgs) -> Result<()> {
    let workspace = Workspace::find()?;
    let tools = Tools::prepare(&workspace)?;
    let root = workspace.path("target/bench");
    let state_dir = root.join("state");
    let watch = StopWatch {
        xtask: tools.xtask.clone(),
        env: vec![("INKCELL_STATE_DIR", state_dir.clone().into())],
        stderr: root.join("stderr.txt"),
    };
    // What an earlier run left behind would make this one's first edits differ from its later ones.
    for dir in [&state_dir, &root.join("work")] {
        if dir.exists() {
            std::fs::remove_dir_all(dir)?;
        }
        std::fs::create_dir_all(dir)?;
    }
    println!("\n## Notebook files\n\nVersions: {}. {}", tools.versions.join(", "), load());
    println!("{}", smallest_peak(&watch, &root)?);

    let mut tables = Vec::new();
    for megabytes in &args.sizes {
        let rounds = args.rounds.unwrap_or(match megabytes {
            0..=5 => 15,
            6..=50 => 9,
            _ => 5,
        });
        let subject = make(&tools, &root, *megabytes)?;
        for table in [
            edit(&tools, &watch, &root, &subject, rounds)?,
            outline(&tools, &watch, &root, &subject, rounds)?,
        ] {
            table.print();
            tables.push(table);
        }
    }
    close(&tables, &tools, args)
}

fn make(tools: &Tools, root: &Path, megabytes: usize) -> Result<Subject> {
    let file = root.join(format!("notebook-{megabytes}mb.ipynb"));
    let expected = root.join(format!("notebook-{megabytes}mb-edited.ipynb"));
    let mut maker = Command::new(&tools.xtask);
    maker.args(["bench", "floor", "make"]).arg(&file).arg(&expected).arg(megabytes.to_string());
    child::capture(&mut maker)?;
    let bytes = file.metadata()?.len();
    Ok(Subject { megabytes, file, expected, bytes })
}

fn edit(
    tools: &Tools,
    watch: &StopWatch,
    root: &Path,
    subject: &Subject,
    rounds: usize,
) -> Result<Table> {
    let dir_of = |name: &str| root.join("work").join(name.replace(' ', "-"));
    let file_of = |name: &str| dir_of(name).join("notebook.ipynb");
    let cell = target_index(subject.megabytes);
    let peers = tools.edits(file_of, cell);
    let mut verdicts = BTreeMap::new();
    let before = |peer: &Peer| {
        let dir = dir_of(peer.name);
        if dir.exists() {
            std::fs::remove_dir_all(&dir)?;
        }
        std::fs::create_dir_all(&dir)?;
        let file = file_of(peer.name);
        std::fs::copy(&subject.file, &file)?;
        settle(&dir, &file)?;
        warm(&file)?;
        Ok(dir)
    };
    let after = |peer: &Peer| {
        let file = file_of(peer.name);
        // What a peer left for the kernel to write must not be written in the next one's time.
        settle(&dir_of(peer.name), &file)?;
        if peer.name == FLOOR || verdicts.contains_key(peer.name) {
            return Ok(Ok(()));
        }
        Ok(verify(tools, subject, &file, cell).map(|verdict| {
            verdicts.insert(peer.name, verdict);
        }))
    };
    let rows = interleave(&peers, rounds, watch, before, after)?;
    Ok(Table {
        job: Job::Edit,
        megabytes: subject.megabytes,
        file_bytes: subject.bytes,
        peers,
        rows,
        verdicts,
    })
}

fn outline(
    tools: &Tools,
    watch: &StopWatch,
    root: &Path,
    subject: &Subject,
    rounds: usize,
) -> Result<Table> {
    let peers = tools.outlines(&subject.file);
    warm(&subject.file)?;
    let before = |_: &Peer| Ok(root.to_path_buf());
    let mut verdicts = BTreeMap::new();
    let after = |peer: &Peer| {
        if peer.name == FLOOR || verdicts.contains_key(peer.name) {
            return Ok(Ok(()));
        }
        let lines = watch.lines_of(&peer.command, root)?;
        if lines == 0 {
            return Ok(Err("printed nothing".to_owned()));
        }
        let cells = cell_count(subject.megabytes);
        verdicts.insert(peer.name, format!("{lines} lines for {cells} cells"));
        Ok(Ok(()))
    };
    let rows = interleave(&peers, rounds, watch, before, after)?;
    Ok(Table {
        job: Job::Outline,
        megabytes: subject.megabytes,
        file_bytes: subject.bytes,
        peers,
        rows,
        verdicts,
    })
}

pub(super) fn settle(dir: &Path, file: &Path) -> Result<()> {
    File::open(file)?.sync_all()?;
    File::open(dir)?.sync_all()?;
    Ok(())
}

fn warm(file: &Path) -> Result<()> {
    let mut file = File::open(file)?;
    let mut chunk = vec![0; 1 << 20];
    while file.read(&mut chunk)? > 0 {}
    Ok(())
}

/// What a peer made of its file, or why its time means nothing.
fn verify(tools: &Tools, subject: &Subject, file: &Path, cell: usize) -> Result<String, String> {
    let mut verifier = Command::new(&tools.xtask);
    verifier.args(["bench", "floor", "verify"]).arg(&subject.expected).arg(file);
    verifier.arg(cell.to_string());
    child::capture(&mut verifier)
        .map(|text| text.trim().to_owned())
        .map_err(|error| format!("did not make the edit: {error:#}"))
}

/// A peak cannot read below that of the stop watch; a program that does nothing shows where that is.
fn smallest_peak(watch: &StopWatch, root: &Path) -> Result<String> {
    let nothing = child::on_path("true").context("there is no program `true` on PATH")?;
    let sample = watch.run(&[nothing.into()], root)?.map_err(|said| anyhow::anyhow!(said))?;
    Ok(format!("Smallest peak this can read (`true`): {:.1} MiB.", sample.peak_kib / 1024.0))
}

/// How busy the machine is with other things; nothing where the system does not say.
pub(super) fn load() -> String {
    let Ok(text) = std::fs::read_to_string("/proc/loadavg") else { return String::new() };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let minutes: Vec<_> = text.split(' ').take(2).collect();
    format!("Load average {} on {cores} cores.", minutes.join(", "))
}

fn close(tables: &[Table], tools: &Tools, args: &NotebookArgs) -> Result<()> {
    println!("\nNotes:");
    for note in NOTES {
        println!("- {note}");
    }
    println!("- At the end: {}", load());
    for missing in &tools.missing {
        println!("MISSING PEER: {missing}");
    }
    let goals: Vec<_> = tables.iter().flat_map(Table::goals).collect();
    println!("\nGoals:");
    for goal in &goals {
        println!("{}", goal.line());
    }
    if let Some(path) = &args.json {
        let all: Vec<Value> = tables.iter().map(Table::to_json).collect();
        let report = json!({"family": "notebook", "versions": tools.versions, "missing": tools.missing, "tables": all});
        std::fs::write(path, serde_json::to_string_pretty(&report)? + "\n")
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let missed = goals.iter().filter(|goal| !goal.passed()).count();
    if args.check && missed > 0 {
        bail!("{missed} of {} goals missed", goals.len());
    }
    Ok(())
}
