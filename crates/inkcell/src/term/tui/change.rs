//! Changes of whole cells by a key: insert, cut, paste, delete, move, and change the kind.
//!
//! Owns the operations behind each command. The program performs them, against the version on the screen.

use inkcell_engine::notebook::{CellKind, CellPlace, CellRef, EditOp, OutputsAfter, SourceShape};

use super::clipboard::{CellCopy, has_attachments};
use super::keys::Command;
use super::model::{Effect, Model};
use crate::view::paint::Role;
use crate::words;

/// The reference to a cell by its position on the screen.
pub(super) fn at(cell: usize) -> CellRef {
    CellRef::Index(i64::try_from(cell).unwrap_or(i64::MAX))
}

fn change(what: &'static str, op: EditOp) -> Vec<Effect> {
    vec![Effect::Change { what, ops: vec![op] }]
}

fn insert(at: CellPlace) -> Vec<Effect> {
    change("inserted", EditOp::Insert { at, kind: CellKind::Code, source: String::new() })
}

/// The operation that replaces the source of a cell.
pub(super) fn replace(cell: usize, source: String) -> EditOp {
    EditOp::Replace {
        cell: at(cell),
        source,
        kind: None,
        outputs: OutputsAfter::ClearIfChanged,
        shape: SourceShape::Keep,
    }
}

/// Two sources with an empty line between them, as Jupyter joins them.
fn joined(upper: &str, lower: &str) -> String {
    match (upper.trim().is_empty(), lower.trim().is_empty()) {
        (true, _) => lower.to_owned(),
        (false, true) => upper.to_owned(),
        (false, false) => {
            format!("{}\n\n{}", upper.trim_end_matches('\n'), lower.trim_start_matches('\n'))
        }
    }
}

/// The source as a heading of this level: its first line loses the marks that it has.
fn heading(source: &str, level: u8) -> String {
    let marks = "#".repeat(usize::from(level));
    let unmarked = source.trim_start_matches('#');
    format!("{marks} {}", unmarked.trim_start())
}

impl Model {
    /// The effects of a command that changes cells. `None` for another command.
    pub(super) fn change_cells(&mut self, command: Command) -> Option<Vec<Effect>> {
        let cell = self.cursor;
        let here = at(cell);
        let (before, after) = (CellPlace::Before(here.clone()), CellPlace::After(here.clone()));
        let is_empty = self.cells.is_empty();
        Some(match command {
            Command::InsertAbove | Command::InsertBelow if is_empty => insert(CellPlace::Start),
            Command::PasteAbove | Command::PasteBelow if is_empty => {
                self.paste_at(CellPlace::Start)
            }
            Command::InsertAbove => insert(before),
            Command::InsertBelow => insert(after),
            Command::PasteAbove => self.paste_at(before),
            Command::PasteBelow => self.paste_at(after),
            Command::Cut | Command::Copy if !self.take_copy() => Vec::new(),
            Command::Cut => change("cut", EditOp::Delete { cell: here }),
            Command::Copy => {
                self.say(Role::Dim, "copied");
                Vec::new()
            }
            Command::Delete if !is_empty => change("deleted", EditOp::Delete { cell: here }),
            Command::Kind(kind) if !is_empty => {
                change("changed the type", EditOp::SetKind { cell: here, kind })
            }
            Command::Heading(level) if !is_empty => {
                let op = EditOp::Replace {
                    cell: here,
                    source: heading(&self.source(cell), level),
                    kind: Some(CellKind::Markdown),
                    outputs: OutputsAfter::ClearIfChanged,
                    shape: SourceShape::Keep,
                };
                change("changed the type", op)
            }
            Command::Merge if !is_empty => self.merge(cell),
            Command::MoveDown if cell + 1 < self.cells.len() => {
                change("moved", EditOp::Move { cell: here, to: CellPlace::After(at(cell + 1)) })
            }
            Command::MoveUp if cell > 0 => {
                change("moved", EditOp::Move { cell: here, to: CellPlace::Before(at(cell - 1)) })
            }
            Command::MoveDown | Command::MoveUp if !is_empty => Vec::new(),
            Command::ClearOutputs if !is_empty => {
                change("cleared", EditOp::Clear { cell: Some(here) })
            }
            _ => return None,
        })
    }

    /// Joins a cell with the one below. The joined cell keeps the kind and the metadata of the upper one.
    fn merge(&mut self, cell: usize) -> Vec<Effect> {
        let Some(below) = self.notebook.cell(cell + 1) else {
            self.say(Role::Dim, words::notebook_screen::NOTHING_BELOW);
            return Vec::new();
        };
        if has_attachments(&below) {
            self.say(Role::Warning, words::notebook_screen::MERGE_ATTACHMENTS);
            return Vec::new();
        }
        let source = joined(&self.source(cell), &below.source().text);
        // The last operation names the cell to select.
        let ops = vec![EditOp::Delete { cell: at(cell + 1) }, replace(cell, source)];
        vec![Effect::Change { what: "merged", ops }]
    }

    /// Copies the selected cell. Returns false if there is none that can be copied.
    fn take_copy(&mut self) -> bool {
        let Some(copy) = self.current().and_then(|cell| CellCopy::of(&cell)) else {
            self.say(Role::Dim, words::notebook_screen::NO_CELLS);
            return false;
        };
        self.copied = Some(copy);
        true
    }

    fn paste_at(&mut self, at: CellPlace) -> Vec<Effect> {
        let Some(copy) = self.copied.clone() else {
            self.say(Role::Dim, words::notebook_screen::NOTHING_TO_PASTE);
            return Vec::new();
        };
        if copy.had_attachments {
            self.say(Role::Warning, words::notebook_screen::NO_ATTACHMENTS);
        }
        vec![Effect::Paste { at, copy: Box::new(copy) }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_sources_have_an_empty_line_between() {
        let table = [
            ("a", "b", "a\n\nb"),
            ("a\n\n", "\n  b", "a\n\n  b"),
            ("", "b", "b"),
            ("a\n", " \n", "a\n"),
            ("", "", ""),
        ];
        for (upper, lower, wanted) in table {
            assert_eq!(joined(upper, lower), wanted, "{upper:?} and {lower:?}");
        }
    }

    #[test]
    fn heading_has_the_level_and_no_old_marks() {
        let table = [
            ("", 1, "# "),
            ("Title", 1, "# Title"),
            ("# Title", 3, "### Title"),
            ("###Title\n\n# more", 2, "## Title\n\n# more"),
            ("  Title", 6, "###### Title"),
        ];
        for (source, level, wanted) in table {
            assert_eq!(heading(source, level), wanted, "{source:?}");
        }
    }
}
