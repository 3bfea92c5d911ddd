//! Removes parts of a notebook before it is shared: outputs, counts, their metadata, and chosen metadata keys.
//!
//! Owns the choice and the operations that follow from it.

use inkcell_notebook::{CellKind, CellRef, EditOp, IdSource, MetaChange, Notebook};

use crate::error::EngineError;

/// Cell metadata about the last run and the display of outputs.
const CELL_KEYS: [&str; 4] = ["collapsed", "scrolled", "execution", "ExecuteTime"];

/// Notebook metadata with the state of outputs.
const NOTEBOOK_KEYS: [&str; 1] = ["widgets"];

/// The parts to remove.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cleaning {
    /// Outputs and counts, even in cells that should not have them.
    pub outputs: bool,
    /// Metadata that belongs to outputs.
    pub output_metadata: bool,
    /// Metadata keys to remove from every cell.
    pub cell_keys: Vec<String>,
    /// Metadata keys to remove from the notebook.
    pub notebook_keys: Vec<String>,
}

impl Cleaning {
    /// Cleans a notebook; `shown` names it in errors. A clean notebook keeps its bytes.
    pub fn apply(&self, notebook: &mut Notebook, shown: &str) -> Result<(), EngineError> {
        let ops = self.ops(notebook);
        // No operation creates a cell. If one needs an id all the same, it is the same every time.
        let done = notebook.apply(&ops, &mut IdSource::seeded(0));
        let failed = |error| EngineError::Edit { path: shown.to_owned(), error, batch: ops.len() };
        done.map(drop).map_err(failed)
    }

    fn ops(&self, notebook: &Notebook) -> Vec<EditOp> {
        let mut ops = Vec::new();
        if self.outputs {
            ops.push(EditOp::Clear { cell: None });
            for cell in notebook.cells() {
                if let Some(kind @ (CellKind::Markdown | CellKind::Raw)) = cell.kind() {
                    let cell = CellRef::Index(cell.index() as i64);
                    ops.push(EditOp::SetKind { cell, kind });
                }
            }
        }
        let keys = |chosen: &[String], own: &[&str]| {
            let own = own.iter().filter(|_| self.output_metadata).map(|key| (*key).to_owned());
            chosen.iter().cloned().chain(own).collect::<Vec<_>>()
        };
        let cell_keys = keys(&self.cell_keys, &CELL_KEYS);
        let notebook_keys = keys(&self.notebook_keys, &NOTEBOOK_KEYS);
        let unset = |keys: &[String]| MetaChange { set: Vec::new(), unset: keys.to_vec() };
        if !cell_keys.is_empty() {
            for cell in notebook.cells().filter(|cell| cell.has_any_metadata(&cell_keys)) {
                let cell = Some(CellRef::Index(cell.index() as i64));
                ops.push(EditOp::SetMeta { cell, change: unset(&cell_keys) });
            }
        }
        let has_metadata = notebook.metadata_json().starts_with(b"{");
        if has_metadata && !notebook_keys.is_empty() {
            ops.push(EditOp::SetMeta { cell: None, change: unset(&notebook_keys) });
        }
        ops
    }
}
