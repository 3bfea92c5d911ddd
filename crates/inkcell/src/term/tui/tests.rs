use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use inkcell_engine::Version;
use inkcell_engine::api::{
    CellChoice, CellReport, CellSource, ExecutionId, NotebookCell, State, WriteBack,
};
use inkcell_engine::feeds::SessionEvent;
use inkcell_engine::kernel::{ExecEvent, Outcome, StreamName};
use inkcell_engine::notebook::{
    CellKind, CellPlace, CellRef, EditOp, Notebook, OutputsAfter, SourceShape,
};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::model::{By, Effect, Input, Lasting, Mode, Model, RunEnd};
use crate::view::paint::Colour;

mod frames;
mod inputs;
mod others;
mod outputs;

/// A notebook with these cells, each given by kind, id and source.
fn notebook(cells: &[(&str, &str, &str)]) -> Notebook {
    let cells: Vec<serde_json::Value> = cells
        .iter()
        .map(|(kind, id, source)| {
            let mut cell = serde_json::json!({
                "cell_type": kind, "id": id, "metadata": {}, "source": source
            });
            if *kind == "code" {
                cell["outputs"] = serde_json::json!([]);
                cell["execution_count"] = serde_json::Value::Null;
            }
            cell
        })
        .collect();
    of_cells(&cells)
}

fn of_cells(cells: &[serde_json::Value]) -> Notebook {
    let notebook = serde_json::json!({
        "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5
    });
    Notebook::parse(notebook.to_string().into_bytes()).unwrap()
}

fn version(of: &Notebook) -> Version {
    Version::of(&of.to_bytes())
}

fn model_of(notebook: Notebook) -> Model {
    let version = version(&notebook);
    Model::new("report.ipynb", notebook, version, Lasting::EndsWithUs)
}

/// Three cells: code, prose, code.
fn three() -> Model {
    model_of(notebook(&[
        ("code", "aaaa", "x = 1"),
        ("markdown", "bbbb", "# Title\n\nsome *words*"),
        ("code", "cccc", "print(x)"),
    ]))
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Input {
    Input::Key(KeyEvent::new(code, modifiers))
}

/// Presses plain keys one after the other. Returns the effects of all of them.
fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    let code = |c: char| match c {
        '\n' => KeyCode::Enter,
        '\u{1b}' => KeyCode::Esc,
        c => KeyCode::Char(c),
    };
    keys.chars().flat_map(|c| model.update(key(code(c), KeyModifiers::NONE))).collect()
}

/// Performs effects on the notebook and passes the new content to the model. Returns the other
/// effects.
fn perform(model: &mut Model, effects: Vec<Effect>) -> Vec<Effect> {
    let mut rest = Vec::new();
    for effect in effects {
        let Effect::Change { what, ops } = effect else {
            rest.push(effect);
            continue;
        };
        let mut notebook = model.notebook.clone();
        let mut ids = inkcell_engine::notebook::IdSource::seeded(7);
        let report = notebook.apply(&ops, &mut ids).unwrap();
        let select = report.changes.last().and_then(|change| change.index);
        let by = By::Us { done: what.to_owned(), select };
        rest.extend(told(model, notebook, by));
    }
    rest
}

fn told(model: &mut Model, notebook: Notebook, by: By) -> Vec<Effect> {
    let version = version(&notebook);
    model.update(Input::Read { notebook: Box::new(notebook), version, by })
}

fn sources(model: &Model) -> Vec<String> {
    (0..model.cells.len()).map(|at| model.source(at)).collect()
}

/// The frame as text, one line for each row.
fn frame(model: &mut Model, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| {
            if let Some(position) = model.draw(frame.buffer_mut(), Colour::On) {
                frame.set_cursor_position(position);
            }
        })
        .unwrap();
    let buffer = terminal.backend().buffer();
    let mut out = String::new();
    for y in 0..height {
        let mut row = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol).max(1)).unwrap();
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}
