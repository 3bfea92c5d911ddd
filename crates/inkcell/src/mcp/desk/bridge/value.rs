//! The value that code gets from a tool's reply.
//!
//! Owns the rule: the structured content if there is any; else the text; with pictures or links, an object with
//! `text`, `images` (`mime` and base64 `data`) and `links`. A reply that reports a failure becomes an error with
//! its text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::{Content, ToolReply};

/// The value of a reply, or the text of its error.
pub(super) fn of(reply: ToolReply) -> Result<Value, String> {
    let (mut texts, mut images, mut links) = (Vec::new(), Vec::new(), Vec::new());
    for part in reply.content {
        match part {
            Content::Text(text) => texts.push(text),
            Content::Image { mime, data } => {
                images.push(json!({"mime": mime, "data": STANDARD.encode(data)}));
            }
            Content::Link { uri, name, mime, bytes } => {
                links.push(json!({"uri": uri, "name": name, "mime": mime, "bytes": bytes}));
            }
        }
    }
    let text = texts.join("\n");
    if reply.is_error {
        return Err(text.strip_prefix("Error: ").map_or(text.clone(), str::to_owned));
    }
    if let Some(structured) = reply.structured {
        return Ok(structured);
    }
    if images.is_empty() && links.is_empty() {
        return Ok(Value::String(text));
    }
    Ok(json!({"text": text, "images": images, "links": links}))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn reply(content: Vec<Content>) -> ToolReply {
        ToolReply { content, ..ToolReply::default() }
    }

    /// B:X-40
    #[test]
    fn code_gets_what_is_for_programs_or_else_the_text() {
        let text = || Content::Text("seen".to_owned());
        assert_eq!(of(reply(vec![text(), text()])), Ok(json!("seen\nseen")));
        assert_eq!(of(reply(Vec::new())), Ok(json!("")));
        let structured = reply(vec![text()]).with_structured(json!({"cells": 2}));
        assert_eq!(of(structured.clone()), Ok(json!({"cells": 2})));
        let failed = ToolReply { is_error: true, ..structured };
        assert_eq!(of(failed), Err("seen".to_owned()));
        let image =
            Content::Image { mime: "image/png".to_owned(), data: Bytes::from_static(b"ab") };
        let expected = json!({
            "text": "seen", "images": [{"mime": "image/png", "data": "YWI="}], "links": [],
        });
        assert_eq!(of(reply(vec![text(), image])), Ok(expected));
    }
}
