//! Frames of running and finishing cells: events, reports between them, exceptions, floods.

use super::*;

/// The report of a finished cell replaces its events. Late events do not change it.
#[test]
fn a_report_has_the_last_word() {
    let mut execution = growing();
    let running =
        CellReport { output: text("older"), ..cell(source("work()"), State::Running, 900) };
    let queued = cell(titled("more()", "more"), State::Queued, 0);
    execution.report(&report(vec![running, queued.clone()]));
    let frame = plain(&execution.frame(COLLAPSED));
    assert!(frame.contains("● [1/2] running (900ms)") && frame.contains("  30%"), "{frame}");
    execution.event(&(0, ExecEvent::Finished(Outcome::Error(error()))));
    let frame = plain(&execution.frame(COLLAPSED));
    assert!(frame.contains("✗ [1/2] error") && frame.contains("ZeroDivision"), "{frame}");
    let done =
        CellReport { output: text("all of it"), ..cell(source("work()"), State::Done, 1000) };
    execution.report(&report(vec![done, queued]));
    execution.event(&(0, printed("late")));
    execution.event(&(7, printed("of no cell")));
    let frame = plain(&execution.frame(COLLAPSED));
    assert!(frame.starts_with("✓ [1/2] (1.0s)\n  work()\nOutput\n  all of it\n"), "{frame}");
    assert!(!frame.contains("late"));
}

/// Displays are updated in place, cleared on request, and counted as in the engine.
#[test]
fn displays_are_live() {
    let id = DisplayId("d".into());
    let plain_text = |text: &str| bundle("text/plain", MimeData::Text(text.to_owned()));
    let mut execution = Execution::new(vec![source("f()")]);
    execution.event(&(0, printed("before")));
    execution.event(&(0, ExecEvent::Display { id: Some(id.clone()), data: plain_text("0%") }));
    execution.event(&(0, printed("after\n")));
    let status = bundle("application/x-omp-status", MimeData::Json(r#"{"op":"pwd"}"#.to_owned()));
    execution.event(&(0, ExecEvent::Display { id: None, data: status }));
    execution.event(&(0, ExecEvent::UpdateDisplay { id, data: plain_text("99%") }));
    let tree = bundle("application/json", MimeData::Json("[1]".to_owned()));
    execution.event(&(0, ExecEvent::Result { count: 1, id: None, data: tree }));
    let frame = plain(&execution.frame(EXPANDED));
    let wanted = "Output\n  before\n  99%\n  after\n  Array(1)\n  └─ [0]: 1\n└─ pwd\n";
    assert!(frame.ends_with(wanted), "{frame}");
    execution.event(&(0, ExecEvent::ClearOutput { wait: true }));
    assert_eq!(plain(&execution.frame(EXPANDED)), frame);
    execution.event(&(0, printed("new")));
    let frame = plain(&execution.frame(EXPANDED));
    assert!(frame.ends_with("Output\n  new\n└─ pwd\n"), "{frame}");
}

/// B:T-21: the bound also holds while a line grows, and memory stays bounded for any output.
#[test]
fn a_flood_is_bounded() {
    let mut execution = Execution::new(vec![source("f()")]);
    for _ in 0..100 {
        execution.event(&(0, printed(&"x".repeat(100))));
    }
    let frame = plain(&execution.frame(Area { width: 5000, ..EXPANDED }));
    assert!(frame.contains("xxx… [6000 chars omitted]\n"), "{frame}");
    for _ in 0..20 {
        execution.event(&(0, printed(&"\n".repeat(1000))));
        execution.event(&(0, printed(&"y".repeat(10_000))));
    }
    let frame = execution.frame(EXPANDED);
    assert!(frame.lines.len() < 3100, "{}", frame.lines.len());
    assert!(plain(&frame).contains("lines elided"));
}

/// The exception follows the output, in any of its forms.
#[test]
fn an_exception_is_part_of_the_output() {
    let shown_with = |error: PyError, state| {
        let end = Some(EndReport::Exception(error));
        let failed = CellReport { output: text("x"), end, ..cell(source("f()"), state, 1) };
        plain(&execution(vec![failed]).frame(EXPANDED))
    };
    let coloured = ["\u{1b}[31mTraceback\u{1b}[0m".to_owned()].to_vec();
    let table = [
        (error(), "Traceback (most recent call last):\n  ZeroDivisionError: division by zero"),
        (PyError { plain: Vec::new(), traceback: coloured, ..error() }, "Traceback"),
        (PyError { plain: Vec::new(), ..error() }, "ZeroDivisionError: division by zero"),
    ];
    for (error, wanted) in table {
        let frame = shown_with(error, State::Error);
        assert!(frame.ends_with(&format!("Output\n  x\n  {wanted}\n")), "{frame}");
    }
    assert!(!shown_with(error(), State::Cancelled).contains("Traceback"));
}
