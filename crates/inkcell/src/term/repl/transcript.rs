//! The cells that ran at the prompt, kept for writing them as a notebook.
//!
//! Owns the cells and their outputs in notebook form. The engine writes the file.

use inkcell_engine::kernel::DisplayId;
use inkcell_engine::notebook::{CellKind, CellPlace, CellRef, EditOp, NbOutput, Notebook};
use inkcell_engine::output::{ExecutionOutputs, OutputRecorder};
use inkcell_engine::{Base, EngineError, IfMissing, Notebooks, SaveOptions};

use super::command::Over;

/// All cells that ran, in order.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    cells: Vec<TranscriptCell>,
}

#[derive(Debug)]
struct TranscriptCell {
    code: String,
    count: Option<u32>,
    outputs: Vec<NbOutput>,
    displays: Vec<(DisplayId, usize)>,
}

impl Transcript {
    /// Adds a finished cell.
    pub(crate) fn keep(&mut self, code: String, count: Option<u32>, recorder: OutputRecorder) {
        let ExecutionOutputs { outputs, displays, changes, .. } = recorder.finish();
        for change in changes {
            for cell in &mut self.cells {
                let shown = cell.displays.iter().filter(|(id, _)| *id == change.id);
                for at in shown.map(|(_, at)| *at).collect::<Vec<_>>() {
                    if let Some(output) = cell.outputs.get_mut(at)
                        && let Ok(changed) = change.apply(output)
                    {
                        *output = changed;
                    }
                }
            }
        }
        self.cells.push(TranscriptCell { code, count, outputs, displays });
    }

    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }

    /// Writes all cells as a notebook.
    pub(crate) fn save(
        &self,
        path: &str,
        over: Over,
        notebooks: &Notebooks,
    ) -> Result<(), EngineError> {
        let is_there = notebooks.exists(path);
        if over == Over::Refused && is_there {
            return Err(EngineError::Exists { path: path.to_owned() });
        }
        if !is_there {
            notebooks.create(path, Some("python3"))?;
        }
        let options = SaveOptions { if_missing: IfMissing::Fail, ..SaveOptions::in_place() };
        notebooks.change(path, &options, |notebook, base| self.put_into(notebook, base))?;
        Ok(())
    }

    /// Replaces the content of a notebook with these cells. Outputs can be set only after the cells
    /// exist.
    fn put_into(&self, notebook: &mut Notebook, base: &Base) -> Result<(), EngineError> {
        let before = (0..notebook.len()).map(index).map(|cell| EditOp::Delete { cell });
        let cells = self.cells.iter().map(|cell| EditOp::Insert {
            at: CellPlace::End,
            kind: CellKind::Code,
            source: cell.code.clone(),
        });
        let ops: Vec<EditOp> = before.chain(cells).collect();
        base.apply(notebook, &ops)?;
        let outputs = self.cells.iter().enumerate().map(|(at, cell)| EditOp::SetOutputs {
            cell: index(at),
            count: cell.count.map(u64::from),
            outputs: cell.outputs.clone(),
        });
        let ops: Vec<EditOp> = outputs.collect();
        base.apply(notebook, &ops)?;
        Ok(())
    }
}

fn index(at: usize) -> CellRef {
    CellRef::Index(i64::try_from(at).unwrap_or(i64::MAX))
}
