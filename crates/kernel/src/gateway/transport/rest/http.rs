//! One request over one connection: its answer within bounds, or the connection itself where it
//! becomes a websocket.
//!
//! Owns the headers of every request. It must not know the purpose of a request, and follows no
//! redirect.

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{
    ACCEPT, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE, USER_AGENT,
};
use hyper::{Method, Request, Response, StatusCode, http};
use hyper_util::rt::TokioIo;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::task::JoinSet;

use crate::error::gateway::{GatewayError, RefusalCause};
use crate::gateway::transport::dial::Way;
use crate::gateway::transport::rest::Rest;

/// Longest answer of any request; notebooks are the longest.
const BODY_BYTES: usize = 256 << 20;

/// Longest body of a refusal that is read.
const REFUSAL_BYTES: usize = 64 << 10;

/// Text that RFC 6455 appends to the key of a handshake.
const HANDSHAKE: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The complete answer to a request.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A connection that has become a websocket.
pub(crate) struct UpgradedConnection {
    pub(crate) way: Way,
    /// Bytes that arrived together with the answer.
    pub(crate) early: Bytes,
    /// Subprotocol that both sides agreed on.
    pub(crate) form: Option<String>,
}

impl Rest {
    /// Sends a request and reads the whole answer.
    pub(crate) async fn exchange(
        &self,
        method: &Method,
        path: &str,
        body: Option<Bytes>,
        longest: usize,
    ) -> Result<Reply, GatewayError> {
        let (mut sender, _driver) = self.connect().await?;
        let mut request = self.request(path).method(method).header(ACCEPT, "application/json");
        if body.is_some() || method == Method::POST {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let response = self.sent(&mut sender, request, body.unwrap_or_default()).await?;
        let (head, body) = response.into_parts();
        let body = self.whole(body, longest).await?;
        Ok(Reply { status: head.status, headers: head.headers, body })
    }

    /// Asks for a websocket, with this subprotocol if one is named.
    pub(crate) async fn upgrade(
        &self,
        path: &str,
        form: Option<&'static str>,
    ) -> Result<UpgradedConnection, GatewayError> {
        let closed = |reason: String| GatewayError::Socket { reason };
        let (mut sender, _driver) = self.connect().await?;
        let mut key = [0; 16];
        rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| closed(error.to_string()))?;
        let key = STANDARD.encode(key);
        let mut request = self
            .request(path)
            .header(CONNECTION, "Upgrade")
            .header(UPGRADE, "websocket")
            .header(SEC_WEBSOCKET_VERSION, "13")
            .header(SEC_WEBSOCKET_KEY, &key);
        if let Some(form) = form {
            request = request.header(SEC_WEBSOCKET_PROTOCOL, form);
        }
        let response = match self.sent(&mut sender, request, Bytes::new()).await {
            Err(GatewayError::Unreachable { reason, .. }) => return Err(closed(reason)),
            answered => answered?,
        };
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let (head, body) = response.into_parts();
            let body = self.whole(body, REFUSAL_BYTES).await.unwrap_or_default();
            let reply = Reply { status: head.status, headers: head.headers, body };
            if reply.status.is_redirection() {
                return Err(self.redirected(&reply));
            }
            return Err(self.of_status(reply.status.as_u16(), &reply.body));
        }
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        if header(SEC_WEBSOCKET_ACCEPT) != Some(&accept_key(&key)) {
            return Err(self.nonsense("a websocket that was not asked for"));
        }
        let form = header(SEC_WEBSOCKET_PROTOCOL).map(str::to_owned);
        let upgraded = hyper::upgrade::on(response).await;
        let upgraded = upgraded.map_err(|error| closed(error.to_string()))?;
        match upgraded.downcast::<TokioIo<Way>>() {
            Ok(parts) => {
                Ok(UpgradedConnection { way: parts.io.into_inner(), early: parts.read_buf, form })
            }
            Err(_) => Err(closed("the connection was lost".to_owned())),
        }
    }

    fn request(&self, path: &str) -> http::request::Builder {
        let mut request = Request::builder()
            .uri(self.url.path(path))
            .header(HOST, self.url.authority())
            .header(USER_AGENT, "inkcell");
        for (name, value) in self.credentials() {
            request = request.header(name, value);
        }
        request
    }

    /// Opens a connection. The returned task set drives it; dropping the set ends the connection.
    async fn connect(&self) -> Result<(SendRequest<Full<Bytes>>, JoinSet<()>), GatewayError> {
        let way = self.dial.connect(&self.url).await.map_err(|error| {
            let is_refused = error.kind() == io::ErrorKind::ConnectionRefused;
            let refused = if is_refused { RefusalCause::Yes } else { RefusalCause::Unknown };
            self.unreachable(error.to_string(), refused)
        })?;
        let shaken = handshake(TokioIo::new(way)).await;
        let (sender, connection) = shaken.map_err(|error| self.broken(&error))?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            // The sender of the request reports the failure.
            let _ = connection.with_upgrades().await;
        });
        Ok((sender, driver))
    }

    async fn sent(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        request: http::request::Builder,
        body: Bytes,
    ) -> Result<Response<Incoming>, GatewayError> {
        let request = request.body(Full::new(body));
        let request = request.map_err(|error| self.nonsense(&error.to_string()))?;
        sender.send_request(request).await.map_err(|error| self.broken(&error))
    }

    async fn whole(&self, body: Incoming, longest: usize) -> Result<Bytes, GatewayError> {
        let body = Limited::new(body, longest.min(BODY_BYTES)).collect().await;
        Ok(body.map_err(|error| self.nonsense(&error.to_string()))?.to_bytes())
    }

    fn broken(&self, error: &hyper::Error) -> GatewayError {
        if error.is_parse() {
            self.nonsense("no HTTP")
        } else {
            self.unreachable(error.to_string(), RefusalCause::Unknown)
        }
    }

    fn unreachable(&self, reason: String, refused: RefusalCause) -> GatewayError {
        GatewayError::Unreachable { at: self.named(), reason, refused }
    }
}

/// The `Sec-WebSocket-Accept` by which a server proves that it has read this `Sec-WebSocket-Key`.
fn accept_key(key: &str) -> String {
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, [key, HANDSHAKE].concat().as_bytes()))
}

#[cfg(test)]
mod tests;
