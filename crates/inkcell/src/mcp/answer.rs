//! Replies of tools as the protocol has them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource};
use serde_json::Map;

use crate::tools::{Content, ToolReply, weight};

/// A reply on its way, no larger than clients take it.
pub(crate) fn of(reply: ToolReply) -> CallToolResult {
    let reply = weight::within(reply, weight::MOST_BYTES);
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
