//! Checks that a notebook has the shape of nbformat 4: the required keys, and the kinds of their values.
//!
//! Owns that list. It is for text that comes from outside and is stored unchanged. An edit of a valid
//! notebook cannot make it invalid, so edits skip this check.

use std::collections::HashSet;

use super::new_output::NbOutput;
use super::notebook::Notebook;
use super::slot::Key;
use super::view::CellView;
use crate::cell::{CellKind, is_valid_id};
use crate::json;

/// The longest list of problems; more would not help.
const MAX_PROBLEMS: usize = 10;

impl Notebook {
    /// Lists missing keys and wrong kinds, each as the end of a sentence; empty for a notebook of the right
    /// shape.
    pub fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.version().major != Some(4) {
            found.push("\"nbformat\" must be 4".to_owned());
        }
        if self.version().minor.is_none() {
            found.push("\"nbformat_minor\" must be a whole number".to_owned());
        }
        if self.metadata_json().first() != Some(&b'{') || !self.has_metadata() {
            found.push("\"metadata\" must be an object".to_owned());
        }
        let mut ids = HashSet::new();
        for cell in self.cells() {
            let wrong = find_cell_problems(cell);
            found.extend(
                wrong.into_iter().map(|problem| format!("cell {}: {problem}", cell.index())),
            );
            let id = cell.id();
            if self.has_ids() && !id.as_deref().is_some_and(is_valid_id) {
                found.push(format!(
                    "cell {}: \"id\" must be 1 to 64 letters, digits, - and _",
                    cell.index()
                ));
            }
            if let Some(id) = id.filter(|_| self.has_ids())
                && !ids.insert(id.into_owned())
            {
                found.push(format!("cell {}: another cell has the same \"id\"", cell.index()));
            }
            if found.len() > MAX_PROBLEMS {
                break;
            }
        }
        found.truncate(MAX_PROBLEMS);
        found
    }
}

fn find_cell_problems(cell: CellView<'_>) -> Vec<&'static str> {
    let value = |key: Key| cell.fields.value(cell.body, key);
    let starts =
        |key: Key, bracket: u8| value(key).is_some_and(|text| text.first() == Some(&bracket));
    let Some(kind) = cell.kind() else {
        return vec!["\"cell_type\" must be code, markdown or raw"];
    };
    let mut found = Vec::new();
    if !starts(Key::Metadata, b'{') {
        found.push("\"metadata\" must be an object");
    }
    if !value(Key::Source).is_some_and(is_text) {
        found.push("\"source\" must be a string or a list of strings");
    }
    match kind {
        CellKind::Code => {
            if !starts(Key::Outputs, b'[') {
                found.push("\"outputs\" must be a list");
            } else if !are_valid_outputs(value(Key::Outputs).unwrap_or_default()) {
                found.push("\"outputs\" holds something that is not an output");
            }
            let count = value(Key::ExecutionCount);
            if count != Some(b"null") && cell.execution_count().is_none() {
                found.push("\"execution_count\" must be null or a whole number");
            }
            if value(Key::Attachments).is_some() {
                found.push("a code cell has no \"attachments\"");
            }
        }
        CellKind::Markdown | CellKind::Raw => {
            if value(Key::Outputs).is_some() || value(Key::ExecutionCount).is_some() {
                found.push("only code cells have \"outputs\" and \"execution_count\"");
            }
        }
    }
    found
}

fn are_valid_outputs(list: &[u8]) -> bool {
    json::items(list).into_iter().all(|span| {
        std::str::from_utf8(span.of(list)).is_ok_and(|text| NbOutput::from_json(text).is_ok())
    })
}

fn is_text(value: &[u8]) -> bool {
    match value.first() {
        Some(b'"') => true,
        Some(b'[') => json::items(value).iter().all(|item| item.of(value).first() == Some(&b'"')),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
