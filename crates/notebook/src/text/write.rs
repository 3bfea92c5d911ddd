//! Writes a notebook as virtual text.
//!
//! Owns which markers cells get. `marker.rs` owns the grammar of a marker.

use crate::cell::is_valid_id;
use crate::document::Notebook;
use crate::error::TextError;
use crate::marker::escape_into;
use crate::matching::unique_ids;
/// The choice to put ids into markers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkerIds {
    /// Markers carry an id if it is well formed and unique.
    Auto,
    /// No marker carries an id.
    Off,
}

impl Notebook {
    /// Writes the whole notebook as text. Fails if an entry is not a cell of a known kind.
    pub fn to_text(&self, ids: MarkerIds) -> Result<String, TextError> {
        let all: Vec<usize> = (0..self.len()).collect();
        self.cells_to_text(&all, ids)
    }

    /// Writes some cells as text, with the markers that they have in the whole notebook.
    pub fn cells_to_text(&self, cells: &[usize], ids: MarkerIds) -> Result<String, TextError> {
        let names = self.ids();
        let by_id = unique_ids(names.iter().map(|name| name.as_deref()));
        let mut out = String::new();
        for (at, &index) in cells.iter().enumerate() {
            let cell = self.view(index);
            let Some(kind) = cell.kind() else { return Err(TextError::BadCell { index }) };
            if at > 0 {
                out.push('\n');
            }
            out.push_str(&format!("# %% [{kind}] cell:{index}"));
            if let Some(id) = names[index].as_deref()
                && ids == MarkerIds::Auto
                && is_valid_id(id)
                && by_id.get(id) == Some(&Some(index))
            {
                out.push_str(" id:");
                out.push_str(id);
            }
            let source = cell.source().text;
            if !source.is_empty() {
                out.push('\n');
                escape_into(&mut out, &source);
            }
        }
        Ok(out)
    }
}
