//! A file that another program changes between inkcell's read and its write.

use std::cell::Cell;

use inkcell_engine::notebook::{CellPlace, EditOp, EditReport, IdSource, TextRules};
use inkcell_engine::{
    CellFate, EngineError, IfMissing, Kind, NextStep, SaveOptions, SavedChange, Version,
};
use inkcell_testkit::notebooks::small;

use crate::kit::{Desk, at, insert, let_age, options, overwrite_in_place, replace};

/// Applies operations; `meddle` runs before each attempt, with its number.
fn change_while(
    desk: &Desk,
    options: &SaveOptions,
    ops: &[EditOp],
    meddle: impl Fn(usize),
) -> (Result<SavedChange<EditReport>, EngineError>, usize) {
    let calls = Cell::new(0);
    let done = desk.notebooks.change("nb.ipynb", options, |notebook, base| {
        calls.set(calls.get() + 1);
        meddle(calls.get());
        base.apply(notebook, ops)
    });
    (done, calls.get())
}

/// F-064
#[test]
fn a_change_of_the_same_cell_is_a_conflict_whatever_the_times_say() {
    for aged in [false, true] {
        let desk = Desk::new();
        let path = desk.put("nb.ipynb", small());
        if aged {
            let_age(&path);
        }
        let ops = [replace(at(1), "mine")];
        let (done, calls) = change_while(&desk, &options(), &ops, |call| {
            if call == 1 {
                overwrite_in_place(&path, "x = 1", "x = 9");
            }
        });
        let theirs = small().replace("x = 1", "x = 9");
        let (old, new) = (Version::of(small().as_bytes()), Version::of(theirs.as_bytes()));
        let error = done.err().expect("a conflict");
        assert_eq!(
            error.to_string(),
            format!(
                "nb.ipynb has changed since version {old} (it is now {new}): cell 1 (id aaaa1111) was changed\n\
                    In the file, cell 1 (id aaaa1111) is:\n\
                    > x = 9\n\
                    > print(x)"
            )
        );
        assert_eq!(error.kind(), Kind::Conflict);
        assert_eq!(error.next_step(), Some(NextStep::ReadAgain("nb.ipynb")));
        assert_eq!(desk.get("nb.ipynb"), theirs);
        assert_eq!(desk.names(), ["nb.ipynb"]);
        assert_eq!(calls, 2);
    }
}

/// F-064
#[test]
fn a_change_of_another_cell_is_merged_and_said() {
    for aged in [false, true] {
        let desk = Desk::new();
        let path = desk.put("nb.ipynb", small());
        if aged {
            let_age(&path);
        }
        let ops = [replace(at(1), "mine")];
        let (done, calls) = change_while(&desk, &options(), &ops, |call| {
            if call == 1 {
                overwrite_in_place(&path, "y = 2", "y = 7");
            }
        });
        let saved = done.expect("merged");
        assert_eq!(saved.merged, Some(Version::of(small().as_bytes())));
        assert_eq!(calls, 2);
        let now = desk.get("nb.ipynb");
        assert!(now.contains("y = 7") && now.contains("mine") && !now.contains("x = 1"), "{now}");
        assert_eq!(saved.version, Version::of(now.as_bytes()));
    }
}

/// F-064: the same bytes in a new file are not a change.
#[test]
fn a_rewrite_without_a_change_is_none() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    let (done, calls) = change_while(&desk, &options(), &[replace(at(1), "mine")], |_| {
        let copy = desk.put("copy", small());
        std::fs::rename(copy, &path).expect("replaced");
    });
    assert_eq!(done.expect("saved").merged, None);
    assert_eq!(calls, 1);
    assert!(desk.get("nb.ipynb").contains("mine"));
}

/// F-064
#[test]
fn a_file_that_is_removed_meanwhile_is_not_made_again() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    let (done, _) = change_while(&desk, &options(), &[replace(at(1), "mine")], |call| {
        if call == 1 {
            std::fs::remove_file(&path).expect("removed");
        }
    });
    assert_eq!(done.err().expect("an error").to_string(), "Notebook not found: nb.ipynb");
    assert!(desk.names().is_empty());
}

/// F-064: a file that appears unexpectedly is never replaced unseen.
#[test]
fn a_file_that_appears_meanwhile_is_seen() {
    let desk = Desk::new();
    let create = SaveOptions { if_missing: IfMissing::CreateNotebook, ..options() };
    let calls = Cell::new(0);
    let text = "# %% [code]\nmine";
    let done = desk.notebooks.change("nb.ipynb", &create, |notebook, base| {
        calls.set(calls.get() + 1);
        if calls.get() == 1 {
            desk.put("nb.ipynb", small());
        }
        let rules: TextRules = inkcell_testkit::laws::KEEP_ALL;
        base.apply_text(notebook, text, rules)
    });
    assert!(matches!(done, Err(EngineError::LeavesOut { .. })));
    assert_eq!(calls.get(), 2);
    assert_eq!(desk.get("nb.ipynb"), small());
}

/// F-064
#[test]
fn a_file_that_never_rests_is_left_alone() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    // One character differs from call to call, so the size stays the same.
    let digit = |call: usize| format!("y = {}", char::from(b'1' + (call % 70) as u8));
    let ops = [insert(CellPlace::Start, "mine")];
    let (done, calls) = change_while(&desk, &options(), &ops, |call| {
        overwrite_in_place(&path, &digit(call), &digit(call + 1));
    });
    let error = done.err().expect("an error");
    assert_eq!(error.to_string(), "nb.ipynb keeps changing; nothing was written");
    assert_eq!(error.kind(), Kind::Conflict);
    assert_eq!(desk.get("nb.ipynb"), small().replace("y = 2", &digit(calls + 1)));
    assert_eq!(desk.names(), ["nb.ipynb"]);
}

/// F-064
#[test]
fn a_named_cell_that_is_deleted_meanwhile_is_gone() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    let mut fewer =
        inkcell_engine::notebook::Notebook::parse(small().into_bytes()).expect("a notebook");
    fewer.apply(&[EditOp::Delete { cell: at(2) }], &mut IdSource::seeded(2)).expect("deleted");
    let (done, _) = change_while(&desk, &options(), &[replace(at(2), "mine")], |call| {
        if call == 1 {
            std::fs::write(&path, fewer.to_bytes()).expect("written");
        }
    });
    let Err(EngineError::Conflict { cells, .. }) = done else { panic!("no conflict") };
    assert_eq!(cells.len(), 1);
    assert_eq!((cells[0].cell.index, &cells[0].fate), (2, &CellFate::Gone));
    assert_eq!(std::fs::read(&path).expect("there"), fewer.to_bytes());
}
