//! The place of a message in the order of its client, from its reading to its execution.
//!
//! Owns how a place travels through the protocol's library. The order itself is in `mcp/desk/turns.rs`.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::http::request::Parts;
use rmcp::model::{ClientRequest, Extensions, JsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde_json::Map;

use crate::mcp::desk::{Turn, Turns};
use crate::mcp::find;

/// A place that the handler of the request takes over. Dropping the last clone frees the place.
#[derive(Clone)]
pub(super) struct Ticket(Arc<Mutex<Option<Turn>>>);

impl Ticket {
    /// A place for this message, if it is the call of a tool.
    pub(super) fn of(message: &RxJsonRpcMessage<RoleServer>, turns: &Turns) -> Option<Ticket> {
        let JsonRpcMessage::Request(request) = message else { return None };
        let ClientRequest::CallToolRequest(call) = &request.request else { return None };
        let order = find(&call.params.name)?.order;
        let none = Map::new();
        let turn = turns.take(order, call.params.arguments.as_ref().unwrap_or(&none));
        Some(Ticket(Arc::new(Mutex::new(Some(turn)))))
    }

    /// Gives the message its place, to travel with it.
    pub(super) fn give(message: &mut RxJsonRpcMessage<RoleServer>, turns: &Turns) {
        let ticket = Ticket::of(message, turns);
        if let (JsonRpcMessage::Request(request), Some(ticket)) = (message, ticket)
            && let ClientRequest::CallToolRequest(call) = &mut request.request
        {
            call.extensions.insert(ticket);
        }
    }

    /// The place that came with a request: with its message, or with its HTTP request.
    pub(super) fn turn(extensions: &Extensions) -> Option<Turn> {
        let of_http = || extensions.get::<Parts>()?.extensions.get::<Ticket>();
        let Ticket(turn) = extensions.get::<Ticket>().or_else(of_http)?;
        turn.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
