//! The editor of the source documents that names cells by id, on files.

use inkcell_engine::feeds::{EditAction, Feeds, SessionEvent};
use inkcell_engine::journal::{JournalItem, Seq};
use inkcell_engine::registry::SessionName;
use inkcell_engine::{IdEditRequest, IdEditResult, IndexEditRequest};
use inkcell_testkit::notebooks::small;
use serde_json::json;

use crate::kit::Desk;

fn edit(desk: &Desk, mut value: serde_json::Value) -> IdEditResult {
    if value.get("notebook_path").is_none() {
        value["notebook_path"] = "nb.ipynb".into();
    }
    let request: IdEditRequest = serde_json::from_value(value).expect("a request");
    desk.notebooks.edit_by_id(&request)
}

/// B:N-31 B:N-32 B:N-33
#[test]
fn failing_is_a_result_in_the_words_of_the_documents() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    desk.put("bad.ipynb", "not json");
    desk.put("list.ipynb", "{\"cells\": 1}");
    let table = [
        (
            json!({"notebook_path": "no.ipynb", "cell_id": "a", "new_source": "x"}),
            "Notebook not found",
        ),
        (
            json!({"notebook_path": "bad.ipynb", "cell_id": "a", "new_source": "x"}),
            "Invalid notebook format",
        ),
        (
            json!({"notebook_path": "list.ipynb", "cell_id": "a", "new_source": "x"}),
            "Invalid notebook format",
        ),
        (
            json!({"cell_id": "aaaa1111", "new_source": "x", "edit_mode": "swap"}),
            "Invalid edit mode",
        ),
        (json!({"cell_id": "zzzz", "new_source": "x"}), "Cell not found: zzzz"),
        (json!({"cell_id": "1abc", "new_source": "x"}), "Cell not found: 1abc"),
        (json!({"cell_id": "3", "new_source": "x"}), "Cell not found: 3"),
        (json!({"new_source": "x"}), "cell_id required for replace"),
        (json!({"new_source": "x", "edit_mode": "insert"}), "cell_type required for insert"),
        (
            json!({"cell_id": "zzzz", "new_source": "x", "cell_type": "code", "edit_mode": "insert"}),
            "Reference cell not found: zzzz",
        ),
        (json!({"edit_mode": "delete"}), "cell_id required for delete"),
        (json!({"cell_id": "zzzz", "edit_mode": "delete"}), "Cell not found: zzzz"),
        (
            json!({"cell_id": "aaaa1111", "new_source": "x", "outputs": "burn"}),
            "Invalid outputs: burn (expected keep or clear)",
        ),
    ];
    let names = desk.names();
    for (value, wanted) in table {
        let result = edit(&desk, value.clone());
        let object = serde_json::to_value(&result).expect("JSON");
        assert_eq!(object, json!({"success": false, "error": wanted}), "{value}");
        assert_eq!(result.summary, format!("Error: {wanted}"));
    }
    assert_eq!(desk.get("nb.ipynb"), small());
    assert_eq!(desk.names(), names);
}

/// B:N-41
#[test]
fn summaries_are_those_of_the_documents() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let replaced = edit(&desk, json!({"cell_id": "aaaa1111", "new_source": "x"}));
    assert_eq!(
        replaced.summary,
        "✓ Cell updated\n  Notebook: nb.ipynb\n  Cell: aaaa1111 (index 1)\n  Type: code"
    );
    let inserted = edit(
        &desk,
        json!({"cell_id": "aaaa1111", "new_source": "t", "cell_type": "markdown", "edit_mode": "insert"}),
    );
    let id = inserted.cell_id.expect("an id");
    assert_eq!(
        inserted.summary,
        format!(
            "✓ Cell inserted\n  Notebook: nb.ipynb\n  New cell: {id} (index 2)\n  Type: markdown\n  \
             Inserted after: aaaa1111"
        )
    );
    let deleted = edit(&desk, json!({"cell_id": "intro-md", "edit_mode": "delete"}));
    assert_eq!(
        deleted.summary,
        "✓ Cell deleted\n  Notebook: nb.ipynb\n  Removed: intro-md (was at index 0)"
    );
}

/// B:N-31
#[test]
fn a_result_names_the_cell_and_its_position() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let result = edit(&desk, json!({"cell_id": "2", "new_source": "x"}));
    let object = serde_json::to_value(&result).expect("JSON");
    assert_eq!(object, json!({"success": true, "cell_id": "bbbb2222", "cell_index": 2}));
    let result = edit(&desk, json!({"cell_id": "0", "edit_mode": "delete"}));
    let object = serde_json::to_value(&result).expect("JSON");
    assert_eq!(object, json!({"success": true, "cell_id": "0", "cell_index": 0}));
}

/// B:N-42
#[test]
fn the_earlier_bytes_are_kept_when_asked_for() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    desk.put("nb.ipynb.bak", "an older backup");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o640))
        .expect("set");
    let result = edit(&desk, json!({"cell_id": "aaaa1111", "new_source": "x", "backup": true}));
    let backup = desk.path("nb.ipynb.bak");
    assert_eq!(result.backup.as_deref(), Some(backup.to_str().expect("text")));
    assert_eq!(desk.get("nb.ipynb.bak"), small());
    assert!(desk.get("nb.ipynb") != small());
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&backup).expect("there"));
    assert_eq!(mode & 0o777, 0o640, "a backup is as private as the file");
    assert_eq!(desk.names(), ["nb.ipynb", "nb.ipynb.bak"]);
    // There is none without a request, or if no change is written.
    std::fs::remove_file(&backup).expect("removed");
    edit(&desk, json!({"cell_id": "aaaa1111", "new_source": "y"}));
    assert!(!edit(&desk, json!({"cell_id": "zzzz", "new_source": "y", "backup": true})).success);
    assert_eq!(desk.names(), ["nb.ipynb"]);
}

/// B:N-42
#[test]
fn outputs_are_kept_or_cleared_as_asked() {
    for (outputs, kept) in [(json!(null), false), (json!("clear"), false), (json!("keep"), true)] {
        let desk = Desk::new();
        desk.put("nb.ipynb", small());
        let result =
            edit(&desk, json!({"cell_id": "aaaa1111", "new_source": "x", "outputs": outputs}));
        assert!(result.success);
        let opened = desk.notebooks.read("nb.ipynb").expect("a notebook");
        let cell = opened.notebook.cell(1).expect("there");
        assert_eq!(
            (cell.outputs().len(), cell.execution_count()),
            if kept { (1, Some(3)) } else { (0, None) }
        );
        let other = opened.notebook.cell(2).expect("there");
        assert_eq!(other.outputs().len(), 1, "other cells keep theirs");
    }
}

/// B:N-42: all or nothing, in one change of the file.
#[test]
fn several_edits_are_one_change() {
    let desk = Desk::new();
    desk.put("nb.ipynb", small());
    let insert = |cell: &str, text: &str| json!({"cell_id": cell, "new_source": text, "cell_type": "raw", "edit_mode": "insert"});
    let delete = json!({"cell_id": "1", "edit_mode": "delete"});
    let result = edit(&desk, json!({"edits": [delete, insert("0", "a"), insert("0", "b")]}));
    assert!(result.success, "{result:?}");
    let opened = desk.notebooks.read("nb.ipynb").expect("a notebook");
    let sources: Vec<String> =
        opened.notebook.cells().map(|cell| cell.source().text.into_owned()).collect();
    assert_eq!(sources[1..], ["a", "b", "y = 2\n"]);
    let places: Vec<usize> =
        result.edits.expect("one for each").iter().map(|edit| edit.cell_index).collect();
    assert_eq!(places, [1, 1, 2]);
    // An edit of a cell that an earlier edit deletes is refused.
    let before = desk.get("nb.ipynb");
    let again = json!({"cell_id": "1", "new_source": "x"});
    let result = edit(&desk, json!({"edits": [delete, again]}));
    assert!(result.error.expect("refused").starts_with("edits[1]: "));
    assert_eq!(desk.get("nb.ipynb"), before);
}

/// B:T-05 Issue 21, 12: watchers of the notebook's session hear of a failed edit and its request.
#[tokio::test]
async fn a_failed_edit_is_told_to_whoever_watches() {
    let desk = Desk::new();
    let path = desk.put("nb.ipynb", small());
    let feeds = Feeds::default();
    let feed = feeds.of(&SessionName(path.display().to_string()), &desk.dir());
    let notebooks = desk.notebooks.telling(&feeds);
    let index = IndexEditRequest {
        action: "delete".to_owned(),
        notebook_path: "nb.ipynb".to_owned(),
        cell_index: 9.0,
        content: None,
        cell_type: None,
    };
    notebooks.edit_by_index(&index).expect_err("no such cell");
    let request = json!({"notebook_path": "nb.ipynb", "cell_id": "zz", "new_source": "x"});
    notebooks.edit_by_id(&serde_json::from_value(request).expect("a request"));
    let ops = [crate::kit::replace(crate::kit::at(9), "x")];
    let change = |base: &inkcell_engine::Base, notebook: &mut _| base.apply(notebook, &ops);
    let options = inkcell_engine::SaveOptions::in_place();
    let done = notebooks.change("nb.ipynb", &options, |notebook, base| change(base, notebook));
    assert!(done.is_err());
    // A dry run requests no change.
    let dry = inkcell_engine::SaveOptions { mode: inkcell_engine::Mode::DryRun, ..options };
    assert!(notebooks.change("nb.ipynb", &dry, |notebook, base| change(base, notebook)).is_err());
    assert_eq!(feed.end(), Seq(3));
    let mut watch = feed.watch(Seq(0));
    let wanted = [
        (Some(EditAction::Delete), Some(9), "Cell index 9 out of range (0-2) in nb.ipynb"),
        (Some(EditAction::Edit), None, "Cell not found: zz"),
        (None, None, "nb.ipynb: "),
    ];
    for (action, index, error) in wanted {
        let Some(JournalItem::Entry(_, SessionEvent::EditFailed(told))) = watch.next().await else {
            panic!("no failure was told");
        };
        assert_eq!((told.asked.action, told.asked.index), (action, index));
        assert!(told.error.starts_with(error), "{told:?}");
        assert_eq!(told.path, path);
    }
}
