//! Messages as Jupyter defines them: a header, the parent's header, metadata, content and buffers.
//!
//! Owns the header and the order of these parts. A transport knows how they travel; the content
//! stays JSON text for the reader of its type.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lenient;
use crate::utc::utc_text;

/// Version of the protocol in our headers.
const VERSION: &str = "5.5";

/// Channel that carries a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Channel {
    Shell,
    Iopub,
    Stdin,
    Control,
}

impl Channel {
    /// Returns Jupyter's name of the channel.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Channel::Shell => "shell",
            Channel::Iopub => "iopub",
            Channel::Stdin => "stdin",
            Channel::Control => "control",
        }
    }
}

/// A decoded message with its buffers.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Message {
    /// Header with id, type and sender of the message.
    pub(crate) header: Header,
    /// Header as it was sent, which a reply must repeat.
    pub(crate) raw_header: Bytes,
    /// Header of the request that the message belongs to, if any.
    pub(crate) parent: Option<Header>,
    /// Content as the text of a JSON object.
    pub(crate) content: Bytes,
    /// Binary data that belongs to the content.
    pub(crate) buffers: Vec<Bytes>,
}

/// Header of a message.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct Header {
    pub(crate) msg_id: String,
    /// Missing in the parents of some kernels.
    #[serde(default)]
    pub(crate) msg_type: String,
    /// Session id of the sender.
    #[serde(default)]
    pub(crate) session: String,
}

/// Reason why the parts are not a valid message.
#[derive(Debug, thiserror::Error)]
#[error("a message whose header cannot be read: {0}")]
pub(crate) struct HeaderError(#[from] serde_json::Error);

/// Header, parent's header, metadata and content of a message, each as JSON.
pub(crate) type Parts = [Bytes; 4];

impl Message {
    /// Reads the parts of a message that the transport accepts. The message has no buffers yet.
    pub(crate) fn from_parts(
        header: &Bytes,
        parent: &Bytes,
        content: &Bytes,
    ) -> Result<Message, HeaderError> {
        let read = |part: &Bytes| -> Result<Header, _> {
            lenient::read(part, |text| serde_json::from_str(text))
        };
        Ok(Message {
            header: read(header)?,
            raw_header: header.clone(),
            // A message without a request has an empty parent; treat an unreadable one the same.
            parent: read(parent).ok(),
            content: content.clone(),
            buffers: Vec::new(),
        })
    }

    /// Returns `true` if the message belongs to the request with this id.
    pub(crate) fn is_of(&self, request: &str) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.msg_id == request)
    }
}

/// A sender of messages: its session id, and the number of messages so far.
pub(crate) struct Author {
    session: String,
    sent: AtomicU64,
}

/// A message ready to be sent.
pub(crate) struct Outgoing {
    /// Id by which replies are recognized.
    pub(crate) id: String,
    pub(crate) parts: Parts,
}

impl Author {
    /// Creates a sender. No other client may use the same session id.
    pub(crate) fn new(session: String) -> Author {
        Author { session, sent: AtomicU64::new(0) }
    }

    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Creates a message without a parent.
    pub(crate) fn request(&self, kind: &str, content: &impl Serialize) -> Outgoing {
        self.message(kind, Bytes::from_static(b"{}"), &serde_json::Map::new(), content)
    }

    /// Creates a message without a parent, with metadata.
    pub(crate) fn request_with(
        &self,
        kind: &str,
        metadata: &impl Serialize,
        content: &impl Serialize,
    ) -> Outgoing {
        self.message(kind, Bytes::from_static(b"{}"), metadata, content)
    }

    /// Creates a reply to the message with this header.
    pub(crate) fn reply(&self, kind: &str, parent: Bytes, content: &impl Serialize) -> Outgoing {
        self.message(kind, parent, &serde_json::Map::new(), content)
    }

    fn message(
        &self,
        kind: &str,
        parent: Bytes,
        metadata: &impl Serialize,
        content: &impl Serialize,
    ) -> Outgoing {
        let id = format!("{}_{}", self.session, self.sent.fetch_add(1, Ordering::Relaxed));
        let header = serde_json::json!({
            "msg_id": id,
            "msg_type": kind,
            "session": self.session,
            "username": "inkcell",
            "date": utc_text(SystemTime::now()) + "Z",
            "version": VERSION,
        });
        let header = Bytes::from(header.to_string());
        // Our own values can always be written as JSON.
        let metadata = Bytes::from(serde_json::to_vec(metadata).unwrap_or_default());
        let content = Bytes::from(serde_json::to_vec(content).unwrap_or_default());
        Outgoing { id, parts: [header, parent, metadata, content] }
    }
}

/// One end of a conversation with a kernel: creates messages and sends them.
pub(crate) trait Speak {
    /// Returns the sender that counts messages.
    fn author(&self) -> &Author;

    /// Sends a message and returns its id.
    fn send(&self, channel: Channel, kind: &str, message: Outgoing) -> String;

    /// Sends a request and returns its id.
    fn request(&self, channel: Channel, kind: &str, content: &Value) -> String {
        self.send(channel, kind, self.author().request(kind, content))
    }

    /// Sends a request with metadata and returns its id.
    fn request_with(
        &self,
        channel: Channel,
        kind: &str,
        metadata: &Value,
        content: &Value,
    ) -> String {
        self.send(channel, kind, self.author().request_with(kind, metadata, content))
    }

    /// Sends a reply to the message with this header.
    fn reply(&self, channel: Channel, kind: &str, parent: Bytes, content: &Value) {
        self.send(channel, kind, self.author().reply(kind, parent, content));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:Z-06
    #[test]
    fn a_message_has_the_header_of_the_protocol() {
        let author = Author::new("me".to_owned());
        let sent = author.request("execute_request", &serde_json::json!({"code": "1"}));
        let [header, parent, _, content] = &sent.parts;
        let read = Message::from_parts(header, parent, content).unwrap();
        assert_eq!((read.header.msg_id.as_str(), read.header.session.as_str()), ("me_0", "me"));
        assert_eq!((read.header.msg_type.as_str(), read.parent), ("execute_request", None));
        assert_eq!(read.content, r#"{"code":"1"}"#);
        let header: Value = serde_json::from_slice(&read.raw_header).unwrap();
        let names: Vec<&String> = header.as_object().unwrap().keys().collect();
        assert_eq!(names, ["msg_id", "msg_type", "session", "username", "date", "version"]);

        let reply = author.reply("input_reply", read.raw_header, &serde_json::json!({}));
        assert_eq!(reply.id, "me_1");
        let [header, parent, _, content] = &reply.parts;
        let read = Message::from_parts(header, parent, content).unwrap();
        assert!(read.is_of("me_0") && !read.is_of("me_1"));
    }
}
