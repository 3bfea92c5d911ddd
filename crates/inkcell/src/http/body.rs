//! Bodies: those of requests, read whole within limits, and those of answers.
//!
//! Owns how much of a request is taken and for how long. It must not know who sent it.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::CONTENT_LENGTH;
use hyper::{HeaderMap, Response, StatusCode};

/// The body of an answer: bytes, or events as they come.
pub(crate) type Body = BoxBody<Bytes, Infallible>;

/// An answer with this text, or without one.
pub(crate) fn respond(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    response
}

/// How much a request may carry, and how long it may take to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

/// Why a body was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BodyError {
    TooLarge,
    TooSlow,
}

impl BodyLimits {
    /// Reads a body to its end. A length that is announced and too large is refused before anything is read.
    pub(crate) async fn read<B>(&self, headers: &HeaderMap, body: B) -> Result<Bytes, BodyError>
    where
        B: hyper::body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if announced(headers).is_some_and(|bytes| bytes > self.bytes as u64) {
            return Err(BodyError::TooLarge);
        }
        let reading = Limited::new(body, self.bytes).collect();
        match tokio::time::timeout(self.time, reading).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            // A body that ended early is told the same: its sender is gone and reads no answer.
            Ok(Err(_)) => Err(BodyError::TooLarge),
            Err(_) => Err(BodyError::TooSlow),
        }
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
