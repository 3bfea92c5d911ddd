use super::*;
use inkcell_testkit::notebooks;

fn edit(
    action: &str,
    cell_index: f64,
    content: Option<&str>,
    cell_type: Option<&str>,
) -> IndexEdit {
    IndexEdit {
        action: action.to_owned(),
        cell_index,
        content: content.map(str::to_owned),
        cell_type: cell_type.map(str::to_owned),
    }
}

fn small() -> Notebook {
    Notebook::parse(notebooks::small().into_bytes()).unwrap()
}

fn done(notebook: &mut Notebook, edit: &IndexEdit) -> IndexEditDetails {
    edit.apply(notebook, &mut IdSource::seeded(1)).unwrap()
}

/// B:N-10 B:N-11 B:N-12 B:N-13
#[test]
fn what_is_wrong_is_told_in_this_order() {
    let check = |edit: IndexEdit, message: &str| {
        let mut notebook = small();
        let error = edit.apply(&mut notebook, &mut IdSource::seeded(1)).unwrap_err();
        assert_eq!(error.message("a/nb.ipynb"), message);
        assert_eq!(notebook.to_bytes(), notebooks::small().as_bytes(), "nothing is changed");
    };
    let range = |index: &str| format!("Cell index {index} out of range (0-2) in a/nb.ipynb");
    // The range check comes before the content check, and both before the action check.
    check(edit("edit", 3.0, None, None), &range("3"));
    check(edit("delete", 3.0, None, None), &range("3"));
    check(edit("delete", -1.0, None, None), &range("-1"));
    check(edit("edit", 1.5, Some("x"), None), &range("1.5"));
    check(edit("edit", f64::NAN, Some("x"), None), &range("NaN"));
    check(edit("destroy", 9.0, None, None), &range("9"));
    check(
        edit("insert", 4.0, None, None),
        "Cell index 4 out of range for insert (0-3) in a/nb.ipynb",
    );
    check(
        edit("insert", -1.0, Some("x"), None),
        "Cell index -1 out of range for insert (0-3) in a/nb.ipynb",
    );
    check(edit("edit", 0.0, None, None), "Content is required for edit action");
    check(edit("insert", 3.0, None, None), "Content is required for insert action");
    check(edit("destroy", 0.0, None, None), "Invalid action: destroy");
    check(edit("Edit", 0.0, Some("x"), None), "Invalid action: Edit");
    check(
        edit("insert", 0.0, Some("x"), Some("heading")),
        "Invalid cell type: heading (expected code, markdown or raw)",
    );
}

/// B:N-13
#[test]
fn an_empty_notebook_says_that_it_has_no_cells() {
    let mut notebook = Notebook::empty();
    for action in ["edit", "delete"] {
        let error = edit(action, 0.0, Some("x"), None)
            .apply(&mut notebook, &mut IdSource::seeded(1))
            .unwrap_err();
        assert_eq!(
            error.message("nb.ipynb"),
            "Cell index 0 out of range: the notebook has no cells in nb.ipynb"
        );
    }
    let details = done(&mut notebook, &edit("insert", 0.0, Some(""), None));
    assert_eq!((details.total_cells, details.cell_source), (1, vec![]));
}

/// B:N-06 B:N-14 B:N-17 B:N-18
#[test]
fn edit_replaces_the_source_alone() {
    let check = |text: &str, index: usize, content: &str, expected: &str, kind: &str| {
        let mut notebook = Notebook::parse(text.as_bytes().to_vec()).unwrap();
        let details = done(&mut notebook, &edit("edit", index as f64, Some(content), None));
        assert_eq!(String::from_utf8(notebook.to_bytes()).unwrap(), expected);
        assert_eq!(
            details.text(),
            format!("Replaced cell {index} ({kind}). Notebook now has {} cells.", notebook.len())
        );
        let lines = content.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>();
        let expected = IndexEditDetails {
            action: IndexAction::Edit,
            cell_index: index,
            cell_type: kind.to_owned(),
            total_cells: notebook.len(),
            cell_source: lines,
        };
        assert_eq!(details, expected);
    };
    // Outputs and the count stay.
    let text = notebooks::small();
    check(&text, 2, "z = 3\n", &text.replace("y = 2\\n", "z = 3\\n"), "code");
    check(&text, 0, "# Title\n\nSome verse.", &text.replace("prose", "verse"), "markdown");
    // A source stored as a string becomes a list, even if the text stays.
    let cell = |source: &str| {
        format!(
            "{{\"cells\": [{{\"cell_type\": \"raw\", \"metadata\": {{}}, \"source\": {source}}}], \"nbformat\": 4}}"
        )
    };
    check(&cell("\"a\\nb\""), 0, "a\nc", &cell("[\"a\\n\", \"c\"]"), "raw");
    check(&cell("\"a\\nb\""), 0, "a\nb", &cell("[\"a\\n\", \"b\"]"), "raw");
    check(&cell("\"a\""), 0, "", &cell("[]"), "raw");
}

/// B:N-10 B:N-13 B:N-15 B:N-17 B:N-18 B:N-40
#[test]
fn insert_adds_a_bare_cell() {
    let check = |index: usize, cell_type: Option<&str>, keys: &str| {
        let mut notebook = small();
        let edit = edit("insert", index as f64, Some("a\nb"), cell_type);
        let details = done(&mut notebook, &edit);
        let kind = cell_type.unwrap_or("code");
        assert_eq!(
            details.text(),
            format!("Inserted {kind} cell at position {index}. Notebook now has 4 cells.")
        );
        assert_eq!(details.cell_source, ["a\n", "b"]);
        assert_eq!((details.cell_type.as_str(), details.total_cells), (kind, 4));
        let cell = notebook.cell(index).unwrap();
        let id = cell.id().unwrap();
        let body: String = String::from_utf8_lossy(cell.json()).split_whitespace().collect();
        assert_eq!(body, keys.replace("ID", &id));
    };
    let code = "{\"cell_type\":\"code\",\"execution_count\":null,\"id\":\"ID\",\"metadata\":{},\"outputs\":[],\"source\":[\"a\\n\",\"b\"]}";
    for index in 0..=3 {
        check(index, None, code);
    }
    check(1, Some("code"), code);
    for kind in ["markdown", "raw"] {
        let cell = format!(
            "{{\"cell_type\":\"{kind}\",\"id\":\"ID\",\"metadata\":{{}},\"source\":[\"a\\n\",\"b\"]}}"
        );
        check(3, Some(kind), &cell);
    }
    // Before nbformat 4.5 cells have no id.
    let old = notebooks::small().replace("_minor\": 5", "_minor\": 4");
    let mut notebook = Notebook::parse(old.into_bytes()).unwrap();
    done(&mut notebook, &edit("insert", 0.0, Some("x"), None));
    assert_eq!(notebook.cell(0).unwrap().id(), None);
}

/// B:N-16 B:N-17 B:N-18
#[test]
fn delete_gives_back_what_the_cell_held() {
    let mut notebook = small();
    let details = done(&mut notebook, &edit("delete", 1.0, None, None));
    assert_eq!(details.text(), "Deleted cell 1 (code). Notebook now has 2 cells.");
    assert_eq!(details.cell_source, ["x = 1\n", "print(x)"]);
    assert_eq!((details.action.name(), details.cell_index), ("delete", 1));
    let ids: Vec<_> = notebook.cells().map(|cell| cell.id().unwrap().into_owned()).collect();
    assert_eq!(ids, ["intro-md", "bbbb2222"]);
    // A source stored as a string is returned as lines, too.
    let text = r#"{"cells": [{"cell_type": "raw", "source": "a\nb\n"}], "nbformat": 4}"#;
    let mut notebook = Notebook::parse(text.as_bytes().to_vec()).unwrap();
    let details = done(&mut notebook, &edit("delete", 0.0, None, None));
    assert_eq!(details.cell_source, ["a\n", "b\n"]);
    assert_eq!(notebook.to_bytes(), br#"{"cells": [], "nbformat": 4}"#);
}
