//! Chosen cells whose names the kernel lacks: refused, run after the cells that they need, or run without them.

use inkcell_engine::api::{
    CellChoice, CellKernel, EndReport, KernelStep, NeededCells, Problem, PythonReport, RunRequest,
    RunStart, State,
};
use inkcell_engine::registry::SessionName;
use inkcell_engine::session::CallNote;
use inkcell_engine::{Kind, StaleReason};

use crate::faults_kit::told;
use crate::runs::{Rig, states};
use crate::runs_stale::{ran, set};

/// A rig with a notebook that has run, and its session.
async fn after_a_run(cells: &[&str]) -> (Rig, PythonReport) {
    let rig = Rig::new();
    rig.code(cells);
    let report = rig.run(rig.request()).await;
    (rig, report)
}

fn only(rig: &Rig, list: &str, needed: NeededCells) -> RunRequest {
    let cells = CellChoice { list: Some(list.to_owned()), ..CellChoice::default() };
    RunRequest { cells, needed, ..rig.request() }
}

fn in_new_kernel(request: RunRequest) -> RunRequest {
    RunRequest { kernel: CellKernel::Fresh, ..request }
}

/// Runs code in the session of a report.
async fn at_prompt(rig: &Rig, report: &PythonReport, code: &str) -> PythonReport {
    let mut request = rig.desk.request(&[code]);
    request.session = Some(report.session.clone());
    rig.desk.ask(request).await
}

/// Why nothing was run.
fn refusal(report: &PythonReport) -> &Problem {
    let all_waited = states(report).iter().all(|state| *state == State::NeverRun);
    assert!(report.state == State::NeverRun && all_waited, "{report:?}");
    match &report.cells[0].end {
        Some(EndReport::NoKernel(problem)) => problem,
        _ => panic!("{report:?}"),
    }
}

const CELLS: [&str; 5] = ["x = 1", "big = 'never'", "y = x + 1", "big", "print(y)"];

/// A cell whose names only other cells make does not overwrite its output with a NameError. Names that code at a prompt
/// made are there.
#[tokio::test]
async fn a_cell_is_not_run_without_what_it_needs() {
    let (rig, report) = after_a_run(&CELLS).await;
    let before = rig.file("a.ipynb");
    let chosen = |list| only(&rig, list, NeededCells::MustHaveRun);
    let refused = rig.run(in_new_kernel(chosen("4"))).await;
    let problem = refusal(&refused);
    let message = "cell 4 needs y of cell 2, which this kernel does not have; nothing was run";
    assert_eq!((problem.kind, problem.message.as_str()), (Kind::Invalid, message));
    assert_eq!(problem.step, Some(KernelStep::RunNeeded));
    let refused = rig.run(chosen("3-4")).await;
    let message = &refusal(&refused).message;
    assert!(
        message.starts_with("cell 3 needs big of cell 1; cell 4 needs y of cell 2, "),
        "{message}"
    );
    assert_eq!(rig.file("a.ipynb"), before);
    // The record is as it was, too: nothing counts as cut off or as run.
    let stale = rig.run(RunRequest { cells: CellChoice::stale(), ..rig.request() }).await;
    assert!(ran(&stale).is_empty(), "{stale:?}");
    assert_eq!(told(&at_prompt(&rig, &report, "y = 7; y").await), "7");
    assert_eq!(rig.run(chosen("4")).await.state, State::Done);
    assert_eq!(rig.shown(4), ["7\n"]);
    let run = rig.run(in_new_kernel(only(&rig, "4", NeededCells::LeaveOut))).await;
    assert_eq!((run.state, rig.shown(4)), (State::Error, vec!["NameError".to_owned()]));
    rig.desk.engine.shutdown().await;
}

/// A kernel whose variables are older than the file does not overwrite a good output with them.
#[tokio::test]
async fn a_cell_is_not_run_on_variables_of_an_earlier_run() {
    let (rig, _) = after_a_run(&["x = 1", "print(x)"]).await;
    set(&rig, 0, "x = 2");
    let session = Some(SessionName("other".to_owned()));
    let other = rig.run(RunRequest { session, ..rig.request() }).await;
    assert_eq!((other.state, rig.shown(1)), (State::Done, vec!["2\n".to_owned()]));
    let chosen = |needed| only(&rig, "1", needed);
    let refused = rig.run(chosen(NeededCells::MustHaveRun)).await;
    let problem = refusal(&refused);
    let message = "cell 1 needs x of cell 0, which another kernel has run since: this kernel's variables are older than \
                   the file; nothing was run";
    assert_eq!((problem.message.as_str(), problem.step), (message, Some(KernelStep::RunNeeded)));
    assert_eq!(rig.shown(1), ["2\n"]);
    assert_eq!(rig.run(chosen(NeededCells::LeaveOut)).await.state, State::Done);
    assert_eq!(rig.shown(1), ["1\n"]);
    let run = rig.run(chosen(NeededCells::RunFirst)).await;
    assert_eq!((ran(&run).len(), rig.shown(1)), (2, vec!["2\n".to_owned()]));
    assert_eq!(rig.run(chosen(NeededCells::MustHaveRun)).await.state, State::Done);
    rig.desk.engine.shutdown().await;
}

/// A call that is given up before its code reaches a kernel leaves the file as it is.
#[tokio::test]
async fn a_cell_that_never_began_keeps_its_output() {
    let (rig, report) = after_a_run(&["print('precious')"]).await;
    // How many deaths in a row are too many is the session's affair.
    for deaths in 1..6 {
        for _ in 0..deaths {
            let died = at_prompt(&rig, &report, "import os; os._exit(1)").await;
            assert_eq!(died.state, State::KernelDied, "{died:?}");
        }
        let before = rig.file("a.ipynb");
        let run = rig.run(rig.request()).await;
        if matches!(run.cells[0].end, Some(EndReport::GivenUp { has_begun: false, .. })) {
            assert_eq!(rig.file("a.ipynb"), before);
            assert!(run.cells[0].never_began());
            return rig.desk.engine.shutdown().await;
        }
    }
    panic!("no call was given up");
}

/// Only what is certain to fail is refused.
#[tokio::test]
async fn a_cell_that_may_do_without_is_run() {
    let cells = [
        "x = 1",
        "import math",
        "try:\n    x\nexcept NameError:\n    x = 2\nx",
        "if False:\n    print(x)",
        "def f():\n    return math.pi\nlen([])",
        "'x' in globals()",
        "nobody_makes_this",
        "nobody_makes_this = 3",
    ];
    let (rig, _) = after_a_run(&cells).await;
    for cell in 2..=5 {
        let run = only(&rig, &cell.to_string(), NeededCells::MustHaveRun);
        assert_eq!(rig.run(in_new_kernel(run)).await.state, State::Done, "cell {cell}");
    }
    let run = rig.run(in_new_kernel(only(&rig, "6", NeededCells::MustHaveRun))).await;
    assert_eq!(run.state, State::Error, "only a cell below makes it: {run:?}");
    rig.desk.engine.shutdown().await;
}

/// The cells that make what the kernel does not hold as the notebook has it run first, in the order of the notebook.
#[tokio::test]
async fn needed_cells_run_first() {
    let (rig, _) = after_a_run(&CELLS).await;
    let chosen = || only(&rig, "4", NeededCells::RunFirst);
    let needed = |name: &str, by| StaleReason::Needed { name: Some(name.to_owned()), by };
    let run = rig.run(in_new_kernel(chosen())).await;
    let wanted = [(0, needed("x", 2)), (2, needed("y", 4)), (4, StaleReason::Chosen)];
    assert_eq!((run.state, ran(&run)), (State::Done, wanted.to_vec()));
    assert!(run.notebook.as_ref().is_some_and(|notebook| notebook.fresh.is_empty()), "{run:?}");
    assert_eq!(run.without_left_out().cells.len(), 3);
    assert_eq!(rig.shown(4), ["2\n"]);
    assert_eq!(ran(&rig.run(chosen()).await), [(4, StaleReason::Chosen)], "the kernel holds it");
    set(&rig, 0, "x = 10");
    let run = rig.run(chosen()).await;
    assert_eq!(ran(&run).len(), 3, "{:?}", ran(&run));
    assert_eq!(rig.shown(4), ["11\n"]);
    // A needed cell that fails ends the run before the chosen one.
    set(&rig, 2, "y = 1 / 0");
    let run = rig.run(chosen()).await;
    assert_eq!((run.state, rig.shown(4)), (State::Error, vec!["11\n".to_owned()]));
    let resumed = RunRequest { start: RunStart::Resume, ..chosen() };
    let refused = crate::faults_kit::run_notebook(
        &rig.desk.engine,
        resumed,
        &rig.files,
        crate::faults_kit::ME,
    )
    .await;
    assert!(refused.is_err_and(|error| error.to_string().contains("remove --resume")));
    rig.desk.engine.shutdown().await;
}

/// A new kernel lacks what the finished cells have made: those that the rest needs run again, and no others.
#[tokio::test]
async fn a_resumed_run_first_runs_what_the_rest_needs() {
    let rig = Rig::new();
    rig.code(&[
        "x = 1",
        "big = open('log', 'a').write('1')",
        "y = x + 1",
        "open('fixed'); print(y)",
    ]);
    assert_eq!(rig.run(rig.request()).await.state, State::Error);
    rig.desk.touch("fixed");
    let resumed = RunRequest { start: RunStart::Resume, ..rig.request() };
    let run = rig.run(in_new_kernel(resumed.clone())).await;
    let needed = |name: &str, by| StaleReason::Needed { name: Some(name.to_owned()), by };
    let wanted = [(0, needed("x", 2)), (2, needed("y", 3)), (3, StaleReason::Chosen)];
    assert_eq!((run.state, ran(&run)), (State::Done, wanted.to_vec()));
    assert_eq!(run.notebook.map(|notebook| notebook.resumed), Some(vec![0, 1, 2]));
    assert_eq!(rig.shown(3), ["2\n"]);
    let log = std::fs::read_to_string(rig.desk.dir.path().join("log")).expect("a log");
    assert_eq!(log, "1", "a cell that nothing needs did not run again");
    let done = rig.run(in_new_kernel(resumed)).await;
    assert!((done.state, ran(&done).len()) == (State::Done, 0), "{done:?}");
    rig.desk.engine.shutdown().await;
}

/// Cells that have never run are needed, too.
#[tokio::test]
async fn needed_cells_of_a_new_notebook_run_first() {
    let rig = Rig::new();
    rig.code(&CELLS);
    let refused = rig.run(only(&rig, "4", NeededCells::MustHaveRun)).await;
    assert!(refusal(&refused).message.starts_with("cell 4 needs y of cell 2, "), "{refused:?}");
    let run = rig.run(only(&rig, "4", NeededCells::RunFirst)).await;
    let places: Vec<usize> = ran(&run).into_iter().map(|(index, _)| index).collect();
    assert_eq!((run.state, places), (State::Done, vec![0, 2, 4]));
    assert_eq!((rig.shown(4), rig.shown(1)), (vec!["2\n".to_owned()], Vec::new()));
    rig.desk.engine.shutdown().await;
}

/// The kernel that a question starts is announced like any other: the first cell says that earlier state is gone.
#[tokio::test]
async fn a_kernel_started_for_a_question_tells_what_was_lost() {
    let (rig, report) = after_a_run(&CELLS).await;
    at_prompt(&rig, &report, "import os; os._exit(3)").await;
    let run = rig.run(only(&rig, "1", NeededCells::MustHaveRun)).await;
    assert_eq!(run.state, State::Done, "{run:?}");
    let is_loss = |note: &CallNote| matches!(note, CallNote::StateLost(_));
    assert!(run.cells[0].notes.iter().any(is_loss), "{run:?}");
    rig.desk.engine.shutdown().await;
}
