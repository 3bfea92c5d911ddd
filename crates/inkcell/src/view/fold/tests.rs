use inkcell_engine::kernel::{Outcome, PyError, StreamName};
use inkcell_engine::output::{ModelOutput, Part};

use super::live_output::Item;
use super::*;
use crate::view::tests::samples::{self, call, source};

fn cell(state: State, text: &str) -> CellReport {
    let output = ModelOutput { parts: vec![Part::Text(text.to_owned())], ..ModelOutput::default() };
    CellReport { output, ..samples::cell(source("f()"), state) }
}

fn wrote(text: &str) -> ExecEvent {
    ExecEvent::Stream { name: StreamName::Stdout, data: text.as_bytes().to_vec().into() }
}

fn text(cell: &CallCell) -> String {
    let content = cell.content();
    let lines = content.items.iter().filter_map(|item| match item {
        Item::Text(lines) => Some(lines),
        _ => None,
    });
    lines.flat_map(|lines| lines.iter().map(|line| format!("{}\n", line.text()))).collect()
}

/// After each piece of news: the states of the cells, the cell that runs, how many ended, and the text of the first.
#[test]
fn news_change_the_state_of_a_call() {
    use State::{Done, Error, Queued, Running};
    let (began, ok) = (ExecEvent::Started { count: Some(1) }, ExecEvent::Finished(Outcome::Ok));
    let failed = ExecEvent::Finished(Outcome::Error(PyError::default()));
    let (a, b) = (wrote("a\n"), wrote("b\n"));
    let queued = call(Queued, vec![cell(Queued, ""), cell(Queued, "")]);
    let (running, done) = (cell(Running, "so far\n"), cell(Done, "all\n"));
    let end = call(Error, vec![done.clone(), cell(Error, "")]);
    let table = [
        (CallNews::Event(0, &a), vec![], None, 0, ""),
        (CallNews::Report(&queued), vec![Queued, Queued], None, 0, ""),
        (CallNews::Event(0, &began), vec![Running, Queued], Some(0), 0, ""),
        (CallNews::Event(0, &a), vec![Running, Queued], Some(0), 0, "a\n"),
        (CallNews::Cells(&[(0, running.clone())]), vec![Running, Queued], Some(0), 0, "a\n"),
        (CallNews::Event(0, &ok), vec![Done, Queued], None, 1, "a\n"),
        (CallNews::Cells(&[(0, done.clone())]), vec![Done, Queued], None, 1, "all\n"),
        (CallNews::Event(0, &b), vec![Done, Queued], None, 1, "all\n"),
        (CallNews::Cells(&[(7, done)]), vec![Done, Queued], None, 1, "all\n"),
        (CallNews::Event(7, &b), vec![Done, Queued], None, 1, "all\n"),
        (CallNews::Cells(&[(1, running)]), vec![Done, Running], Some(1), 1, "all\n"),
        (CallNews::Event(1, &failed), vec![Done, Error], None, 2, "all\n"),
        (CallNews::Report(&end), vec![Done, Error], None, 2, "all\n"),
    ];
    let mut view = CallView::new(Vec::new());
    assert_eq!(view.state(), None);
    for (news, states, running, ended, first) in table {
        view.apply(news);
        let found: Vec<State> = view.cells().iter().map(CallCell::state).collect();
        assert_eq!(found, states, "{news:?}");
        assert_eq!((view.running(), view.ended()), (running, ended), "{news:?}");
        assert_eq!(view.cells().first().map(text).unwrap_or_default(), first, "{news:?}");
    }
    assert_eq!(view.state(), Some(Error));
}

/// The last line of a run is that of its running cell, and the hint is that of the last report.
#[test]
fn a_call_knows_its_last_line_and_its_hint() {
    let mut view = CallView::new(vec![source("f()")]);
    view.apply(CallNews::Line("epoch 3"));
    assert_eq!(view.last_line(), "epoch 3");
    view.apply(CallNews::Line(""));
    assert_eq!(view.last_line(), "");
    let missed_variable = Some("TOKEN".to_owned());
    let report = call(State::Done, vec![cell(State::Done, "")]);
    view.apply(CallNews::Report(&PythonReport { missed_variable, ..report.clone() }));
    assert!(view.hint().is_some_and(|hint| hint.contains("`--env TOKEN`")));
    view.apply(CallNews::Report(&report));
    assert_eq!(view.hint(), None);
}
