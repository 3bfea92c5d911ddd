//! A watched session: blocks in order, settled once, bounded.

use std::path::Path;
use std::time::Duration;

use inkcell_engine::api::State;
use inkcell_engine::feeds::{
    EditAction, EditAsked, FailedEdit, KernelChange, NotebookEdit as Published,
};
use inkcell_engine::kernel::{Outcome, PyError, StreamName};
use inkcell_engine::notebook::CellKind;
use inkcell_engine::output::{ArtifactRef, ModelOutput, Part};

use super::super::execution::Expansion;
use super::piped::PlainTranscript;
use super::*;
use crate::view::paint::plain;
use crate::view::tests::samples::{self, source};

const AREA: Area = Area { width: 80, expansion: Expansion::Collapsed };

fn id(name: &str) -> ExecutionId {
    ExecutionId(name.to_owned())
}

fn began(call: &str, cell: usize, of: usize, code: &str) -> SessionEvent {
    SessionEvent::Began { execution: id(call), cell, of, source: source(code), notebook: None }
}

fn happened(call: &str, cell: usize, event: ExecEvent) -> SessionEvent {
    SessionEvent::Happened { execution: id(call), cell, event }
}

fn wrote(call: &str, cell: usize, text: &str) -> SessionEvent {
    let data = text.as_bytes().to_vec().into();
    happened(call, cell, ExecEvent::Stream { name: StreamName::Stdout, data })
}

fn report(code: &str, state: State, text: &str) -> CellReport {
    CellReport {
        count: Some(1),
        duration: Duration::from_millis(12),
        output: ModelOutput { parts: vec![Part::Text(text.to_owned())], ..ModelOutput::default() },
        ..samples::cell(source(code), state)
    }
}

fn ended(call: &str, cell: usize, report: CellReport) -> SessionEvent {
    SessionEvent::Ended { execution: id(call), cell, report: Box::new(report) }
}

fn edited() -> SessionEvent {
    SessionEvent::Edited(Published {
        path: "/w/p/a.ipynb".into(),
        action: EditAction::Insert,
        index: 2,
        kind: Some(CellKind::Code),
        source: "y = 2".to_owned(),
        total: 3,
    })
}

fn transcript(events: &[SessionEvent]) -> Transcript {
    let mut transcript = Transcript::new(Path::new("/w/p").to_owned());
    for event in events {
        transcript.take(event);
    }
    transcript
}

fn session() -> Vec<SessionEvent> {
    vec![
        began("x1", 0, 2, "print(1)"),
        wrote("x1", 0, "1\n"),
        ended("x1", 0, report("print(1)", State::Done, "1\n")),
        edited(),
        SessionEvent::Kernel(KernelChange::Restarted),
        began("x1", 1, 2, "work()"),
        wrote("x1", 1, "half"),
    ]
}

const FIRST: &str = "✓ [1/2] (12ms)\n  print(1)\nOutput\n  1\n\nNotebook insert in a.ipynb cell:2 type:code\n✓ \
     Inserted code at index 2 · 1 line · 3 total\n  y = 2\n\n[the kernel was restarted; its \
     variables are gone]\n\n";
const SECOND: &str = "● [2/2] running\n  work()\nOutput\n  half\n";

/// B:T-02, B:T-10, B:T-23
#[test]
fn blocks_stand_in_order() {
    let mut transcript = transcript(&session());
    assert_eq!(plain(&transcript.frame(AREA)), format!("{FIRST}{SECOND}"));
}

/// B:T-05 Issue 21, 12: a failed edit is shown as a failure, on a screen and in a pipe.
#[test]
fn a_failed_change_is_shown() {
    let asked = EditAsked { action: Some(EditAction::Delete), index: Some(9), kind: None };
    let failed = SessionEvent::EditFailed(FailedEdit {
        path: "/w/p/a.ipynb".into(),
        asked,
        error: "Cell index 9 out of range (0-2) in a.ipynb".to_owned(),
    });
    let wanted = "Notebook delete in a.ipynb cell:9 type:?\n\
                  ✗ Error: Cell index 9 out of range (0-2) in a.ipynb\n";
    assert_eq!(plain(&transcript(std::slice::from_ref(&failed)).frame(AREA)), wanted);
    assert_eq!(PlainTranscript::new(Path::new("/w/p").to_owned()).text(&failed), wanted);
}

/// Finished blocks are taken out once, up to the first running one.
#[test]
fn what_is_over_settles_once() {
    let mut transcript = transcript(&session());
    assert_eq!(plain(&transcript.settled(AREA)), FIRST);
    assert_eq!(transcript.settled(AREA), Frame::default());
    assert_eq!(plain(&transcript.frame(AREA)), SECOND);
    // An edit of the notebook during a run waits below the running cell.
    transcript.take(&edited());
    assert_eq!(transcript.settled(AREA), Frame::default());
    transcript.take(&ended("x1", 1, report("work()", State::Done, "half and half")));
    let settled = plain(&transcript.settled(AREA));
    assert!(settled.starts_with("✓ [2/2] (12ms)\n  work()\nOutput\n  half and half\n\nNotebook"));
    assert_eq!(transcript.frame(AREA), Frame::default());
}

/// B:T-04
#[test]
fn only_what_changed_is_made_again() {
    let mut transcript = transcript(&session());
    transcript.frame(AREA);
    transcript.frame(AREA);
    assert_eq!(transcript.renders(), 3);
    transcript.take(&wrote("x1", 1, " more"));
    transcript.frame(AREA);
    assert_eq!(transcript.renders(), 4);
}

/// A late or slow watcher sees what is left, and a note on what is missing.
#[test]
fn what_was_missed_is_said() {
    let mut transcript = transcript(&[wrote("x7", 1, "from the midst\n")]);
    let frame = plain(&transcript.frame(AREA));
    assert!(frame.contains("  from the midst\n"), "{frame}");
    transcript.missed(4);
    let frame = plain(&transcript.frame(AREA));
    assert!(frame.contains("[… 4 events were not seen …]"), "{frame}");
    // The end may be among the missed events. The next start proves it.
    assert_eq!(transcript.settled(AREA), Frame::default());
    transcript.take(&began("x8", 0, 1, "2"));
    assert!(plain(&transcript.settled(AREA)).contains("from the midst"));
    transcript.close();
    assert!(plain(&transcript.settled(AREA)).contains("  2\n"));
    transcript.missed(1);
    assert_eq!(plain(&transcript.frame(AREA)), "[… 1 events were not seen …]\n");
}

#[test]
fn a_long_session_is_bounded() {
    let mut transcript = transcript(&[]);
    for n in 0..1000 {
        transcript.take(&began(&format!("x{n}"), 0, 1, "f()"));
        transcript.take(&ended(
            &format!("x{n}"),
            0,
            report("f()", State::Done, &format!("out {n}")),
        ));
    }
    let frame = plain(&transcript.frame(AREA));
    assert!(frame.starts_with("… 800 earlier blocks are not shown\n"), "{frame}");
    assert!(frame.contains("out 999") && frame.contains("out 800") && !frame.contains("out 799"));
}

/// B:T-11: the last stored output can be paged.
#[test]
fn pages_of_stored_output_are_shown() {
    let mut stored = report("f()", State::Done, "end");
    stored.output.artifact = Some(ArtifactRef { id: "ab12".to_owned(), bytes: 9 });
    let mut transcript = transcript(&[began("x1", 0, 1, "f()"), ended("x1", 0, stored)]);
    transcript.take(&began("x2", 0, 1, "g()"));
    assert_eq!(transcript.artifact(), Some("ab12"));
    transcript.turn_to(Some(Page { first_line: 5, total_lines: 9, text: "five\n".to_owned() }));
    let expanded = Area { expansion: Expansion::Expanded, ..AREA };
    let frame = plain(&transcript.frame(expanded));
    assert!(frame.contains("Lines 5-5 of 9\n  five\n"), "{frame}");
    transcript.turn_to(None);
    assert!(plain(&transcript.frame(expanded)).contains("  end\n"));
}

/// A pipe receives all events as they come.
#[test]
fn a_pipe_gets_lines() {
    let mut piped = PlainTranscript::new(Path::new("/w/p").to_owned());
    let mut out: String = session().iter().map(|event| piped.text(event)).collect();
    let error = PyError {
        name: "E".to_owned(),
        value: "v".to_owned(),
        traceback: Vec::new(),
        plain: vec!["Traceback".to_owned(), "E: \u{1b}[2Jv".to_owned()],
    };
    let failed = ExecEvent::Finished(Outcome::Error(error));
    for event in [
        wrote("x1", 1, "\r\u{1b}[31mdone\u{1b}]0;t\u{7}\u{202e}"),
        happened("x1", 1, failed),
        ended("x1", 1, report("work()", State::Error, "")),
    ] {
        out.push_str(&piped.text(&event));
    }
    out.push_str(&piped.missed(3));
    out.push_str(&piped.close());
    insta::assert_snapshot!(out, @r"
    # [1/2]
    >>> print(1)
    1
    Notebook insert in a.ipynb cell:2 type:code
    ✓ Inserted code at index 2 · 1 line · 3 total
      y = 2
    [the kernel was restarted; its variables are gone]
    # [2/2]
    >>> work()
    done\u{202e}
    Traceback
    E: v
    [… 3 events were not seen …]
    ");
}
