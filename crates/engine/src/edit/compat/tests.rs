use inkcell_notebook::{CellKind, IdSource, Notebook};
use inkcell_testkit::nbformat::{Files, notebook, python};
use inkcell_testkit::notebooks;

use super::by_id::IdEdit;
use super::by_index::IndexEdit;

/// B:N-40 B:V-10
#[test]
fn edits_of_valid_notebooks_leave_valid_notebooks() {
    let Some(python) = python() else { return };
    let mut files = Files::default();
    for minor in 0..=5 {
        let text = notebooks::pretty(&notebook(minor));
        let before = Notebook::parse(text.into_bytes()).unwrap();
        for (action, kind) in [("edit", None), ("insert", Some("raw")), ("delete", None)] {
            for index in 0..5 {
                let edit = IndexEdit {
                    action: action.to_owned(),
                    cell_index: f64::from(index),
                    content: Some("new".to_owned()),
                    cell_type: kind.map(str::to_owned),
                };
                let mut copy = before.clone();
                edit.apply(&mut copy, &mut IdSource::seeded(1)).unwrap();
                files.add(format!("4.{minor} {edit:?}"), &copy);
            }
        }
        for mode in ["replace", "insert", "delete"] {
            for (index, kind) in (0..15).map(|at| (at % 5, CellKind::ALL[at / 5])) {
                let edit = IdEdit {
                    cell_id: Some(index.to_string()),
                    cell_type: Some(kind.name().to_owned()),
                    new_source: Some("new".to_owned()),
                    edit_mode: Some(mode.to_owned()),
                    outputs: None,
                };
                let mut copy = before.clone();
                let edits = std::slice::from_ref(&edit);
                IdEdit::apply_all(edits, &mut copy, &mut IdSource::seeded(1)).unwrap();
                files.add(format!("4.{minor} {edit:?}"), &copy);
            }
        }
    }
    assert_eq!(files.len(), 6 * 60);
    files.all_valid(&python);
}
