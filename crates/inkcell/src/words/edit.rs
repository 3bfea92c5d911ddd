//! Sentences about edits of a notebook.

use inkcell_engine::notebook::{Action, EditNote};

/// The title of an edit that found everything as it should be.
pub(crate) const UNCHANGED: &str = "= Nothing to change";

/// The title of a copy, and of an edit that changed no cell.
pub(crate) const WRITTEN: &str = "✓ Notebook written";

/// The line above the differences that an edit would make.
pub(crate) const NOT_WRITTEN: &str = "Nothing was written. The change by cell:";

/// The title of a change of one cell.
pub(crate) fn title(action: Action) -> String {
    let title = match action {
        Action::Replaced => "✓ Cell updated",
        Action::Inserted => "✓ Cell inserted",
        Action::Deleted => "✓ Cell deleted",
        Action::Moved => "✓ Cell moved",
        Action::Retyped => "✓ Cell type changed",
        Action::Substituted { count: 1 } => "✓ Text replaced in 1 place",
        Action::Substituted { count } => return format!("✓ Text replaced in {count} places"),
        Action::Cleared => "✓ Outputs cleared",
        Action::MetaChanged => "✓ Metadata changed",
        Action::OutputsSet => "✓ Outputs set",
    };
    title.to_owned()
}

/// The line for a deleted cell, by its id and its old position.
pub(crate) fn removed(name: &str, index: &str) -> String {
    format!("Removed: {name} (was at index {index})")
}

/// A remark about a changed cell.
pub(crate) fn note(note: EditNote) -> Option<String> {
    Some(match note {
        EditNote::Unchanged => return None,
        EditNote::OutputsCleared(1) => "1 output was cleared".to_owned(),
        EditNote::OutputsCleared(count) => format!("{count} outputs were cleared"),
        EditNote::IdAdded => "the cell had no id and was given one".to_owned(),
        EditNote::AttachmentsRemoved => {
            "attachments were removed; code cells cannot have any".to_owned()
        }
        EditNote::SurrogatesLost => {
            "the old source held half characters that no text can hold; they are now U+FFFD"
                .to_owned()
        }
    })
}

/// The remark about an edit that another change of the file came before.
pub(crate) fn merged(version: &str) -> String {
    format!("merged: the file had changed since version {version}, in other cells")
}
