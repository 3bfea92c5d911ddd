//! Notebooks run on real kernels, with their outputs written back.

use std::time::{Duration, SystemTime};

use inkcell_engine::api::{
    CellChoice, CellKernel, EndReport, KernelMode, KernelWishes, NeededCells, OnError, OnOpen,
    OutputChange, PythonReport, Reading, RunExtent, RunNote, RunRequest, RunStart, SourceDisplay,
    Stamps, State, WriteBack,
};
use inkcell_engine::journal::Seq;
use inkcell_engine::notebook::Parameters;
use inkcell_engine::output::SizePolicy;
use inkcell_engine::{
    EngineError, FilesConfig, Notebooks, PathBase, Roots, RunFiles, SessionError, system_random,
};
use inkcell_testkit::notebooks::pretty;
use inkcell_testkit::wait::until_async;
use serde_json::{Value, json};

use crate::faults_kit::{Desk, LONG, ME, run_notebook, wait_for};

/// A desk with notebooks on it.
pub(crate) struct Rig {
    pub(crate) desk: Desk,
    pub(crate) files: RunFiles,
}

/// A fixed time, so that the written notes can be compared.
fn noon() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_123_456)
}

impl Rig {
    pub(crate) fn new() -> Rig {
        let desk = Desk::new();
        let config = FilesConfig {
            state_dir: desk.dir.path().join("state"),
            path_base: PathBase { cwd: desk.dir.path().to_owned(), home: None },
            roots: Roots::Anywhere,
            max_bytes: 1 << 30,
            lock_wait: Duration::from_secs(20),
            random: system_random,
        };
        let notebooks = Notebooks::new(config);
        let outputs = SizePolicy::Whole;
        // With any disk load, the file is saved when a cell has ended.
        let cheap_save = Duration::MAX;
        Rig { desk, files: RunFiles { notebooks, outputs, clock: noon, cheap_save } }
    }

    pub(crate) fn put(&self, cells: &[(&str, Value)]) {
        let cell = |(at, (source, more)): (usize, &(&str, Value))| {
            let mut cell = json!({
                "cell_type": "code", "execution_count": null, "id": format!("cell{at}"),
                "metadata": {}, "outputs": [], "source": source,
            });
            if let (Value::Object(cell), Value::Object(more)) = (&mut cell, more) {
                cell.extend(more.clone());
            }
            cell
        };
        let cells: Vec<Value> = cells.iter().enumerate().map(cell).collect();
        let notebook = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
        std::fs::write(self.desk.dir.path().join("a.ipynb"), pretty(&notebook)).expect("a file");
    }

    /// A notebook of code cells only.
    pub(crate) fn code(&self, sources: &[&str]) {
        self.put(&sources.iter().map(|source| (*source, json!({}))).collect::<Vec<_>>());
    }

    pub(crate) fn request(&self) -> RunRequest {
        RunRequest {
            path: "a.ipynb".to_owned(),
            output: None,
            cells: CellChoice::default(),
            parameters: Parameters::default(),
            kernel: CellKernel::Same,
            on_error: OnError::Usual,
            needed: NeededCells::MustHaveRun,
            timeout: None,
            cell_timeout: None,
            wait: Some(LONG),
            cwd: None,
            session: None,
            wanted: KernelWishes::default(),
            mode: KernelMode::Session,
            reading: Reading::default(),
            start: RunStart::First,
            stamps: Stamps::Nothing,
            on_open: OnOpen::Refuse,
            extent: RunExtent::Cells,
            sources: SourceDisplay::AsBefore,
        }
    }

    pub(crate) async fn run(&self, request: RunRequest) -> PythonReport {
        run_notebook(&self.desk.engine, request, &self.files, ME).await.expect("a report")
    }

    pub(crate) fn file(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.desk.dir.path().join(name)).expect("the file");
        serde_json::from_str(&text).expect("JSON")
    }

    /// The outputs of a cell in the file: streams as text, results by their plain form, errors by name.
    pub(crate) fn shown(&self, cell: usize) -> Vec<String> {
        let cell = &self.file("a.ipynb")["cells"][cell];
        let joined = |value: &Value| match value {
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        let output = |output: &Value| match output["output_type"].as_str() {
            Some("stream") => joined(&output["text"]),
            Some("error") => output["ename"].as_str().unwrap_or_default().to_owned(),
            _ => joined(&output["data"]["text/plain"]),
        };
        cell["outputs"].as_array().expect("outputs").iter().map(output).collect()
    }
}

pub(crate) fn states(report: &PythonReport) -> Vec<State> {
    report.cells.iter().map(|cell| cell.state).collect()
}

pub(crate) fn written(report: &PythonReport) -> Vec<WriteBack> {
    report.cells.iter().filter_map(|cell| Some(cell.notebook.as_ref()?.written)).collect()
}

pub(crate) fn notes(report: &PythonReport) -> &[RunNote] {
    &report.notebook.as_ref().expect("a notebook").notes
}

/// All cells run in order in one kernel. Outputs and counts are in the file, and no other part changes.
#[tokio::test]
async fn a_notebook_runs_and_only_outputs_and_counts_change() {
    let rig = Rig::new();
    let text = json!({"cell_type": "markdown", "metadata": {"a": 1}});
    rig.put(&[
        ("x = 20", json!({"metadata": {"tags": ["keep"]}})),
        ("# title", text),
        ("print('a')\nx + 1", json!({"outputs": [], "execution_count": 9})),
    ]);
    let before = rig.file("a.ipynb");
    let report = rig.run(rig.request()).await;
    assert_eq!((report.state, states(&report)), (State::Done, vec![State::Done, State::Done]));
    assert_eq!(written(&report), [WriteBack::Saved, WriteBack::Saved]);
    assert_eq!(rig.shown(2), ["a\n", "21"]);
    let mut after = rig.file("a.ipynb");
    assert_eq!(after["cells"][0]["execution_count"], 1);
    assert_eq!(after["cells"][2]["execution_count"], 2);
    for (at, count) in [(0, json!(null)), (2, json!(9))] {
        after["cells"][at]["execution_count"] = count;
        after["cells"][at]["outputs"] = json!([]);
    }
    assert_eq!(after, before);
    // The session belongs to the notebook and keeps its state.
    let only = CellChoice { list: Some("2".to_owned()), ..CellChoice::default() };
    let again = rig.run(RunRequest { cells: only, ..rig.request() }).await;
    assert_eq!((again.state, again.cells[0].count), (State::Done, Some(3)));
    assert_eq!(again.session, report.session);
    let fresh = RunRequest { kernel: CellKernel::Fresh, ..rig.request() };
    let fresh = rig.run(fresh).await;
    assert_eq!(fresh.cells[0].count, Some(1));
    rig.desk.engine.shutdown().await;
}

/// The outputs of a run are compared with those that they replace, if the notebook had any.
#[tokio::test]
async fn a_second_run_compares_its_outputs_with_the_first() {
    let rig = Rig::new();
    rig.code(&[
        "n = globals().get('n', 0) + 1",
        "print('same')",
        "n",
        "if n > 1: print('late')",
        "if n < 2: print('early')",
        "raise ValueError('no')",
    ]);
    let changes = |report: &PythonReport| -> Vec<Option<OutputChange>> {
        report.cells.iter().filter_map(|cell| Some(cell.notebook.as_ref()?.change)).collect()
    };
    let first = rig.run(rig.request()).await;
    assert_eq!(changes(&first), [None; 6]);
    let again = rig.run(rig.request()).await;
    let (same, changed) = (Some(OutputChange::Same), Some(OutputChange::Changed));
    assert_eq!(changes(&again), [same, same, changed, Some(OutputChange::New), changed, same]);
    assert!(again.cells[1].is_as_before() && !again.cells[5].is_as_before());
    rig.desk.engine.shutdown().await;
}

/// F-080: the first error stops the run. Earlier outputs are kept, the failing cell has its error, and the rest is
/// unchanged.
#[tokio::test]
async fn an_error_stops_the_run_unless_it_is_allowed() {
    let rig = Rig::new();
    let old = json!({"outputs": [{"output_type": "stream", "name": "stdout", "text": ["old\n"]}]});
    rig.put(&[("print('one')", json!({})), ("1/0", json!({})), ("print('three')", old)]);
    let report = rig.run(rig.request()).await;
    assert_eq!(report.state, State::Error);
    assert_eq!(states(&report), [State::Done, State::Error, State::NeverRun]);
    assert_eq!(written(&report), [WriteBack::Saved, WriteBack::Saved, WriteBack::NotYet]);
    assert_eq!(rig.shown(1), ["ZeroDivisionError"]);
    assert_eq!(rig.shown(2), ["old\n"]);
    let report = rig.run(RunRequest { on_error: OnError::GoOn, ..rig.request() }).await;
    assert_eq!(report.state, State::Done);
    assert_eq!(states(&report), [State::Done, State::Error, State::Done]);
    assert_eq!(rig.shown(2), ["three\n"]);
    rig.desk.engine.shutdown().await;
}

/// Tags of other programs work.
#[tokio::test]
async fn tags_say_what_may_fail_and_what_is_skipped() {
    let rig = Rig::new();
    let tagged = |tag: &str| json!({"metadata": {"tags": [tag]}});
    rig.put(&[
        ("1/0", tagged("raises-exception")),
        ("print('never')", tagged("skip-execution")),
        ("print('last')", json!({})),
        ("  \n", json!({"execution_count": 7})),
    ]);
    let report = rig.run(rig.request()).await;
    assert_eq!((report.state, states(&report)), (State::Done, vec![State::Error, State::Done]));
    assert_eq!(report.notebook.as_ref().map(|notebook| notebook.skipped.clone()), Some(vec![1]));
    assert!(rig.shown(1).is_empty());
    assert_eq!(rig.shown(2), ["last\n"]);
    assert_eq!(rig.file("a.ipynb")["cells"][3]["execution_count"], 7);
    rig.desk.engine.shutdown().await;
}

/// Each cell has a time limit; after it, the next cell runs if errors are allowed. F-080
#[tokio::test]
async fn a_cell_that_takes_too_long_is_stopped() {
    let rig = Rig::new();
    rig.put(&[
        ("x = 1", json!({})),
        (
            "import time\nprint('before')\ntime.sleep(600)",
            json!({"metadata": {"execution": {"timeout": 1.5}}}),
        ),
        ("print('after', x)", json!({})),
    ]);
    let report = rig.run(rig.request()).await;
    assert_eq!(states(&report), [State::Done, State::TimedOut, State::NeverRun]);
    assert_eq!(rig.shown(1), ["before\n", "KeyboardInterrupt"]);
    let report = rig.run(RunRequest { on_error: OnError::GoOn, ..rig.request() }).await;
    assert_eq!(states(&report), [State::Done, State::TimedOut, State::Done]);
    assert_eq!(rig.shown(2), ["after 1\n"]);
    rig.desk.engine.shutdown().await;
}

/// The limit of the whole run holds even if cells may fail: no cell begins after it.
#[tokio::test]
async fn no_cell_begins_after_the_time_of_the_run() {
    let rig = Rig::new();
    rig.code(&["x = 1", "import time\ntime.sleep(600)", "open('never', 'w')"]);
    // Enough for the start and the first cell, even on a busy machine.
    let limit = Some(Duration::from_secs(10));
    let request = RunRequest { timeout: limit, on_error: OnError::GoOn, ..rig.request() };
    let report = rig.run(request).await;
    assert_eq!(report.state, State::TimedOut);
    assert_eq!(states(&report), [State::Done, State::TimedOut, State::NeverRun]);
    assert!(!rig.desk.dir.path().join("never").exists());
    rig.desk.engine.shutdown().await;
}

/// F-080: a kernel that dies stops the run even if errors are allowed; its output is kept.
#[tokio::test]
async fn a_death_is_in_the_file() {
    let rig = Rig::new();
    rig.code(&["x = 1", "import os\nprint('last', flush=True)\nos._exit(3)", "x"]);
    let report = rig.run(RunRequest { on_error: OnError::GoOn, ..rig.request() }).await;
    assert_eq!(states(&report), [State::Done, State::KernelDied, State::NeverRun]);
    assert_eq!(rig.shown(1), ["last\n", "DeadKernelError"]);
    let text = rig.file("a.ipynb")["cells"][1]["outputs"][1]["evalue"].to_string();
    assert!(text.contains('3'), "{text}");
    rig.desk.engine.shutdown().await;
}

/// `SystemExit` stops the run; its status decides between success and error.
#[tokio::test]
async fn an_exit_ends_the_run() {
    let rig = Rig::new();
    for (code, state) in [("0", State::Done), ("'no data'", State::Error)] {
        rig.code(&["x = 1", &format!("import sys\nsys.exit({code})"), "x"]);
        let report = rig.run(RunRequest { on_error: OnError::GoOn, ..rig.request() }).await;
        assert_eq!(report.state, state);
        assert_eq!(report.cells[2].state, State::NeverRun);
        assert!(matches!(notes(&report), [RunNote::Exited { index: 1, .. }]), "{report:?}");
    }
    rig.desk.engine.shutdown().await;
}

/// F-079: a source changed by another program during its run keeps the change, and outputs of the old source stay out
/// of the file. A cell changed before its turn runs with its new source.
#[tokio::test]
async fn foreign_edits_survive() {
    let rig = Rig::new();
    let wait = wait_for("go");
    rig.code(&[&format!("print('slow')\n{wait}"), "print('old')", "print('gone')"]);
    let begun = rig.run(RunRequest { wait: Some(Duration::ZERO), ..rig.request() }).await;
    let mut watch = rig.desk.engine.find_call(&begun.execution).expect("a watch").watch(Seq(0));
    // The first cell has begun once it prints.
    while let Some(item) = watch.next().await {
        if format!("{item:?}").contains("slow") {
            break;
        }
    }
    let mut notebook = rig.file("a.ipynb");
    notebook["cells"][0]["source"] = json!("print('mine')");
    notebook["cells"][1]["source"] = json!("print('new')");
    notebook["cells"].as_array_mut().expect("cells").remove(2);
    notebook["metadata"]["mine"] = json!(true);
    std::fs::write(rig.desk.dir.path().join("a.ipynb"), pretty(&notebook)).expect("a file");
    std::fs::write(rig.desk.dir.path().join("go"), "").expect("a file");
    let report = rig.desk.end(&begun).await;
    assert_eq!(report.state, State::Done);
    let gone = [WriteBack::SourceChanged, WriteBack::Saved, WriteBack::Gone];
    assert_eq!(written(&report), gone);
    assert_eq!(rig.file("a.ipynb")["cells"][0]["source"], "print('mine')");
    assert!(rig.shown(0).is_empty());
    assert_eq!(rig.shown(1), ["new\n"]);
    assert_eq!(rig.file("a.ipynb")["metadata"]["mine"], true);
    rig.desk.engine.shutdown().await;
}

/// A run with another output file leaves the notebook alone.
#[tokio::test]
async fn a_run_can_be_written_elsewhere() {
    let rig = Rig::new();
    rig.code(&["print('hi')"]);
    let before = rig.file("a.ipynb");
    let elsewhere = RunRequest { output: Some("b.ipynb".to_owned()), ..rig.request() };
    let report = rig.run(elsewhere).await;
    assert_eq!(report.state, State::Done);
    assert_eq!(rig.file("a.ipynb"), before);
    assert_eq!(rig.file("b.ipynb")["cells"][0]["outputs"][0]["text"], json!(["hi\n"]));
    rig.desk.engine.shutdown().await;
}

/// One run at a time; a second one is refused with a reason.
#[tokio::test]
async fn a_second_run_of_a_notebook_is_refused() {
    let rig = Rig::new();
    rig.code(&[&wait_for("go")]);
    let begun = rig.run(RunRequest { wait: Some(Duration::ZERO), ..rig.request() }).await;
    let refused = run_notebook(&rig.desk.engine, rig.request(), &rig.files, ME).await;
    let Err(EngineError::Session(SessionError::RunUnderWay { .. })) = refused else {
        panic!("{refused:?}");
    };
    std::fs::write(rig.desk.dir.path().join("go"), "").expect("a file");
    assert_eq!(rig.desk.end(&begun).await.state, State::Done);
    assert_eq!(rig.run(rig.request()).await.state, State::Done);
    rig.desk.engine.shutdown().await;
}

/// A second run into the same file is refused before it touches any file.
#[tokio::test]
async fn a_run_into_a_file_that_another_run_has_leaves_it_alone() {
    let rig = Rig::new();
    rig.code(&["print('one')", &wait_for("go")]);
    let request = || RunRequest { output: Some("b.ipynb".to_owned()), ..rig.request() };
    let begun = rig.run(RunRequest { wait: Some(Duration::ZERO), ..request() }).await;
    let has_output = || rig.file("b.ipynb")["cells"][0]["outputs"][0]["text"] == json!(["one\n"]);
    until_async("the output of the first cell", async || {
        rig.desk.dir.path().join("b.ipynb").exists() && has_output()
    })
    .await;
    let refused = run_notebook(&rig.desk.engine, request(), &rig.files, ME).await;
    assert!(refused.is_err(), "{refused:?}");
    assert!(has_output(), "the output of the first run is gone");
    std::fs::write(rig.desk.dir.path().join("go"), "").expect("a file");
    assert_eq!(rig.desk.end(&begun).await.state, State::Done);
    rig.desk.engine.shutdown().await;
}

/// A stopped run goes on where it stopped, and completed cells do not run again.
#[tokio::test]
async fn a_run_is_resumed() {
    let rig = Rig::new();
    rig.code(&["open('log', 'a').write('1')", "open('fixed')", "open('log', 'a').write('3')"]);
    let report = rig.run(rig.request()).await;
    assert_eq!(states(&report), [State::Done, State::Error, State::NeverRun]);
    std::fs::write(rig.desk.dir.path().join("fixed"), "").expect("a file");
    let report = rig.run(RunRequest { start: RunStart::Resume, ..rig.request() }).await;
    assert_eq!(states(&report.without_left_out()), [State::Done, State::Done]);
    assert_eq!(report.notebook.as_ref().map(|notebook| notebook.resumed.clone()), Some(vec![0]));
    let log = std::fs::read_to_string(rig.desk.dir.path().join("log")).expect("a log");
    assert_eq!(log, "13");
    rig.desk.engine.shutdown().await;
}

/// Requests that are refused before any cell runs.
#[tokio::test]
async fn what_cannot_be_run_is_refused_at_once() {
    let rig = Rig::new();
    rig.code(&["1"]);
    let refusal = async |request: RunRequest| {
        let refused = run_notebook(&rig.desk.engine, request, &rig.files, ME).await;
        refused.expect_err("it is refused").to_string()
    };
    let list = |list: &str| CellChoice { list: Some(list.to_owned()), ..CellChoice::default() };
    let unknown = refusal(RunRequest { cells: list("zzzz"), ..rig.request() }).await;
    assert!(unknown.contains("zzzz"), "{unknown}");
    let missing = refusal(RunRequest { path: "no.ipynb".to_owned(), ..rig.request() }).await;
    assert!(missing.contains("no.ipynb"), "{missing}");
    let path = rig.desk.dir.path().join("a.ipynb");
    let mut notebook = rig.file("a.ipynb");
    notebook["metadata"]["kernelspec"] =
        json!({"name": "ir", "language": "R", "display_name": "R"});
    std::fs::write(&path, pretty(&notebook)).expect("a file");
    let language = refusal(rig.request()).await;
    assert!(language.contains("for R (kernel ir)"), "{language}");
    rig.code(&["1"]);
    let mut mode = std::fs::metadata(&path).expect("a file").permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&path, mode).expect("a mode");
    let read_only = refusal(rig.request()).await;
    assert!(read_only.contains("read-only"), "{read_only}");
    assert!(rig.desk.engine.sessions().is_empty());
    rig.desk.engine.shutdown().await;
}

/// Notes of other runners are written on request only.
#[tokio::test]
async fn times_are_written_when_asked_for() {
    let rig = Rig::new();
    rig.put(&[("1", json!({"metadata": {"execution": {"timeout": "60"}}})), ("1/0", json!({}))]);
    let report = rig.run(RunRequest { stamps: Stamps::Jupyter, ..rig.request() }).await;
    assert_eq!(report.state, State::Error);
    let cell = &rig.file("a.ipynb")["cells"][0]["metadata"]["execution"];
    assert_eq!(cell["iopub.execute_input"], "2023-11-14T22:13:20.123456Z");
    assert_eq!(cell["timeout"], "60");
    for _ in 0..2 {
        let report = rig.run(RunRequest { stamps: Stamps::Papermill, ..rig.request() }).await;
        assert_eq!(report.state, State::Error);
        let notebook = rig.file("a.ipynb");
        let cells = notebook["cells"].as_array().expect("cells");
        assert_eq!(cells.len(), 4);
        assert_eq!(cells[0]["metadata"]["tags"], json!(["papermill-error-cell-tag"]));
        assert_eq!(cells[2]["metadata"]["tags"], json!(["papermill-error-cell-tag"]));
        assert_eq!(cells[1]["metadata"]["papermill"]["status"], "completed");
        assert_eq!(cells[3]["metadata"]["papermill"]["exception"], true);
        assert_eq!(notebook["metadata"]["papermill"]["exception"], true);
    }
    rig.desk.engine.shutdown().await;
}

/// A caller that goes away stops nothing, and one that cancels the run stops it: completed cells are saved.
#[tokio::test]
async fn a_run_that_is_taken_back_is_saved() {
    let rig = Rig::new();
    rig.code(&["print('one')", "print('two')\nimport time\ntime.sleep(600)", "print('three')"]);
    let begun = rig.run(RunRequest { wait: Some(Duration::ZERO), ..rig.request() }).await;
    let mut watch = rig.desk.engine.find_call(&begun.execution).expect("a watch").watch(Seq(0));
    while let Some(item) = watch.next().await {
        if format!("{item:?}").contains("two") {
            break;
        }
    }
    rig.desk.engine.find_call(&begun.execution).expect("it runs").cancel();
    let report = rig.desk.end(&begun).await;
    assert_eq!(states(&report), [State::Done, State::Cancelled, State::NeverRun]);
    assert!(matches!(report.cells[1].end, Some(EndReport::Stopped { .. })), "{report:?}");
    assert_eq!(rig.shown(0), ["one\n"]);
    assert_eq!(rig.shown(1), ["two\n", "KeyboardInterrupt"]);
    rig.desk.engine.shutdown().await;
}
