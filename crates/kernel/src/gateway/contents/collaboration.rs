//! Finds out if a document is open on a server with real-time collaboration.
//!
//! Owns the questions to the server. The collaboration extension has no request that asks this. One
//! request helps that is refused in different ways, because the extension looks for the room before
//! it reads the body.

use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use serde::Deserialize;

use crate::error::gateway::GatewayError;
use crate::gateway::contents::ServerContents;
use crate::gateway::transport::lanes::Lane;
use crate::gateway::transport::path::ContentsPath;
use crate::gateway::transport::rest::{Limits, RemoteId};

/// Limits for each question: its time and the size of the answer.
const LOOK: Limits = Limits { lane: Lane::Files, within: Duration::from_secs(5), longest: 1 << 20 };

/// State of a document in the server's real-time collaboration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Collaboration {
    /// The server has no real-time collaboration.
    Absent,
    /// The document is not open, and was not a moment ago.
    Closed,
    /// The document is open, or was a moment ago: the server holds a copy that it will write.
    Open,
    /// The server has real-time collaboration, and its answer leaves the state open.
    Unknown,
}

impl ServerContents {
    /// Finds out if a notebook is open in the server's real-time collaboration.
    pub async fn collaboration(&self, path: &ContentsPath) -> Result<Collaboration, GatewayError> {
        let at = format!("/api/collaboration/session/{}", path.encoded());
        let body = Bytes::from_static(br#"{"format":"json","type":"notebook"}"#);
        let reply = self.rest.ask(Method::PUT, &at, Some(body), LOOK).await?;
        match reply.status.as_u16() {
            200 | 201 => {}
            404 | 405 => return Ok(Collaboration::Absent),
            _ => return Err(self.rest.status(&reply)),
        }
        let Some(file) = file_id(&reply.body) else { return Ok(Collaboration::Unknown) };
        // Ask for a fork of the room, with a body that is not JSON. If the room exists, the server
        // refuses the body and creates nothing.
        let at = format!("/api/collaboration/fork/json:notebook:{}", file.as_str());
        let words = Bytes::from_static(b"no JSON");
        let reply = self.rest.ask(Method::PUT, &at, Some(words), LOOK).await?;
        Ok(room(reply.status.as_u16(), &reply.body))
    }
}

/// Reads the server's id of a file.
fn file_id(body: &[u8]) -> Option<RemoteId> {
    #[derive(Deserialize)]
    struct Session {
        #[serde(rename = "fileId")]
        file_id: String,
    }
    RemoteId::parse(&serde_json::from_slice::<Session>(body).ok()?.file_id)
}

/// Reads the state of the room from the refusal.
fn room(status: u16, body: &[u8]) -> Collaboration {
    let words = String::from_utf8_lossy(body).to_ascii_lowercase();
    match status {
        400 => Collaboration::Open,
        404 if words.contains("room not found") => Collaboration::Closed,
        _ => Collaboration::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_tell_whether_a_room_is_there() {
        let missing = br#"{"code": 404, "error": "Root room not found"}"#;
        assert_eq!(room(404, missing), Collaboration::Closed);
        let bad = br#"{"message": "Invalid JSON in body of request", "reason": null}"#;
        assert_eq!(room(400, bad), Collaboration::Open);
        assert_eq!(room(404, b"<html>Not Found"), Collaboration::Unknown, "an older extension");
        assert_eq!(room(500, b""), Collaboration::Unknown);
        assert_eq!(file_id(br#"{"fileId": "a-1"}"#), RemoteId::parse("a-1"));
        assert_eq!(file_id(br#"{"fileId": "../x"}"#), None);
    }
}
