//! The tools of the source documents, word for word.

use inkcell_engine::artifact::{ArtifactSession, ArtifactSpec};
use inkcell_testkit::notebooks::{jupyter, small};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::mcp::desk::Content;
use crate::mcp::tools::tests::TestDesk;

fn desk() -> TestDesk {
    let desk = TestDesk::on_files();
    desk.put("nb.ipynb", small());
    desk.put("empty.ipynb", jupyter(&[]));
    desk.put("bad.ipynb", "{\"cells\": [}");
    desk.put("none.ipynb", "{}");
    desk.put("list.ipynb", "[1]");
    desk.put(
        "cell.ipynb",
        r#"{"cells": [{"cell_type": "x"}], "nbformat": 4, "nbformat_minor": 5}"#,
    );
    desk
}

/// B:N-12, B:N-13: each sentence as the documents have it, and nothing is written.
#[tokio::test]
async fn notebook_errors_word_for_word() {
    let desk = desk();
    let table = [
        (json!({"notebook_path": "no.ipynb"}), "Notebook not found: no.ipynb"),
        (json!({"notebook_path": "bad.ipynb"}), "Invalid JSON in notebook: bad.ipynb"),
        (
            json!({"notebook_path": "none.ipynb"}),
            "Invalid notebook structure (missing cells array): none.ipynb",
        ),
        (
            json!({"action": "insert", "cell_index": 4}),
            "Cell index 4 out of range for insert (0-3) in nb.ipynb",
        ),
        (json!({"cell_index": 3}), "Cell index 3 out of range (0-2) in nb.ipynb"),
        (json!({"cell_index": -1}), "Cell index -1 out of range (0-2) in nb.ipynb"),
        (json!({"cell_index": 1.5}), "Cell index 1.5 out of range (0-2) in nb.ipynb"),
        (
            json!({"notebook_path": "empty.ipynb"}),
            "Cell index 0 out of range: the notebook has no cells in empty.ipynb",
        ),
        (json!({"content": null}), "Content is required for edit action"),
        (json!({"action": "insert", "content": null}), "Content is required for insert action"),
        (json!({"action": "swap"}), "Invalid action: swap"),
    ];
    for (change, message) in table {
        let mut given = json!({
            "action": "edit", "notebook_path": "nb.ipynb", "cell_index": 0, "content": "x",
        });
        for (key, value) in change.as_object().unwrap() {
            given[key] = value.clone();
        }
        let error = desk.error("notebook", given.clone()).await;
        assert_eq!(error.message, message, "{given}");
        let reply = error.into_reply();
        let [Content::Text(text)] = &reply.content[..] else { panic!("{reply:?}") };
        // B:N-19
        assert!(reply.is_error && text.starts_with(&format!("Error: {message}")), "{text}");
    }
    assert_eq!(desk.get("nb.ipynb"), small());
}

/// B:N-14 to N-18: what is said and the details.
#[tokio::test]
async fn notebook_results_word_for_word() {
    let desk = desk();
    let table = [
        (
            json!({"action": "edit", "cell_index": 1, "content": "a\nb"}),
            "Replaced cell 1 (code). Notebook now has 3 cells.",
            json!({"action": "edit", "cellIndex": 1, "cellType": "code", "totalCells": 3,
                   "cellSource": ["a\n", "b"]}),
        ),
        (
            json!({"action": "insert", "cell_index": 3, "content": "# T", "cell_type": "markdown"}),
            "Inserted markdown cell at position 3. Notebook now has 4 cells.",
            json!({"action": "insert", "cellIndex": 3, "cellType": "markdown", "totalCells": 4,
                   "cellSource": ["# T"]}),
        ),
        (
            json!({"action": "delete", "cell_index": 2}),
            "Deleted cell 2 (code). Notebook now has 3 cells.",
            json!({"action": "delete", "cellIndex": 2, "cellType": "code", "totalCells": 3,
                   "cellSource": ["y = 2\n"]}),
        ),
    ];
    for (mut given, text, details) in table {
        given["notebook_path"] = "nb.ipynb".into();
        let reply = desk.tried("notebook", given.clone()).await.unwrap();
        assert_eq!(reply.content, [Content::Text(text.to_owned())], "{given}");
        assert_eq!(reply.structured, Some(details), "{given}");
        assert!(!reply.is_error);
    }
    let notebook: Value = serde_json::from_str(&desk.get("nb.ipynb")).unwrap();
    assert_eq!(notebook["cells"][1]["source"], json!(["a\n", "b"]));
    assert_ne!(notebook["cells"][1]["outputs"], json!([]), "an edit keeps outputs");
}

/// B:N-20 for every tool that writes.
#[tokio::test]
async fn a_call_that_was_given_up_writes_nothing() {
    let desk = desk();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let table = [
        ("notebook", json!({"action": "delete", "notebook_path": "nb.ipynb", "cell_index": 0})),
        (
            "NotebookEdit",
            json!({"notebook_path": "nb.ipynb", "cell_id": "0", "edit_mode": "delete"}),
        ),
        ("edit", json!({"path": "nb.ipynb", "old_text": "x = 1", "new_text": "x = 2"})),
        ("write", json!({"path": "nb.ipynb", "content": "# %% [code]\nx"})),
    ];
    for (tool, given) in table {
        let error = desk.tried_with(tool, given, cancel.clone(), None).await.unwrap_err();
        assert_eq!(error.kind.name(), "cancelled", "{tool}");
    }
    assert_eq!(desk.get("nb.ipynb"), small());
}

/// B:N-31, B:N-32, B:N-33: failing is an object, in the words of the documents, and nothing is written.
#[tokio::test]
async fn notebook_edit_errors_word_for_word() {
    let desk = desk();
    let table = [
        (json!({"notebook_path": "no.ipynb", "cell_id": "0"}), "Notebook not found"),
        (json!({"notebook_path": "bad.ipynb", "cell_id": "0"}), "Invalid notebook format"),
        (json!({"notebook_path": "none.ipynb", "cell_id": "0"}), "Invalid notebook format"),
        (json!({"cell_id": "0", "edit_mode": "swap"}), "Invalid edit mode"),
        (json!({"cell_id": "zz"}), "Cell not found: zz"),
        (json!({"cell_id": "1abc"}), "Cell not found: 1abc"),
        (json!({}), "cell_id required for replace"),
        (json!({"edit_mode": "insert"}), "cell_type required for insert"),
        (
            json!({"edit_mode": "insert", "cell_type": "code", "cell_id": "zz"}),
            "Reference cell not found: zz",
        ),
        (json!({"edit_mode": "delete"}), "cell_id required for delete"),
        (json!({"edit_mode": "delete", "cell_id": "zz"}), "Cell not found: zz"),
    ];
    for (change, message) in table {
        let mut given = json!({"notebook_path": "nb.ipynb", "new_source": "x"});
        for (key, value) in change.as_object().unwrap() {
            given[key] = value.clone();
        }
        let reply = desk.tried("NotebookEdit", given.clone()).await.unwrap();
        assert_eq!(reply.structured, Some(json!({"success": false, "error": message})), "{given}");
        assert_eq!(reply.content, [Content::Text(format!("Error: {message}"))], "{given}");
        assert!(reply.is_error, "{given}");
    }
    assert_eq!(desk.get("nb.ipynb"), small());
}

/// B:N-34, B:N-35, B:N-37, B:N-39, B:N-41.
#[tokio::test]
async fn notebook_edit_results_word_for_word() {
    let desk = desk();
    let replace = json!({"notebook_path": "nb.ipynb", "cell_id": "aaaa1111", "new_source": "z"});
    let reply = desk.tried("NotebookEdit", replace).await.unwrap();
    let text = "✓ Cell updated\n  Notebook: nb.ipynb\n  Cell: aaaa1111 (index 1)\n  Type: code";
    assert_eq!(reply.content, [Content::Text(text.to_owned())]);
    let wanted = json!({"success": true, "cell_id": "aaaa1111", "cell_index": 1});
    assert_eq!(reply.structured, Some(wanted));

    let insert = json!({
        "notebook_path": "nb.ipynb", "cell_id": 0, "new_source": "new", "cell_type": "raw",
        "edit_mode": "insert", "backup": true,
    });
    let reply = desk.tried("NotebookEdit", insert).await.unwrap();
    let details = reply.structured.unwrap();
    let id = details["cell_id"].as_str().unwrap();
    assert!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    assert_eq!(details["cell_index"], 1);
    let [Content::Text(text)] = &reply.content[..] else { panic!("{:?}", reply.content) };
    let wanted = format!(
        "✓ Cell inserted\n  Notebook: nb.ipynb\n  New cell: {id} (index 1)\n  Type: raw\n  \
         Inserted after: 0\n  Backup: "
    );
    assert!(text.starts_with(&wanted), "{text}");

    let delete = json!({"notebook_path": "nb.ipynb", "cell_id": id, "edit_mode": "delete"});
    let text = desk.good("NotebookEdit", delete).await;
    let wanted = format!("✓ Cell deleted\n  Notebook: nb.ipynb\n  Removed: {id} (was at index 1)");
    assert_eq!(text, wanted);
    let notebook: Value = serde_json::from_str(&desk.get("nb.ipynb")).unwrap();
    assert_eq!(notebook["cells"][1]["outputs"], json!([]), "a replace clears outputs");
}

/// B:N-42 Issue 21, 12: several edits are one change, and each names cells as they are before it.
#[tokio::test]
async fn notebook_edit_makes_several_edits_or_none() {
    let desk = desk();
    let edits = json!([
        {"cell_id": 0, "edit_mode": "delete"},
        {"cell_id": "aaaa1111", "new_source": "z"},
        {"cell_id": "1", "new_source": "after", "cell_type": "markdown", "edit_mode": "insert"},
    ]);
    let mut bad = edits.clone();
    bad[2]["cell_id"] = "zz".into();
    let given = |edits: &Value| json!({"notebook_path": "nb.ipynb", "edits": edits});
    let reply = desk.tried("NotebookEdit", given(&bad)).await.unwrap();
    let message = "edits[2]: Reference cell not found: zz";
    assert_eq!(reply.structured, Some(json!({"success": false, "error": message})));
    assert!(reply.is_error);
    for refused in [json!({"edits": []}), json!({"edits": edits, "cell_id": "0"})] {
        let mut given = refused;
        given["notebook_path"] = "nb.ipynb".into();
        assert!(desk.tried("NotebookEdit", given).await.unwrap().is_error);
    }
    assert_eq!(desk.get("nb.ipynb"), small());

    let reply = desk.tried("NotebookEdit", given(&edits)).await.unwrap();
    let details = reply.structured.unwrap();
    let id = details["edits"][2]["cell_id"].as_str().unwrap().to_owned();
    let wanted = json!({"success": true, "edits": [
        {"cell_id": "0", "cell_index": 0},
        {"cell_id": "aaaa1111", "cell_index": 0},
        {"cell_id": id, "cell_index": 1},
    ]});
    assert_eq!(details, wanted);
    let [Content::Text(text)] = &reply.content[..] else { panic!("{:?}", reply.content) };
    assert!(
        text.starts_with("✓ Cell deleted\n") && text.ends_with("\n  Inserted after: 1"),
        "{text}"
    );
    let text = desk.good("read", json!({"path": "nb.ipynb"})).await;
    let wanted =
        "# %% [code] cell:0\nz\n# %% [markdown] cell:1\nafter\n# %% [code] cell:2\ny = 2\n";
    assert_eq!(text, wanted);
}

/// B:N-42 Issue 21, 12: a notebook that is missing is made where that is asked for, with cells or without.
#[tokio::test]
async fn notebook_edit_makes_a_notebook() {
    let desk = desk();
    let cell = |text: &str| json!({"new_source": text, "cell_type": "code", "edit_mode": "insert"});
    let edits = json!([cell("a"), cell("b")]);
    let given = json!({"notebook_path": "new.ipynb", "edits": edits, "create": true});
    let reply = desk.tried("NotebookEdit", given.clone()).await.unwrap();
    let details = reply.structured.unwrap();
    assert_eq!((&details["success"], &details["created"]), (&json!(true), &json!(true)));
    let text = desk.good("read", json!({"path": "new.ipynb"})).await;
    assert_eq!(text, "# %% [code] cell:0\na\n# %% [code] cell:1\nb");
    let notebook: Value = serde_json::from_str(&desk.get("new.ipynb")).unwrap();
    assert_eq!(notebook["metadata"]["kernelspec"]["name"], "python3");
    // An id that exists is edited.
    let reply = desk.tried("NotebookEdit", given).await.unwrap();
    assert_eq!(reply.structured.unwrap().get("created"), None);
    let empty = json!({"notebook_path": "blank.ipynb", "create": true});
    let text = desk.good("NotebookEdit", empty.clone()).await;
    assert_eq!(text, "✓ Notebook created\n  Notebook: blank.ipynb");
    assert_eq!(desk.good("read", json!({"path": "blank.ipynb"})).await, "");
    let reply = desk.tried("NotebookEdit", empty).await.unwrap();
    let wanted = json!({"success": false, "error": "blank.ipynb already exists"});
    assert_eq!(reply.structured, Some(wanted));
    let other = json!({"notebook_path": "new.txt", "create": true, "edits": [cell("a")]});
    assert!(desk.tried("NotebookEdit", other).await.unwrap().is_error);
    assert!(!desk.path("new.txt").exists());
}

/// B:V-15 Issue 21, 12: the text of a notebook that is missing is empty, and nothing can be replaced in it but
/// nothing.
#[tokio::test]
async fn edit_of_a_missing_notebook_starts_from_an_empty_one() {
    let desk = desk();
    let text = "# %% [markdown]\n# Title\n# %% [code]\nx = 1";
    desk.good("edit", json!({"path": "new.ipynb", "old_text": "", "new_text": text})).await;
    let notebook: Value = serde_json::from_str(&desk.get("new.ipynb")).unwrap();
    assert_eq!((&notebook["nbformat"], &notebook["nbformat_minor"]), (&json!(4), &json!(5)));
    assert_eq!(notebook["cells"][1]["source"], json!(["x = 1"]));
    let again = json!({"path": "new.ipynb", "old_text": "", "new_text": text});
    let error = desk.error("edit", again).await;
    assert!(error.message.contains("the text to replace is empty"), "{error:?}");
    let given = json!({"path": "other.ipynb", "old_text": "", "new_text": "x = 1"});
    assert!(desk.error("edit", given).await.message.contains("expected first line"));
    assert!(!desk.path("other.ipynb").exists());
}

/// B:V-03, B:V-06, B:V-02: no ids in markers; B:V-19 on plain files, too.
#[tokio::test]
async fn read_shows_text_of_notebooks_and_files() {
    let desk = desk();
    let text = desk.good("read", json!({"path": "nb.ipynb"})).await;
    let wanted = "# %% [markdown] cell:0\n# Title\n\nSome prose.\n# %% [code] cell:1\nx = 1\nprint(x)\n\
                  # %% [code] cell:2\ny = 2\n";
    assert_eq!(text, wanted);
    assert_eq!(desk.good("read", json!({"path": "nb.ipynb:2-2"})).await, "# Title\n");
    assert_eq!(desk.good("read", json!({"path": "nb.ipynb:raw"})).await, small());
    let lines: String = (1..=3500).map(|number| format!("l {number}\n")).collect();
    desk.put("a.txt", &lines);
    let text = desk.good("read", json!({"path": "a.txt"})).await;
    // B:O-31
    let notice = "l 3000\n\n[Showing lines 1-3000 of 3500. Use :3001 to continue]";
    assert!(text.ends_with(notice), "{}", &text[text.len() - 90..]);
    let text = desk.good("read", json!({"file_path": "a.txt:3001"})).await;
    assert!(text.starts_with("l 3001\n") && text.ends_with("l 3500\n"));
    assert_eq!(desk.good("read", json!({"path": "a.txt:2-2,L5+1"})).await, "l 2\nl 5\n");
    desk.put("nothing.txt", "");
    assert_eq!(desk.good("read", json!({"path": "nothing.txt"})).await, "(empty file)");
}

/// B:V-15, B:V-16, B:V-20, and files that are no text.
#[tokio::test]
async fn read_errors_word_for_word() {
    let desk = desk();
    desk.put("x.bin", [0, 1, 2]);
    let table = [
        ("no.ipynb", "File not found: no.ipynb"),
        ("no.txt", "File not found: no.txt"),
        ("no/no.txt", "File not found: no/no.txt"),
        ("bad.ipynb", "Invalid JSON in notebook: bad.ipynb"),
        ("list.ipynb", "Invalid notebook structure (expected object): list.ipynb"),
        ("none.ipynb", "Invalid notebook structure (missing cells array): none.ipynb"),
        ("cell.ipynb", "Invalid notebook cell 0 in cell.ipynb"),
        ("nb.ipynb:0", "Line selector 0 is invalid; lines are 1-indexed. Use :1."),
        ("nb.ipynb:5-2", "Invalid range 5-2: end must be >= start."),
        ("nb.ipynb:5+0", "Invalid range 5+0: count must be >= 1."),
        ("x.bin", "path: x.bin is not text (3B)"),
        (".", ". is a folder, not a regular file"),
    ];
    for (path, message) in table {
        assert_eq!(desk.error("read", json!({"path": path})).await.message, message);
    }
    let error = desk.error("read", json!({"path": "../state/x"})).await;
    assert!(error.message.contains("is outside the allowed folders"), "{error:?}");
}

/// B:O-09: stored output by lines, with a notice when there is more.
#[tokio::test]
async fn read_shows_stored_output() {
    let desk = desk();
    let artifacts = desk.desk.engine.artifacts();
    let spec = ArtifactSpec {
        session: ArtifactSession::new("test", &[b"x"]),
        kind: "text/plain".to_owned(),
        title: "output".to_owned(),
    };
    let lines: String =
        (1..=3500).map(|number| format!("\u{1b}[1mline {number}\u{1b}[0m\n")).collect();
    let id = artifacts.store(&spec, lines.as_bytes()).unwrap().info.unwrap().id.to_string();
    let read = async |selector: &str| {
        desk.good("read", json!({"path": format!("artifact://{id}{selector}")})).await
    };
    assert_eq!(read(":2-3").await, "line 2\nline 3\n");
    assert_eq!(read(":raw:2-2").await, "\u{1b}[1mline 2\u{1b}[0m\n");
    assert_eq!(read(":1-1,9-9").await, "line 1\nline 9\n");
    let text = read("").await;
    let last = text.lines().filter(|line| line.starts_with("line ")).count();
    assert!(last > 2000 && text.len() <= 24 << 10, "{last} lines, {} bytes", text.len());
    let next = last + 1;
    let notice =
        format!("line {last}\n\n[Showing lines 1-{last} of 3500. Use :{next} to continue]");
    assert!(text.ends_with(&notice), "{}", &text[text.len() - 90..]);
    let given = json!({"path": format!("artifact://{id}"), "max_bytes": 600, "tail": true});
    let end = desk.good("read", given).await;
    assert!(end.ends_with("\nline 3500\n\n[Showing lines 3467-3500 of 3500]"), "{end}");
    assert_eq!(read(":9999").await, "[The text has 3500 lines]");
    let error = desk.error("read", json!({"path": "artifact://nope"})).await;
    assert!(error.next.is_some(), "{error:?}");
}

/// B:V-09 to V-13: what `edit` replaces may span markers as `read` shows them; outputs stay.
#[tokio::test]
async fn edit_replaces_text_also_across_cells() {
    let desk = desk();
    let old = "print(x)\n# %% [code] cell:2\ny = 2";
    let new = "print(x)\n# %% [markdown]\nbetween\n# %% [code] cell:2\ny = 3";
    let reply = desk.tried("edit", json!({"path": "nb.ipynb", "old_text": old, "new_text": new}));
    let details = reply.await.unwrap().structured.unwrap();
    assert_eq!(details["cells"], 4);
    let text = desk.good("read", json!({"path": "nb.ipynb:5-"})).await;
    let wanted = "# %% [code] cell:1\nx = 1\nprint(x)\n# %% [markdown] cell:2\nbetween\n\
                  # %% [code] cell:3\ny = 3\n";
    assert_eq!(text, wanted);
    let notebook: Value = serde_json::from_str(&desk.get("nb.ipynb")).unwrap();
    assert_eq!(notebook["cells"][3]["id"], "bbbb2222");
    assert_ne!(notebook["cells"][3]["outputs"], json!([]));

    let given = json!({"path": "nb.ipynb", "old_text": "x", "new_text": "q"});
    let error = desk.error("edit", given).await;
    assert!(error.message.contains("occurs 2 times"), "{error:?}");
    let given = json!({"path": "nb.ipynb", "old_text": "x", "new_text": "q", "all": true});
    desk.good("edit", given).await;
    assert!(desk.good("read", json!({"path": "nb.ipynb"})).await.contains("q = 1\nprint(q)"));
    for (path, message) in [
        ("no.ipynb", "Notebook not found: no.ipynb"),
        ("bad.ipynb", "Invalid JSON in notebook: bad.ipynb"),
        ("no.txt", "File not found: no.txt"),
    ] {
        let given = json!({"path": path, "old_text": "x", "new_text": "q"});
        assert_eq!(desk.error("edit", given).await.message, message);
    }
}

#[tokio::test]
async fn edit_replaces_text_in_plain_files() {
    let desk = desk();
    desk.put("a.txt", "one\r\ntwo\r\nthree");
    let given = json!({"path": "a.txt", "old_string": "one\ntwo", "new_string": "1\n2"});
    let reply = desk.tried("edit", given).await.unwrap();
    assert_eq!(desk.get("a.txt"), "1\r\n2\r\nthree");
    assert_eq!(reply.structured.unwrap()["replacements"], 1);
    let given = json!({"path": "a.txt", "old_text": "four", "new_text": "4"});
    let error = desk.error("edit", given).await;
    assert_eq!(error.message, "a.txt: the text to replace was not found");
    desk.put("latin.txt", b"caf\xe9");
    let given = json!({"path": "latin.txt", "old_text": "c", "new_text": "k"});
    let error = desk.error("edit", given).await;
    assert!(error.message.contains("is not UTF-8 text (byte 3)"), "{error:?}");
    let given = json!({"path": "../state/x", "old_text": "c", "new_text": "k"});
    assert!(desk.error("edit", given).await.message.contains("outside the allowed folders"));
}

/// B:V-08, B:V-13, B:V-15, B:V-24: a whole notebook as text or JSON; cells that are left out go.
#[tokio::test]
async fn write_puts_whole_notebooks() {
    let desk = desk();
    desk.good("write", json!({"path": "nb.ipynb", "content": "# %% [code] cell:1\nx = 9"})).await;
    let notebook: Value = serde_json::from_str(&desk.get("nb.ipynb")).unwrap();
    assert_eq!(notebook["cells"].as_array().unwrap().len(), 1);
    assert_eq!(notebook["cells"][0]["id"], "aaaa1111");
    assert_ne!(notebook["cells"][0]["outputs"], json!([]));
    let error = desk.error("write", json!({"path": "nb.ipynb", "content": ""})).await;
    assert_eq!(error.message, "nb.ipynb: the text leaves out 1 cell; nothing was written");
    assert_eq!(error.next.as_deref(), Some("give the text of all cells that you want to keep"));
    let error =
        desk.error("write", json!({"path": "nb.ipynb", "content": "\n# %% [code]\nx"})).await;
    let wanted = "Invalid notebook editable representation for nb.ipynb: expected first line to be \
                  \"# %% [code] cell:0\", \"# %% [markdown] cell:0\", or \"# %% [raw] cell:0\".";
    assert_eq!(error.message, wanted);
    let next = "its first line is \"\"; each cell begins with a marker, such as \"# %% [code]\"";
    assert_eq!(error.next.as_deref(), Some(next));
    let error =
        desk.error("write", json!({"path": "bad.ipynb", "content": "# %% [code]\nx"})).await;
    assert_eq!(error.message, "Invalid JSON in notebook: bad.ipynb");
    desk.good("write", json!({"path": "new.ipynb", "content": "# %% [raw]\nx"})).await;
    assert_eq!(desk.good("read", json!({"path": "new.ipynb"})).await, "# %% [raw] cell:0\nx");
    desk.good("write", json!({"path": "nb.ipynb", "content": small()})).await;
    assert_eq!(desk.get("nb.ipynb"), small());
    // Content that was read whole can be written back without a change.
    let text = desk.good("read", json!({"path": "nb.ipynb"})).await;
    let reply = desk.tried("write", json!({"path": "nb.ipynb", "content": text})).await.unwrap();
    assert_eq!(reply.structured.unwrap()["written"], false);
    assert_eq!(desk.get("nb.ipynb"), small());
}

#[tokio::test]
async fn write_puts_plain_files() {
    let desk = desk();
    let write = json!({"path": "a.txt", "content": "one\ntwo\n"});
    assert_eq!(desk.good("write", write.clone()).await, "Created a.txt (2 lines, 8B).");
    assert_eq!(desk.get("a.txt"), "one\ntwo\n");
    let same = desk.good("write", write).await;
    assert_eq!(same, "a.txt already has this content; nothing was written.");
    let text = desk.good("write", json!({"path": "a.txt", "content": "x"})).await;
    assert_eq!(text, "Wrote a.txt (1 line, 1B).");
    let error = desk.error("write", json!({"path": "../state/x", "content": "x"})).await;
    assert!(error.message.contains("is outside the allowed folders"), "{error:?}");
    let error = desk.error("write", json!({"path": "no/x.txt", "content": "x"})).await;
    assert_eq!(error.next.as_deref(), Some("create the folder no first"));
    // A link cannot be used to replace a notebook with something else.
    std::os::unix::fs::symlink("nb.ipynb", desk.path("link.txt")).unwrap();
    let error = desk.error("write", json!({"path": "link.txt", "content": "x"})).await;
    assert!(error.message.contains("leads to a notebook"), "{error:?}");
    assert_eq!(desk.get("nb.ipynb"), small());
}
