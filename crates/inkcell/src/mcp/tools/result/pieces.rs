//! The outputs of a call as texts from which parts are read: one for each cell.
//!
//! Owns their names: `ID/2` is the output of the second cell, `ID/error` the exception. `result.rs` reads them.

use inkcell_engine::api::{CellReport, PythonReport};
use inkcell_engine::output::Part;

use super::super::ToolError;
use crate::view::ending::exception;
use crate::view::reply::without_colours;
use crate::words;
use crate::words::run::cell_name;

/// The piece that is the exception of a call.
const ERROR: &str = "error";

/// A text of which parts are read.
pub(super) enum Source {
    /// An artifact, by its id.
    Stored(String),
    /// A text that is short, so it is not stored.
    Held(String),
}

/// The output of one cell.
pub(super) struct Piece {
    /// The id with which it is read alone.
    pub(super) id: String,
    /// Name of the cell, for the heading.
    pub(super) title: String,
    pub(super) source: Source,
}

/// The id of the exception of a call.
pub(crate) fn error_id(execution: &str) -> String {
    format!("{execution}/{ERROR}")
}

/// Splits an id into that of a call and the piece that is meant.
pub(super) fn split(id: &str) -> (&str, Option<&str>) {
    match id.split_once('/') {
        Some((call, piece)) if !id.contains("://") => (call, Some(piece)),
        _ => (id, None),
    }
}

/// The pieces of a call that are meant: one by its name, or all that have text.
pub(super) fn of_call(
    report: &PythonReport,
    wanted: Option<&str>,
) -> Result<Vec<Piece>, ToolError> {
    let id = &report.execution.0;
    let pieces: Vec<Piece> = match wanted {
        None => {
            let cells = report.cells.iter().enumerate();
            cells.map(|(at, cell)| of_cell(id, at, cell)).filter(Piece::has_text).collect()
        }
        Some(ERROR) => {
            let errors = report.cells.iter().filter_map(exception).map(without_colours);
            let text = errors.collect::<Vec<_>>().join("\n");
            let source = Source::Held(text);
            vec![Piece { id: error_id(id), title: ERROR.to_owned(), source }]
        }
        Some(name) => {
            let at = name.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let cell = at.and_then(|at| Some((at, report.cells.get(at)?)));
            let problem = || words::call::no_such_piece(id, name, report.cells.len());
            let (at, cell) = cell.ok_or_else(|| ToolError::argument(problem()))?;
            vec![of_cell(id, at, cell)]
        }
    };
    if pieces.iter().any(Piece::has_text) {
        return Ok(pieces);
    }
    let problem = words::call::nothing_written(id);
    Err(ToolError::argument(problem).with_next(words::call::LEAVE_PART_OUT))
}

fn of_cell(id: &str, at: usize, cell: &CellReport) -> Piece {
    let source = match &cell.output.artifact {
        Some(stored) => Source::Stored(stored.id.clone()),
        None => Source::Held(held(cell)),
    };
    let title = match &cell.notebook {
        Some(_) => cell_name(cell),
        None => cell.source.title.clone().unwrap_or_default(),
    };
    Piece { id: format!("{id}/{}", at + 1), title, source }
}

/// The text of a cell that is not stored, with its exception.
fn held(cell: &CellReport) -> String {
    let text = |part: &Part| match part {
        Part::Text(text) => Some(text.clone()),
        Part::Mark(_) => None,
    };
    let mut all: String = cell.output.parts.iter().filter_map(text).collect();
    if let Some(error) = exception(cell).map(without_colours) {
        if !all.is_empty() && !all.ends_with('\n') {
            all.push('\n');
        }
        all.push_str(&error);
    }
    all
}

impl Piece {
    fn has_text(&self) -> bool {
        !matches!(&self.source, Source::Held(text) if text.is_empty())
    }

    pub(super) fn heading(&self) -> String {
        words::call::piece_heading(&self.id, &self.title)
    }
}

#[cfg(test)]
mod tests {
    use inkcell_engine::api::State;
    use inkcell_engine::output::{ArtifactRef, ModelOutput};

    use super::*;
    use crate::view::tests::samples;

    #[test]
    fn each_cell_with_output_is_a_piece() {
        let cell = |text: &str| {
            let parts = vec![Part::Text(text.to_owned())];
            let output = ModelOutput { parts, ..ModelOutput::default() };
            CellReport { output, ..samples::cell(samples::source("x"), State::Done) }
        };
        let mut long = cell("");
        long.output.artifact = Some(ArtifactRef { id: "0123".to_owned(), bytes: 90 });
        let report = samples::call(State::Done, vec![cell("a\n"), cell(""), long]);
        let id = report.execution.0.clone();
        let names = |wanted| -> Vec<String> {
            let pieces = of_call(&report, wanted).map_err(|error| error.message);
            pieces.unwrap().into_iter().map(|piece| piece.id).collect()
        };
        assert_eq!(names(None), [format!("{id}/1"), format!("{id}/3")]);
        assert_eq!(names(Some("3")), [format!("{id}/3")]);
        for wrong in ["0", "4", "x", "2", "error"] {
            assert!(of_call(&report, Some(wrong)).is_err(), "{wrong}");
        }
        assert_eq!(split("xab/2"), ("xab", Some("2")));
        assert_eq!(split("artifact://0123"), ("artifact://0123", None));
    }
}
