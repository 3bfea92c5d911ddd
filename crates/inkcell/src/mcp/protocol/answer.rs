//! Replies of tools in the form of the protocol.
//!
//! Owns the last step: no text that leaves here can command a terminal, whatever a reply holds.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use inkcell_engine::notebook::visible_controls;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource};
use serde_json::{Map, Value};

use crate::mcp::desk::{Content, ToolReply, weight};

/// A reply in the form of the protocol, clean and within the size that clients take.
pub(crate) fn of(reply: ToolReply) -> CallToolResult {
    let reply = weight::within(clean(reply), weight::MOST_BYTES);
    let content: Vec<ContentBlock> = reply.content.into_iter().map(block).collect();
    let mut result = match reply.is_error {
        true => CallToolResult::error(content),
        false => CallToolResult::success(content),
    };
    result.structured_content = reply.structured;
    result.meta = reply.details.map(|details| {
        let mut fields = Map::new();
        fields.insert("details".to_owned(), details);
        MetaObject(fields)
    });
    result
}

/// Replaces every control character in the texts of a reply with its picture, wherever it came from: an argument, a
/// file or a program.
pub(crate) fn clean(mut reply: ToolReply) -> ToolReply {
    for part in &mut reply.content {
        match part {
            Content::Text(text) => clean_text(text),
            Content::Image { mime, .. } => clean_text(mime),
            Content::Link { uri, name, mime, .. } => {
                [uri, name, mime].into_iter().for_each(clean_text);
            }
        }
    }
    for form in [&mut reply.structured, &mut reply.details].into_iter().flatten() {
        clean_value(form);
    }
    reply
}

/// Like `clean`, for a single text.
pub(super) fn cleaned(text: impl std::fmt::Display) -> String {
    let mut text = text.to_string();
    clean_text(&mut text);
    text
}

fn clean_text(text: &mut String) {
    if let Cow::Owned(shown) = visible_controls(text) {
        *text = shown;
    }
}

fn clean_value(value: &mut Value) {
    match value {
        Value::String(text) => clean_text(text),
        Value::Array(items) => items.iter_mut().for_each(clean_value),
        Value::Object(fields) => {
            fields.values_mut().for_each(clean_value);
            if fields.keys().any(|name| matches!(visible_controls(name), Cow::Owned(_))) {
                let named = std::mem::take(fields).into_iter();
                *fields = named.map(|(name, value)| (cleaned(name), value)).collect();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn block(content: Content) -> ContentBlock {
    match content {
        Content::Text(text) => ContentBlock::text(text),
        Content::Image { mime, data } => ContentBlock::image(STANDARD.encode(data), mime),
        Content::Link { uri, name, mime, bytes } => {
            let resource = Resource::new(uri, name).with_mime_type(mime).with_size(bytes);
            ContentBlock::resource_link(resource)
        }
    }
}

#[cfg(test)]
mod tests;
