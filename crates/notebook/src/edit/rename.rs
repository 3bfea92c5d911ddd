//! Renames a name that the cells of a notebook share.
//!
//! Owns what each place becomes, and when a rename is refused. `python/scopes.rs` knows whose name stands at a place.

use std::ops::Range;

use super::batch::Batch;
use super::operation::OutputsAfter;
use super::patch::SourceShape;
use super::report::{Action, EditNote};
use crate::error::{CellCandidate, OpError, RenameError};
use crate::python::{CodeFault, NameForm, NameHome, NameRole, NameScopes, count_words, is_name};

/// Positions of the two names among those that are followed.
const OLD: usize = 0;

/// A cell before the change.
pub(super) struct CellCode {
    pub(super) cell: CellCandidate,
    pub(super) source: String,
}

/// A cell after the change.
#[derive(Default)]
struct CellRename {
    source: String,
    /// Number of places that were renamed.
    count: usize,
    /// Number of places in magics and shell commands, which stay.
    in_commands: usize,
    /// True if the cell gives the notebook a value with this name.
    is_maker: bool,
}

impl Batch<'_> {
    /// Renames a name in all code cells, and reports each cell that has it.
    pub(super) fn rename(
        &mut self,
        op: usize,
        (old, new): (&str, &str),
        outputs: OutputsAfter,
    ) -> Result<(), OpError> {
        let is_other = |language: &String| !language.to_lowercase().contains("python");
        if let Some(language) = self.language().filter(is_other) {
            return Err(RenameError::Language { language }.into());
        }
        let nodes = self.code_cells();
        let cells: Vec<CellCode> = nodes.iter().map(|node| self.cell_code(*node)).collect();
        for (node, renamed) in nodes.into_iter().zip(rename(&cells, old, new)?) {
            let CellRename { source, count, in_commands, .. } = renamed;
            let mut notes = match count {
                0 if in_commands == 0 => continue,
                0 => vec![EditNote::Unchanged],
                _ => self.set_source(node, &source, None, outputs, SourceShape::Keep)?,
            };
            notes.extend((in_commands > 0).then_some(EditNote::LeftInCommands(in_commands)));
            self.report(op, node, Action::Renamed { count }, notes);
        }
        Ok(())
    }
}

/// Renames a name in the cells that share it. The result has a part for each cell.
fn rename(cells: &[CellCode], old: &str, new: &str) -> Result<Vec<CellRename>, RenameError> {
    if let Some(name) = [old, new].into_iter().find(|name| !is_name(name)) {
        return Err(RenameError::Name { name: name.to_owned() });
    }
    if old == new {
        return Ok(Vec::new());
    }
    let renamed = cells.iter().map(|cell| rename_in(cell, [old, new]));
    let renamed = renamed.collect::<Result<Vec<CellRename>, RenameError>>()?;
    match renamed.iter().any(|cell| cell.is_maker) {
        true => Ok(renamed),
        false => Err(RenameError::NotMade { name: old.to_owned() }),
    }
}

fn rename_in(code: &CellCode, names: [&str; 2]) -> Result<CellRename, RenameError> {
    let source = &code.source;
    let Some(first) = names.into_iter().find(|name| count_words(source, name) > 0) else {
        return Ok(CellRename::default());
    };
    let unclear = |name: &str, CodeFault { offset, problem }| {
        let (name, cell, line) = (name.to_owned(), code.cell.clone(), line_of(source, offset));
        RenameError::Unclear { name, cell, line, problem }
    };
    let scopes = NameScopes::of(source, names).map_err(|fault| unclear(first, fault))?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut is_maker = false;
    for (at, place) in scopes.places.iter().enumerate() {
        let offset = place.span.start;
        let problem = match scopes.home(at) {
            NameHome::Inner => continue,
            NameHome::Unclear => Some("this name may be one of the class or of the notebook"),
            NameHome::Notebook if place.name != OLD => {
                let (cell, line) = (code.cell.clone(), line_of(source, offset));
                return Err(RenameError::Taken { name: names[1].to_owned(), cell, line });
            }
            NameHome::Notebook => (place.form == NameForm::Package)
                .then_some("an import of a part of a package has no other name for it"),
        };
        if let Some(problem) = problem {
            return Err(unclear(names[place.name], CodeFault { offset, problem }));
        }
        if scopes.home_of_other(at) != NameHome::Notebook {
            let (cell, line) = (code.cell.clone(), line_of(source, offset));
            return Err(RenameError::Hidden { name: names[1].to_owned(), cell, line });
        }
        is_maker |= matches!(place.role, NameRole::Bind { .. });
        edits.push(edit(source, place.span.clone(), place.form, names));
    }
    // A name that is read and written at one place, as in `x += 1`, is noted twice.
    edits.sort_by_key(|(span, _)| span.start);
    edits.dedup();
    let count = edits.len();
    Ok(CellRename {
        source: edited(source, &edits),
        count,
        in_commands: scopes.in_commands[OLD],
        is_maker,
    })
}

/// The bytes that change at a place, and what they become.
fn edit(
    source: &str,
    span: Range<usize>,
    form: NameForm,
    [old, new]: [&str; 2],
) -> (Range<usize>, String) {
    match form {
        NameForm::Imported => (span, format!("{old} as {new}")),
        // A rename has made `import x as y` of `import x`. Renamed back, it is `import x` again.
        NameForm::Alias(start) if source[start..span.start] == format!("{new} as ") => {
            (start..span.end, new.to_owned())
        }
        _ => (span, new.to_owned()),
    }
}

fn edited(source: &str, edits: &[(Range<usize>, String)]) -> String {
    let mut text = String::with_capacity(source.len());
    let mut end = 0;
    for (span, new) in edits {
        text.push_str(&source[end..span.start]);
        text.push_str(new);
        end = span.end;
    }
    text.push_str(&source[end..]);
    text
}

fn line_of(source: &str, offset: usize) -> usize {
    source[..offset].matches('\n').count() + 1
}

#[cfg(test)]
mod tests;
