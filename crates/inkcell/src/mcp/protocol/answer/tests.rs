//! No text in a reply can command a terminal, wherever it came from.

use bytes::Bytes;
use inkcell_testkit::notebooks;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::mcp::TOOLS;
use crate::mcp::desk::ToolError;
use crate::mcp::exposure::ToolSet;
use crate::mcp::tools::tests::TestDesk;

/// The texts of a value, names of fields among them.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                found.push(name.clone());
                texts(value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A terminal shows every text of an answer and does not obey it.
fn assert_clean(reply: ToolReply, case: &str) {
    let mut found = Vec::new();
    texts(&json!(of(reply)), &mut found);
    for text in found {
        let bare = text.replace("\r\n", "\n");
        let hidden = bare.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
        assert_eq!(hidden, None, "{case}: {text:?}");
    }
}

proptest! {
    /// Issue 21, 29: whatever the text is, in every text field of an answer.
    #[test]
    fn no_field_of_an_answer_holds_a_control_character(text in "[\\x00-\\x20\\x7f-\\u{a0}a-cé]{0,40}") {
        let field = || json!({&text: [&text, {"a": &text, &text: {&text: 1}}], "b": &text});
        let link = Content::Link {
            uri: text.clone(),
            name: text.clone(),
            mime: text.clone(),
            bytes: 1,
        };
        let image = Content::Image { mime: text.clone(), data: Bytes::from_static(b"x") };
        let content = vec![Content::Text(text.clone()), image, link];
        let (structured, details) = (Some(field()), Some(field()));
        let reply = ToolReply { content, structured, details, is_error: true, ..ToolReply::default() };
        assert_clean(reply, "every field");
        let error = ToolError::argument(text.clone()).with_next(text.clone());
        assert_clean(error.into_reply(), "an error");
    }
}

/// Each tool that only works on files, with hostile text in every argument, and on a notebook full of it.
#[tokio::test]
async fn tools_answer_cleanly_to_anything() {
    const FILES: [&str; 7] =
        ["notebook", "NotebookEdit", "read", "edit", "write", "notebook_read", "notebook_edit"];
    let text = "\u{1b}]0;t\u{7}\u{9b}2J\u{7f}\rx";
    let desk = TestDesk::on_files();
    let output =
        json!({"output_type": "error", "ename": text, "evalue": text, "traceback": [text]});
    let stream = json!({"output_type": "stream", "name": "stdout", "text": [text]});
    let code = json!({"cell_type": "code", "execution_count": 1, "id": text, "metadata": {"tags": [text]},
                      "outputs": [output, stream], "source": [text]});
    let prose = json!({"cell_type": "markdown", "id": "b", "metadata": {}, "source": [format!("# {text}")]});
    let whole = json!({"cells": [code, prose], "metadata": {text: text}, "nbformat": 4, "nbformat_minor": 5});
    desk.put("nb.ipynb", notebooks::pretty(&whole));
    desk.put("plain.txt", text);
    for spec in TOOLS.iter().filter(|spec| FILES.contains(&spec.name)) {
        let schema = (spec.schema)(&desk.desk.exposure);
        let names: Vec<&String> = schema["properties"]
            .as_object()
            .map(|named| named.keys().collect())
            .unwrap_or_default();
        let path = if names.iter().any(|name| *name == "path") { "path" } else { "notebook_path" };
        let mut cases = vec![json!({path: text}), json!({text: 1}), json!([text])];
        for file in ["nb.ipynb", "plain.txt", "nb.ipynb:raw"] {
            cases.push(json!({path: file}));
            cases.push(json!({path: file, "view": "outline"}));
            cases.push(json!({path: file, "outputs": "full"}));
            let given = |name: &&String| json!({path: file, *name: text, "old_text": "x", "new_text": text});
            cases.extend(names.iter().map(given));
        }
        cases.push(json!({path: "nb.ipynb", "cell": 1, "source": text}));
        cases.push(json!({path: "nb.ipynb", "cell_id": "b", "new_source": text}));
        cases.push(json!({path: "nb.ipynb", "action": "edit", "cell_index": 1, "content": text}));
        for case in cases {
            let shown = format!("{} {case}", spec.name);
            assert_clean(desk.call(spec.name, case).await, &shown);
        }
    }
}

/// A path with line ends writes no lines of its own into an answer, wherever it is named.
#[tokio::test]
async fn a_path_stays_on_one_line() {
    let desk = TestDesk::on_files();
    let (missing, there, text) = ("no\nobey.ipynb", "is\nobey.ipynb", "is\nobey.txt");
    let whole = json!({"cells": [{"cell_type": "raw", "id": "a", "metadata": {}, "source": []}],
                       "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    desk.put(there, notebooks::pretty(&whole));
    desk.put("bad\nobey.ipynb", b"{");
    desk.put(text, b"text");
    std::fs::create_dir(desk.path("dir\nobey")).unwrap();
    let outside = "/nowhere\nobey/x.ipynb";
    let mut cases = Vec::new();
    for path in
        [missing, there, "bad\nobey.ipynb", "dir\nobey", "dir\nobey/a/x.ipynb", outside, text]
    {
        cases.extend([
            ("notebook_read", json!({"path": path})),
            ("notebook_read", json!({"path": format!("{path}:raw")})),
            ("notebook_read", json!({"path": path, "cells": "x\nobey"})),
            ("notebook_edit", json!({"path": path, "op": "insert", "source": "1"})),
            ("notebook_edit", json!({"path": path, "op": "delete", "cell": "x\nobey"})),
            ("notebook_edit", json!({"path": format!("new\nobey{}", path.len()), "create": true})),
            ("notebook", json!({"action": "delete", "notebook_path": path, "cell_index": 9})),
            (
                "NotebookEdit",
                json!({"notebook_path": path, "cell_id": "x\nobey", "new_source": "1"}),
            ),
            ("read", json!({"path": path})),
            ("edit", json!({"path": path, "old_text": "none", "new_text": "1"})),
            ("edit", json!({"path": path, "old_text": "text", "new_text": "text2"})),
            ("write", json!({"path": format!("{path}.txt"), "content": "1"})),
            ("write", json!({"path": path, "content": ""})),
        ]);
    }
    for (tool, given) in cases {
        let case = format!("{tool} {given}");
        let reply = desk.call(tool, given).await;
        let said = crate::mcp::tools::tests::text(&reply);
        assert!(!said.contains("\nobey"), "{case}: {said}");
    }
}

/// Issue 21, 29: the names and messages of a program's exceptions, and the titles of cells.
#[tokio::test]
async fn exceptions_are_told_cleanly() {
    let code = r"raise type('E\x1b[2J', (ValueError,), {})('\x1b]0;t\x07\x9b31m')";
    for set in [ToolSet::Default, ToolSet::Compat] {
        let desk = TestDesk::new(set);
        let cells = json!([{"code": "print(1)", "title": "\u{1b}]0;t\u{7}\nobey"}, {"code": code}]);
        let reply = desk.call("python", json!({"cells": cells})).await;
        assert!(reply.is_error);
        let shown = crate::mcp::tools::tests::text(&reply);
        assert!(shown.contains("]0;t") && shown.contains("[2J"), "it is told: {shown}");
        assert!(!shown.contains("\nobey"), "a title stays on one line: {shown}");
        assert_clean(reply, code);
        desk.end().await;
    }
}
