//! The protocol over HTTP: one endpoint, for several clients that must not see each other.
//!
//! Owns the assignment of a request to a client: the holder of its token decides, and nothing that a client can
//! choose. Each holder has a service of its own, with its own sessions of the protocol, its own desk and its own
//! engine, so that the id of another client does not exist here. `http` decides who may connect at all.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, Response, StatusCode};
use inkcell_engine::registry::OwnerId;
use rmcp::model::{JsonRpcError, JsonRpcMessage, JsonRpcRequest, RequestId};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::arrivals::Arrivals;
use super::order::Ticket;
use super::strict::{self, LineContent};
use super::{Calls, Server};
use crate::http::{Body, Caller, Methods, Policy, Routes, respond};
use crate::mcp::desk::{Desk, Turns};
use crate::words;

/// The path of the endpoint.
pub(crate) const PATH: &str = "/mcp";

pub(crate) const MOST_BYTES: usize = 4 << 20;

/// The most sessions of the protocol per client; revisions without sessions are not counted.
const MOST_SESSIONS: usize = 64;

/// The idle time after which a session of the protocol ends. Its code keeps running.
const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);

const SESSION_ID: &str = "mcp-session-id";

/// A client with its token, its desk and its engine.
pub(crate) struct Client {
    pub(crate) caller: Caller,
    pub(crate) desk: Desk,
}

/// The signals that end calls and connections.
#[derive(Clone)]
pub(crate) struct Ends {
    pub(crate) calls: Calls,
    pub(crate) streams: CancellationToken,
}

#[derive(Clone)]
struct Service {
    protocol: StreamableHttpService<Server, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
    turns: Turns,
    arrivals: Arrivals,
}

/// The routes for these clients.
pub(crate) fn routes(clients: Vec<Client>, ends: &Ends) -> Routes {
    let services: HashMap<Caller, Service> =
        clients.into_iter().map(|client| (client.caller, service(client, ends))).collect();
    let services = Arc::new(services);
    let health = |_| async { respond(StatusCode::NO_CONTENT, "") };
    let protocol = move |request| {
        let services = Arc::clone(&services);
        async move { answer(&services, request).await }
    };
    Routes::new().add("/health", Policy::Open, Methods::READ, health).add(
        PATH,
        Policy::Token,
        Methods::Any,
        protocol,
    )
}

fn service(Client { caller, desk }: Client, ends: &Ends) -> Service {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE);
    let sessions = Arc::new(sessions);
    // Names and origins were checked more strictly before this point.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_max_request_body_bytes(MOST_BYTES)
        .with_cancellation_token(ends.streams.clone());
    let calls = ends.calls.clone();
    let turns = Turns::at(&desk);
    let server = move || Ok(Server::new(desk.clone(), OwnerId(caller.0), calls.clone()));
    let protocol = StreamableHttpService::new(server, Arc::clone(&sessions), config);
    Service { protocol, sessions, turns, arrivals: Arrivals::default() }
}

async fn answer(
    services: &HashMap<Caller, Service>,
    mut request: Request<Bytes>,
) -> Response<Body> {
    let caller = request.extensions().get::<Caller>();
    let Some(service) = caller.and_then(|caller| services.get(caller)) else {
        return respond(StatusCode::UNAUTHORIZED, words::protocol::TOKEN_UNKNOWN);
    };
    match check(service, &request).await {
        Ok(None) => {}
        Ok(Some(ticket)) => drop(request.extensions_mut().insert(ticket)),
        Err(refused) => return refused,
    }
    let ends_session = request.method() == Method::DELETE;
    let response = service.protocol.handle(request.map(Full::new)).await;
    if ends_session && response.status() == StatusCode::ACCEPTED {
        // The status for work that is done, since some clients complain about one that is only accepted.
        return respond(StatusCode::NO_CONTENT, "");
    }
    response
}

/// Gives a message its place in the order of its client. A message that could have two meanings is refused, as on
/// every other transport (S-031).
async fn check(
    service: &Service,
    request: &Request<Bytes>,
) -> Result<Option<Ticket>, Response<Body>> {
    if request.method() != Method::POST {
        return Ok(None);
    }
    let body = request.body();
    let ticket = match strict::take(body) {
        LineContent::Message(message) => {
            let place = || Ticket::of(&message, &service.turns);
            match &*message {
                JsonRpcMessage::Request(JsonRpcRequest { id: RequestId::Number(id), .. }) => {
                    let session = request.headers().get(SESSION_ID);
                    let client = session.and_then(|id| id.to_str().ok()).unwrap_or_default();
                    service.arrivals.in_order(client, *id, place).await
                }
                _ => place(),
            }
        }
        // As on a stream, a notification without meaning is ignored.
        LineContent::Nothing => return Err(respond(StatusCode::ACCEPTED, "")),
        LineContent::Refused(refusal) => {
            let error = JsonRpcError::new(refusal.id, refusal.error);
            let text = serde_json::to_vec(&error).unwrap_or_default();
            let mut response = respond(StatusCode::BAD_REQUEST, text);
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            return Err(response);
        }
    };
    let may_begin = !request.headers().contains_key(SESSION_ID);
    if may_begin && service.sessions.sessions.read().await.len() >= MOST_SESSIONS {
        // Only a request that begins a session takes a place. Decoding costs time, so do it only when no place is
        // free.
        let begins = serde_json::from_slice::<serde_json::Value>(body);
        if begins.is_ok_and(|message| message["method"] == "initialize") {
            let text = words::protocol::TOO_MANY_SESSIONS;
            let mut response = respond(StatusCode::SERVICE_UNAVAILABLE, text);
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("60"));
            return Err(response);
        }
    }
    Ok(ticket)
}
