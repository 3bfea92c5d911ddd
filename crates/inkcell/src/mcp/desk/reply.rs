//! The answer of a tool.
//!
//! Owns the shapes of contents and errors. The protocol owns how they are sent.

use bytes::Bytes;
use inkcell_engine::api::{ExecutionId, State};
use inkcell_engine::{EngineError, Kind};
use serde_json::{Value, json};

use super::weight;
use crate::words::step::Audience;

/// The most bytes of an error message, as it is sent.
const MOST_OF_A_MESSAGE: usize = 16 << 10;

/// One piece of an answer.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Content {
    Text(String),
    Image {
        mime: String,
        data: Bytes,
    },
    /// A stored thing that the client can fetch.
    Link {
        uri: String,
        name: String,
        mime: String,
        bytes: u64,
    },
}

/// An answer. The failure of executed code is an answer, too.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ToolReply {
    pub(crate) content: Vec<Content>,
    /// Content for programs. An answer with an image has none: clients show one or the other.
    pub(crate) structured: Option<Value>,
    /// Content for programs of an answer with an image: sent beside the answer, and no client shows it (B:X-09b).
    pub(crate) details: Option<Value>,
    /// Set if the request failed.
    pub(crate) is_error: bool,
    /// The kind of failure, for a caller that has to answer with a number.
    pub(crate) fault: Option<Fault>,
    /// The call that goes on after this answer.
    pub(crate) goes_on: Option<ExecutionId>,
}

/// The kind of failure that an answer reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// The engine could not do it.
    Kind(Kind),
    /// Code was run, and ended in this state.
    Ended(State),
}

impl ToolReply {
    pub(crate) fn text(text: impl Into<String>) -> ToolReply {
        ToolReply { content: vec![Content::Text(text.into())], ..ToolReply::default() }
    }

    pub(crate) fn with_structured(self, structured: Value) -> ToolReply {
        if self.content.iter().any(|part| matches!(part, Content::Image { .. })) {
            return ToolReply { details: Some(structured), ..self };
        }
        ToolReply { structured: Some(structured), ..self }
    }
}

/// The reason why a tool failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ToolError {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    /// The next step for the caller.
    pub(crate) next: Option<String>,
}

impl ToolError {
    /// An error about an invalid argument.
    pub(crate) fn argument(message: impl Into<String>) -> ToolError {
        ToolError { kind: Kind::Invalid, message: message.into(), next: None }
    }

    pub(crate) fn with_next(self, next: impl Into<String>) -> ToolError {
        ToolError { next: Some(next.into()), ..self }
    }

    /// As an answer: a model reads the text, a program the rest.
    pub(crate) fn into_reply(mut self) -> ToolReply {
        // The message may repeat an argument of any size.
        let shown = weight::beginning(&self.message, MOST_OF_A_MESSAGE).len();
        if shown < self.message.len() {
            self.message.truncate(shown);
            self.message.push('…');
        }
        let next = self.next.iter().map(|next| format!("\nNext: {next}")).collect::<String>();
        let text = format!("Error: {}{next}", self.message);
        let structured =
            json!({"kind": self.kind.name(), "message": self.message, "next": self.next});
        let fault = Some(Fault::Kind(self.kind));
        ToolReply { is_error: true, fault, ..ToolReply::text(text).with_structured(structured) }
    }
}

impl From<EngineError> for ToolError {
    fn from(error: EngineError) -> ToolError {
        ToolError {
            kind: error.kind(),
            message: error.to_string(),
            next: Audience::Model.step_after(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message is sent, cut where necessary, however long it is.
    #[test]
    fn a_long_message_is_cut() {
        let reply = ToolError::argument("é\u{1}".repeat(1 << 20)).with_next("go on").into_reply();
        let [Content::Text(text)] = &*reply.content else { panic!("{reply:?}") };
        assert!(text.starts_with("Error: é") && text.ends_with("…\nNext: go on"));
        assert!(weight::of_text(text) < MOST_OF_A_MESSAGE + 100, "{}", text.len());
        let short = ToolError::argument("short").into_reply();
        assert_eq!(short.content, [Content::Text("Error: short".to_owned())]);
    }
}
