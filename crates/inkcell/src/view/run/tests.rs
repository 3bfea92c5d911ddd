use inkcell_engine::api::{EndReport, NotebookCell, NotebookReport, OutputChange};
use inkcell_engine::kernel::PyError;
use inkcell_engine::session::CallNote;

use super::*;
use crate::view::tests::samples;

fn cell(index: usize, state: State, millis: u64) -> CellReport {
    let code = format!("step_{index}()\nmore()");
    CellReport {
        count: (state != State::NeverRun).then_some(1),
        duration: Duration::from_millis(millis),
        notebook: Some(NotebookCell {
            index,
            id: Some(format!("id{index}")),
            outputs: index % 3,
            written: WriteBack::Saved,
            may_fail: false,
            last_took: Some(Duration::from_secs(10)),
            why: None,
            change: None,
        }),
        ..samples::cell(samples::source(&code), state)
    }
}

fn report(state: State, cells: Vec<CellReport>) -> PythonReport {
    PythonReport {
        notebook: Some(NotebookReport {
            path: "a.ipynb".to_owned(),
            written: "a.ipynb".to_owned(),
            cells: 9,
            version: None,
            fresh: Vec::new(),
            skipped: vec![7],
            resumed: Vec::new(),
            notes: Vec::new(),
        }),
        ..samples::call(state, cells)
    }
}

fn failed() -> PythonReport {
    let error = PyError {
        name: "ValueError".to_owned(),
        value: "no".to_owned(),
        traceback: Vec::new(),
        plain: vec!["Traceback".to_owned(), "ValueError: no".to_owned()],
    };
    let bad =
        CellReport { end: Some(EndReport::Exception(error)), ..cell(4, State::Error, 61_000) };
    report(State::Error, vec![cell(0, State::Done, 12), bad, cell(5, State::NeverRun, 0)])
}

fn text(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::text).collect()
}

/// The rows of a table, as they are on a terminal of this width.
fn rows(told: &PythonReport, width: usize) -> String {
    let look = Look { width: Some(width), ..Look::PLAIN };
    look.rows(&table::of(told, look.width))
}

/// A narrow terminal loses the number of outputs first, then the ids, then the end of the code.
#[test]
fn every_cell_has_a_row_that_fits() {
    insta::assert_snapshot!(rows(&failed(), 80), @r"
    cell 0 (id0)  ok              12 ms             step_0()
    cell 4 (id4)  error      1 min 01 s  1 output   step_4()  → ValueError: no
    cell 5 (id5)  never run              2 outputs  step_5()
    ");
    assert_eq!(rows(&failed(), 200), rows(&failed(), 80));
    insta::assert_snapshot!(rows(&failed(), 40), @r"
    cell 0  ok              12 ms  step_0()
    cell 4  error      1 min 01 s  step_4()…
    cell 5  never run              step_5()
    ");
    for width in [20, 40, 80, 200] {
        assert!(rows(&failed(), width).lines().all(|line| line.chars().count() <= width));
    }
}

/// Rows that come alone say how far the run is, and which cell it was.
#[test]
fn a_row_that_comes_alone_has_the_progress() {
    let told = failed();
    let mut table = Table::growing(&cells(&told));
    let lines: Vec<Line> =
        (1..).zip(&told.cells).map(|(at, cell)| table.row(Some((at, 10)), cell)).collect();
    let wanted = [
        " 1/10  cell 0 (id0)  ok       12 ms             step_0()",
        " 2/10  cell 4 (id4)  error  1 min 01 s  1 output   step_4()  → ValueError: no",
        " 3/10  cell 5 (id5)  never run              2 outputs  step_5()",
    ];
    assert_eq!(text(&lines), wanted);
}

#[test]
fn outputs_that_changed_are_marked_in_the_table() {
    let marked = |index: usize, change: OutputChange| {
        let mut cell = cell(index, State::Done, 1);
        cell.notebook.as_mut().unwrap().change = Some(change);
        cell
    };
    let changed = OutputChange::Changed;
    let cells = vec![marked(0, changed), marked(1, changed), marked(2, OutputChange::Same)];
    let lines = text(&table::of(&report(State::Done, cells), None));
    assert!(lines[0].contains("no output now"), "{lines:?}");
    assert!(lines[1].contains("1 output, changed"), "{lines:?}");
    assert!(lines[2].contains("2 outputs") && !lines[2].contains("changed"), "{lines:?}");
}

/// A long notebook shows failures and slow cells, and counts the rest.
#[test]
fn a_long_run_shows_what_failed_and_what_took_longest() {
    let mut cells: Vec<CellReport> = (0..100).map(|at| cell(at, State::Done, at as u64)).collect();
    cells[3].state = State::Error;
    let lines = text(&table::of(&report(State::Done, cells), None));
    assert_eq!(lines.len(), 12);
    assert!(lines[0].contains("(id3) "), "{lines:?}");
    assert_eq!(lines[11], "… and 89 other cells; the slowest and those that failed are shown");
}

fn failure(told: &PythonReport) -> Option<String> {
    failure::stopped_at(told).map(failure::whole)
}

fn summary(told: &PythonReport, took: Duration) -> String {
    summary::of(told, took).text()
}

#[test]
fn the_cell_that_failed_is_named_with_its_traceback() {
    let text = failure(&failed()).expect("it failed");
    assert_eq!(text, "Traceback\nValueError: no\nerror: cell 4 (id4) failed");
    assert_eq!(failure(&report(State::Done, vec![cell(0, State::Error, 1)])), None);
    let shown = failure::painted(&failed().cells[1], Look { width: Some(12), ..Look::PLAIN });
    assert_eq!(shown, "Traceback\nValueError: no\nerror: cell\n4 (id4)\nfailed\n");
}

#[test]
fn the_run_is_summed_up() {
    let text = summary(&failed(), Duration::from_millis(1234));
    assert_eq!(text, "Ran 2 cells in 1.2 s, 1 failed, 1 not run, 1 skipped");
    let allowed = report(State::Done, failed().cells);
    let text = summary(&allowed, Duration::from_millis(1234));
    assert_eq!(text, "Ran 2 cells in 1.2 s, 1 failed (allowed), 1 not run, 1 skipped");
}

/// One step at most, and the one that follows from the end of the run.
#[test]
fn the_end_suggests_one_step() {
    let step = |told: &PythonReport, advice: &Advice| summary::next_step(told, advice);
    let done = report(State::Done, vec![cell(0, State::Done, 1)]);
    let resume = || Some("inkcell run a.ipynb --resume".to_owned());
    let wanted = Advice::Wanted { resume: resume() };
    assert_eq!(
        step(&done, &wanted).unwrap(),
        "See the outputs: inkcell read a.ipynb --outputs full"
    );
    assert_eq!(
        step(&failed(), &wanted).unwrap(),
        "After the fix, continue from here: inkcell run a.ipynb --resume"
    );
    let stopped = report(State::Cancelled, vec![cell(0, State::Done, 1)]);
    assert_eq!(
        step(&stopped, &wanted).unwrap(),
        "Continue from here: inkcell run a.ipynb --resume"
    );
    let kept = Advice::Wanted { resume: None };
    assert!(step(&failed(), &kept).unwrap().contains("inkcell read a.ipynb"));
    assert_eq!(step(&done, &Advice::Unwanted), None);
}

fn cells(told: &PythonReport) -> Vec<&CellReport> {
    told.cells.iter().collect()
}

#[test]
fn what_is_left_is_told_when_it_is_known() {
    let mut report =
        report(State::Running, vec![cell(0, State::Done, 1), cell(1, State::Running, 1)]);
    let now = |report: &PythonReport, number, seconds, last_line: &str| {
        let took = Duration::from_secs(seconds);
        now(Line::default(), (&cells(report)[..], number), took, last_line).text()
    };
    let text = now(&report, 1, 4, "epoch 3");
    assert_eq!(text, "2/2  cell 1 (id1)  4.0 s, about 6.0 s left  step_1()  | epoch 3");
    if let Some(place) = &mut report.cells[1].notebook {
        place.last_took = None;
    }
    let text = now(&report, 1, 4, "");
    assert_eq!(text, "2/2  cell 1 (id1)  4.0 s  step_1()");
    // Only one later cell has a run time, so the estimate is a lower bound.
    report.cells.push(cell(2, State::Queued, 0));
    let text = now(&report, 1, 4, "");
    assert_eq!(text, "2/3  cell 1 (id1)  4.0 s, over 10 s left  step_1()");
    // A cell that exceeds its last run time does not shorten the estimate for the others.
    let text = now(&report, 0, 14, "");
    assert_eq!(text, "1/3  cell 0 (id0)  14 s, over 10 s left  step_0()");
}

/// A cell that called `exit` is reported as such. It counts as failed only if its status says so.
#[test]
fn an_exit_is_told_by_its_status() {
    let exit = |status: &str| {
        let error = PyError {
            name: "SystemExit".to_owned(),
            value: status.to_owned(),
            traceback: Vec::new(),
            plain: vec!["An exception has occurred".to_owned()],
        };
        CellReport { end: Some(EndReport::Exception(error)), ..cell(1, State::Error, 1) }
    };
    for well in ["", "0", "None"] {
        let told = report(State::Done, vec![exit(well), cell(2, State::NeverRun, 0)]);
        assert_eq!(summary(&told, Duration::ZERO), "Ran 1 cell in 0 ms, 1 not run, 1 skipped");
        assert_eq!((failure(&told), ended(&told.cells[0])), (None, "exit"));
    }
    let told = report(State::Error, vec![exit("no data")]);
    assert_eq!(summary(&told, Duration::ZERO), "Ran 1 cell in 0 ms, 1 failed, 1 skipped");
    assert_eq!(failure(&told).as_deref(), Some("error: cell 1 (id1) called exit with: no data"));
}

#[test]
fn times_are_short() {
    for (millis, expected) in [
        (0, "0 ms"),
        (99, "99 ms"),
        (100, "0.1 s"),
        (9_940, "9.9 s"),
        (12_400, "12 s"),
        (61_000, "1 min 01 s"),
        (3_723_000, "1 h 02 min"),
    ] {
        assert_eq!(duration(Duration::from_millis(millis)), expected);
    }
}

/// F-035: lost output is reported, even in quiet mode.
#[test]
fn what_was_lost_is_told() {
    let lost = CallNote::Kernel("the gateway dropped output".to_owned());
    let cells =
        vec![cell(0, State::Done, 1), CellReport { notes: vec![lost], ..cell(1, State::Done, 2) }];
    let told = report(State::Done, cells);
    let said: Vec<String> = said_beside(&told).collect();
    assert_eq!(said, ["cell 1 (id1): the gateway dropped output"]);
}
