//! Notebooks that other programs change while they run.

use std::path::PathBuf;
use std::time::Duration;

use inkcell_engine::api::{PythonReport, RunNote, RunRequest, RunStart, State, WriteBack};
use inkcell_testkit::notebooks::pretty;
use serde_json::{Value, json};

use crate::faults_kit::wait_for;
use crate::runs::{Rig, notes, states, written};

/// Code of a cell that reports its start and waits for the test.
fn gate(name: &str) -> String {
    format!("open('at-{name}', 'w').close()\n{}", wait_for(&format!("go-{name}")))
}

impl Rig {
    async fn begin(&self) -> PythonReport {
        self.run(RunRequest { wait: Some(Duration::ZERO), ..self.request() }).await
    }

    pub(crate) fn book(&self) -> PathBuf {
        self.desk.dir.path().join("a.ipynb")
    }

    /// Changes the file while the run is at this gate, as another program does.
    async fn at(&self, name: &str, change: impl FnOnce(&mut Vec<Value>)) {
        self.desk.seen(&format!("at-{name}")).await;
        let mut notebook = self.file("a.ipynb");
        change(notebook["cells"].as_array_mut().expect("cells"));
        std::fs::write(self.book(), pretty(&notebook)).expect("a file");
        self.desk.touch(&format!("go-{name}"));
    }
}

/// The final positions of the cells in the report.
fn places(report: &PythonReport) -> Vec<usize> {
    report.cells.iter().filter_map(|cell| Some(cell.notebook.as_ref()?.index)).collect()
}

/// F-079: an older copy put over the file, as by a checkout or an editor with an old buffer, costs no outputs. Those of
/// cells that ran are there again at the end, with a note.
#[tokio::test]
async fn an_older_copy_over_the_file_costs_no_outputs() {
    let rig = Rig::new();
    rig.code(&["print('one')", "print('two')", &gate("a"), "print('four')", &gate("b")]);
    let older = std::fs::read(rig.book()).expect("the file");
    let begun = rig.begin().await;
    for name in ["a", "b"] {
        rig.desk.seen(&format!("at-{name}")).await;
        assert_eq!(rig.shown(0), ["one\n"]);
        std::fs::write(rig.book(), &older).expect("an older copy");
        rig.desk.touch(&format!("go-{name}"));
    }
    let report = rig.desk.end(&begun).await;
    assert_eq!((report.state, written(&report)), (State::Done, vec![WriteBack::Saved; 5]));
    assert_eq!(notes(&report), [RunNote::PutAgain { cells: 4 }]);
    assert_eq!((rig.shown(0), rig.shown(1)), (vec!["one\n".into()], vec!["two\n".into()]));
    assert_eq!(rig.shown(3), ["four\n"]);
    assert_eq!(rig.file("a.ipynb")["cells"][0]["execution_count"], 1);
    rig.desk.engine.shutdown().await;
}

/// F-079: sources changed after their run keep the change, and get no outputs of other sources.
#[tokio::test]
async fn a_source_that_was_changed_after_it_ran_is_left_alone() {
    let rig = Rig::new();
    rig.code(&["print('one')", &gate("a"), "print('three')"]);
    let begun = rig.begin().await;
    let edit = |cells: &mut Vec<Value>| {
        cells[0]["source"] = json!("print('another')");
        cells[0]["outputs"] = json!([]);
    };
    rig.at("a", edit).await;
    let report = rig.desk.end(&begun).await;
    assert_eq!(report.state, State::Done);
    assert!(notes(&report).is_empty(), "{report:?}");
    assert!(rig.shown(0).is_empty());
    assert_eq!(rig.file("a.ipynb")["cells"][0]["source"], "print('another')");
    assert_eq!(rig.shown(2), ["three\n"]);
    rig.desk.engine.shutdown().await;
}

/// F-079: cells that are moved, inserted and removed during a run are found by their ids, and the report has their
/// final positions.
#[tokio::test]
async fn cells_that_move_are_found() {
    let rig = Rig::new();
    rig.code(&["print('zero')", &gate("a"), "print('two')", "print('three')", "print('four')"]);
    let begun = rig.begin().await;
    let edit = |cells: &mut Vec<Value>| {
        // The first cell, which has run, goes to the end; the third, which has not, is removed; one is new.
        let first = cells.remove(0);
        cells.remove(1);
        cells.push(first);
        let mut new = cells[1].clone();
        (new["id"], new["source"]) = (json!("new"), json!("print('new')"));
        cells.insert(0, new);
    };
    rig.at("a", edit).await;
    let report = rig.desk.end(&begun).await;
    let (done, never) = (State::Done, State::NeverRun);
    assert_eq!(states(&report), [done, done, never, done, done]);
    let (saved, gone) = (WriteBack::Saved, WriteBack::Gone);
    assert_eq!(written(&report), [saved, saved, gone, saved, saved]);
    assert_eq!(places(&report), [4, 1, 2, 2, 3]);
    let sources = rig.file("a.ipynb")["cells"].as_array().expect("cells").len();
    assert_eq!(sources, 5);
    assert!(rig.shown(0).is_empty(), "a cell that was put in before is not run");
    assert_eq!((rig.shown(2), rig.shown(4)), (vec!["three\n".into()], vec!["zero\n".into()]));
    rig.desk.engine.shutdown().await;
}

/// F-079: a cell that becomes text before its turn is not run.
#[tokio::test]
async fn what_is_no_code_any_more_is_not_run() {
    let rig = Rig::new();
    rig.code(&[&gate("a"), "open('never', 'w')"]);
    let begun = rig.begin().await;
    let edit = |cells: &mut Vec<Value>| {
        let id = cells[1]["id"].clone();
        cells[1] = json!({"cell_type": "markdown", "id": id, "metadata": {}, "source": "text"});
    };
    rig.at("a", edit).await;
    let report = rig.desk.end(&begun).await;
    assert_eq!(states(&report), [State::Done, State::NeverRun]);
    assert!(!rig.desk.dir.path().join("never").exists());
    assert_eq!(rig.file("a.ipynb")["cells"][1]["source"], "text");
    rig.desk.engine.shutdown().await;
}

/// F-079: in a notebook of nbformat 4.4 cells have no ids. They are found by position, or by source if it is unique.
#[tokio::test]
async fn cells_without_ids_are_found_too() {
    let rig = Rig::new();
    rig.code(&[&gate("a"), "print('x')"]);
    let mut notebook = rig.file("a.ipynb");
    notebook["nbformat_minor"] = json!(4);
    for cell in notebook["cells"].as_array_mut().expect("cells") {
        cell.as_object_mut().expect("a cell").remove("id");
    }
    std::fs::write(rig.book(), pretty(&notebook)).expect("a file");
    let begun = rig.begin().await;
    let text = json!({"cell_type": "markdown", "metadata": {}, "source": "# A title"});
    rig.at("a", |cells| cells.insert(0, text)).await;
    let report = rig.desk.end(&begun).await;
    assert_eq!((report.state, places(&report)), (State::Done, vec![1, 2]));
    assert_eq!(rig.shown(2), ["x\n"]);
    let after = rig.file("a.ipynb");
    assert_eq!(after["nbformat_minor"], 4);
    assert!(after["cells"][1].get("id").is_none(), "nobody asked for ids");
    rig.desk.engine.shutdown().await;
}

/// F-079: a file that breaks during a run does not stop it. Outputs are kept and written once the file is repaired,
/// including those it had before.
#[tokio::test]
async fn a_broken_file_costs_nothing() {
    let rig = Rig::new();
    rig.code(&["print('one')", &gate("a"), "print('three')"]);
    let older = std::fs::read(rig.book()).expect("the file");
    let begun = rig.begin().await;
    rig.desk.seen("at-a").await;
    std::fs::write(rig.book(), "not a notebook").expect("another program breaks it");
    rig.desk.touch("go-a");
    let report = rig.desk.end(&begun).await;
    assert_eq!(states(&report), [State::Done; 3]);
    assert!(matches!(notes(&report), [RunNote::NotSaved(_)]), "{report:?}");
    assert_eq!(std::fs::read(rig.book()).expect("the file"), b"not a notebook");
    std::fs::write(rig.book(), older).expect("another program mends it");
    let resumed = rig.run(RunRequest { start: RunStart::Resume, ..rig.request() }).await;
    assert_eq!((resumed.state, resumed.cells.len()), (State::Done, 0));
    assert_eq!(notes(&resumed), [RunNote::Recovered { cells: 3 }]);
    assert_eq!((rig.shown(0), rig.shown(2)), (vec!["one\n".into()], vec!["three\n".into()]));
    rig.desk.engine.shutdown().await;
}

/// F-083: a folder that vanishes during a run is reported, and all cells that can run do.
#[tokio::test]
async fn a_folder_that_vanishes_is_told() {
    let rig = Rig::new();
    let (inner, gate) = (rig.desk.dir.path().join("inner"), gate("a"));
    std::fs::create_dir(&inner).expect("a folder");
    rig.code(&["print('one')", &gate, "2"]);
    std::fs::rename(rig.book(), inner.join("a.ipynb")).expect("a file");
    let request = RunRequest {
        path: "inner/a.ipynb".to_owned(),
        cwd: Some(rig.desk.dir.path().to_owned()),
        wait: Some(Duration::ZERO),
        ..rig.request()
    };
    let begun = rig.run(request).await;
    rig.desk.seen("at-a").await;
    std::fs::remove_dir_all(&inner).expect("it goes");
    rig.desk.touch("go-a");
    let report = rig.desk.end(&begun).await;
    assert_eq!(states(&report), [State::Done; 3]);
    let [RunNote::NotSaved(problem)] = notes(&report) else { panic!("{report:?}") };
    assert!(problem.message.contains("inner/a.ipynb"), "{problem:?}");
    assert!(!inner.exists(), "nobody asked for the folder");
    rig.desk.engine.shutdown().await;
}

/// F-079: order tells cells without ids apart that hold the same code: after any insertion or removal above them, each
/// runs once.
#[tokio::test]
async fn twins_without_ids_run_once_each() {
    for is_put_in in [true, false] {
        let rig = Rig::new();
        let log = |name: &str| format!("open('log', 'a').write('{name}')");
        let sources = ["'first'", &gate("a"), &log("b"), "print('x')", &log("b"), &log("d")];
        rig.code(&sources);
        let mut notebook = rig.file("a.ipynb");
        notebook["nbformat_minor"] = json!(4);
        for cell in notebook["cells"].as_array_mut().expect("cells") {
            cell.as_object_mut().expect("a cell").remove("id");
        }
        std::fs::write(rig.book(), pretty(&notebook)).expect("a file");
        let begun = rig.begin().await;
        let edit = |cells: &mut Vec<Value>| match is_put_in {
            true => {
                cells.insert(0, json!({"cell_type": "markdown", "metadata": {}, "source": "new"}));
            }
            false => drop(cells.remove(0)),
        };
        rig.at("a", edit).await;
        let report = rig.desk.end(&begun).await;
        assert_eq!(report.state, State::Done, "{report:?}");
        let log = std::fs::read_to_string(rig.desk.dir.path().join("log")).expect("a log");
        assert_eq!(log, "bbd", "{is_put_in}");
        // The cell between them was at position 3.
        let place = if is_put_in { 4 } else { 2 };
        assert_eq!(rig.shown(place), ["x\n"], "{is_put_in}");
        rig.desk.engine.shutdown().await;
    }
}
