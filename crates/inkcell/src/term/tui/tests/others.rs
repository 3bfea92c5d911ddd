//! Activity of other programs: edits of the file, and code in the kernel.

use super::*;
use crate::view::execution::Page;
use crate::view::tests::samples;

/// The cursor stays on its cell when that moves.
#[test]
fn the_cursor_stays_on_its_cell() {
    let mut model = three();
    press(&mut model, "jj");
    let cells = [("code", "new1", "0"), ("code", "cccc", "print(x)"), ("code", "aaaa", "x = 1")];
    read_by(&mut model, notebook(&cells), By::Others);
    assert_eq!(model.cursor, 1);
    read_by(&mut model, notebook(&cells[..1]), By::Others);
    assert_eq!(model.cursor, 0);
    read_by(&mut model, notebook(&[]), By::Others);
    frame(&mut model, 40, 8);
    read_by(&mut model, notebook(&cells), By::Others);
    frame(&mut model, 40, 8);
}

/// Typed text survives a change of the file, and goes into the cell for which it was typed.
#[test]
fn an_edit_follows_its_cell() {
    let mut model = three();
    press(&mut model, "\n#");
    let cells = [("code", "new1", "0"), ("code", "aaaa", "x = 1")];
    read_by(&mut model, notebook(&cells), By::Others);
    assert_eq!(model.editor().unwrap().cell, Some(1));
    let effects = press(&mut model, "\u{1b}");
    perform(&mut model, effects);
    assert_eq!(sources(&model), ["0", "#x = 1"]);
}

/// A conflict of two texts: nothing is written before the user chooses one.
#[test]
fn a_conflict_is_asked_about() {
    let conflict = || {
        let mut model = three();
        press(&mut model, "\n#");
        read_by(
            &mut model,
            notebook(&[("code", "aaaa", "x = 2"), ("code", "cccc", "")]),
            By::Others,
        );
        assert!(frame(&mut model, 80, 12).contains("changed on disk"));
        assert!(press(&mut model, "\u{1b}").is_empty(), "nothing is written");
        assert!(frame(&mut model, 80, 12).contains("this cell changed on disk"));
        model
    };
    let table: [(&str, &[&str]); 3] =
        [("o", &["#x = 1", ""]), ("b", &["x = 2", "#x = 1", ""]), ("t", &["x = 2", ""])];
    for (answer, wanted) in table {
        let mut model = conflict();
        let effects = press(&mut model, answer);
        perform(&mut model, effects);
        assert_eq!(sources(&model), wanted, "{answer}");
        assert!(matches!(model.mode, Mode::Browse), "{answer}");
    }
    let mut model = conflict();
    press(&mut model, "\u{1b}");
    assert_eq!(model.editor().unwrap().text(), "#x = 1", "it can be edited on");
}

#[test]
fn a_text_whose_cell_is_gone_can_be_put_beside() {
    let mut model = three();
    press(&mut model, "\n#");
    read_by(&mut model, notebook(&[]), By::Others);
    assert!(press(&mut model, "\u{1b}").is_empty());
    assert!(press(&mut model, "o").is_empty(), "there is nothing to overwrite");
    assert!(press(&mut model, "\u{1b}").is_empty());
    let effects = press(&mut model, "b");
    perform(&mut model, effects);
    assert_eq!(sources(&model), ["#x = 1"]);
}

pub(super) fn began(id: &str, index: usize, cell: usize) -> Input {
    let notebook = NotebookCell {
        index,
        id: Some(id.to_owned()),
        outputs: 0,
        written: WriteBack::NotYet,
        may_fail: false,
        last_took: None,
        why: None,
        change: None,
    };
    Input::Session(Box::new(SessionEvent::Began {
        execution: ExecutionId("run-1".to_owned()),
        cell,
        of: 2,
        source: source(),
        notebook: Some(notebook),
    }))
}

fn source() -> CellSource {
    samples::source("print(x)")
}

fn happened(cell: usize, event: ExecEvent) -> Input {
    let execution = ExecutionId("run-1".to_owned());
    Input::Session(Box::new(SessionEvent::Happened { execution, cell, event }))
}

pub(super) fn wrote(cell: usize, text: &str) -> Input {
    let data = text.to_owned().into();
    happened(cell, ExecEvent::Stream { name: StreamName::Stdout, data })
}

fn ended(cell: usize, state: State) -> Input {
    ended_with(cell, state, inkcell_engine::output::ModelOutput::default())
}

pub(super) fn ended_with(
    cell: usize,
    state: State,
    output: inkcell_engine::output::ModelOutput,
) -> Input {
    let report = CellReport {
        count: Some(1),
        duration: Duration::from_millis(1500),
        output,
        ..samples::cell(source(), state)
    };
    let execution = ExecutionId("run-1".to_owned());
    Input::Session(Box::new(SessionEvent::Ended { execution, cell, report: Box::new(report) }))
}

/// An agent's run is visible while it runs, even if cells move. After it, the outputs in the file are shown.
#[test]
fn what_somebody_else_runs_is_seen() {
    let mut model = three();
    model.update(began("cccc", 2, 0));
    model.update(Input::Time(Duration::from_secs(3)));
    model.update(wrote(0, "counting: 1\n"));
    let shown = frame(&mut model, 60, 20);
    assert!(shown.contains("[*] ●│"), "{shown}");
    assert!(shown.contains("#2 cccc  3.0s"), "{shown}");
    assert!(shown.contains("counting: 1"), "{shown}");
    assert!(shown.contains("busy 3.0s, 1/2"), "{shown}");
    let mut moved = serde_json::json!({
        "cell_type": "code", "id": "cccc", "metadata": {}, "source": "print(x)",
        "outputs": [], "execution_count": null
    });
    read_by(&mut model, of_cells(&[moved.clone()]), By::Others);
    model.update(wrote(0, "counting: 2\n"));
    let shown = frame(&mut model, 60, 20);
    assert!(shown.contains("counting: 1") && shown.contains("counting: 2"), "{shown}");
    model.update(happened(0, ExecEvent::Finished(Outcome::Ok)));
    model.update(ended(0, State::Done));
    moved["outputs"] = serde_json::json!([{
        "output_type": "stream", "name": "stdout", "text": "from the file\n"
    }]);
    moved["execution_count"] = 1.into();
    read_by(&mut model, of_cells(&[moved]), By::Others);
    let shown = frame(&mut model, 60, 20);
    assert!(shown.contains("[1] ✓│") && shown.contains("#0 cccc  1.5s"), "{shown}");
    assert!(shown.contains("from the file") && !shown.contains("counting"), "{shown}");
}

/// The third cell as it is in the file.
fn third(count: Option<u64>, text: Option<&str>) -> Notebook {
    let outputs: Vec<serde_json::Value> = text
        .map(|text| serde_json::json!({"output_type": "stream", "name": "stdout", "text": text}))
        .into_iter()
        .collect();
    of_cells(&[serde_json::json!({
        "cell_type": "code", "id": "cccc", "metadata": {}, "source": "print(x)",
        "outputs": outputs, "execution_count": count
    })])
}

/// A finished run that wrote this text and has more of it stored.
fn ran(model: &mut Model, text: &str) {
    model.update(began("cccc", 0, 0));
    model.update(wrote(0, text));
    let mut output = inkcell_engine::output::ModelOutput::default();
    let id = "abcdefgh2345abcd".to_owned();
    output.artifact = Some(inkcell_engine::output::ArtifactRef { id, bytes: 100 });
    output.parts.push(inkcell_engine::output::Part::Text(text.to_owned()));
    model.update(ended_with(0, State::Done, output));
}

fn after(model: &mut Model, seconds: u64) {
    let now = model.now + Duration::from_secs(seconds);
    model.update(Input::Time(now));
}

/// A late watcher hears of runs whose outputs are no longer in the file. The outputs in the file are shown instead,
/// also for stored outputs.
#[test]
fn a_run_that_is_over_is_not_shown_for_the_file() {
    let mut model = model_of(third(None, None));
    press(&mut model, "O");
    ran(&mut model, "from the run\n");
    assert!(frame(&mut model, 60, 20).contains("from the run"), "it may be on its way to the file");
    after(&mut model, 5);
    let shown = frame(&mut model, 60, 20);
    assert!(!shown.contains("from the run") && !shown.contains('✓'), "{shown}");
    assert_eq!(press(&mut model, "jk"), [], "nothing is fetched of it either");
    // The same, with the outputs in the file.
    let mut model = model_of(third(Some(1), Some("from the file\n")));
    ran(&mut model, "from the run\n");
    after(&mut model, 5);
    let shown = frame(&mut model, 60, 20);
    assert!(shown.contains("from the file") && shown.contains("[1] ✓│"), "{shown}");
}

/// The outputs of a run disappear when another program cleans the file or restores an older copy, even one with the
/// same execution count.
#[test]
fn an_older_copy_of_the_file_is_shown() {
    for (count, text) in [(None, None), (Some(1), Some("older\n")), (Some(1), None)] {
        let mut model = model_of(third(None, None));
        press(&mut model, "O");
        ran(&mut model, "from the run\n");
        read_by(&mut model, third(Some(1), Some("from the run\n")), By::Others);
        let page = Page { first_line: 1, total_lines: 9000, text: "all of it\n".to_owned() };
        let artifact = "abcdefgh2345abcd".to_owned();
        model.update(Input::Paged { artifact, page: Some(page) });
        let shown = frame(&mut model, 60, 20);
        assert!(shown.contains("all of it") && shown.contains('✓'), "{shown}");
        read_by(&mut model, third(count, text), By::Others);
        let shown = frame(&mut model, 60, 20);
        let is_older = shown.contains(text.unwrap_or("[").trim());
        assert!(is_older && !shown.contains("all of it") && !shown.contains('✓'), "{shown}");
        assert!(!shown.contains("from the run"), "{shown}");
    }
}

/// Outputs that could not be written exist only here, so they stay visible.
#[test]
fn outputs_that_could_not_be_written_stay() {
    let mut model = model_of(third(None, None));
    press(&mut model, RUN);
    ran(&mut model, "from the run\n");
    after(&mut model, 5);
    model.update(Input::RunOver(RunEnd::Unsaved("the outputs were not saved: no room".to_owned())));
    after(&mut model, 5);
    assert!(frame(&mut model, 60, 20).contains("from the run"));
    read_by(&mut model, third(Some(7), Some("of another\n")), By::Others);
    let shown = frame(&mut model, 60, 20);
    assert!(shown.contains("of another") && !shown.contains("from the run"), "{shown}");
}

/// A run that could not start does not affect the outputs of earlier runs: those are in the file.
#[test]
fn a_run_that_could_not_begin_leaves_no_output_unsaved() {
    let mut model = model_of(third(None, None));
    press(&mut model, RUN);
    ran(&mut model, "from the run\n");
    model.update(Input::RunOver(RunEnd::Failed("no Python here".to_owned())));
    after(&mut model, 5);
    assert!(!frame(&mut model, 60, 20).contains("from the run"));
}

/// A lost host reports no end. The cell stops running on the screen, and the outputs in the file are shown.
#[test]
fn a_session_that_is_gone_runs_nothing() {
    let mut model = model_of(third(None, None));
    model.update(began("cccc", 0, 0));
    model.update(wrote(0, "from the run\n"));
    read_by(&mut model, third(Some(7), Some("from the file\n")), By::Others);
    assert!(frame(&mut model, 60, 20).contains("from the run"));
    model.update(Input::Unwatched);
    let shown = frame(&mut model, 60, 20);
    assert!(shown.contains("the session ended") && shown.contains("[7]"), "{shown}");
    assert!(shown.contains("from the file") && !shown.contains("from the run"), "{shown}");
}

/// Issue 24, 12: when a run stops, the user reads where and why, and sees the end of that cell.
#[test]
fn a_stopped_run_goes_to_its_cell() {
    let source: Vec<String> = (0..30).map(|at| format!("x{at} = {at}")).collect();
    let error = serde_json::json!({"output_type": "error", "ename": "ValueError", "evalue": "no",
        "traceback": ["ValueError: no"]});
    let failed = serde_json::json!({"cell_type": "code", "id": "cccc", "metadata": {},
        "execution_count": 1, "source": source.join("\n"), "outputs": [error]});
    let plain = |id: &str| {
        serde_json::json!({"cell_type": "code", "id": id, "metadata": {}, "outputs": [],
            "execution_count": null, "source": "x = 1"})
    };
    let cells = [plain("aaaa"), plain("bbbb"), failed, plain("dddd")];
    let stop = || Stop {
        cell: 1,
        id: Some("cccc".to_owned()),
        said: words::notebook_screen::stopped("cell 2 (cccc)", "ValueError: no", (4, 1)),
    };
    let mut model = model_of(of_cells(&cells));
    press(&mut model, "TE");
    frame(&mut model, 60, 12);
    model.update(Input::RunOver(RunEnd::Stopped(stop())));
    assert_eq!(model.cursor, 2, "by its id, since cells may have moved");
    let shown = frame(&mut model, 60, 12);
    let said = "stopped at cell 2 (cccc): ValueError: no; 1 cell did not";
    assert!(shown.contains(said) && shown.contains("    ValueError: no"), "{shown}");
    // It stays there when the file is read once more.
    read_by(&mut model, of_cells(&cells), By::Others);
    assert!(frame(&mut model, 60, 12).contains("    ValueError: no"));
    // The selection of a user who types stays.
    let mut model = model_of(of_cells(&cells));
    press(&mut model, "T\n");
    model.update(Input::RunOver(RunEnd::Stopped(stop())));
    assert_eq!(model.cursor, 0);
    assert!(frame(&mut model, 80, 20).contains("stopped at cell 2"));
}

/// A refused run leaves no cell waiting.
#[test]
fn a_run_that_never_began_is_told() {
    let mut model = three();
    press(&mut model, "T");
    assert!(frame(&mut model, 60, 20).contains("queued"));
    model.update(Input::RunOver(RunEnd::Failed("no Python here".to_owned())));
    let shown = frame(&mut model, 60, 20);
    assert!(!shown.contains("queued") && shown.contains("no Python here"), "{shown}");
}

/// Issue 24, 12: the header tells the state of the kernel, how long its cell has been running, and what waits.
#[test]
fn the_header_tells_the_kernel() {
    let header = |model: &mut Model| {
        let shown = frame(model, 80, 12);
        shown.lines().next().unwrap().trim_end().rsplit("  ").next().unwrap().to_owned()
    };
    let mut model = three();
    assert_eq!(header(&mut model), "no kernel");
    press(&mut model, RUN);
    assert_eq!(header(&mut model), "starting");
    model.update(began("aaaa", 0, 0));
    after(&mut model, 5);
    assert_eq!(header(&mut model), "busy 5.0s, 1/2");
    let kernel = |state, elapsed, waiting| {
        Input::Kernel(KernelNow {
            state,
            elapsed: Option::map(elapsed, Duration::from_secs),
            waiting,
        })
    };
    model.update(kernel(KernelState::Busy, Some(7), 2));
    assert_eq!(header(&mut model), "busy 7.0s, 1/2, 2 queued");
    model.update(ended(0, State::Done));
    model.update(Input::RunOver(RunEnd::Well));
    model.update(kernel(KernelState::Idle, None, 0));
    assert_eq!(header(&mut model), "idle");
    // Code without a cell of this notebook keeps the kernel busy too.
    model.update(kernel(KernelState::Busy, Some(3), 0));
    assert_eq!(header(&mut model), "busy 3.0s");
    model.update(kernel(KernelState::Dead, None, 0));
    assert_eq!(header(&mut model), "kernel died");
    model.update(Input::Unwatched);
    assert_eq!(header(&mut model), "no kernel");
}

/// Issue 24, 12: the gutter tells the state of each cell, and the label says why a cell is stale.
#[test]
fn the_gutter_tells_what_is_stale() {
    let code = |id: &str, count: Option<u64>| {
        serde_json::json!({"cell_type": "code", "id": id, "metadata": {}, "outputs": [],
            "execution_count": count, "source": format!("run_{id}()")})
    };
    let counts = [("aaaa", Some(1)), ("bbbb", Some(2)), ("cccc", Some(3)), ("dddd", None)];
    let mut model = model_of(of_cells(&counts.map(|(id, count)| code(id, count))));
    let because = Because::Name { name: "x".to_owned(), cell: Some(0) };
    let marks = vec![
        Some(Freshness::Fresh),
        Some(Freshness::Stale(because)),
        Some(Freshness::Failed),
        Some(Freshness::NeverRun),
    ];
    let version = model.version;
    model.update(Input::Marked { version: Version::of(b"another"), marks: marks.clone() });
    assert!(!frame(&mut model, 60, 20).contains('✓'), "marks of another version");
    model.update(Input::Marked { version, marks });
    let shown = frame(&mut model, 60, 20);
    for wanted in ["[1] ✓│run_aaaa", "[2] ~│run_bbbb", "[3] ✗│run_cccc", "[ ]  │run_dddd"]
    {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
    assert!(shown.contains("#1 bbbb  stale: x of cell 0"), "{shown}");
    press(&mut model, "T");
    assert!(frame(&mut model, 60, 20).contains("[1] ○│run_aaaa"));
    assert!(frame(&mut model, 30, 30).contains("[1] ○ #0 aaaa  queued"));
}

/// Events without a matching cell are ignored.
#[test]
fn events_of_cells_that_are_not_here_are_passed_over() {
    let mut model = three();
    model.update(began("gone", 99, 0));
    model.update(wrote(0, "text"));
    model.update(wrote(7, "text"));
    model.update(ended(3, State::Error));
    model.update(Input::Missed(3));
    model.update(Input::RunOver(RunEnd::Well));
    frame(&mut model, 60, 20);
}
