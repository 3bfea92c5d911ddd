use inkcell_engine::api::{NotebookCell, OutputChange, WriteBack};
use inkcell_engine::output::Truncation;
use inkcell_engine::session::CallNote;

use super::*;
use crate::view::tests::samples;

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

/// A running output with these parts, of which the totals are counted.
fn output(parts: Vec<Part>) -> ModelOutput {
    let mut counts = Counts::default();
    for part in &parts {
        match part {
            Part::Text(text) => {
                counts.total_bytes += text.len() as u64;
                counts.total_lines += text.matches('\n').count() as u64;
            }
            Part::Mark(Mark::Elided { bytes, lines }) => {
                counts.total_bytes += bytes;
                counts.total_lines += lines;
            }
            Part::Mark(_) => {}
        }
    }
    counts.total_lines += 1;
    ModelOutput { parts, counts, ..ModelOutput::default() }
}

fn running(output: ModelOutput) -> PythonReport {
    let cell = CellReport { output, ..samples::cell(samples::source("x"), State::Running) };
    samples::call(State::Running, vec![cell])
}

/// The part of the second output that is new to a caller who had the first.
fn after(told: Vec<Part>, now: Vec<Part>) -> ModelOutput {
    let since = Since::after(&running(output(told)));
    let since = Since::parse(&since.to_string()).unwrap();
    let mut report = running(output(now));
    since.apply(&mut report);
    report.cells.remove(0).output
}

#[test]
fn only_text_after_the_mark_is_left() {
    let elided = |bytes, lines| Part::Mark(Mark::Elided { bytes, lines });
    let silent = || vec![text(words::call::NO_NEW_OUTPUT)];
    let long = "q".repeat(500);
    let table = [
        (vec![text("one\n")], vec![text("one\ntwo\n")], vec![text("two\n")]),
        (vec![text("one\n")], vec![text("one\n")], silent()),
        // A line that goes on, one that has not, and one that has changed.
        (vec![text("one\n1 2")], vec![text("one\n1 2 3")], vec![text(" 3")]),
        (vec![text(&long)], vec![text(&long)], silent()),
        (vec![text("one\n10%")], vec![text("one\n20%")], vec![text("20%")]),
        (vec![text("a\nb")], vec![text("a\nb\nc\n")], vec![text("\nc\n")]),
        // A display above the mark has changed, and is longer or shorter now.
        (vec![text("0\na\nb\n")], vec![text("10000\na\nb\nc\n")], vec![text("c\n")]),
        (vec![text("10000\na\nb\n")], vec![text("0\na\nb\nc\n")], vec![text("c\n")]),
        (
            vec![text("a\nb\n")],
            vec![text("a\n"), elided(90, 9), text("z\n")],
            vec![elided(88, 8), text("z\n")],
        ),
        (vec![text("a\n")], vec![text("a\nb\n"), elided(90, 9)], vec![text("b\n"), elided(90, 9)]),
    ];
    for (told, now, wanted) in table {
        assert_eq!(after(told.clone(), now.clone()).parts, wanted, "{told:?}, then {now:?}");
    }
}

/// A notice tells of the lines that the answer has.
#[test]
fn a_notice_is_about_the_new_lines() {
    let truncation = Truncation {
        head: Some((1, 40)),
        tail: Some((90, 100)),
        total_lines: 100,
        limit_bytes: 100,
        partial_line: None,
        scattered_lines: None,
    };
    let notice = || Notice::Truncated { truncation: truncation.clone(), artifact: None };
    let told = |lines: u64| {
        let parts =
            vec![Part::Mark(Mark::Elided { bytes: 500, lines: 89 }), text(&"z\n".repeat(11))];
        let mut output = ModelOutput { notices: vec![notice()], ..output(parts) };
        Since { lines, bytes: 1, ..Since::default() }.leave_out(&mut output);
        output.notices.iter().map(ToString::to_string).collect::<String>()
    };
    assert_eq!(told(30), "[Showing lines 31-40 and 90-100 of 100 (100B limit)]");
    assert_eq!(told(60), "[Showing lines 90-100 of 100 (100B limit)]");
    assert_eq!(told(95), "");
}

/// Notes are told once, and new lines are shown also where a notebook had them before.
#[test]
fn notes_are_told_once_and_lines_are_not_hidden() {
    let note = |text: &str| CallNote::Kernel(text.to_owned());
    let mut report = running(output(vec![text("a\n")]));
    report.cells[0].notes = vec![note("one")];
    let since = Since::after(&report);
    report.cells[0] = CellReport {
        notebook: Some(NotebookCell {
            index: 0,
            id: None,
            outputs: 1,
            written: WriteBack::Saved,
            may_fail: false,
            last_took: None,
            why: None,
            change: Some(OutputChange::Same),
        }),
        notes: vec![note("one"), note("two")],
        output: output(vec![text("a\nb\n")]),
        ..report.cells[0].clone()
    };
    since.apply(&mut report);
    let cell = &report.cells[0];
    assert_eq!((&cell.notes, &cell.output.parts), (&vec![note("two")], &vec![text("b\n")]));
    assert!(!cell.is_as_before());
}

#[test]
fn a_mark_is_read_as_it_is_written() {
    let since = Since { cell: 2, lines: 3, bytes: 1234, notes: 1, open: None };
    for since in [since, Since { open: Some(LineEnd { bytes: 7, digest: 99 }), ..since }] {
        assert_eq!(Since::parse(&since.to_string()).unwrap(), since);
    }
    for wrong in ["", "12", "a:1", "1:-1", "0:1:2", "0:1:2:3:4", "0:1:2:3:4:5:6"] {
        assert!(Since::parse(wrong).is_err(), "{wrong}");
    }
}
