//! Every route with its policy, and the guard in front of all of them.
//!
//! Owns the order of the checks of a request: the guard, then its body, then the route. It must not know what the
//! routes do. A route cannot be added without a policy. An unknown path asks for a token like any other, so that a
//! client without one learns nothing about this server.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};

use super::body::{Body, BodyError, BodyLimits, respond};
use super::guard::{Guard, Policy, Refusal};
use super::places::Pass;
use crate::words;

/// The methods of a route.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Methods {
    /// All methods; the route tells them apart.
    Any,
    /// These methods; the refusal of any other lists them.
    Only(&'static [Method]),
}

impl Methods {
    /// Methods without an effect. The answer to `HEAD` is that to `GET` without its body.
    pub(crate) const READ: Methods = Methods::Only(&[Method::GET, Method::HEAD]);
}

type Handler = Box<dyn Fn(Request<Bytes>) -> BoxFuture<'static, Response<Body>> + Send + Sync>;

struct Route {
    path: &'static str,
    policy: Policy,
    methods: Methods,
    handler: Handler,
}

/// A set of routes under construction.
pub(crate) struct Routes {
    table: Vec<Route>,
}

impl Routes {
    pub(crate) fn new() -> Routes {
        Routes { table: Vec::new() }
    }

    /// Adds a route. The path must match exactly.
    pub(crate) fn add<F>(
        mut self,
        path: &'static str,
        policy: Policy,
        methods: Methods,
        handler: impl Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    ) -> Routes
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let handler: Handler = Box::new(move |request| Box::pin(handler(request)));
        self.table.push(Route { path, policy, methods, handler });
        self
    }

    /// The routes behind a guard.
    pub(crate) fn behind(self, guard: Arc<Guard>, limits: BodyLimits) -> GuardedRoutes {
        GuardedRoutes { table: self.table.into(), guard, limits }
    }
}

/// Routes that only requests admitted by the guard reach. Clones share them.
#[derive(Clone)]
pub(crate) struct GuardedRoutes {
    table: Arc<[Route]>,
    guard: Arc<Guard>,
    limits: BodyLimits,
}

impl GuardedRoutes {
    /// Answers a request. A request that reaches a route carries its `Caller`, if there is one, as an extension.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Result<Response<Body>, Infallible>
    where
        B: hyper::body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let route = self.table.iter().find(|route| route.path == request.uri().path());
        let policy = route.map_or(Policy::Token, |route| route.policy);
        let mut response = match self.admitted(request, policy).await {
            Ok(request) => routed(route, request).await,
            Err(refused) => refused,
        };
        let headers = response.headers_mut();
        // Browsers must neither cache our answers nor guess their type.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        Ok(response)
    }

    /// The request with its whole body, once it has passed every check.
    async fn admitted<B>(
        &self,
        request: Request<B>,
        policy: Policy,
    ) -> Result<Request<Bytes>, Response<Body>>
    where
        B: hyper::body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (mut head, body) = request.into_parts();
        let pass = head.extensions.remove::<Pass>();
        let checked = self.guard.check(&head.uri, &head.headers, policy, Instant::now());
        if let Some(caller) = checked.map_err(refusal)? {
            // Mark the client before the body arrives, which may take a while.
            if let Some(pass) = pass {
                pass.admit();
            }
            head.extensions.insert(caller);
        }
        if head.method == Method::POST && !is_json(&head.headers) {
            return Err(said(StatusCode::UNSUPPORTED_MEDIA_TYPE, words::protocol::SEND_JSON));
        }
        match self.limits.read(&head.headers, body).await {
            Ok(body) => Ok(Request::from_parts(head, body)),
            Err(BodyError::TooLarge) => {
                Err(said(StatusCode::PAYLOAD_TOO_LARGE, words::protocol::TOO_LARGE))
            }
            Err(BodyError::TooSlow) => {
                Err(said(StatusCode::REQUEST_TIMEOUT, words::protocol::TOO_SLOW))
            }
        }
    }
}

/// The answer of the route, or the answer to an unknown path.
async fn routed(route: Option<&Route>, request: Request<Bytes>) -> Response<Body> {
    let Some(route) = route else { return respond(StatusCode::NOT_FOUND, "") };
    match route.methods {
        Methods::Only(methods) if !methods.contains(request.method()) => not_allowed(methods),
        _ => (route.handler)(request).await,
    }
}

fn not_allowed(methods: &[Method]) -> Response<Body> {
    let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, "");
    let names: Vec<&str> = methods.iter().map(Method::as_str).collect();
    if let Ok(names) = HeaderValue::from_str(&names.join(",")) {
        response.headers_mut().insert(ALLOW, names);
    }
    response
}

/// Returns whether the body is declared as JSON. A page can send other types anywhere without asking first.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split_once(';').map_or(kind, |(kind, _)| kind);
    kind.trim().eq_ignore_ascii_case("application/json")
}

fn refusal(refusal: Refusal) -> Response<Body> {
    match refusal {
        Refusal::Host => said(StatusCode::FORBIDDEN, words::protocol::HOST_REFUSED),
        Refusal::Origin => said(StatusCode::FORBIDDEN, words::protocol::ORIGIN_REFUSED),
        Refusal::Token => {
            let text = words::protocol::SEND_TOKEN;
            let mut response = said(StatusCode::UNAUTHORIZED, text);
            let scheme = HeaderValue::from_static("Bearer realm=\"inkcell\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            response
        }
        Refusal::TooManyTokens { wait } => {
            let mut response =
                said(StatusCode::TOO_MANY_REQUESTS, words::protocol::TOO_MANY_TOKENS);
            let seconds = HeaderValue::from(wait.as_secs().max(1));
            response.headers_mut().insert(RETRY_AFTER, seconds);
            response
        }
    }
}

/// A short answer that ends the connection: the rest of the request is not read.
fn said(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = respond(status, text);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

#[cfg(test)]
mod tests;
