//! The service of a server to its clients, as events of the log.
//!
//! Owns the content of an event about a call: its tool, how long it took and whether it worked; never an argument,
//! never an answer, and no name that is not one of ours.

use std::time::Instant;

use rmcp::model::Implementation;

/// A client has introduced itself.
pub(crate) fn client(client: &Implementation) {
    let (name, version) = (client.name.as_str(), client.version.as_str());
    tracing::info!(name, version, "client");
}

/// A call was answered. A name that is not one of our tools is not written.
pub(crate) fn call(tool: Option<&'static str>, began: Instant, is_error: bool) {
    let (tool, ms) = (tool.unwrap_or("(unknown)"), super::millis(began.elapsed()));
    let outcome = if is_error { "failed" } else { "ok" };
    tracing::info!(tool, ms, outcome, "call");
}

pub(crate) fn ended(signal: Option<i32>) {
    match signal {
        Some(signal) => tracing::info!(signal, "the server ends, by a signal"),
        None => tracing::info!("the server ends, its client is gone"),
    }
}
