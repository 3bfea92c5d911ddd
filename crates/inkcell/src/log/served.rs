//! What a server does for its clients, as events of the log.
//!
//! Owns what is told of a call: its tool, how long it took and whether it worked; never an argument, never an
//! answer, and no name that is not one of ours.

use std::time::Instant;

use rmcp::model::Implementation;

use crate::tools::{ToolReply, find};

/// A client has said who it is.
pub(crate) fn client(client: &Implementation) {
    let (name, version) = (client.name.as_str(), client.version.as_str());
    tracing::info!(name, version, "client");
}

/// A call was answered.
pub(crate) fn call(tool: &str, began: Instant, reply: &ToolReply) {
    let tool = find(tool).map_or("(unknown)", |spec| spec.name);
    let ms = super::millis(began.elapsed());
    let outcome = if reply.is_error { "failed" } else { "ok" };
    tracing::info!(tool, ms, outcome, "call");
}

/// The server ends.
pub(crate) fn ended(signal: Option<i32>) {
    match signal {
        Some(signal) => tracing::info!(signal, "the server ends, by a signal"),
        None => tracing::info!("the server ends, its client is gone"),
    }
}
