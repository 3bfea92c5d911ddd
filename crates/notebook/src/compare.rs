//! Stored outputs against those of a new run: what counts as the same, by rules.
//!
//! Owns what of a cell's outputs is compared and how; `marks.rs` knows what a cell says about itself, `numbers.rs` when
//! two texts are the same but for their numbers. Whether two pictures look the same is asked of the caller. It must not
//! know how cells were run.

mod marks;
mod numbers;

use std::borrow::Cow;

use regex::Regex;
use similar::{ChangeTag, TextDiff};

pub use marks::{CellMarks, MAY_FAIL_TAG, SKIP_TAG};
pub use numbers::Tolerance;

use crate::cell::CellKind;
use crate::document::Notebook;
use crate::error::Candidate;
use crate::json;
use crate::output::OutputDigest;
use crate::view::{CellView, joined};

/// Parts that are made anew by every run.
const NEVER: [&str; 1] = ["application/vnd.jupyter.widget-view+json"];

/// What stands for what a pattern found.
const IGNORED: &str = "…";

/// What counts as the same.
#[derive(Clone, Debug, Default)]
pub struct CompareRules {
    /// How far numbers in texts may be apart; none for texts that must be equal.
    pub numbers: Option<Tolerance>,
    /// What these find is not compared.
    pub ignore: Vec<Regex>,
    /// Parts that are not compared: `stdout`, `stderr`, `error`, or a MIME type.
    pub skip: Vec<String>,
    /// Which cells are compared.
    pub which: CheckedCells,
}

/// Which cells are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CheckedCells {
    /// All but those that say that they are not.
    #[default]
    All,
    /// Only those that say that they are.
    Marked,
}

/// Two pictures, as they are stored.
#[derive(Clone, Copy, Debug)]
pub struct Pictures<'a> {
    /// Their type, such as `image/png`.
    pub mime: &'a str,
    /// The stored one, in base64.
    pub old: &'a str,
    /// The new one.
    pub new: &'a str,
}

/// What tells pictures apart: how they differ in a few words, and none when they look the same.
pub type ComparePictures<'a> = dyn Fn(&Pictures<'_>) -> Option<String> + 'a;

/// How a part of a cell's outputs differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputDifference {
    /// `stdout`, `stderr`, `error`, or a MIME type.
    pub part: String,
    /// How.
    pub how: Difference,
}

/// How two outputs differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Difference {
    /// Their text.
    Text {
        /// What is stored.
        old: String,
        /// What the new run showed.
        new: String,
    },
    /// How they look.
    Picture(String),
    /// There is one on one side only. Its text, where it is one.
    Missing {
        /// On which side it is.
        side: Side,
        /// What it says.
        text: String,
    },
}

/// One of the two runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// What is stored.
    Old,
    /// What the new run showed.
    New,
}

impl Difference {
    /// The lines that differ with those around them, each with its side; none for pictures.
    pub fn lines(&self) -> Vec<(Option<Side>, String)> {
        match self {
            Difference::Picture(_) => Vec::new(),
            Difference::Missing { side, text } => {
                text.lines().map(|line| (Some(*side), line.to_owned())).collect()
            }
            Difference::Text { old, new } => {
                let diff = TextDiff::from_lines(old, new);
                let groups = diff.grouped_ops(1);
                let changes = groups.iter().flatten().flat_map(|op| diff.iter_changes(op));
                let line = |change: similar::Change<&str>| {
                    let side = match change.tag() {
                        ChangeTag::Equal => None,
                        ChangeTag::Delete => Some(Side::Old),
                        ChangeTag::Insert => Some(Side::New),
                    };
                    (side, change.value().trim_end_matches(['\n', '\r']).to_owned())
                };
                changes.map(line).collect()
            }
        }
    }
}

/// What a comparison says about a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CellVerdict {
    /// The same outputs.
    Same,
    /// Other outputs.
    Different(Vec<OutputDifference>),
    /// It failed, which is not stored with it and which nothing allows.
    Failed {
        /// The exception.
        name: String,
        /// What it says.
        value: String,
    },
    /// Its outputs are not compared.
    Ignored,
    /// It is not run.
    Skipped,
}

/// A code cell, compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComparedCell {
    /// Which one.
    pub cell: Candidate,
    /// What is said about it.
    pub verdict: CellVerdict,
}

/// Whether a notebook has nothing to compare with: there is code to run, and no cell has a count or an output.
pub fn is_never_run(notebook: &Notebook) -> bool {
    has_code_to_run(notebook)
        && notebook
            .cells()
            .all(|cell| cell.execution_count().is_none() && cell.outputs().is_empty())
}

/// Whether any cell of a notebook would be run.
pub fn has_code_to_run(notebook: &Notebook) -> bool {
    notebook.cells().any(|cell| {
        cell.kind() == Some(CellKind::Code)
            && !cell.source().text.trim().is_empty()
            && !CellMarks::of(&cell).is_skipped
    })
}

/// Compares the outputs of a notebook with those of a copy of it that was run.
pub fn compare(
    stored: &Notebook,
    run: &Notebook,
    rules: &CompareRules,
    pictures: &ComparePictures<'_>,
) -> Vec<ComparedCell> {
    let is_code = |cell: &CellView<'_>| cell.kind() == Some(CellKind::Code);
    let cells = stored.cells().filter(is_code);
    let compared = cells.filter_map(|cell| {
        let verdict = verdict(&cell, &run.cell(cell.index())?, rules, pictures)?;
        Some(ComparedCell { cell: cell.name(), verdict })
    });
    compared.collect()
}

/// None for a cell without code.
fn verdict(
    old: &CellView<'_>,
    new: &CellView<'_>,
    rules: &CompareRules,
    pictures: &ComparePictures<'_>,
) -> Option<CellVerdict> {
    if old.source().text.trim().is_empty() {
        return None;
    }
    let marks = CellMarks::of(old);
    if marks.is_skipped {
        return Some(CellVerdict::Skipped);
    }
    let is_stored = error(old).is_some();
    if let Some((name, value)) = error(new).filter(|_| !is_stored && !marks.may_fail) {
        return Some(CellVerdict::Failed { name, value });
    }
    let is_checked = marks.checked.unwrap_or(rules.which == CheckedCells::All);
    if !is_checked {
        return Some(CellVerdict::Ignored);
    }
    let differences = differences(&parts(old, rules), &parts(new, rules), rules, pictures);
    Some(match differences.is_empty() {
        true => CellVerdict::Same,
        false => CellVerdict::Different(differences),
    })
}

/// The exception that a cell ended with.
fn error(cell: &CellView<'_>) -> Option<(String, String)> {
    cell.outputs().iter().rev().find_map(|output| match output.digest() {
        OutputDigest::Error { name, value } => Some((name, value)),
        _ => None,
    })
}

/// One part of what a cell shows: everything that was written to a stream, or one form of a display.
struct Part {
    name: String,
    text: String,
    is_picture: bool,
}

/// The parts of a cell, those of one name in their order. Streams are put together: how they were cut into pieces, and
/// how two of them were mixed, is a matter of time.
fn parts(cell: &CellView<'_>, rules: &CompareRules) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for output in cell.outputs() {
        match output.digest() {
            OutputDigest::Stream { name, .. } => {
                let text = output.text().unwrap_or_default();
                match parts.iter_mut().find(|part| part.name == name) {
                    Some(part) => part.text.push_str(&text),
                    None => parts.push(Part { name, text: text.into_owned(), is_picture: false }),
                }
            }
            OutputDigest::Error { name, value } => {
                let text = format!("{name}: {value}");
                parts.push(Part { name: "error".to_owned(), text, is_picture: false });
            }
            OutputDigest::Data { .. } => {
                let data = json::get(output.json(), "data").unwrap_or_default();
                for member in json::members(data) {
                    let name = json::decode(member.key.of(data)).text.into_owned();
                    let is_picture = name.starts_with("image/") && !name.ends_with("+xml");
                    let value = member.value.of(data);
                    let text = match value.first() {
                        Some(b'"' | b'[') if !is_json(&name) => joined(value).text.into_owned(),
                        _ => compact(value),
                    };
                    parts.push(Part { name, text, is_picture });
                }
            }
            OutputDigest::Other { kind } => {
                parts.push(Part { name: kind, text: compact(output.json()), is_picture: false });
            }
        }
    }
    let is_wanted =
        |part: &Part| !NEVER.contains(&part.name.as_str()) && !rules.skip.contains(&part.name);
    parts.retain(is_wanted);
    parts
}

fn is_json(mime: &str) -> bool {
    mime == "application/json" || mime.ends_with("+json")
}

/// JSON without the blanks between its words.
fn compact(value: &[u8]) -> String {
    let mut out = Vec::with_capacity(value.len());
    let (mut is_string, mut is_escaped) = (false, false);
    for &byte in value {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' if !is_string => continue,
            b'"' if !is_escaped => is_string = !is_string,
            _ => {}
        }
        is_escaped = byte == b'\\' && !is_escaped;
        out.push(byte);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// How parts differ: those of each name against each other, in order.
fn differences(
    old: &[Part],
    new: &[Part],
    rules: &CompareRules,
    pictures: &ComparePictures<'_>,
) -> Vec<OutputDifference> {
    let mut names: Vec<&str> = Vec::new();
    for part in old.iter().chain(new) {
        if !names.contains(&part.name.as_str()) {
            names.push(&part.name);
        }
    }
    let mut found = Vec::new();
    for name in names {
        let mut of_old = old.iter().filter(|part| part.name == name);
        let mut of_new = new.iter().filter(|part| part.name == name);
        loop {
            let how = match (of_old.next(), of_new.next()) {
                (None, None) => break,
                (Some(old), Some(new)) => one(old, new, rules, pictures),
                (Some(part), None) => missing(part, Side::Old, rules),
                (None, Some(part)) => missing(part, Side::New, rules),
            };
            found.extend(how.map(|how| OutputDifference { part: name.to_owned(), how }));
        }
    }
    found
}

fn missing(part: &Part, side: Side, rules: &CompareRules) -> Option<Difference> {
    // A text of which nothing is to be compared may as well not be there.
    let is_nothing = !part.is_picture && matches!(&*without(&part.text, rules), "" | IGNORED);
    let text = if part.is_picture { String::new() } else { part.text.clone() };
    (!is_nothing).then_some(Difference::Missing { side, text })
}

fn one(
    old: &Part,
    new: &Part,
    rules: &CompareRules,
    pictures: &ComparePictures<'_>,
) -> Option<Difference> {
    if old.text == new.text {
        return None;
    }
    if old.is_picture {
        let both = Pictures { mime: &old.name, old: old.text.trim(), new: new.text.trim() };
        return pictures(&both).map(Difference::Picture);
    }
    let (before, after) = (without(&old.text, rules), without(&new.text, rules));
    let is_same =
        before == after || rules.numbers.is_some_and(|numbers| numbers.are_close(&before, &after));
    let text = || Difference::Text { old: before.into_owned(), new: after.into_owned() };
    (!is_same).then(text)
}

/// A text without what is not compared.
fn without<'a>(text: &'a str, rules: &CompareRules) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    for pattern in &rules.ignore {
        if let Cow::Owned(changed) = pattern.replace_all(&text, IGNORED) {
            text = Cow::Owned(changed);
        }
    }
    text
}

#[cfg(test)]
mod tests;
