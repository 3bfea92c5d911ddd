//! Cells and calls, for the tests of views.

use inkcell_engine::api::{CellKernel, CellReport, CellSource, ExecutionId, PythonReport, State};
use inkcell_engine::output::ModelOutput;
use inkcell_engine::registry::SessionName;

use crate::view::fold::cell::CallCell;

pub(crate) fn source(code: &str) -> CellSource {
    CellSource { code: code.to_owned(), title: None, timeout: None, kernel: CellKernel::Same }
}

/// A cell without output.
pub(crate) fn cell(source: CellSource, state: State) -> CellReport {
    CellReport { state, ..CallCell::new(source).last_report().clone() }
}

pub(crate) fn call(state: State, cells: Vec<CellReport>) -> PythonReport {
    PythonReport {
        execution: ExecutionId("x1".to_owned()),
        session: SessionName("default".to_owned()),
        state,
        cells,
        kernel: None,
        missed_variable: None,
        death: None,
        after: ModelOutput::default(),
        undelivered_bytes: 0,
        notebook: None,
    }
}
