//! The tools as a page to read.
//!
//! Owns the rendering of a schema for people: arguments as a table, examples as blocks. The offer comes from
//! `offer.rs`, so that the page and the protocol cannot differ.

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::Value;

use super::{instructions, offer, prompts};
use crate::mcp::exposure::Exposure;
use crate::settings::Profile;
use crate::words;

/// Everything a client sees before it calls anything.
pub(crate) fn page(exposure: &Exposure) -> String {
    let profile = match exposure.profile() {
        Profile::Compat => words::protocol::TOOLS_OF_DOCUMENTS,
        _ => "inkcell's own tools",
    };
    let first = instructions::of(exposure);
    let quoted: Vec<String> = first.lines().map(|line| format!("> {line}")).collect();
    let quoted: Vec<&str> = quoted.iter().map(|line| line.trim_end()).collect();
    let mut page =
        format!("## Server: {profile}\n\nA model is told first:\n\n{}\n", quoted.join("\n"));
    for tool in offer::offered(exposure) {
        page.push('\n');
        page.push_str(&of_tool(&tool));
    }
    page.push_str("\n### Prompts\n\n");
    for prompt in prompts::list(exposure) {
        let about = prompt.description.unwrap_or_default();
        page.push_str(&format!("- `{}`: {about}\n", prompt.name));
    }
    page
}

pub(crate) fn of_tool(tool: &Tool) -> String {
    let mut text = format!("### `{}`\n\n", tool.name);
    if let Some(hints) = &tool.annotations {
        text.push_str(&format!("*{}*\n\n", describe_hints(hints)));
    }
    text.push_str(&prose(tool.description.as_deref().unwrap_or_default()));
    text.push_str("| argument | type | default | meaning |\n| --- | --- | --- | --- |\n");
    let mut rows = Vec::new();
    add_rows(&mut rows, "", &Value::Object((*tool.input_schema).clone()));
    for Row { name, kind, default, meaning } in rows {
        text.push_str(&format!("| `{name}` | {kind} | {default} | {} |\n", cell(&meaning)));
    }
    text
}

/// The hints in words.
fn describe_hints(hints: &ToolAnnotations) -> String {
    let mut words = vec![hints.title.clone().unwrap_or_default()];
    let says = |hint: Option<bool>| hint == Some(true);
    if says(hints.read_only_hint) {
        words.push("only reads".to_owned());
    } else if says(hints.destructive_hint) {
        words.push(words::protocol::DESTRUCTIVE.to_owned());
    }
    if says(hints.idempotent_hint) && !says(hints.read_only_hint) {
        words.push(words::protocol::IDEMPOTENT.to_owned());
    }
    if says(hints.open_world_hint) {
        words.push(words::protocol::OPEN_WORLD.to_owned());
    }
    words.join("; ")
}

/// A description as Markdown: its lines are paragraphs or points, its examples blocks.
fn prose(description: &str) -> String {
    let mut text = String::new();
    let mut was_point = false;
    for line in description.lines().filter(|line| !line.trim().is_empty()) {
        let is_point = line.starts_with("- ");
        if was_point && !is_point {
            text.push('\n');
        }
        was_point = is_point;
        match line.strip_prefix("Example: ") {
            _ if is_point => text.push_str(&format!("{line}\n")),
            Some(example) => text.push_str(&format!("```json\n{example}\n```\n\n")),
            None => text.push_str(&format!("{line}\n\n")),
        }
    }
    if was_point {
        text.push('\n');
    }
    text
}

struct Row {
    name: String,
    kind: String,
    default: String,
    meaning: String,
}

fn add_rows(rows: &mut Vec<Row>, before: &str, schema: &Value) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let required = schema["required"].as_array();
    for (name, schema) in properties {
        let is_required =
            required.is_some_and(|required| required.iter().any(|known| known == name));
        let default = match (&schema["default"], &schema["type"]) {
            _ if is_required => "required".to_owned(),
            // Schemas omit a default that says nothing to a model.
            (Value::Null, Value::String(kind)) if kind == "boolean" => "`false`".to_owned(),
            (Value::Null, _) => String::new(),
            (Value::String(word), _) => format!("`{word}`"),
            (value, _) => format!("`{value}`"),
        };
        let name = format!("{before}{name}");
        let meaning = schema["description"].as_str().unwrap_or_default().to_owned();
        rows.push(Row { name: name.clone(), kind: kind(schema), default, meaning });
        add_rows(rows, &format!("{name}[]."), &schema["items"]);
    }
}

/// The type of a value, in words.
fn kind(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> =
            words.iter().map(|word| format!("`{}`", word.as_str().unwrap_or_default())).collect();
        return words.join(", ");
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match schema["type"].as_str() {
        Some("array") => match schema["items"]["type"].as_str() {
            Some(item) => format!("list of {item}s"),
            None => "list".to_owned(),
        },
        Some(other) => other.to_owned(),
        None => "any".to_owned(),
    }
}

/// A text as a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    /// The table holds what a schema says, also inside lists, and no text of it breaks the page.
    #[test]
    fn a_tool_is_told_as_a_table() {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "a | b"},
                "view": {"type": "string", "enum": ["text", "raw"], "default": "text"},
                "cell": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "cells": {"type": "array", "items": {
                    "type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"],
                }},
                "all": {"type": "boolean"},
            },
            "required": ["path"],
        });
        let Value::Object(schema) = schema else { unreachable!() };
        let description = "Does it.\nSo.\nExample: {\"path\": \"x\"}\n\n- one\n- two\nEnd.";
        let tool = Tool::new("try", description, Arc::new(schema))
            .with_annotations(ToolAnnotations::with_title("Try").read_only(true));
        let wanted = "### `try`\n\n*Try; only reads*\n\nDoes it.\n\nSo.\n\n\
            ```json\n{\"path\": \"x\"}\n```\n\n- one\n- two\n\nEnd.\n\n\
            | argument | type | default | meaning |\n| --- | --- | --- | --- |\n\
            | `path` | string | required | a \\| b |\n\
            | `view` | `text`, `raw` | `text` |  |\n\
            | `cell` | integer or string |  |  |\n\
            | `cells` | list of objects |  |  |\n\
            | `cells[].code` | string | required |  |\n\
            | `all` | boolean | `false` |  |\n";
        assert_eq!(of_tool(&tool), wanted);
    }
}
