//! Odd notebooks, paths and choices: some run all the same, and some are refused before any cell runs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::SystemTime;

use inkcell_engine::api::{CellChoice, CellKernel, EndReport, RunRequest, State, WriteBack};
use inkcell_engine::{EngineError, Kind};
use serde_json::json;

use crate::faults_kit::{ME, run_notebook};
use crate::runs::{Rig, written};
use crate::runs_cases::{old, only};

/// A notebook without cells, or without code, runs with nothing to do: no kernel, no change.
#[tokio::test]
async fn a_notebook_without_code_is_left_as_it_is() {
    let rig = Rig::new();
    let other = |kind: &str| json!({"cell_type": kind, "outputs": null, "execution_count": null});
    for cells in
        [vec![], vec![("# Title", other("markdown")), ("raw", other("raw")), (" \n\t", old("x"))]]
    {
        rig.put(&cells);
        let mut notebook = rig.file("a.ipynb");
        for cell in notebook["cells"].as_array_mut().expect("cells").iter_mut().take(2) {
            let cell = cell.as_object_mut().expect("a cell");
            cell.retain(|_, value| !value.is_null());
        }
        let text = inkcell_testkit::notebooks::pretty(&notebook);
        std::fs::write(rig.desk.dir.path().join("a.ipynb"), &text).expect("a file");
        let report = rig.run(rig.request()).await;
        assert_eq!((report.state, report.cells.len()), (State::Done, 0));
        let after = std::fs::read_to_string(rig.desk.dir.path().join("a.ipynb")).expect("the file");
        assert_eq!(after, text);
    }
    rig.desk.engine.shutdown().await;
}

/// Cells that lack fields required by the format run, and get them.
#[tokio::test]
async fn cells_without_outputs_and_counts_get_them() {
    let rig = Rig::new();
    let text = json!({"cells": [
        {"cell_type": "code", "id": "a", "metadata": {}, "source": ["print(1)\n", "2"]},
        {"cell_type": "code", "id": "b", "metadata": {}, "source": "3", "outputs": null},
    ], "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    std::fs::write(rig.desk.dir.path().join("a.ipynb"), text.to_string()).expect("a file");
    let report = rig.run(rig.request()).await;
    assert_eq!(report.state, State::Done, "{report:?}");
    assert_eq!((rig.shown(0), rig.shown(1)), (vec!["1\n".into(), "2".into()], vec!["3".into()]));
    let cells = &rig.file("a.ipynb")["cells"];
    assert_eq!(
        (&cells[0]["execution_count"], &cells[1]["execution_count"]),
        (&json!(1), &json!(2))
    );
    rig.desk.engine.shutdown().await;
}

/// F-074: two cells with one id run, and each gets its own outputs.
#[tokio::test]
async fn cells_with_the_same_id_get_their_own_outputs() {
    let rig = Rig::new();
    rig.put(&[("print('a')", json!({"id": "same"})), ("print('b')", json!({"id": "same"}))]);
    let report = rig.run(rig.request()).await;
    assert_eq!((report.state, written(&report)), (State::Done, vec![WriteBack::Saved; 2]));
    assert_eq!((rig.shown(0), rig.shown(1)), (vec!["a\n".into()], vec!["b\n".into()]));
    rig.desk.engine.shutdown().await;
}

/// F-071, F-073: a file that could not take the outputs is refused before any cell runs, and stays unchanged.
#[tokio::test]
async fn what_could_not_be_saved_is_not_run() {
    let rig = Rig::new();
    let cell = |count: &str| {
        format!(
            r#"{{"cells":[{{"cell_type":"code",{count}"id":"a","metadata":{{}},"outputs":[],
               "source":"open('ran', 'w')"}}],"metadata":{{}},"nbformat":4,"nbformat_minor":5}}"#
        )
    };
    let three = r#"{"metadata":{},"nbformat":3,"nbformat_minor":0,"worksheets":[{"cells":[{"cell_type":"code",
        "input":"open('ran', 'w')","language":"python","outputs":[]}]}]}"#;
    let path = rig.desk.dir.path().join("a.ipynb");
    for (text, words) in [
        (
            cell(r#""execution_count":null,"execution_count":1,"#),
            "\"execution_count\" occurs more than once",
        ),
        (cell(r#""outputs":[],"execution_count":1,"#), "\"outputs\" occurs more than once"),
        (three.to_owned(), "nbformat 3"),
        ("{\"cells\": {}}".to_owned(), "cells"),
        ("{\"cells\": [1]}".to_owned(), "a.ipynb"),
        ("[]".to_owned(), "a.ipynb"),
        ("{\"cells\": [".to_owned(), "Invalid JSON"),
        (String::new(), "empty"),
    ] {
        std::fs::write(&path, &text).expect("a file");
        let refused = run_notebook(&rig.desk.engine, rig.request(), &rig.files, ME).await;
        let refused = match refused {
            // A malformed cell is not code either, so no cell runs.
            Ok(report) if report.cells.is_empty() => format!("{text} {:?}", "a.ipynb"),
            refused => {
                let error: EngineError = refused.expect_err(&text);
                assert_eq!(error.kind(), Kind::Invalid, "{text}: {error}");
                error.to_string()
            }
        };
        assert!(refused.contains(words), "{text}: {refused}");
        assert_eq!(std::fs::read_to_string(&path).expect("the file"), text);
        assert!(!rig.desk.dir.path().join("ran").exists(), "{text}");
    }
    rig.desk.engine.shutdown().await;
}

/// A senseless choice is refused; a choice of cells that cannot run is an empty run.
#[tokio::test]
async fn choices_are_checked_before_anything_runs() {
    let rig = Rig::new();
    let skip = json!({"metadata": {"tags": ["skip-execution"]}});
    rig.put(&[("open('ran', 'w')", json!({})), ("2", skip), ("3", json!({}))]);
    let list = |list: &str| RunRequest { cells: only(list), ..rig.request() };
    let ends = |from: &str, to: &str| RunRequest {
        cells: CellChoice {
            from: Some(from.to_owned()),
            to: Some(to.to_owned()),
            ..CellChoice::default()
        },
        ..rig.request()
    };
    for (request, kind) in [
        (list("2-1"), Kind::Invalid),
        (list(""), Kind::Invalid),
        (list("0,,1"), Kind::Invalid),
        (list("0-9"), Kind::Invalid),
        (list("9"), Kind::NotFound),
        (list("nobody"), Kind::NotFound),
        (ends("cell2", "cell0"), Kind::Invalid),
        (ends("cell2", "nobody"), Kind::NotFound),
    ] {
        let refused = run_notebook(&rig.desk.engine, request.clone(), &rig.files, ME).await;
        let error = refused.expect_err(&format!("{:?}", request.cells));
        assert_eq!(error.kind(), kind, "{:?}: {error}", request.cells);
    }
    let report = rig.run(list("1")).await;
    assert_eq!((report.state, report.cells.len()), (State::Done, 0));
    assert_eq!(report.notebook.map(|notebook| notebook.skipped), Some(vec![1]));
    assert!(!rig.desk.dir.path().join("ran").exists());
    // The first cell that runs gets the fresh kernel.
    let last = RunRequest { kernel: CellKernel::Fresh, ..list("2,2,cell2") };
    assert_eq!(rig.run(last).await.cells.len(), 1);
    rig.desk.engine.shutdown().await;
}

/// Paths with odd characters and links work. The file behind a link gets the outputs, and the code works in that file's
/// folder.
#[tokio::test]
async fn odd_paths_are_run() {
    let rig = Rig::new();
    let dir = rig.desk.dir.path();
    let folder = dir.join("a fo'lder \u{e9}\u{1f600}");
    std::fs::create_dir(&folder).expect("a folder");
    rig.code(&["import os\nprint(os.path.basename(os.getcwd()))"]);
    std::fs::rename(dir.join("a.ipynb"), folder.join("my \"book\".ipynb")).expect("a file");
    std::os::unix::fs::symlink(folder.join("my \"book\".ipynb"), dir.join("link.ipynb"))
        .expect("a link");
    let name = "a fo'lder \u{e9}\u{1f600}/my \"book\".ipynb";
    for path in [name, "link.ipynb"] {
        let report = rig.run(RunRequest { path: path.to_owned(), ..rig.request() }).await;
        assert_eq!(report.state, State::Done, "{report:?}");
        let shown = rig.file(name)["cells"][0]["outputs"][0]["text"].clone();
        assert_eq!(shown, json!(["a fo'lder \u{e9}\u{1f600}\n"]), "{path}");
    }
    assert!(dir.join("link.ipynb").is_symlink());
    let elsewhere =
        RunRequest { path: name.to_owned(), cwd: Some(dir.to_owned()), ..rig.request() };
    rig.run(elsewhere).await;
    let shown = rig.file(name)["cells"][0]["outputs"][0]["text"].clone();
    assert_ne!(shown, json!(["a fo'lder \u{e9}\u{1f600}\n"]));
    rig.desk.engine.shutdown().await;
}

/// If the outputs cannot be written, no cell runs.
#[tokio::test]
async fn an_output_that_cannot_be_written_is_told_before_anything_runs() {
    let rig = Rig::new();
    rig.code(&["open('ran', 'w')"]);
    let dir = rig.desk.dir.path();
    let before = rig.file("a.ipynb");
    std::fs::write(dir.join("closed.ipynb"), "{}").expect("a file");
    let mut mode = std::fs::metadata(dir.join("closed.ipynb")).expect("a file").permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(dir.join("closed.ipynb"), mode).expect("a mode");
    std::os::unix::fs::symlink("a.ipynb", dir.join("link.ipynb")).expect("a link");
    for (output, words) in [
        ("a.ipynb", "is the notebook itself"),
        ("./link.ipynb", "is the notebook itself"),
        ("no/such/folder/b.ipynb", "cannot find the folder"),
        ("b.txt", ".ipynb"),
        ("closed.ipynb", "read-only"),
        ("", ""),
    ] {
        let request = RunRequest { output: Some(output.to_owned()), ..rig.request() };
        let refused = run_notebook(&rig.desk.engine, request, &rig.files, ME).await;
        let refused = refused.expect_err(output).to_string();
        assert!(refused.contains(words), "{output}: {refused}");
        assert_eq!(rig.file("a.ipynb"), before, "{output}");
        assert!(!dir.join("ran").exists(), "{output}");
    }
    rig.desk.engine.shutdown().await;
}

/// Which reading of the clock panics.
static BREAKS_AT: AtomicU32 = AtomicU32::new(0);

/// How often the clock was read.
static READ: AtomicU32 = AtomicU32::new(0);

fn breaking_clock() -> SystemTime {
    let number = READ.fetch_add(1, Ordering::SeqCst);
    assert_ne!(number, BREAKS_AT.load(Ordering::SeqCst), "broken on purpose");
    SystemTime::now()
}

/// A panic in the task of a call ends that call with an error, wherever it happens, and the next call works. The first
/// reading is before the call; the others are at the start and the end of each cell and at the end of the run.
#[tokio::test]
async fn a_panic_in_a_call_is_its_error() {
    let mut rig = Rig::new();
    rig.code(&["print('a')", "print('b')"]);
    for reading in 1..=5 {
        READ.store(0, Ordering::SeqCst);
        BREAKS_AT.store(reading, Ordering::SeqCst);
        let clock = std::mem::replace(&mut rig.files.clock, breaking_clock);
        let report = rig.run(rig.request()).await;
        assert!(READ.load(Ordering::SeqCst) > reading, "the clock has broken");
        assert_eq!(report.state, State::Error, "{reading}: {report:?}");
        let problem = |end: Option<&EndReport>| match end {
            Some(EndReport::Fault(problem) | EndReport::NoKernel(problem)) => Some(problem.clone()),
            _ => None,
        };
        let problems = report.cells.iter().map(|cell| problem(cell.end.as_ref()));
        let at = usize::from(reading > 1);
        let told: Vec<bool> = problems.clone().map(|problem| problem.is_some()).collect();
        assert_eq!(told, [at == 0, at == 1], "{reading}: {report:?}");
        let problem = problems.flatten().next().expect("one");
        assert_eq!(problem.kind, Kind::Internal);
        assert!(problem.message.contains("please report this"), "{}", problem.message);
        rig.files.clock = clock;
        let report = rig.run(rig.request()).await;
        assert_eq!(report.state, State::Done, "{reading}: {report:?}");
        assert_eq!((rig.shown(0), rig.shown(1)), (vec!["a\n".into()], vec!["b\n".into()]));
    }
    rig.desk.engine.shutdown().await;
}
