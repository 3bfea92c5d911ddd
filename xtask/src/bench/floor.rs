//! Small programs that a measurement starts from a dist build of this binary.
//!
//! Owns the floors (the least work that could do the job), the stop watch, and the check of a peer's
//! file. Each is a process of its own: a floor has to pay for its start as its peers do. The stop
//! watch has to be small, because a child's peak memory cannot read below that of the process that
//! started it. Must not know the peers.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::measure::usage;
use super::notebook_file;

const CHUNK: usize = 1 << 20;

pub(super) fn run(args: &[String]) -> Result<()> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["copy", path] => copy(Path::new(path)),
        ["hash", path] => hash(Path::new(path)),
        ["measure", stderr, program, rest @ ..] => measure(Path::new(stderr), program, rest),
        ["make", before, after, megabytes] => {
            notebook_file::write_pair(Path::new(before), Path::new(after), megabytes.parse()?)
        }
        ["verify", expected, actual, cell] => {
            verify(Path::new(expected), Path::new(actual), cell.parse()?)
        }
        _ => bail!("no such program: {args:?}"),
    }
}

/// The floor of an edit: reads and writes every byte once, and makes the file durable as a careful
/// save does.
fn copy(path: &Path) -> Result<()> {
    let folder = path.parent().context("a file has a folder")?;
    let beside = path.with_extension("floor-tmp");
    let mut input = File::open(path)?;
    let mut output = File::options().write(true).create_new(true).open(&beside)?;
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = input.read(&mut chunk)?;
        if count == 0 {
            break;
        }
        output.write_all(&chunk[..count])?;
    }
    output.sync_all()?;
    std::fs::rename(&beside, path)?;
    File::open(folder)?.sync_all()?;
    Ok(())
}

/// The floor of an outline: reads the whole file into fresh memory, and hashes it with BLAKE3 on one
/// thread.
fn hash(path: &Path) -> Result<()> {
    let bytes = std::fs::read(path)?;
    println!("{}", blake3::hash(&bytes).to_hex());
    Ok(())
}

/// Runs one command and prints its cost, from before its start to after its end.
fn measure(stderr: &Path, program: &str, args: &[&str]) -> Result<()> {
    let errors = File::create(stderr)?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    let start = Instant::now();
    let status = match command.status() {
        Ok(status) => status,
        Err(error) => {
            println!("{}", json!({"failure": format!("cannot start: {error}")}));
            return Ok(());
        }
    };
    let wall = start.elapsed();
    if !status.success() {
        println!("{}", json!({"failure": status.to_string()}));
        return Ok(());
    }
    // This process has had one child so far, so the cost of all children is the cost of that one.
    let (cpu_ms, peak_mib) = usage::cost_of_children()?;
    println!("{}", json!({"ms": wall.as_secs_f64() * 1e3, "cpu_ms": cpu_ms, "peak_mib": peak_mib}));
    Ok(())
}

/// Rates a peer's file, best first: the expected bytes, the expected values in other bytes, or the
/// number of changed values beside the edited source.
fn verify(expected: &Path, actual: &Path, cell: usize) -> Result<()> {
    let (expected, actual) = (std::fs::read(expected)?, std::fs::read(actual)?);
    if expected == actual {
        println!("edited, every other byte untouched");
        return Ok(());
    }
    let expected: Value = serde_json::from_slice(&expected)?;
    let actual: Value = serde_json::from_slice(&actual)?;
    if joined(&expected["cells"][cell]["source"]) != joined(&actual["cells"][cell]["source"]) {
        bail!("cell {cell} does not have the new source");
    }
    let mut differing = Vec::new();
    differences(&expected, &actual, "", &mut differing);
    match differing.first() {
        None => println!("edited, same values but other bytes changed"),
        Some(first) => {
            println!("edited, but {} other values differ, first {first}", differing.len());
        }
    }
    Ok(())
}

fn joined(source: &Value) -> String {
    match source {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

fn differences(expected: &Value, actual: &Value, place: &str, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(left), Value::Object(right)) => {
            let extra = right.keys().filter(|key| !left.contains_key(*key));
            found.extend(extra.map(|key| format!("{place}/{key} (new)")));
            for (key, value) in left {
                differences(
                    value,
                    right.get(key).unwrap_or(&Value::Null),
                    &format!("{place}/{key}"),
                    found,
                );
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                differences(left, right, &format!("{place}/{index}"), found);
            }
        }
        (left, right) if left == right => {}
        _ => found.push(place.to_owned()),
    }
}
