//! Edits of notebooks as frames, at three widths.

use super::*;
use crate::view::paint::plain;

const COLLAPSED: Area = Area { width: 80, expansion: Expansion::Collapsed };
const EXPANDED: Area = Area { width: 80, expansion: Expansion::Expanded };

fn done(action: EditAction, kind: CellKind, source: &str) -> Edit {
    Edit {
        action: Some(action),
        path: Some("analysis/long-name-of-a-notebook.ipynb".to_owned()),
        index: Some(3),
        kind: Some(kind),
        outcome: Outcome::Done { source: source.to_owned(), total: 12 },
    }
}

fn numbered(lines: usize) -> String {
    (1..=lines).map(|n| format!("x{n} = {n}\n")).collect()
}

fn draw(edit: Edit, area: Area) -> String {
    plain(&NotebookEdit::new(edit).frame(area))
}

/// B:T-01, B:T-02, B:T-03, B:T-05
#[test]
fn changes_at_three_widths() {
    let prose = "# Title\nSome *words*\n\n| a | b |\n|---|---|\n| 1 | 22 |\n\nend";
    let edits = [
        done(EditAction::Edit, CellKind::Code, &numbered(8)),
        done(EditAction::Insert, CellKind::Markdown, prose),
        done(EditAction::Delete, CellKind::Raw, "one"),
        done(EditAction::Move, CellKind::Code, " \n"),
        Edit {
            outcome: Outcome::Failed("Error: no cell 3".to_owned()),
            ..done(EditAction::Edit, CellKind::Code, "")
        },
        Edit::default(),
    ];
    let mut out = String::new();
    for width in [20, 80, 200] {
        for expansion in [Expansion::Collapsed, Expansion::Expanded] {
            out.push_str(&format!("──── {width} {expansion:?}\n"));
            for edit in &edits {
                out.push_str(&draw(edit.clone(), Area { width, expansion }));
                out.push('\n');
            }
        }
    }
    insta::with_settings!({prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("edits", out);
    });
}

/// B:T-01
#[test]
fn what_is_missing_is_a_question_mark() {
    assert_eq!(draw(Edit::default(), COLLAPSED), "Notebook ? in ? cell:? type:?\n");
}

/// B:T-03
#[test]
fn six_lines_are_a_preview() {
    let six = done(EditAction::Edit, CellKind::Code, &numbered(6));
    assert!(!draw(six, COLLAPSED).contains("more line"));
    let seven = done(EditAction::Edit, CellKind::Code, &numbered(7));
    let frame = draw(seven.clone(), COLLAPSED);
    assert!(frame.ends_with("  x6 = 6\n… 1 more line (ctrl+o to expand)\n"), "{frame}");
    assert!(draw(seven, EXPANDED).ends_with("  x7 = 7\n"));
    let empty = draw(done(EditAction::Edit, CellKind::Code, ""), COLLAPSED);
    assert!(empty.ends_with("0 lines · 12 total\n(empty cell)\n"), "{empty}");
}

/// B:T-04
#[test]
fn rows_are_made_once_for_a_width_and_a_state() {
    let mut edit = NotebookEdit::new(Edit::default());
    for (area, wanted) in [
        (COLLAPSED, 1),
        (COLLAPSED, 1),
        (EXPANDED, 2),
        (EXPANDED, 2),
        (Area { width: 81, ..EXPANDED }, 3),
    ] {
        edit.frame(area);
        assert_eq!(edit.renders(), wanted);
    }
}

/// B:T-05
#[test]
fn an_error_is_said_once() {
    for (text, wanted) in [
        ("Error: no cell", "✗ Error: no cell\n"),
        ("no cell", "✗ Error: no cell\n"),
        ("Error:", "✗ Error: Unknown error\n"),
        (" ", "✗ Error: Unknown error\n"),
        ("one\ntwo", "✗ Error: one\ntwo\n"),
    ] {
        let edit = Edit { outcome: Outcome::Failed(text.to_owned()), ..Edit::default() };
        let frame = draw(edit, COLLAPSED);
        assert!(frame.ends_with(wanted), "{frame}");
    }
}
