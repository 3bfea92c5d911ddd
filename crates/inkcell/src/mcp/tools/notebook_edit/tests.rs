//! The edits that `notebook_edit` makes from the input of models.

use inkcell_engine::Kind;
use inkcell_engine::operations::{OPERATIONS, PLACE_FIELDS};
use inkcell_testkit::notebooks::small;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::mcp::desk::Content;
use crate::mcp::exposure::{Exposure, ToolSet};
use crate::mcp::find;
use crate::mcp::tools::tests::TestDesk;

/// The sources of a notebook.
fn sources(desk: &TestDesk, name: &str) -> Vec<String> {
    let notebook: Value = serde_json::from_str(&desk.get(name)).unwrap();
    let text = |source: &Value| match source {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    notebook["cells"].as_array().unwrap().iter().map(|cell| text(&cell["source"])).collect()
}

/// One operation may stand beside the path, under the names that models know.
#[tokio::test]
async fn one_operation_inline() {
    let title = "# Title\n\nSome prose.";
    let table: Vec<(Value, [&str; 3], &str)> = vec![
        (
            json!({"op": "replace", "cell": "aaaa1111", "source": "z"}),
            [title, "z", "y = 2\n"],
            "✓ Cell updated",
        ),
        (json!({"cell": 1, "source": "z"}), [title, "z", "y = 2\n"], "✓ Cell updated"),
        (
            json!({"cell_id": "aaaa1111", "new_source": "z", "edit_mode": "replace"}),
            [title, "z", "y = 2\n"],
            "✓ Cell updated",
        ),
        (json!({"cell_id": "1", "content": "z"}), [title, "z", "y = 2\n"], "✓ Cell updated"),
        (
            json!({"cell": "bbbb", "old": "2", "new": "3"}),
            [title, "x = 1\nprint(x)", "y = 3\n"],
            "✓ Text replaced in 1 place",
        ),
        (
            json!({"old": "x = 1", "new": "x = 7"}),
            [title, "x = 7\nprint(x)", "y = 2\n"],
            "✓ Text replaced in 1 place",
        ),
        (
            json!({"op": "rename", "old": "x", "new": "z"}),
            [title, "z = 1\nprint(z)", "y = 2\n"],
            "✓ Name replaced in 2 places",
        ),
        (
            json!({"op": "move", "cell": 2, "at": "start"}),
            ["y = 2\n", title, "x = 1\nprint(x)"],
            "✓ Cell moved",
        ),
    ];
    for (mut given, wanted, first) in table {
        let desk = TestDesk::on_files();
        desk.put("nb.ipynb", small());
        given["notebook_path"] = "nb.ipynb".into();
        let text = desk.good("notebook_edit", given.clone()).await;
        assert_eq!(text.lines().next(), Some(first), "{given}");
        assert_eq!(sources(&desk, "nb.ipynb"), wanted, "{given}");
    }
}

/// B:N-37: in the words of the documents' editor an insert goes behind the cell that is named, or first.
#[tokio::test]
async fn inserts_stand_where_their_words_say() {
    let table = [
        (json!({"op": "insert", "source": "new"}), 3),
        (json!({"op": "insert", "source": "new", "wait": 5}), 3),
        (json!({"op": "insert", "source": "new", "after": "aaaa"}), 2),
        (json!({"source": "new", "before": 0}), 0),
        (json!({"edit_mode": "insert", "new_source": "new", "cell_id": "aaaa1111"}), 2),
        (json!({"edit_mode": "insert", "new_source": "new", "cell_type": "code"}), 0),
    ];
    for (mut given, index) in table {
        let desk = TestDesk::on_files();
        desk.put("nb.ipynb", small());
        given["path"] = "nb.ipynb".into();
        let reply = desk.tried("notebook_edit", given.clone()).await.unwrap();
        assert_eq!(sources(&desk, "nb.ipynb")[index], "new", "{given}");
        let details = reply.structured.unwrap();
        assert_eq!(details["changes"][0]["index"], index, "{given}");
        let id = details["changes"][0]["id"].as_str().unwrap().to_owned();
        let [Content::Text(text)] = &reply.content[..] else { panic!("{:?}", reply.content) };
        assert!(text.contains(&format!("New cell: {id} (index {index})")), "{text}");
    }
}

/// A batch is done whole or not at all, and says the version that the next edit can give.
#[tokio::test]
async fn batches_text_and_versions() {
    let desk = TestDesk::on_files();
    desk.put("nb.ipynb", small());
    let ops = json!([
        {"op": "delete", "cell": 0},
        {"op": "sub", "cell": 1, "old": "x = 1", "new": "x = 5"},
        {"op": "meta", "cell": 2, "set": {"b": 1.0, "a": null}},
    ]);
    let reply =
        desk.tried("notebook_edit", json!({"path": "nb.ipynb", "ops": ops, "backup": true}));
    let details = reply.await.unwrap().structured.unwrap();
    assert_eq!(sources(&desk, "nb.ipynb"), ["x = 5\nprint(x)", "y = 2\n"]);
    assert_eq!(desk.get("nb.ipynb.bak"), small());
    assert!(details["backup"].as_str().unwrap().ends_with("nb.ipynb.bak"));
    let version = details["version"].as_str().unwrap().to_owned();
    let head = &desk.texts("notebook_read", json!({"path": "nb.ipynb"})).await[0];
    assert!(head.contains(&version), "{head}");

    let before = desk.get("nb.ipynb");
    let ops = json!([{"op": "delete", "cell": 0}, {"op": "delete", "cell": 9}]);
    let error = desk.error("notebook_edit", json!({"path": "nb.ipynb", "ops": ops})).await;
    assert_eq!(error.kind, Kind::NotFound, "{error:?}");
    assert_eq!(desk.get("nb.ipynb"), before);

    // Another program changes a cell: an edit of a different cell is merged, an edit of the same cell is refused.
    desk.put("nb.ipynb", before.replace("x = 5", "x = 6"));
    let mine = json!({"path": "nb.ipynb", "cell": 0, "source": "mine", "if_hash": version});
    let error = desk.error("notebook_edit", mine).await;
    assert_eq!(error.kind, Kind::Conflict);
    // The other side's text comes with the error, so that the edit can be made again without a reading.
    assert!(error.message.ends_with("cell 0 (id aaaa1111) is:\n> x = 6\n> print(x)"), "{error:?}");
    let other = json!({"path": "nb.ipynb", "cell": 1, "source": "mine", "if_hash": version});
    desk.good("notebook_edit", other).await;
    assert_eq!(sources(&desk, "nb.ipynb"), ["x = 6\nprint(x)", "mine"]);

    let text = "# %% [code] cell:0\nx = 8\n# %% [markdown]\nnew";
    let error = desk.error("notebook_edit", json!({"path": "nb.ipynb", "text": text})).await;
    assert_eq!(error.next.as_deref(), Some("to delete them, add drop: 1"));
    desk.good("notebook_edit", json!({"path": "nb.ipynb", "text": text, "drop": 1})).await;
    assert_eq!(sources(&desk, "nb.ipynb"), ["x = 8", "new"]);
}

/// A batch is told in a line for each cell, and the notebook is named once.
#[tokio::test]
async fn a_batch_of_nine_inserts_is_told_in_few_bytes() {
    let desk = TestDesk::on_files();
    desk.put("nb.ipynb", small());
    let insert = |number| json!({"op": "insert", "at": "end", "source": format!("x = {number}")});
    let ops: Vec<Value> = (0..9).map(insert).collect();
    let reply = desk.tried("notebook_edit", json!({"path": "nb.ipynb", "ops": ops})).await.unwrap();
    let text = |content: &Content| match content {
        Content::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    let said: String = reply.content.iter().map(text).collect();
    assert!(said.len() < 600, "{} bytes: {said}", said.len());
    assert_eq!(said.matches("nb.ipynb").count(), 1, "{said}");
    let details = reply.structured.unwrap();
    let bytes = details.to_string().len();
    assert!(bytes < 600, "{bytes} bytes: {details}");
    assert!(said.contains(details["version"].as_str().unwrap()), "{said}");
    for change in details["changes"].as_array().unwrap() {
        assert_eq!((&change["action"], change.get("unchanged")), (&json!("inserted"), None));
        let (index, id) = (change["index"].as_u64().unwrap(), change["id"].as_str().unwrap());
        assert!(said.contains(&format!("\n  Cell inserted: {index} {id}\n")), "{said}");
    }
    let ops = json!([
        {"op": "delete", "cell": "aaaa1111"},
        {"op": "meta", "set": {"title": "x"}},
        {"op": "replace", "cell": "bbbb2222", "source": "y = 3"},
    ]);
    let said = desk.good("notebook_edit", json!({"path": "nb.ipynb", "ops": ops})).await;
    let wanted = "✓ 3 changes\n  Notebook: nb.ipynb\n  Cell deleted: aaaa1111 (was at 1)\n  Metadata changed\n  \
                  Cell updated: 1 bbbb2222; 1 output was cleared\n  Version: ";
    assert!(said.starts_with(wanted), "{said}");
}

/// A pattern of paths edits each notebook that has the text, and counts its places.
#[tokio::test]
async fn a_pattern_edits_several_notebooks() {
    let desk = TestDesk::on_files();
    std::fs::create_dir(desk.path("sub")).unwrap();
    for name in ["a.ipynb", "sub/b.ipynb", "none.ipynb"] {
        desk.put(name, small());
    }
    desk.put("none.ipynb", small().replace("print(x)", "pass"));
    desk.put("broken.ipynb", "{");
    let sub = json!({"path": "**/*.ipynb", "old": "print", "new": "show"});
    let mut dry = sub.clone();
    dry["dry_run"] = true.into();
    let text = desk.good("notebook_edit", dry).await;
    assert!(text.ends_with("\nNothing was written."), "{text}");
    assert_eq!(desk.get("a.ipynb"), small());
    let text = desk.good("notebook_edit", sub).await;
    assert!(text.starts_with("✓ Replaced in 2 places, in 2 of 4 notebooks\n"), "{text}");
    assert!(text.contains("\n  sub/b.ipynb: 1 place  version "), "{text}");
    assert!(text.contains("broken.ipynb"), "{text}");
    assert_eq!(sources(&desk, "sub/b.ipynb")[1], "x = 1\nshow(x)");
    let rename = json!({"path": "*.ipynb", "op": "rename", "old": "y", "new": "z"});
    let text = desk.good("notebook_edit", rename).await;
    assert!(text.starts_with("✓ Replaced in 2 places, in 2 of 3 notebooks\n"), "{text}");
    for (given, message) in [
        (json!({"path": "*.ipynb", "op": "delete", "cell": 0}), "a pattern of paths takes sub"),
        (json!({"path": "*.ipynb", "old": "x", "new": "y", "run": "changed"}), "run: give the"),
        (json!({"path": "no/*.ipynb", "old": "x", "new": "y"}), "no notebook matches no/*.ipynb"),
    ] {
        let error = desk.error("notebook_edit", given.clone()).await;
        assert!(error.message.starts_with(message), "{given}: {error:?}");
    }
}

/// An edit that every notebook refuses is an error, and no list of changes is longer than an answer.
#[tokio::test]
async fn an_edit_of_many_is_bounded_and_a_refusal_of_all_is_an_error() {
    let desk = TestDesk::on_files();
    desk.put("a.ipynb", "{");
    let reply =
        desk.call("notebook_edit", json!({"path": "*.ipynb", "old": "x", "new": "y"})).await;
    let [Content::Text(text)] = &*reply.content else { panic!("{reply:?}") };
    assert!(reply.is_error && text.starts_with("Error: nothing was replaced: 1 of 1"), "{text}");

    let cell = |at: usize| {
        json!({"cell_type": "code", "id": format!("c{at:05}"), "metadata": {}, "outputs": [],
               "execution_count": null, "source": "value = 1\nvalue"})
    };
    let cells: Vec<Value> = (0..3000).map(cell).collect();
    let many = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    desk.put("many.ipynb", many.to_string());
    for op in ["sub", "rename"] {
        let mut given = json!({"path": "many.ipynb", "op": op, "old": "value", "new": "other"});
        given["dry_run"] = true.into();
        if op == "sub" {
            given["all"] = true.into();
        }
        let text = desk.good("notebook_edit", given.clone()).await;
        assert!(text.len() <= 24 << 10 && text.contains("left out"), "{} bytes", text.len());
        let mut small = given;
        small["max_bytes"] = json!(600);
        let text = desk.good("notebook_edit", small).await;
        assert!(text.len() <= 600, "{} bytes", text.len());
    }
}

/// An insert has a place instead of an index.
#[tokio::test]
async fn an_index_of_an_insert_is_answered_with_its_place() {
    let desk = TestDesk::on_files();
    desk.put("nb.ipynb", small());
    let given = json!({"path": "nb.ipynb", "op": "insert", "index": 2, "source": "x"});
    let error = desk.error("notebook_edit", given).await;
    assert_eq!(error.message, "`index` is not a field of insert: use `before`");
    let edit = json!({"path": "nb.ipynb", "ops": [{"op": "edit", "cell": 1, "source": "x"}]});
    let error = desk.error("notebook_edit", edit).await;
    assert!(error.message.contains("did you mean \"replace\"?"), "{error:?}");
}

/// A dry run shows each cell that would change, and neither writes nor runs anything.
#[tokio::test]
async fn a_dry_run_says_what_would_change() {
    let desk = TestDesk::on_files();
    desk.put("nb.ipynb", small());
    let mut given =
        json!({"path": "nb.ipynb", "op": "rename", "old": "x", "new": "z", "dry_run": true});
    let text = desk.good("notebook_edit", given.clone()).await;
    assert!(text.starts_with("✓ Name replaced in 2 places\n"), "{text}");
    for line in ["Nothing was written. The change by cell:", "  -print(x)", "  +print(z)"] {
        assert!(text.lines().any(|shown| shown.trim_end() == line), "{line:?} in {text}");
    }
    given["run"] = "changed".into();
    let error = desk.error("notebook_edit", given).await;
    assert_eq!(error.message, "nothing to run: a dry run changes no cells");
    let create = json!({"path": "new.ipynb", "create": true, "dry_run": true});
    assert_eq!(desk.error("notebook_edit", create).await.message, "nothing to do");
    assert_eq!(desk.get("nb.ipynb"), small());
}

/// A source that changes loses its outputs, unless they are to stay; a text keeps them.
#[tokio::test]
async fn outputs_follow_what_is_said() {
    let text = "# %% [code] cell:1\nz";
    let table = [
        (json!({"cell": 1, "source": "z"}), false),
        (json!({"cell": 1, "source": "z", "outputs": "keep"}), true),
        (json!({"ops": [{"op": "replace", "cell": 1, "source": "z", "outputs": "keep"}]}), true),
        (json!({"text": text, "drop": 2}), true),
        (json!({"text": text, "drop": 2, "outputs": "clear"}), false),
    ];
    for (mut given, stay) in table {
        let desk = TestDesk::on_files();
        desk.put("nb.ipynb", small());
        given["path"] = "nb.ipynb".into();
        desk.good("notebook_edit", given.clone()).await;
        let notebook: Value = serde_json::from_str(&desk.get("nb.ipynb")).unwrap();
        let cells = notebook["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["id"] == "aaaa1111").unwrap();
        assert_eq!(cell["outputs"] != json!([]), stay, "{given}");
    }
}

#[tokio::test]
async fn a_notebook_is_made_only_when_that_is_said() {
    let desk = TestDesk::on_files();
    let insert = json!({"path": "new.ipynb", "op": "insert", "source": "x"});
    let error = desk.error("notebook_edit", insert.clone()).await;
    assert_eq!(error.message, "Notebook not found: new.ipynb");
    assert!(error.next.unwrap().contains("create: true"));
    let mut insert = insert;
    insert["create"] = true.into();
    desk.good("notebook_edit", insert).await;
    assert_eq!(sources(&desk, "new.ipynb"), ["x"]);
    desk.good("notebook_edit", json!({"path": "empty.ipynb", "create": true})).await;
    assert_eq!(sources(&desk, "empty.ipynb"), [""; 0]);
    let error = desk.error("notebook_edit", json!({"path": "empty.ipynb", "create": true})).await;
    assert_eq!(error.kind, Kind::Conflict, "{error:?}");
}

/// B:V-08, and everything else that has no meaning; nothing is written.
#[tokio::test]
async fn what_has_no_meaning_is_refused() {
    let desk = TestDesk::on_files();
    desk.put("nb.ipynb", small());
    let first_line = "Invalid notebook editable representation for nb.ipynb: expected first line to be \
                      \"# %% [code] cell:0\", \"# %% [markdown] cell:0\", or \"# %% [raw] cell:0\".";
    let table = [
        (json!({}), "nothing to do"),
        (json!({"text": "x"}), first_line),
        (json!({"op": "delete"}), "delete needs the field \"cell\""),
        (json!({"op": "remove", "cell": 1}), "op \"remove\" is not known"),
        (json!({"cell": 1}), "the field \"op\" is missing; it is one of replace, insert,"),
        (json!({"op": "insert", "cell": 1, "source": "x"}), "insert takes no field \"cell\""),
        (
            json!({"op": "insert", "source": "x", "at": 2}),
            "at is 2; it is \"start\" or \"end\"; before takes a cell and puts this one in front",
        ),
        (json!({"ops": [{"op": "delete", "cell": 1}], "text": ""}), "give only one of"),
        (json!({"ops": [{"op": "delete"}]}), "operation 0: delete needs the field \"cell\""),
        (json!({"cell": 1, "source": "x", "if_hash": "abc"}), "if_hash: \"abc\" is not a version"),
        (json!({"cell": 1, "source": 5}), "source is 5; it is a string"),
        (json!({"op": 3}), "op is 3; it is a string"),
        (json!({"old": "x", "new": "y", "all": 1}), "all is 1; it is true or false"),
        (
            json!({"cell": 1, "source": "x", "outputs": "burn"}),
            "outputs: burn is not one of its values",
        ),
        (json!({"cell": "nope", "source": "x"}), "nb.ipynb: "),
        (json!({"cell": 1, "sourse": "x"}), "no argument named 'sourse'; did you mean source?"),
        (
            json!({"cell": 1, "source": "x", "new_source": "y"}),
            "source is given twice, once as new_source",
        ),
    ];
    for (mut given, message) in table {
        given["path"] = "nb.ipynb".into();
        let error = desk.error("notebook_edit", given.clone()).await;
        assert!(error.message.starts_with(message), "{given}: {error:?}");
    }
    assert_eq!(desk.get("nb.ipynb"), small());
}

/// B:N-20: a call that was given up does nothing.
#[tokio::test]
async fn a_call_that_was_given_up_writes_nothing() {
    let desk = TestDesk::on_files();
    desk.put("nb.ipynb", small());
    let cancel = CancellationToken::new();
    cancel.cancel();
    let given = json!({"path": "nb.ipynb", "op": "delete", "cell": 0});
    let error = desk.tried_with("notebook_edit", given, cancel, None).await.unwrap_err();
    assert_eq!(error.kind, Kind::Cancelled);
    assert_eq!(desk.get("nb.ipynb"), small());
}

/// The description lists each operation with all its fields; how outputs fare has a sentence of its own.
#[test]
fn a_model_is_told_every_operation() {
    let told = find("notebook_edit").unwrap().description;
    let list = told.lines().find_map(|line| line.strip_prefix("op: ")).unwrap();
    let told: Vec<(&str, &str)> =
        list.split("), ").filter_map(|operation| operation.split_once(" (")).collect();
    assert_eq!(told.len(), OPERATIONS.len(), "{list}");
    for (operation, (name, fields)) in OPERATIONS.iter().zip(told) {
        assert_eq!(operation.name, name);
        let words: Vec<&str> = fields.split(|c: char| !c.is_alphanumeric()).collect();
        for field in operation.fields.iter().filter(|field| field.name != "outputs") {
            assert!(words.contains(&field.name), "{name}: {fields}");
            let is_choice =
                operation.choice.iter().any(|choice| choice.fields.contains(&field.name))
                    || PLACE_FIELDS.contains(&field.name);
            let is_optional = fields.contains(&format!("{}?", field.name)) || is_choice;
            assert_eq!(is_optional, !field.is_required, "{name}: {}", field.name);
        }
    }
}

/// Together with four others these two have 12 KB.
#[test]
fn what_a_model_is_told_is_short() {
    for (name, limit) in [("notebook_read", 1600), ("notebook_edit", 3600)] {
        let spec = find(name).unwrap();
        let schema = (spec.schema)(&Exposure::for_one_call(ToolSet::Default)).to_string();
        let bytes = spec.description.len() + schema.len();
        assert!(bytes <= limit, "{name} has {bytes} bytes: {schema}");
        assert!(!schema.contains("null") && !schema.contains("$defs"), "{schema}");
    }
}
