use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use inkcell_engine::api::{
    CellChoice, CellReport, CellSource, Completion, Completions, ExecutionId, NotebookCell, State,
    WriteBack,
};
use inkcell_engine::feeds::SessionEvent;
use inkcell_engine::kernel::{ExecEvent, Outcome, StreamName};
use inkcell_engine::notebook::{
    CellKind, CellPlace, CellRef, EditOp, Notebook, OutputsAfter, SourceShape,
};
use inkcell_engine::{Because, Freshness, Version};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::model::{By, Effect, Input, KernelNow, KernelState, Lasting, Mode, Model, RunEnd, Stop};
use crate::view::paint::Colour;
use crate::words;

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

/// The key that runs the selected cell: Ctrl-R.
const RUN: &str = "\u{12}";

/// Presses plain keys one after the other. Returns the effects of all of them.
fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    let code = |c: char| match c {
        '\n' => KeyCode::Enter,
        '\u{1b}' => KeyCode::Esc,
        // A control character stands for a letter with Ctrl.
        c if c.is_control() => KeyCode::Char(char::from(c as u8 + b'a' - 1)),
        c => KeyCode::Char(c),
    };
    let modifiers = |c: char| match c {
        '\n' | '\u{1b}' => KeyModifiers::NONE,
        c if c.is_control() => KeyModifiers::CONTROL,
        _ => KeyModifiers::NONE,
    };
    keys.chars().flat_map(|c| model.update(key(code(c), modifiers(c)))).collect()
}

/// Performs effects on the notebook and passes the new content to the model. Returns the other
/// effects.
fn perform(model: &mut Model, effects: Vec<Effect>) -> Vec<Effect> {
    let mut rest = Vec::new();
    for effect in effects {
        let mut notebook = model.notebook.clone();
        let mut ids = inkcell_engine::notebook::IdSource::seeded(7);
        let (what, report) = match effect {
            Effect::Change { what, ops } => (what, notebook.apply(&ops, &mut ids).unwrap()),
            Effect::Paste { at, copy } => {
                let report = notebook.apply(&[copy.insert(at)], &mut ids).unwrap();
                let index = report.changes[0].index.unwrap();
                notebook.apply(&copy.complete(index), &mut ids).unwrap();
                ("pasted", report)
            }
            effect => {
                rest.push(effect);
                continue;
            }
        };
        let select = report.changes.last().and_then(|change| change.index);
        let by = By::Us { done: what.to_owned(), select };
        rest.extend(read_by(model, notebook, by));
    }
    rest
}

fn read_by(model: &mut Model, notebook: Notebook, by: By) -> Vec<Effect> {
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
