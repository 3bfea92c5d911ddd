//! Cases known from other programs that run notebooks: what stops a run, and which outputs remain.

use std::time::Duration;

use inkcell_engine::api::{
    CellChoice, EndReport, KernelMode, OnError, RunNote, RunRequest, Stamps, State, WriteBack,
};
use inkcell_engine::registry::SessionName;
use inkcell_testkit::notebooks::pretty;
use serde_json::{Value, json};

use crate::faults_kit::{told, wait_for};
use crate::runs::{Rig, notes, states, written};

pub(crate) fn old(text: &str) -> Value {
    json!({"execution_count": 7, "outputs":
        [{"output_type": "stream", "name": "stdout", "text": [format!("{text}\n")]}]})
}

pub(crate) fn only(list: &str) -> CellChoice {
    CellChoice { list: Some(list.to_owned()), ..CellChoice::default() }
}

/// F-080: a cell's old outputs go when it runs, even if it shows none; those of cells that do not run stay.
#[tokio::test]
async fn old_outputs_go_with_the_run_of_their_cell() {
    let rig = Rig::new();
    let skipped = json!({"metadata": {"tags": ["skip-execution"]}, "execution_count": 3});
    rig.put(&[
        ("x = 1", old("quiet now")),
        ("# only a comment", old("a comment shows nothing")),
        ("", old("empty")),
        ("x", skipped),
        ("print('new')", old("old")),
    ]);
    let report = rig.run(RunRequest { cells: only("0-3"), ..rig.request() }).await;
    assert_eq!((report.state, report.cells.len()), (State::Done, 2));
    assert!(rig.shown(0).is_empty() && rig.shown(1).is_empty());
    assert_eq!((rig.shown(2), rig.shown(4)), (vec!["empty\n".into()], vec!["old\n".into()]));
    let counts: Vec<Value> = rig.file("a.ipynb")["cells"]
        .as_array()
        .expect("cells")
        .iter()
        .map(|cell| cell["execution_count"].clone())
        .collect();
    // A count counts executions, as everywhere: a comment is one.
    assert_eq!(counts, [json!(1), json!(2), json!(7), json!(3), json!(7)]);
    rig.desk.engine.shutdown().await;
}

/// F-080: the file has the outputs of a failed cell, followed by the error.
#[tokio::test]
async fn a_failing_cell_keeps_what_it_showed() {
    let rig = Rig::new();
    rig.put(&[
        ("print('before')\n1/0", old("gone")),
        ("import sys\nprint('to stderr', file=sys.stderr)\nraise KeyError('k')", json!({})),
        ("print('last')", json!({})),
    ]);
    let report = rig.run(RunRequest { on_error: OnError::GoOn, ..rig.request() }).await;
    assert_eq!(states(&report), [State::Error, State::Error, State::Done]);
    assert_eq!(rig.shown(0), ["before\n", "ZeroDivisionError"]);
    assert_eq!(rig.shown(1), ["to stderr\n", "KeyError"]);
    let error = &rig.file("a.ipynb")["cells"][0]["outputs"][1];
    assert_eq!(error["evalue"], "division by zero");
    let traceback = error["traceback"].to_string();
    assert!(traceback.contains("1") && traceback.contains("ZeroDivisionError"), "{traceback}");
    rig.desk.engine.shutdown().await;
}

/// F-080: metadata of a cell allows that cell to fail, metadata of the notebook all cells; any other failure stops the
/// run.
#[tokio::test]
async fn metadata_allows_errors() {
    let rig = Rig::new();
    let allowed = json!({"metadata": {"execution": {"allow_errors": true}}});
    rig.put(&[("1/0", allowed), ("2/0", json!({})), ("3", json!({}))]);
    let report = rig.run(rig.request()).await;
    assert_eq!(states(&report), [State::Error, State::Error, State::NeverRun]);
    let mut notebook = rig.file("a.ipynb");
    notebook["metadata"]["execution"] = json!({"allow_errors": true});
    let text = pretty(&notebook);
    std::fs::write(rig.desk.dir.path().join("a.ipynb"), text).expect("a file");
    let report = rig.run(rig.request()).await;
    assert_eq!(
        (report.state, states(&report)),
        (State::Done, vec![State::Error, State::Error, State::Done])
    );
    rig.desk.engine.shutdown().await;
}

/// F-080: input is refused at once; the run stops there, or goes on if errors are allowed.
#[tokio::test]
async fn input_is_refused() {
    let rig = Rig::new();
    for ask in ["input('name? ')", "import getpass\ngetpass.getpass()"] {
        rig.code(&[ask, "print('after')"]);
        let report = rig.run(rig.request()).await;
        assert_eq!(states(&report), [State::InputRefused, State::NeverRun], "{ask}");
        assert_eq!(rig.shown(0).last().map(String::as_str), Some("StdinNotImplementedError"));
        let report = rig.run(RunRequest { on_error: OnError::GoOn, ..rig.request() }).await;
        assert_eq!(states(&report), [State::InputRefused, State::Done], "{ask}");
        assert_eq!(rig.shown(1), ["after\n"]);
    }
    rig.desk.engine.shutdown().await;
}

/// F-080: each cell is in the file before the next one begins.
#[tokio::test]
async fn the_file_is_saved_after_each_cell() {
    let rig = Rig::new();
    let look = "import json\n\
                cells = json.load(open('a.ipynb'))['cells']\n\
                print([len(cell['outputs']) for cell in cells])";
    rig.code(&["print('one')", look, look, "1/0", look]);
    let report = rig.run(RunRequest { on_error: OnError::GoOn, ..rig.request() }).await;
    assert_eq!(report.state, State::Done);
    let seen: Vec<Vec<String>> = [1, 2, 4].into_iter().map(|at| rig.shown(at)).collect();
    assert_eq!(seen, [["[1, 0, 0, 0, 0]\n"], ["[1, 1, 0, 0, 0]\n"], ["[1, 1, 1, 1, 0]\n"]]);
    rig.desk.engine.shutdown().await;
}

/// F-080: the death of a kernel is reported, whatever its cause. Cells before it are in the file, and cells after it
/// are unchanged.
#[tokio::test]
async fn a_death_is_told_whatever_it_dies_of() {
    let rig = Rig::new();
    for how in ["os._exit(0)", "os.abort()", "os.kill(os.getpid(), 9)"] {
        rig.put(&[
            ("print('one')", json!({})),
            (&format!("import os\n{how}"), json!({})),
            ("print('never')", old("as it was")),
        ]);
        let report = rig.run(rig.request()).await;
        assert_eq!(states(&report), [State::Done, State::KernelDied, State::NeverRun], "{how}");
        assert_eq!(written(&report)[..2], [WriteBack::Saved; 2], "{how}");
        let (first, last) = (rig.shown(0), rig.shown(2));
        assert_eq!((first, last), (vec!["one\n".into()], vec!["as it was\n".into()]), "{how}");
        assert_eq!(rig.shown(1), ["DeadKernelError"], "{how}");
    }
    rig.desk.engine.shutdown().await;
}

/// F-080: a cell that ignores the interrupt costs the kernel and so the rest of the run, even if errors are allowed.
#[tokio::test]
async fn a_cell_that_cannot_be_stopped_stops_the_run() {
    let rig = Rig::new();
    let deaf = "import time\nprint('deaf', flush=True)\n\
                while True:\n    try:\n        time.sleep(600)\n    except KeyboardInterrupt:\n        pass";
    rig.code(&["x = 1", deaf, "x"]);
    let limit = Some(Duration::from_millis(1500));
    let request = RunRequest { cell_timeout: limit, on_error: OnError::GoOn, ..rig.request() };
    let report = rig.run(request).await;
    assert_eq!(states(&report), [State::Done, State::TimedOut, State::NeverRun]);
    assert_eq!(rig.shown(1), ["deaf\n", "CellTimeoutError"]);
    rig.desk.engine.shutdown().await;
}

/// Parallel runs of several notebooks do not disturb each other, even if one has its own kernel and all share a folder.
#[tokio::test]
async fn notebooks_run_side_by_side() {
    let rig = Rig::new();
    let book = |mine: usize| {
        let sign = format!("open('here-{mine}', 'w').close()");
        let others: Vec<String> = (0..3)
            .filter(|other| *other != mine)
            .map(|other| wait_for(&format!("here-{other}")))
            .collect();
        rig.code(&[&format!("me = {mine}\n{sign}"), &others.join("\n"), "print('I am', me)"]);
        let (from, to) = (rig.desk.dir.path().join("a.ipynb"), format!("{mine}.ipynb"));
        std::fs::rename(from, rig.desk.dir.path().join(&to)).expect("a file");
        to
    };
    let names: Vec<String> = (0..3).map(book).collect();
    let request = |at: usize| RunRequest {
        path: names[at].clone(),
        mode: KernelMode::PerCall,
        ..rig.request()
    };
    let (one, two, three) =
        tokio::join!(rig.run(request(0)), rig.run(request(1)), rig.run(request(2)));
    for (at, report) in [one, two, three].iter().enumerate() {
        assert_eq!(report.state, State::Done, "{report:?}");
        let shown = &rig.file(&names[at])["cells"][2]["outputs"][0]["text"];
        assert_eq!(*shown, json!([format!("I am {at}\n")]));
    }
    rig.desk.engine.shutdown().await;
}

/// The file has the results of the last run, and the next run knows the times.
#[tokio::test]
async fn how_long_cells_took_is_known_to_the_next_run() {
    let rig = Rig::new();
    rig.put(&[
        ("import time\ntime.sleep(0.05)", json!({})),
        ("1/0", json!({"metadata": {"papermill": {"duration": 2.5}}})),
        ("x = 1", json!({})),
    ]);
    let took = |report: &inkcell_engine::api::PythonReport| {
        let took = report.cells.iter().map(|cell| cell.notebook.as_ref()?.last_took);
        took.collect::<Vec<Option<Duration>>>()
    };
    let first = rig.run(RunRequest { on_error: OnError::GoOn, ..rig.request() }).await;
    assert_eq!(took(&first), [None, Some(Duration::from_secs_f64(2.5)), None]);
    // A failed cell gives no time; cells that the run does not reach keep the known times.
    let second = rig.run(rig.request()).await;
    assert_eq!(states(&second), [State::Done, State::Error, State::NeverRun]);
    let known = took(&second);
    assert!(known[0].is_some_and(|took| !took.is_zero()), "{known:?}");
    assert_eq!(known[1], Some(Duration::from_secs_f64(2.5)));
    let third = rig.run(RunRequest { on_error: OnError::GoOn, ..rig.request() }).await;
    assert!(took(&third)[2].is_some(), "{third:?}");
    rig.desk.engine.shutdown().await;
}

/// A run into another file replaces an earlier result there, or continues it on request.
#[tokio::test]
async fn a_run_elsewhere_begins_anew_or_goes_on() {
    use inkcell_engine::api::RunStart;
    let rig = Rig::new();
    rig.code(&["open('log', 'a').write('1')", "open('fixed')", "print('end')"]);
    let elsewhere =
        |start| RunRequest { output: Some("b.ipynb".to_owned()), start, ..rig.request() };
    let log = || std::fs::read_to_string(rig.desk.dir.path().join("log")).expect("a log");
    for times in ["1", "11"] {
        let report = rig.run(elsewhere(RunStart::First)).await;
        assert_eq!(report.state, State::Error);
        assert_eq!(log(), times);
    }
    rig.desk.touch("fixed");
    let report = rig.run(elsewhere(RunStart::Resume)).await;
    assert_eq!((report.state, log().as_str()), (State::Done, "11"));
    let done = rig.file("b.ipynb");
    assert_eq!(done["cells"][0]["outputs"][0]["data"]["text/plain"], json!(["1"]));
    assert_eq!(done["cells"][2]["outputs"][0]["text"], json!(["end\n"]));
    assert_eq!(rig.file("a.ipynb")["cells"][0]["outputs"], json!([]));
    rig.desk.engine.shutdown().await;
}

/// Times noted for JupyterLab do not disturb a run that notes none.
#[tokio::test]
async fn noted_times_stay_when_no_times_are_wanted() {
    let rig = Rig::new();
    rig.code(&["1"]);
    rig.run(RunRequest { stamps: Stamps::Jupyter, ..rig.request() }).await;
    let noted = rig.file("a.ipynb")["cells"][0]["metadata"].clone();
    assert!(noted["execution"]["shell.execute_reply"].is_string(), "{noted}");
    rig.run(rig.request()).await;
    assert_eq!(rig.file("a.ipynb")["cells"][0]["metadata"], noted);
    rig.desk.engine.shutdown().await;
}

/// A cell's own timeout from its metadata applies; an argument takes precedence.
#[tokio::test]
async fn the_timeout_that_was_asked_for_counts_first() {
    let rig = Rig::new();
    let patient = json!({"metadata": {"execution": {"timeout": 600}}});
    rig.put(&[("import time\ntime.sleep(600)", patient), ("print('after')", json!({}))]);
    let limit = Some(Duration::from_millis(1500));
    let request = RunRequest { cell_timeout: limit, on_error: OnError::GoOn, ..rig.request() };
    let report = rig.run(request).await;
    assert_eq!(states(&report), [State::TimedOut, State::Done]);
    let Some(EndReport::Stopped { after, .. }) = &report.cells[0].end else { panic!("{report:?}") };
    assert_eq!(*after, limit);
    assert_eq!(rig.shown(1), ["after\n"]);
    rig.desk.engine.shutdown().await;
}

/// As much of the package `comm` as a widget needs.
const COMM: &str = "class BaseComm:
    def __init__(self, target_name, data, comm_id):
        self.comm_id = comm_id
        self.publish_msg('comm_open', data=data, target_name=target_name)
    def send(self, data):
        self.publish_msg('comm_msg', data=data)
create_comm = None
";

/// Issue 21, 13: the state of widgets is stored with the notebook, and a later run goes on with it.
#[tokio::test]
async fn the_state_of_widgets_is_stored() {
    let rig = Rig::new();
    std::fs::write(rig.desk.dir.path().join("comm.py"), COMM).expect("a module");
    let open = "import comm\ndef widget(name):\n    state = {'_model_name': 'A', 'n': 1}\n    \
                return comm.create_comm('jupyter.widget', {'state': state}, name)\nc = widget('c1')";
    rig.code(&[open, "c.send({'method': 'update', 'state': {'n': 2}})", "widget('c2')\nNone"]);
    let stored = || {
        let file = rig.file("a.ipynb");
        let kind = "application/vnd.jupyter.widget-state+json";
        let widgets = &file["metadata"]["widgets"][kind];
        assert_eq!(widgets["version_major"], 2);
        let model = |(id, model): (&String, &Value)| (id.clone(), model["state"]["n"].clone());
        let state = widgets["state"].as_object().expect("widgets");
        state.iter().map(model).collect::<Vec<(String, Value)>>()
    };
    let report = rig.run(RunRequest { cells: only("0-1"), ..rig.request() }).await;
    assert_eq!(report.state, State::Done, "{report:?}");
    assert_eq!(stored(), [("c1".to_owned(), json!(2))]);
    let report = rig.run(RunRequest { cells: only("2"), ..rig.request() }).await;
    assert_eq!(report.state, State::Done, "{report:?}");
    assert_eq!(stored(), [("c1".to_owned(), json!(2)), ("c2".to_owned(), json!(1))]);
    rig.desk.engine.shutdown().await;
}

/// Issue 21, 13: a note says why the state of widgets is not stored. The outputs are.
#[tokio::test]
async fn widgets_that_cannot_be_stored_are_told() {
    let rig = Rig::new();
    std::fs::write(rig.desk.dir.path().join("comm.py"), COMM).expect("a module");
    let code = "import comm\nstate = {'_model_name': 'A'}\n\
                comm.create_comm('jupyter.widget', {'state': state}, 'c1')\nprint('x')";
    rig.code(&[code]);
    let mut text = std::fs::read_to_string(rig.book()).expect("the file");
    let at = text.rfind("\"metadata\": {").expect("the notebook's metadata");
    text.insert_str(at + 13, "\"n\": NaN");
    std::fs::write(rig.book(), text).expect("a file");
    let report = rig.run(rig.request()).await;
    assert_eq!(report.state, State::Done, "{report:?}");
    let [RunNote::NotNoted(problem)] = notes(&report) else { panic!("{report:?}") };
    assert!(problem.message.contains("NaN"), "{problem:?}");
    let after = std::fs::read_to_string(rig.book()).expect("the file");
    assert!(after.contains("NaN") && after.contains("x\\n"), "{after}");
    rig.desk.engine.shutdown().await;
}

/// Later cells change displays of earlier ones.
#[tokio::test]
async fn an_update_reaches_an_earlier_cell() {
    let rig = Rig::new();
    rig.code(&["h = display('one', display_id=True)", "print('between')", "h.update('two')"]);
    let report = rig.run(rig.request()).await;
    assert_eq!(report.state, State::Done);
    assert_eq!(rig.shown(0), ["'two'"]);
    assert!(rig.shown(2).is_empty());
    // The kernel lives on, and a later run can change the display, too, unless the cell has changed.
    let mut notebook = rig.file("a.ipynb");
    let path = rig.desk.dir.path().join("a.ipynb");
    for (source, shown) in [("h.update('three')", "'three'"), ("h.update('four')", "'four'")] {
        notebook["cells"][2]["source"] = json!(source);
        std::fs::write(&path, pretty(&notebook)).expect("a file");
        let last = CellChoice { list: Some("2".to_owned()), ..CellChoice::default() };
        let report = rig.run(RunRequest { cells: last, ..rig.request() }).await;
        assert_eq!(report.state, State::Done, "{report:?}");
        assert_eq!((rig.shown(0), rig.shown(1)), (vec![shown.into()], vec!["between\n".into()]));
        notebook = rig.file("a.ipynb");
        assert_eq!(notebook["cells"][0]["execution_count"], 1);
    }
    notebook["cells"][0]["source"] = json!("another");
    notebook["cells"][2]["source"] = json!("h.update('five')");
    std::fs::write(&path, pretty(&notebook)).expect("a file");
    let last = CellChoice { list: Some("2".to_owned()), ..CellChoice::default() };
    rig.run(RunRequest { cells: last, ..rig.request() }).await;
    assert_eq!(rig.shown(0), ["'four'"]);
    rig.desk.engine.shutdown().await;
}

/// A cell whose run timed out before a kernel existed keeps its outputs: none of its code ran.
#[tokio::test]
async fn a_cell_that_never_began_keeps_its_outputs() {
    let rig = Rig::new();
    let old = json!([{"name": "stdout", "output_type": "stream", "text": ["old\n"]}]);
    rig.put(&[("print('new')", json!({"outputs": old, "execution_count": 9}))]);
    let before = std::fs::read(rig.desk.dir.path().join("a.ipynb")).expect("the file");
    let hurried = Some(Duration::from_micros(1));
    let report = rig.run(RunRequest { timeout: hurried, ..rig.request() }).await;
    assert_eq!(states(&report), [State::TimedOut]);
    assert_eq!(report.cells[0].count, None, "{report:?}");
    assert_eq!(std::fs::read(rig.desk.dir.path().join("a.ipynb")).expect("the file"), before);
    let again = rig.run(rig.request()).await;
    assert_eq!(notes(&again), [], "nothing was cut off: {again:?}");
    assert_eq!(rig.shown(0), ["new\n"]);
    rig.desk.engine.shutdown().await;
}

/// Issue 21, 4: a notebook's kernel has no helpers, so that code that works here works in Jupyter. A session keeps the
/// helpers it started with: code that joins the notebook's session has none, and a notebook that joins another session
/// gets a note about them.
#[tokio::test]
async fn a_notebook_starts_without_helpers() {
    let rig = Rig::new();
    rig.code(&["log(10)"]);
    let report = rig.run(rig.request()).await;
    assert_eq!((states(&report), notes(&report)), (vec![State::Error], &[][..]));
    assert_eq!(rig.shown(0), ["NameError"]);
    let mut joins = rig.desk.request(&["'log' in globals()"]);
    joins.session = Some(report.session);
    assert_eq!(told(&rig.desk.ask(joins).await), "False");

    let mut first = rig.desk.request(&["'log' in globals()"]);
    first.session = Some(SessionName("mine".to_owned()));
    let session = first.session.clone();
    assert_eq!(told(&rig.desk.ask(first).await), "True");
    let report = rig.run(RunRequest { session, ..rig.request() }).await;
    assert_eq!((states(&report), notes(&report)), (vec![State::Done], &[RunNote::Helpers][..]));
    rig.desk.engine.shutdown().await;
}
