//! The editor of the source documents that names cells by position, on files.

use inkcell_engine::{EngineError, IndexEditRequest, IndexEditResult, Kind};
use inkcell_testkit::notebooks::small;
use serde_json::json;

use crate::kit::Desk;

fn request(value: serde_json::Value) -> IndexEditRequest {
    serde_json::from_value(value).expect("a request")
}

fn edit(desk: &Desk, value: serde_json::Value) -> Result<IndexEditResult, EngineError> {
    desk.notebooks.edit_by_index(&request(value))
}

#[track_caller]
fn refused(desk: &Desk, value: &serde_json::Value, wanted: &str) {
    let error = edit(desk, value.clone()).err().unwrap_or_else(|| panic!("{value} was accepted"));
    assert_eq!(error.to_string(), wanted, "{value}");
}

/// B:N-12
#[test]
fn errors_have_the_words_of_the_documents() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    desk.put("bad.ipynb", "{\"cells\": [");
    desk.put("list.ipynb", "{\"cells\": {}}");
    desk.put("array.ipynb", "[]");
    let table = [
        (
            json!({"action": "edit", "notebook_path": "no.ipynb", "cell_index": 0, "content": "x"}),
            "Notebook not found: no.ipynb",
        ),
        (
            json!({"action": "edit", "notebook_path": "no/no.ipynb", "cell_index": 0, "content": "x"}),
            "Notebook not found: no/no.ipynb",
        ),
        (
            json!({"action": "edit", "notebook_path": "bad.ipynb", "cell_index": 0, "content": "x"}),
            "Invalid JSON in notebook: bad.ipynb",
        ),
        (
            json!({"action": "edit", "notebook_path": "list.ipynb", "cell_index": 0, "content": "x"}),
            "Invalid notebook structure (missing cells array): list.ipynb",
        ),
        (
            json!({"action": "edit", "notebook_path": "array.ipynb", "cell_index": 0, "content": "x"}),
            "Invalid notebook structure (missing cells array): array.ipynb",
        ),
        (
            json!({"action": "insert", "notebook_path": "nb.ipynb", "cell_index": 4, "content": "x"}),
            "Cell index 4 out of range for insert (0-3) in nb.ipynb",
        ),
        (
            json!({"action": "edit", "notebook_path": "nb.ipynb", "cell_index": 3, "content": "x"}),
            "Cell index 3 out of range (0-2) in nb.ipynb",
        ),
        (
            json!({"action": "delete", "notebook_path": "nb.ipynb", "cell_index": -1}),
            "Cell index -1 out of range (0-2) in nb.ipynb",
        ),
        (
            json!({"action": "delete", "notebook_path": "nb.ipynb", "cell_index": 1.5}),
            "Cell index 1.5 out of range (0-2) in nb.ipynb",
        ),
        (
            json!({"action": "edit", "notebook_path": "nb.ipynb", "cell_index": 0}),
            "Content is required for edit action",
        ),
        (
            json!({"action": "insert", "notebook_path": "nb.ipynb", "cell_index": 0}),
            "Content is required for insert action",
        ),
        (
            json!({"action": "swap", "notebook_path": "nb.ipynb", "cell_index": 0}),
            "Invalid action: swap",
        ),
    ];
    let names = desk.names();
    for (value, wanted) in table {
        refused(&desk, &value, wanted);
    }
    assert_eq!(desk.get("nb.ipynb"), small());
    assert_eq!(desk.names(), names);
}

/// B:N-11: each request has every fault from its own on; the error names the first in order.
#[test]
fn checks_come_in_the_order_of_the_documents() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    desk.put("bad.ipynb", "{");
    desk.put("list.ipynb", "{}");
    let bad = |action: &str, path: &str, index: i64| json!({"action": action, "notebook_path": path, "cell_index": index});
    refused(&desk, &bad("edit", "no.ipynb", 9), "Notebook not found: no.ipynb");
    refused(&desk, &bad("edit", "bad.ipynb", 9), "Invalid JSON in notebook: bad.ipynb");
    refused(
        &desk,
        &bad("edit", "list.ipynb", 9),
        "Invalid notebook structure (missing cells array): list.ipynb",
    );
    refused(&desk, &bad("edit", "nb.ipynb", 9), "Cell index 9 out of range (0-2) in nb.ipynb");
    refused(&desk, &bad("edit", "nb.ipynb", 0), "Content is required for edit action");
    refused(&desk, &bad("swap", "nb.ipynb", 9), "Cell index 9 out of range (0-2) in nb.ipynb");
    refused(&desk, &bad("swap", "nb.ipynb", 0), "Invalid action: swap");
}

/// B:N-17 B:N-18
#[test]
fn results_are_a_sentence_and_details() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let table = [
        (
            json!({"action": "edit", "notebook_path": "nb.ipynb", "cell_index": 1, "content": "a\nb"}),
            "Replaced cell 1 (code). Notebook now has 3 cells.",
            json!({"action": "edit", "cellIndex": 1, "cellType": "code", "totalCells": 3, "cellSource": ["a\n", "b"]}),
        ),
        (
            json!({"action": "insert", "notebook_path": "nb.ipynb", "cell_index": 3, "content": "t\n", "cell_type": "markdown"}),
            "Inserted markdown cell at position 3. Notebook now has 4 cells.",
            json!({"action": "insert", "cellIndex": 3, "cellType": "markdown", "totalCells": 4, "cellSource": ["t\n"]}),
        ),
        (
            json!({"action": "insert", "notebook_path": "nb.ipynb", "cell_index": 0, "content": ""}),
            "Inserted code cell at position 0. Notebook now has 5 cells.",
            json!({"action": "insert", "cellIndex": 0, "cellType": "code", "totalCells": 5, "cellSource": []}),
        ),
        (
            json!({"action": "delete", "notebook_path": "nb.ipynb", "cell_index": 1}),
            "Deleted cell 1 (markdown). Notebook now has 4 cells.",
            json!({"action": "delete", "cellIndex": 1, "cellType": "markdown", "totalCells": 4,
                   "cellSource": ["# Title\n", "\n", "Some prose."]}),
        ),
    ];
    for (value, text, details) in table {
        let result = edit(&desk, value).expect("done");
        assert_eq!(result.text, text);
        assert_eq!(serde_json::to_value(&result).expect("JSON"), details);
    }
    let opened = desk.notebooks.read("nb.ipynb").expect("a notebook");
    let sources: Vec<String> =
        opened.notebook.cells().map(|cell| cell.source().text.into_owned()).collect();
    assert_eq!(sources, ["", "a\nb", "y = 2\n", "t\n"]);
    // This editor keeps outputs and count.
    assert_eq!(opened.notebook.cell(1).expect("there").execution_count(), Some(3));
}

/// B:N-18: a source stored as a string is returned as lines.
#[test]
fn a_deleted_string_comes_back_as_lines() {
    let desk = Desk::new();
    desk.put("nb.ipynb", crate::kit::without_ids(&["a\nb"]));
    let result =
        edit(&desk, json!({"action": "delete", "notebook_path": "nb.ipynb", "cell_index": 0}));
    assert_eq!(result.expect("done").cell_source, ["a\n", "b"]);
}

/// A request with unknown arguments is refused.
#[test]
fn unknown_arguments_are_refused() {
    let bad =
        json!({"action": "edit", "notebook_path": "nb.ipynb", "cell_index": 0, "contents": "x"});
    let error = serde_json::from_value::<IndexEditRequest>(bad).expect_err("refused");
    assert!(error.to_string().contains("unknown field `contents`"), "{error}");
}

/// Faces decide by the kind of an error; a missing notebook is not a wrong argument.
#[test]
fn kinds_tell_missing_from_wrong() {
    let desk = Desk::new();
    let missing = json!({"action": "delete", "notebook_path": "no.ipynb", "cell_index": 0});
    assert_eq!(edit(&desk, missing).expect_err("an error").kind(), Kind::NotFound);
}
