//! What others do meanwhile: edits of the file, and code that runs in the kernel.

use super::*;

/// The cursor stays on its cell, wherever that goes.
#[test]
fn the_cursor_stays_on_its_cell() {
    let mut model = three();
    press(&mut model, "jj");
    let cells = [("code", "new1", "0"), ("code", "cccc", "print(x)"), ("code", "aaaa", "x = 1")];
    told(&mut model, notebook(&cells), By::Others);
    assert_eq!(model.cursor, 1);
    told(&mut model, notebook(&cells[..1]), By::Others);
    assert_eq!(model.cursor, 0);
    told(&mut model, notebook(&[]), By::Others);
    frame(&mut model, 40, 8);
    told(&mut model, notebook(&cells), By::Others);
    frame(&mut model, 40, 8);
}

/// What somebody types is kept when the file changes under it, and goes to the cell it was typed for.
#[test]
fn an_edit_follows_its_cell() {
    let mut model = three();
    press(&mut model, "\n#");
    let cells = [("code", "new1", "0"), ("code", "aaaa", "x = 1")];
    told(&mut model, notebook(&cells), By::Others);
    assert_eq!(model.editor().unwrap().cell, Some(1));
    let effects = press(&mut model, "\u{1b}");
    perform(&mut model, effects);
    assert_eq!(sources(&model), ["0", "#x = 1"]);
}

/// Two texts for one cell: nothing is written before somebody says which.
#[test]
fn a_conflict_is_asked_about() {
    let conflict = || {
        let mut model = three();
        press(&mut model, "\n#");
        told(&mut model, notebook(&[("code", "aaaa", "x = 2"), ("code", "cccc", "")]), By::Others);
        assert!(frame(&mut model, 80, 12).contains("changed on disk"));
        assert!(press(&mut model, "\u{1b}").is_empty(), "nothing is written");
        assert!(frame(&mut model, 80, 12).contains("somebody else changed this cell"));
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
    told(&mut model, notebook(&[]), By::Others);
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
        last_took: None,
        why: None,
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
    CellSource { code: "print(x)".to_owned(), title: None, timeout: None, kernel: CellKernel::Same }
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
        source: source(),
        state,
        count: Some(1),
        duration: Duration::from_millis(1500),
        output,
        end: None,
        notes: Vec::new(),
        notebook: None,
    };
    let execution = ExecutionId("run-1".to_owned());
    Input::Session(Box::new(SessionEvent::Ended { execution, cell, report: Box::new(report) }))
}

/// What an agent runs is seen while it runs, also when cells move meanwhile, and what the file has counts after it.
#[test]
fn what_somebody_else_runs_is_seen() {
    let mut model = three();
    model.update(began("cccc", 2, 0));
    model.update(Input::Time(Duration::from_secs(3)));
    model.update(wrote(0, "counting: 1\n"));
    let shown = frame(&mut model, 60, 20);
    assert!(shown.contains("[*] ● 3.0s"), "{shown}");
    assert!(shown.contains("counting: 1"), "{shown}");
    assert!(shown.contains("running 1/2"), "{shown}");
    let mut moved = serde_json::json!({
        "cell_type": "code", "id": "cccc", "metadata": {}, "source": "print(x)",
        "outputs": [], "execution_count": null
    });
    told(&mut model, of_cells(&[moved.clone()]), By::Others);
    model.update(wrote(0, "counting: 2\n"));
    let shown = frame(&mut model, 60, 20);
    assert!(shown.contains("counting: 1") && shown.contains("counting: 2"), "{shown}");
    model.update(happened(0, ExecEvent::Finished(Outcome::Ok)));
    model.update(ended(0, State::Done));
    moved["outputs"] = serde_json::json!([{
        "output_type": "stream", "name": "stdout", "text": "from the file\n"
    }]);
    moved["execution_count"] = 4.into();
    told(&mut model, of_cells(&[moved]), By::Others);
    let shown = frame(&mut model, 60, 20);
    assert!(shown.contains("[4] ✓ 1.5s"), "{shown}");
    assert!(shown.contains("from the file") && !shown.contains("counting"), "{shown}");
}

/// A run that was refused leaves no cell waiting.
#[test]
fn a_run_that_never_began_is_told() {
    let mut model = three();
    press(&mut model, "A");
    assert!(frame(&mut model, 60, 20).contains("waiting"));
    model.update(Input::RunOver(Err("no Python here".to_owned())));
    let shown = frame(&mut model, 60, 20);
    assert!(!shown.contains("waiting") && shown.contains("no Python here"), "{shown}");
}

/// Events that cannot belong to anything are no reason to fail.
#[test]
fn events_of_cells_that_are_not_here_are_passed_over() {
    let mut model = three();
    model.update(began("gone", 99, 0));
    model.update(wrote(0, "text"));
    model.update(wrote(7, "text"));
    model.update(ended(3, State::Error));
    model.update(Input::Missed(3));
    model.update(Input::RunOver(Ok(())));
    frame(&mut model, 60, 20);
}
