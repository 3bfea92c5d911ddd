//! The report about checked notebooks: lines for people, an object for programs.
//!
//! Owns the lines and the keys. The sentences are in `words`.

use std::io;

use inkcell_engine::api::State;
use inkcell_engine::notebook::{CellVerdict, OutputDifference, PartDifference, RunSide};
use serde_json::{Value, json};

use super::{CheckedCell, Outcome, VerifiedNotebook};
use crate::exit::Exit;
use crate::host::Refusal;
use crate::output::{Output, count};
use crate::setup::quoted;
use crate::words;

/// The most lines of a difference that are shown.
const MAX_LINES: usize = 20;

/// The most characters of a line that are shown.
const MAX_WIDE: usize = 160;

/// The reason why a notebook was not checked and the next step, in a sentence.
pub(super) fn sentence(Refusal { message, hint, .. }: &Refusal) -> String {
    hint.as_ref().map_or_else(|| message.clone(), |step| format!("{message}; {step}"))
}

pub(super) fn write(
    checked: &VerifiedNotebook,
    is_quiet: bool,
    output: &mut Output,
) -> io::Result<()> {
    let path = &checked.path;
    let took = format!("{:.1} s", checked.took.as_secs_f64());
    let cells = match &checked.outcome {
        Outcome::NeverRun => {
            return output.line(&words::verify::never_run(path, &quoted(path)));
        }
        Outcome::Failed(refusal) => {
            return output.line(&format!("{path}: not checked: {}", sentence(refusal)));
        }
        Outcome::Compared { cells, .. } => cells,
    };
    let bad = cells.iter().filter(|cell| !cell.is_good()).count();
    if bad == 0 && checked.exit() == Exit::Ok {
        if is_quiet {
            return Ok(());
        }
        return output.line(&format!("{path}: {} ({took})", good(cells)));
    }
    let all = count(cells.len(), "cell");
    let how = match checked.exit() {
        Exit::KernelDied => ", the kernel died",
        Exit::TimedOut => words::verify::TOOK_TOO_LONG,
        _ => "",
    };
    let are = if bad == 1 { "is" } else { "are" };
    output.line(&words::verify::differ(path, bad, &all, are, how, &took))?;
    for cell in cells.iter().filter(|cell| !cell.is_good()) {
        reasons(cell).iter().try_for_each(|line| output.line(line))?;
    }
    let path = quoted(path);
    output.line(&match checked.exit() {
        Exit::TimedOut => words::verify::give_time(&path),
        Exit::KernelDied => words::verify::see_what_ends(&path),
        _ => words::verify::store_them(&path),
    })
}

/// How many cells are unchanged, and how many were not checked.
fn good(cells: &[CheckedCell]) -> String {
    if cells.is_empty() {
        return words::verify::NOTHING_TO_COMPARE.to_owned();
    }
    let of = |wanted: fn(&CellVerdict) -> bool| {
        cells.iter().filter(|cell| wanted(&cell.compared.verdict)).count()
    };
    let same = of(|verdict| *verdict == CellVerdict::Same);
    let are = if same == 1 { "is" } else { "are" };
    let mut said = format!("{} {are} as stored", count(same, "cell"));
    let ignored = of(|verdict| *verdict == CellVerdict::Ignored);
    if ignored > 0 {
        said.push_str(&format!(", {ignored} not compared"));
    }
    let skipped = of(|verdict| *verdict == CellVerdict::Skipped);
    if skipped > 0 {
        said.push_str(&format!(", {skipped} not run"));
    }
    said
}

/// The name of a cell, as everywhere.
pub(super) fn cell_name(cell: &CheckedCell) -> String {
    match &cell.compared.cell.id {
        Some(id) => format!("cell {} ({id})", cell.compared.cell.index),
        None => format!("cell {}", cell.compared.cell.index),
    }
}

/// The lines about a cell that is not as stored.
pub(super) fn reasons(cell: &CheckedCell) -> Vec<String> {
    let name = cell_name(cell);
    match cell.state {
        State::NeverRun => return vec![format!("  {name} was not run")],
        State::TimedOut => return vec![words::verify::not_in_time(&name)],
        _ => {}
    }
    match &cell.compared.verdict {
        CellVerdict::Failed { name: error, value } => {
            vec![format!("  {name} failed: {error}: {}", short(value))]
        }
        CellVerdict::Different(differences) => {
            let head = std::iter::once(format!("  {name} differs"));
            head.chain(differences.iter().flat_map(difference_lines)).collect()
        }
        CellVerdict::Same | CellVerdict::Ignored | CellVerdict::Skipped => Vec::new(),
    }
}

fn difference_lines(one: &OutputDifference) -> Vec<String> {
    let part = &one.part;
    let head = match &one.how {
        PartDifference::Picture(how) => format!("    {part}: {how}"),
        PartDifference::Missing { side: RunSide::Old, .. } => {
            format!("    {part}: {}", words::verify::NOT_SHOWN)
        }
        PartDifference::Missing { side: RunSide::New, .. } => {
            format!("    {part}: {}", words::verify::NOT_STORED)
        }
        PartDifference::Text { .. } => format!("    {part}:"),
    };
    let mut said = vec![head];
    let lines = one.how.lines();
    for (side, line) in lines.iter().take(MAX_LINES) {
        let sign = match side {
            None => ' ',
            Some(RunSide::Old) => '-',
            Some(RunSide::New) => '+',
        };
        said.push(format!("    {sign} {}", short(line)));
    }
    if let more @ 1.. = lines.len().saturating_sub(MAX_LINES) {
        said.push(format!("      and {} more", count(more, "line")));
    }
    said
}

fn short(line: &str) -> String {
    let line = line.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_WIDE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

pub(super) fn summary(all: &[VerifiedNotebook]) -> String {
    let good = all.iter().filter(|checked| checked.exit() == Exit::Ok).count();
    words::verify::are_as_stored(good, &count(all.len(), "notebook"))
}

pub(super) fn as_json(all: &[VerifiedNotebook]) -> Value {
    let good = all.iter().all(|checked| checked.exit() == Exit::Ok);
    json!({
        "status": if good { "same" } else { "different" },
        "notebooks": all.iter().map(notebook).collect::<Vec<_>>(),
    })
}

fn notebook(checked: &VerifiedNotebook) -> Value {
    let mut told = json!({"path": checked.path, "seconds": checked.took.as_secs_f64()});
    match &checked.outcome {
        Outcome::NeverRun => told["status"] = json!("never_run"),
        Outcome::Failed(refusal) => {
            told["status"] = json!("not_checked");
            told["error"] = json!(sentence(refusal));
        }
        Outcome::Compared { state, cells } => {
            let is_good = checked.exit() == Exit::Ok;
            told["status"] = json!(if is_good { "same" } else { "different" });
            told["run"] = json!(state.name());
            told["cells"] = cells.iter().map(cell).collect();
        }
    }
    told
}

fn cell(cell: &CheckedCell) -> Value {
    let verdict = match &cell.compared.verdict {
        CellVerdict::Skipped => "skipped",
        _ if cell.state == State::NeverRun => "not_run",
        _ if cell.state == State::TimedOut => "timed_out",
        CellVerdict::Same => "same",
        CellVerdict::Different(_) => "different",
        CellVerdict::Failed { .. } => "failed",
        CellVerdict::Ignored => "ignored",
    };
    let mut told = json!({
        "index": cell.compared.cell.index, "id": cell.compared.cell.id, "verdict": verdict,
    });
    match &cell.compared.verdict {
        CellVerdict::Failed { name, value } => {
            told["error"] = json!({"name": name, "value": value});
        }
        CellVerdict::Different(differences) => {
            told["differences"] = differences.iter().map(difference).collect();
        }
        _ => {}
    }
    told
}

fn difference(one: &OutputDifference) -> Value {
    let (stored, now, how) = match &one.how {
        PartDifference::Text { old, new } => (json!(old), json!(new), Value::Null),
        PartDifference::Picture(how) => (Value::Null, Value::Null, json!(how)),
        PartDifference::Missing { side: RunSide::Old, text } => {
            (json!(text), Value::Null, json!(words::verify::NOT_SHOWN))
        }
        PartDifference::Missing { side: RunSide::New, text } => {
            (Value::Null, json!(text), json!(words::verify::NOT_STORED))
        }
    };
    json!({"part": one.part, "stored": stored, "now": now, "how": how})
}
