//! No text in a reply can command a terminal, wherever it came from.

use bytes::Bytes;
use inkcell_testkit::notebooks;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::exposure::ToolSet;
use crate::tools::test_desk::TestDesk;
use crate::tools::{TOOLS, ToolError};

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

/// Every text of an answer is one that a terminal shows and does not obey.
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
        let reply = ToolReply { content, structured, details, is_error: true, fault: None };
        assert_clean(reply, "every field");
        let error = ToolError::argument(text.clone()).with_next(text.clone());
        assert_clean(error.into_reply(), "an error");
    }
}

/// Each tool that only works on files, with the text in every argument, and on a notebook that is full of it.
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

/// The names and messages of a program's exceptions, and the titles of cells.
#[tokio::test]
async fn exceptions_are_told_cleanly() {
    let code = r"raise type('E\x1b[2J', (ValueError,), {})('\x1b]0;t\x07\x9b31m')";
    for set in [ToolSet::Default, ToolSet::Compat] {
        let desk = TestDesk::new(set);
        let cells = json!([{"code": "print(1)", "title": "\u{1b}]0;t\u{7}"}, {"code": code}]);
        let reply = desk.call("python", json!({"cells": cells})).await;
        assert!(reply.is_error);
        let shown = crate::tools::test_desk::text(&reply);
        assert!(shown.contains("]0;t") && shown.contains("[2J"), "it is told: {shown}");
        assert_clean(reply, code);
        desk.end().await;
    }
}
