//! Compares stored outputs with those of a new run, by rules.
//!
//! Owns which parts of a cell's outputs are compared, and how. `marks.rs` reads what a cell says about itself;
//! `numbers.rs` compares texts but for small differences of numbers. The caller decides if two pictures look the
//! same. It must not know how cells were run.

mod marks;
mod numbers;

use std::borrow::Cow;

use regex::Regex;
use similar::{ChangeTag, TextDiff};

pub use marks::{CellMarks, MAY_FAIL_TAG, SKIP_TAG};
pub use numbers::Tolerance;

use crate::cell::CellKind;
use crate::document::{CellView, NbOutput, Notebook, OutputDigest, OutputView, join_source};
use crate::error::CellCandidate;
use crate::json;

/// Parts that change with every run.
const NEVER: [&str; 1] = ["application/vnd.jupyter.widget-view+json"];

/// Replacement for a match of an ignored pattern.
const IGNORED: &str = "…";

/// The rules by which two outputs count as the same.
#[derive(Clone, Debug, Default)]
pub struct CompareRules {
    /// Largest distance between numbers in texts; none if texts must be equal.
    pub numbers: Option<Tolerance>,
    /// Patterns whose matches are not compared.
    pub ignore: Vec<Regex>,
    /// Parts that are not compared: `stdout`, `stderr`, `error` or a MIME type.
    pub skip: Vec<String>,
    /// The cells that are compared.
    pub which: CompareScope,
}

/// The cells that are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CompareScope {
    /// All cells except those marked as ignored.
    #[default]
    All,
    /// Only cells marked as checked.
    Marked,
}

/// Two pictures in their stored form.
#[derive(Clone, Copy, Debug)]
pub struct Pictures<'a> {
    /// MIME type of both, such as `image/png`.
    pub mime: &'a str,
    /// The stored picture, in base64.
    pub old: &'a str,
    /// The picture of the new run, in base64.
    pub new: &'a str,
}

/// A function that compares two pictures: it describes their difference in a few words, or returns none if they look
/// the same.
pub type ComparePictures<'a> = dyn Fn(&Pictures<'_>) -> Option<String> + 'a;

/// A part of a cell's outputs that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct OutputDifference {
    /// Name of the part: `stdout`, `stderr`, `error` or a MIME type.
    pub part: String,
    /// The kind of difference, with both sides.
    pub how: PartDifference,
}

/// A difference between two outputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PartDifference {
    /// The texts differ, or their numbers differ by too much.
    Text {
        /// The stored text, with ignored matches replaced by `…`.
        old: String,
        /// The text of the new run, with ignored matches replaced by `…`.
        new: String,
    },
    /// The pictures look different; the text is the caller's description.
    Picture(String),
    /// Only one side has this part.
    Missing {
        /// The side that has the part.
        side: RunSide,
        /// Text of the part; empty for a picture.
        text: String,
    },
}

/// The side of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunSide {
    /// The outputs that the notebook stores.
    Old,
    /// The outputs of the new run.
    New,
}

impl PartDifference {
    /// The lines that differ, each with its side, and the lines around them; empty for pictures.
    pub fn lines(&self) -> Vec<(Option<RunSide>, String)> {
        match self {
            PartDifference::Picture(_) => Vec::new(),
            PartDifference::Missing { side, text } => {
                text.lines().map(|line| (Some(*side), line.to_owned())).collect()
            }
            PartDifference::Text { old, new } => {
                let diff = TextDiff::from_lines(old, new);
                let groups = diff.grouped_ops(1);
                let changes = groups.iter().flatten().flat_map(|op| diff.iter_changes(op));
                let line = |change: similar::Change<&str>| {
                    let side = match change.tag() {
                        ChangeTag::Equal => None,
                        ChangeTag::Delete => Some(RunSide::Old),
                        ChangeTag::Insert => Some(RunSide::New),
                    };
                    (side, change.value().trim_end_matches(['\n', '\r']).to_owned())
                };
                changes.map(line).collect()
            }
        }
    }
}

/// The result for one cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CellVerdict {
    /// Stored and new outputs are equal by the rules.
    Same,
    /// At least one part of the outputs differs.
    Different(Vec<OutputDifference>),
    /// The cell failed, the stored outputs have no failure, and no mark allows one.
    Failed {
        /// Class of the exception.
        name: String,
        /// Message of the exception.
        value: String,
    },
    /// The outputs of the cell are not compared.
    Ignored,
    /// The cell was not run.
    Skipped,
}

/// A code cell with the result of its comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CellComparison {
    /// Position and id of the cell.
    pub cell: CellCandidate,
    /// The result of the comparison.
    pub verdict: CellVerdict,
}

/// True for a notebook with code to run of which no cell has a count or an output, so that there is nothing to
/// compare with.
pub fn is_never_run(notebook: &Notebook) -> bool {
    has_code_to_run(notebook)
        && notebook
            .cells()
            .all(|cell| cell.execution_count().is_none() && cell.outputs().is_empty())
}

/// True if a run of the notebook would run at least one cell.
pub fn has_code_to_run(notebook: &Notebook) -> bool {
    notebook.cells().any(|cell| {
        cell.kind() == Some(CellKind::Code)
            && !cell.source().text.trim().is_empty()
            && !CellMarks::of(&cell).is_skipped
    })
}

/// Compares the outputs of a notebook with those of a copy that was run.
pub fn compare(
    stored: &Notebook,
    run: &Notebook,
    rules: &CompareRules,
    pictures: &ComparePictures<'_>,
) -> Vec<CellComparison> {
    let is_code = |cell: &CellView<'_>| cell.kind() == Some(CellKind::Code);
    let cells = stored.cells().filter(is_code);
    let compared = cells.filter_map(|cell| {
        let verdict = judge_cell(&cell, &run.cell(cell.index())?, rules, pictures)?;
        Some(CellComparison { cell: cell.name(), verdict })
    });
    compared.collect()
}

/// Compares the stored outputs of a cell with new ones by the same rules, whatever the cell says about itself.
pub fn compare_outputs(
    stored: &CellView<'_>,
    new: &[NbOutput],
    rules: &CompareRules,
    pictures: &ComparePictures<'_>,
) -> Vec<OutputDifference> {
    let new = new.iter().map(|output| OutputView::new(output.json()));
    let (old, new) = (collect_parts(stored.outputs(), rules), collect_parts(new, rules));
    find_differences(&old, &new, rules, pictures)
}

/// Compares one cell; none for a cell without code.
fn judge_cell(
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
    let is_stored = find_error(old).is_some();
    if let Some((name, value)) = find_error(new).filter(|_| !is_stored && !marks.may_fail) {
        return Some(CellVerdict::Failed { name, value });
    }
    let is_checked = marks.checked.unwrap_or(rules.which == CompareScope::All);
    if !is_checked {
        return Some(CellVerdict::Ignored);
    }
    let (old, new) = (collect_parts(old.outputs(), rules), collect_parts(new.outputs(), rules));
    let differences = find_differences(&old, &new, rules, pictures);
    Some(match differences.is_empty() {
        true => CellVerdict::Same,
        false => CellVerdict::Different(differences),
    })
}

/// Finds the exception that ended the cell.
fn find_error(cell: &CellView<'_>) -> Option<(String, String)> {
    cell.outputs().iter().rev().find_map(|output| match output.digest() {
        OutputDigest::Error { name, value } => Some((name, value)),
        _ => None,
    })
}

/// One part of a cell's outputs: all text of a stream, or one form of a display.
struct Part {
    name: String,
    text: String,
    is_picture: bool,
}

/// Collects the parts of a cell; parts with one name keep their order. Pieces of a stream are joined, because their
/// sizes, and the way two streams are mixed, depend on timing.
fn collect_parts<'a>(
    outputs: impl IntoIterator<Item = OutputView<'a>>,
    rules: &CompareRules,
) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for output in outputs {
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
                        Some(b'"' | b'[') if !is_json(&name) => {
                            join_source(value).text.into_owned()
                        }
                        _ => compact_json(value),
                    };
                    parts.push(Part { name, text, is_picture });
                }
            }
            OutputDigest::Other { kind } => {
                parts.push(Part {
                    name: kind,
                    text: compact_json(output.json()),
                    is_picture: false,
                });
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

/// Removes the blanks between JSON tokens.
fn compact_json(value: &[u8]) -> String {
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

/// Lists the differences of all parts. Parts with the same name are compared in order.
fn find_differences(
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
                (Some(old), Some(new)) => compare_parts(old, new, rules, pictures),
                (Some(part), None) => describe_missing(part, RunSide::Old, rules),
                (None, Some(part)) => describe_missing(part, RunSide::New, rules),
            };
            found.extend(how.map(|how| OutputDifference { part: name.to_owned(), how }));
        }
    }
    found
}

fn describe_missing(part: &Part, side: RunSide, rules: &CompareRules) -> Option<PartDifference> {
    // A text that is ignored completely may be missing.
    let is_nothing = !part.is_picture && matches!(&*mask_ignored(&part.text, rules), "" | IGNORED);
    let text = if part.is_picture { String::new() } else { part.text.clone() };
    (!is_nothing).then_some(PartDifference::Missing { side, text })
}

fn compare_parts(
    old: &Part,
    new: &Part,
    rules: &CompareRules,
    pictures: &ComparePictures<'_>,
) -> Option<PartDifference> {
    if old.text == new.text {
        return None;
    }
    if old.is_picture {
        let both = Pictures { mime: &old.name, old: old.text.trim(), new: new.text.trim() };
        return pictures(&both).map(PartDifference::Picture);
    }
    let (before, after) = (mask_ignored(&old.text, rules), mask_ignored(&new.text, rules));
    let is_same =
        before == after || rules.numbers.is_some_and(|numbers| numbers.are_close(&before, &after));
    let text = || PartDifference::Text { old: before.into_owned(), new: after.into_owned() };
    (!is_same).then(text)
}

/// Replaces ignored matches in a text.
fn mask_ignored<'a>(text: &'a str, rules: &CompareRules) -> Cow<'a, str> {
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
