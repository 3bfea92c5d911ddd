//! What is lost on the way: connections, output beyond a gateway's limits, kernels that a gateway restarts.
//!
//! Owns how each is known, and how long a connection is tried to be had again.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use crate::gateway::end::Lost;
use crate::gateway::error::{GatewayError, Refused};
use crate::gateway::rest::Presence;
use crate::gateway::talk::Talk;
use crate::jupyter::message::Message;

/// How long a gateway whose machine says that nobody listens is given to come back.
const RESTARTED: Duration = Duration::from_millis(1200);

/// How long one is tried that cannot be reached.
const AWAY: Duration = Duration::from_secs(30);

/// How long a server may take to notice that a connection is gone.
const NOTICED: Duration = Duration::from_millis(250);

/// How soon it is tried again.
const AGAIN: Duration = Duration::from_millis(200);

/// How long one try may take.
const TRY: Duration = Duration::from_secs(5);

/// What is said about output that a server dropped.
pub(crate) const LIMIT: &str = "the gateway dropped output because it came faster than its limits allow; \
    what is shown is not all. Raise ServerApp.iopub_data_rate_limit and iopub_msg_rate_limit there.";

/// Whether this is a server's word that it drops output.
pub(crate) fn is_limit(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    text.starts_with(b"IOPub data rate exceeded")
        || text.starts_with(b"IOPub message rate exceeded")
}

/// Why the kernel is gone, if this says so. Such a message belongs to no request.
pub(crate) fn death(message: &Message) -> Option<&'static str> {
    #[derive(Deserialize)]
    struct Status {
        execution_state: String,
    }
    let belongs = message.parent.as_ref().is_some_and(|parent| !parent.msg_id.is_empty());
    if message.header.msg_type != "status" || belongs {
        return None;
    }
    let status: Status = serde_json::from_slice(&message.content).ok()?;
    match status.execution_state.as_str() {
        "restarting" | "autorestarting" => {
            Some("died, and its gateway started another in its place")
        }
        "dead" => Some("died on its gateway"),
        _ => None,
    }
}

/// Opens a connection anew, if the kernel is still there.
pub(crate) async fn regain(talk: &mut Talk) -> Result<(), Lost> {
    // Only a server that has noticed the loss itself keeps for us what comes meanwhile.
    tokio::time::sleep(NOTICED).await;
    let began = Instant::now();
    loop {
        let problem = match attempt(talk).await {
            Ok(Presence::There) => return Ok(()),
            Ok(Presence::Gone) => return Err(Lost::Kernel),
            Err(problem) => problem,
        };
        let limit = match &problem {
            GatewayError::Unreachable { refused: Refused::Yes, .. } => RESTARTED,
            // Nothing will change by itself.
            GatewayError::Authentication { .. }
            | GatewayError::Redirect { .. }
            | GatewayError::Nonsense { .. } => Duration::ZERO,
            _ => AWAY,
        };
        if began.elapsed() >= limit {
            return Err(Lost::Gateway(problem.to_string()));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn attempt(talk: &mut Talk) -> Result<Presence, GatewayError> {
    let presence = talk.rest.has(&talk.id, TRY).await?;
    if presence == Presence::There {
        match talk.reopen(TRY).await {
            Err(GatewayError::Status { status: 404, .. }) => return Ok(Presence::Gone),
            opened => opened?,
        }
    }
    Ok(presence)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    fn status(state: &str, parent: &serde_json::Value) -> Message {
        let header = Bytes::from(json!({"msg_id": "a", "msg_type": "status"}).to_string());
        let content = Bytes::from(json!({"execution_state": state}).to_string());
        Message::from_parts(&header, &Bytes::from(parent.to_string()), &content).unwrap()
    }

    #[test]
    fn a_death_belongs_to_nobody() {
        for state in ["restarting", "autorestarting", "dead"] {
            assert!(death(&status(state, &json!({}))).is_some(), "{state}");
            assert!(death(&status(state, &json!({"msg_id": "mine"}))).is_none(), "{state}");
        }
        assert!(death(&status("idle", &json!({}))).is_none());
    }

    #[test]
    fn the_words_of_a_server_that_drops_output_are_known() {
        assert!(is_limit(b"\n                    IOPub data rate exceeded.\n The Jupyter"));
        assert!(is_limit(b"IOPub message rate exceeded.\n"));
        assert!(!is_limit(b"a word about IOPub data rate exceeded"));
    }
}
