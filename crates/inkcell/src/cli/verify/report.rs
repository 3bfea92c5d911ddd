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
use crate::view::answer::{self, Shape};
use crate::view::paint::Role;
use crate::words;

/// The most lines of a difference that are shown.
const MAX_LINES: usize = 20;

/// The most characters of a line that are shown.
const MAX_WIDE: usize = 160;

/// The reason why a notebook was not checked and the next step, in a sentence.
fn sentence(Refusal { message, hint, .. }: &Refusal) -> String {
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
            return result(false, &words::verify::never_run(path, &quoted(path)), output);
        }
        Outcome::Failed(refusal) => {
            let line = format!("{path}: not checked: {}", sentence(refusal));
            return result(false, &line, output);
        }
        Outcome::Compared { cells, .. } => cells,
    };
    let bad = cells.iter().filter(|cell| !cell.is_good()).count();
    if bad == 0 && checked.exit() == Exit::Ok {
        if is_quiet {
            return Ok(());
        }
        return result(true, &format!("{path}: {} ({took})", good(cells)), output);
    }
    let all = count(cells.len(), "cell");
    let how = match checked.exit() {
        Exit::KernelDied => ", the kernel died",
        Exit::TimedOut => words::verify::TOOK_TOO_LONG,
        _ => "",
    };
    let are = if bad == 1 { "is" } else { "are" };
    result(false, &words::verify::differ(path, bad, &all, are, how, &took), output)?;
    for cell in cells.iter().filter(|cell| !cell.is_good()) {
        write_cell(cell, output)?;
    }
    let path = quoted(path);
    let step = match checked.exit() {
        Exit::TimedOut => words::verify::give_time(&path),
        Exit::KernelDied => words::verify::see_what_ends(&path),
        _ => words::verify::store_them(&path),
    };
    answer::write(output, Shape::Sentence, &[(Role::Dim, &step)])
}

/// Writes a result, behind its mark on a terminal.
fn result(is_good: bool, line: &str, output: &mut Output) -> io::Result<()> {
    let mark = answer::mark(output, is_good);
    answer::write(output, Shape::Sentence, &[mark, (Role::Plain, line)])
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

fn name(cell: &CheckedCell) -> String {
    match &cell.compared.cell.id {
        Some(id) => format!("cell {} ({id})", cell.compared.cell.index),
        None => format!("cell {}", cell.compared.cell.index),
    }
}

fn write_cell(cell: &CheckedCell, output: &mut Output) -> io::Result<()> {
    let name = name(cell);
    match cell.state {
        State::NeverRun => return about(&format!("  {name} was not run"), output),
        State::TimedOut => return about(&words::verify::not_in_time(&name), output),
        _ => {}
    }
    match &cell.compared.verdict {
        CellVerdict::Failed { name: error, value } => {
            about(&format!("  {name} failed: {error}: {}", short(value)), output)
        }
        CellVerdict::Different(differences) => {
            about(&format!("  {name} differs"), output)?;
            differences.iter().try_for_each(|one| write_difference(one, output))
        }
        CellVerdict::Same | CellVerdict::Ignored | CellVerdict::Skipped => Ok(()),
    }
}

/// Writes a line about a cell.
fn about(line: &str, output: &mut Output) -> io::Result<()> {
    answer::write(output, Shape::Sentence, &[(Role::Error, line)])
}

fn write_difference(one: &OutputDifference, output: &mut Output) -> io::Result<()> {
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
    answer::write(output, Shape::Sentence, &[(Role::Plain, &head)])?;
    let lines = one.how.lines();
    for (side, line) in lines.iter().take(MAX_LINES) {
        let (sign, role) = match side {
            None => (' ', Role::Plain),
            Some(RunSide::Old) => ('-', Role::Error),
            Some(RunSide::New) => ('+', Role::Success),
        };
        let line = format!("    {sign} {}", short(line));
        answer::write(output, Shape::Row, &[(role, &line)])?;
    }
    match lines.len().saturating_sub(MAX_LINES) {
        0 => Ok(()),
        more => output.line(&format!("      and {} more", count(more, "line"))),
    }
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
