//! Bodies: those of requests, read whole within limits, and those of answers.
//!
//! Owns how much of a request is read and for how long. It must not know its sender.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::header::CONTENT_LENGTH;
use hyper::{HeaderMap, Response, StatusCode};

/// The body of an answer: bytes, or events as they come.
pub(crate) type Body = BoxBody<Bytes, Infallible>;

/// A response with this text, which may be empty.
pub(crate) fn respond(status: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    response
}

/// The size limit and the time limit for the body of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

/// The reason why a body was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BodyError {
    TooLarge,
    TooSlow,
}

impl BodyLimits {
    /// Reads a body to its end. An announced length over the limit is refused before anything is read.
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
            // A body that ended early gets the same error: its sender is gone and reads no answer.
            Ok(Err(_)) => Err(BodyError::TooLarge),
            Err(_) => Err(BodyError::TooSlow),
        }
    }
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
