use std::path::Path;
use std::time::Duration;

use inkcell_engine::notebook::{CellKind, CellPlace, OutputsAfter, SourceShape};
use inkcell_engine::{FilesConfig, PathBase, Roots};

use super::*;

const TWO: &str = r#"{
 "cells": [
  {"cell_type": "code", "execution_count": 1, "id": "aaaa", "metadata": {},
   "outputs": [{"name": "stdout", "output_type": "stream", "text": ["1\n"]}], "source": ["print(1)"]},
  {"cell_type": "markdown", "id": "bbbb", "metadata": {"x":   1}, "source": "text"}
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}
"#;

struct Desk {
    folder: tempfile::TempDir,
    notebooks: Notebooks,
}

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::tempdir().unwrap();
        let notebooks = notebooks(folder.path());
        std::fs::write(folder.path().join("a.ipynb"), TWO).unwrap();
        Desk { folder, notebooks }
    }

    fn open(&self) -> (Document, Notebook) {
        Document::open(&self.notebooks, &self.name()).unwrap()
    }

    fn name(&self) -> String {
        self.folder.path().join("a.ipynb").display().to_string()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.name()).unwrap()
    }

    /// Edits the file as another program would.
    fn other(&self, op: EditOp) {
        let ops = [op];
        let options = SaveOptions::in_place();
        self.notebooks.change(&self.name(), &options, |nb, base| base.apply(nb, &ops)).unwrap();
    }
}

fn notebooks(folder: &Path) -> Notebooks {
    Notebooks::new(FilesConfig {
        state_dir: folder.join("state"),
        path_base: PathBase { cwd: folder.to_owned(), home: None },
        roots: Roots::Anywhere,
        max_bytes: u64::MAX,
        lock_wait: Duration::from_secs(60),
        random: inkcell_engine::system_random,
    })
}

fn at(index: i64) -> CellRef {
    CellRef::Index(index)
}

fn replace(index: i64, source: &str) -> EditOp {
    EditOp::Replace {
        cell: at(index),
        source: source.to_owned(),
        kind: None,
        outputs: OutputsAfter::ClearIfChanged,
        shape: SourceShape::Keep,
    }
}

fn insert(place: CellPlace) -> EditOp {
    EditOp::Insert { at: place, kind: CellKind::Code, source: "new".to_owned() }
}

/// Every edit made here is undone to the byte, step by step, and redone.
#[test]
fn every_change_is_undone_to_the_byte() {
    let desk = Desk::new();
    let (mut document, _) = desk.open();
    let ops = [
        replace(0, "print(2)"),
        insert(CellPlace::Start),
        EditOp::Delete { cell: at(1) },
        EditOp::Move { cell: at(1), to: CellPlace::Start },
        EditOp::SetKind { cell: at(0), kind: CellKind::Raw },
        EditOp::Clear { cell: None },
    ];
    let mut states = vec![desk.text()];
    for op in ops {
        document.change("done", &[op]).ok().unwrap();
        states.push(desk.text());
    }
    for wanted in states.iter().rev().skip(1) {
        document.undo().ok().unwrap();
        assert_eq!(desk.text(), *wanted);
    }
    assert!(document.undo().is_err_and(|why| why.contains("nothing to undo")));
    for wanted in states.iter().skip(1) {
        document.redo().ok().unwrap();
        assert_eq!(desk.text(), *wanted);
    }
    assert!(document.redo().is_err());
}

/// An undo never takes back a change by another program.
#[test]
fn an_undo_over_somebody_elses_change_is_refused() {
    let desk = Desk::new();
    let (mut document, _) = desk.open();
    document.change("done", &[replace(0, "print(2)")]).ok().unwrap();
    desk.other(replace(1, "their text"));
    let before = desk.text();
    assert!(document.undo().is_err_and(|why| why.contains("changed on disk")));
    assert_eq!(desk.text(), before);
    // The edit can be undone once the other program's change is gone.
    desk.other(replace(1, "text"));
    document.undo().ok().unwrap();
    assert_eq!(desk.text(), TWO);
}

/// New outputs are not an edit, and an undo keeps them.
#[test]
fn outputs_made_since_survive_an_undo() {
    let desk = Desk::new();
    let (mut document, _) = desk.open();
    document.change("done", &[insert(CellPlace::End)]).ok().unwrap();
    let output = r#"{"name": "stdout", "output_type": "stream", "text": ["newer\n"]}"#;
    let outputs = vec![NbOutput::from_json(output).unwrap()];
    desk.other(EditOp::SetOutputs { cell: at(0), count: Some(9), outputs });
    let reading = document.undo().ok().unwrap();
    assert_eq!(reading.notebook.len(), 2);
    let cell = reading.notebook.cell(0).unwrap();
    assert_eq!(cell.execution_count(), Some(9));
    assert!(desk.text().contains("newer"));
}

/// An edit for an older state is merged with another program's change, or refused if both concern the same
/// cell.
#[test]
fn a_change_goes_beside_somebody_elses() {
    let desk = Desk::new();
    let (mut document, _) = desk.open();
    desk.other(insert(CellPlace::Start));
    let reading = document.change("saved", &[replace(1, "our text")]).ok().unwrap();
    let sources: Vec<String> =
        reading.notebook.cells().map(|cell| cell.source().text.into_owned()).collect();
    assert_eq!(sources, ["new", "print(1)", "our text"]);
    desk.other(replace(2, "their text"));
    let before = desk.text();
    assert!(document.change("saved", &[replace(2, "our next text")]).is_err());
    assert_eq!(desk.text(), before);
    let news = document.refresh().ok().unwrap();
    assert!(news.is_some(), "what stands in the way is seen");
}

#[test]
fn a_file_is_read_again_when_it_is_another_one() {
    let desk = Desk::new();
    let (mut document, _) = desk.open();
    assert!(document.refresh().ok().unwrap().is_none());
    document.change("done", &[insert(CellPlace::End)]).ok().unwrap();
    assert!(document.refresh().ok().unwrap().is_none(), "our own change is not news");
    desk.other(replace(0, "their text"));
    let reading = document.refresh().ok().unwrap().unwrap();
    assert_eq!(reading.by, By::Others);
    assert!(document.refresh().ok().unwrap().is_none());
    std::fs::remove_file(desk.name()).unwrap();
    assert!(document.refresh().is_err_and(|why| why.contains("deleted")));
    assert!(document.refresh().ok().unwrap().is_none(), "it is said once");
    std::fs::write(desk.name(), "{ no notebook").unwrap();
    assert!(document.refresh().is_err());
    std::fs::write(desk.name(), TWO).unwrap();
    assert!(document.refresh().ok().unwrap().is_some());
}
