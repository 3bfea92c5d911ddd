//! What is taken out of a notebook before it is shared: outputs, counts, chosen metadata.
//!
//! Owns the choice and the operations that follow from it.

use inkcell_notebook::{CellRef, EditOp, IdSource, MetaChange, Notebook};

use crate::error::EngineError;

/// What to take out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cleaning {
    /// Outputs and counts.
    pub outputs: bool,
    /// Metadata keys of every cell.
    pub cell_keys: Vec<String>,
    /// Metadata keys of the notebook.
    pub notebook_keys: Vec<String>,
}

impl Cleaning {
    /// Cleans a notebook; `shown` names it in errors. What is not there is not written: a notebook that
    /// is clean keeps its bytes.
    pub fn apply(&self, notebook: &mut Notebook, shown: &str) -> Result<(), EngineError> {
        let ops = self.ops(notebook);
        // No operation makes a cell, so no id is ever taken from here.
        let done = notebook.apply(&ops, &mut IdSource::seeded(0));
        let failed = |error| EngineError::Edit { path: shown.to_owned(), error, batch: ops.len() };
        done.map(drop).map_err(failed)
    }

    fn ops(&self, notebook: &Notebook) -> Vec<EditOp> {
        let mut ops = Vec::new();
        if self.outputs {
            ops.push(EditOp::Clear { cell: None });
        }
        let unset = |keys: &[String]| MetaChange { set: Vec::new(), unset: keys.to_vec() };
        if !self.cell_keys.is_empty() {
            for cell in notebook.cells().filter(|cell| cell.has_any_metadata(&self.cell_keys)) {
                let cell = Some(CellRef::Index(cell.index() as i64));
                ops.push(EditOp::SetMeta { cell, change: unset(&self.cell_keys) });
            }
        }
        if !self.notebook_keys.is_empty() {
            ops.push(EditOp::SetMeta { cell: None, change: unset(&self.notebook_keys) });
        }
        ops
    }
}
