//! Every route with its policy, and the guard in front of all of them.
//!
//! Owns the order in which a request is looked at: the guard, then its body, then the route. It must not know what
//! the routes do. A route cannot be added without a policy, and a path that is no route asks for a token like any
//! other, so that who has none learns nothing of what is here.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use axum::routing::MethodRouter;

use super::guard::{Guard, Policy, Refusal};

/// How much a request may carry, and how long it may take to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

/// Routes being put together.
pub(crate) struct Routes {
    router: Router,
    policies: Vec<(&'static str, Policy)>,
}

impl Routes {
    pub(crate) fn new() -> Routes {
        Routes { router: Router::new(), policies: Vec::new() }
    }

    /// Adds a route. The path is meant letter by letter.
    pub(crate) fn add(
        mut self,
        path: &'static str,
        policy: Policy,
        methods: MethodRouter,
    ) -> Routes {
        self.router = self.router.route(path, methods);
        self.policies.push((path, policy));
        self
    }

    /// The routes behind a guard.
    pub(crate) fn behind(self, guard: Arc<Guard>, limits: BodyLimits) -> Guarded {
        Guarded { router: self.router, policies: self.policies.into(), guard, limits }
    }
}

/// Routes that only the guard's guests reach. Clones are the same routes.
#[derive(Clone)]
pub(crate) struct Guarded {
    router: Router,
    policies: Arc<[(&'static str, Policy)]>,
    guard: Arc<Guard>,
    limits: BodyLimits,
}

impl Guarded {
    /// Answers a request. What reaches a route carries its `Caller` as an extension, where there is one.
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Result<Response<Body>, Infallible>
    where
        B: axum::body::HttpBody<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let mut response = match self.admitted(request).await {
            Ok(request) => self.routed(request).await,
            Err(refused) => refused,
        };
        let headers = response.headers_mut();
        // Nothing of ours is for a browser to keep, or to guess the kind of.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        Ok(response)
    }

    async fn routed(&self, request: Request<Body>) -> Response<Body> {
        use hyper::service::Service as _;
        let router = hyper_util::service::TowerToHyperService::new(self.router.clone());
        match router.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// The request with its whole body, once everything about it is in order.
    async fn admitted<B>(&self, request: Request<B>) -> Result<Request<Body>, Response<Body>>
    where
        B: axum::body::HttpBody<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let (mut head, body) = request.into_parts();
        let policy = self.policy(head.uri.path());
        let checked = self.guard.check(&head.uri, &head.headers, policy, Instant::now());
        if let Some(caller) = checked.map_err(refusal)? {
            head.extensions.insert(caller);
        }
        if head.method == Method::POST && !is_json(&head.headers) {
            return Err(said(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "send JSON, with Content-Type: application/json",
            ));
        }
        let too_large = || said(StatusCode::PAYLOAD_TOO_LARGE, "the request is too large");
        if announced(&head.headers).is_some_and(|bytes| bytes > self.limits.bytes as u64) {
            return Err(too_large());
        }
        let reading = to_bytes(Body::new(body), self.limits.bytes);
        match tokio::time::timeout(self.limits.time, reading).await {
            Ok(Ok(body)) => Ok(Request::from_parts(head, Body::from(body))),
            // What is not too large did not come whole, and then nobody reads this.
            Ok(Err(_)) => Err(too_large()),
            Err(_) => Err(said(StatusCode::REQUEST_TIMEOUT, "the request took too long to come")),
        }
    }

    fn policy(&self, path: &str) -> Policy {
        let found = self.policies.iter().find(|(known, _)| *known == path);
        found.map_or(Policy::Token, |(_, policy)| *policy)
    }
}

/// Whether the body says that it is JSON. A page can send other kinds to anybody without asking first.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split_once(';').map_or(kind, |(kind, _)| kind);
    kind.trim().eq_ignore_ascii_case("application/json")
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn refusal(refusal: Refusal) -> Response<Body> {
    match refusal {
        Refusal::Host => said(StatusCode::FORBIDDEN, "this host name is not allowed here"),
        Refusal::Origin => said(StatusCode::FORBIDDEN, "this origin is not allowed here"),
        Refusal::Token => {
            let text = "send the token: Authorization: Bearer TOKEN";
            let mut response = said(StatusCode::UNAUTHORIZED, text);
            let scheme = HeaderValue::from_static("Bearer realm=\"inkcell\"");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            response
        }
        Refusal::TooManyTokens { wait } => {
            let mut response = said(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens");
            let seconds = HeaderValue::from(wait.as_secs().max(1));
            response.headers_mut().insert(RETRY_AFTER, seconds);
            response
        }
    }
}

/// A short answer after which the connection ends: what is left of the request is not read.
fn said(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

#[cfg(test)]
mod tests;
