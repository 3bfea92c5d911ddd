//! Requests of code over the bridge, and the form of the answers.
//!
//! Owns the shape of a request and of an answer (B:X-40). It must not know connections.

use std::path::PathBuf;

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use hyper::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::super::ToolError;
use crate::http::{Body, respond};
use crate::words;

/// A call of a tool.
pub(super) struct ToolRequest {
    pub(super) session: String,
    pub(super) run: String,
    pub(super) name: String,
    pub(super) arguments: Value,
    /// The current folder of the code, if the request gives it: the base of relative paths.
    pub(super) cwd: Option<PathBuf>,
}

impl ToolRequest {
    /// Decodes the body of a request, or returns the reason why it is invalid.
    pub(super) fn parse(body: &[u8]) -> Result<ToolRequest, &'static str> {
        let Ok(Value::Object(mut fields)) = serde_json::from_slice(body) else {
            return Err("Invalid JSON body");
        };
        let mut text = |name: &str| match fields.remove(name) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            // Some callers number their runs.
            Some(Value::Number(number)) if name == "run" => Ok(number.to_string()),
            _ => Err(words::bridge::MISSING),
        };
        let (session, run, name) = (text("session")?, text("run")?, text("name")?);
        let arguments = match fields.remove("args") {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(given) => given,
        };
        let cwd = fields.remove("cwd");
        let cwd = cwd.as_ref().and_then(Value::as_str).map(PathBuf::from);
        Ok(ToolRequest { session, run, name, arguments, cwd: cwd.filter(|cwd| cwd.is_absolute()) })
    }

    pub(super) fn key(&self) -> String {
        key(&self.session, &self.run)
    }
}

/// The key that identifies a run.
pub(super) fn key(session: &str, run: &str) -> String {
    format!("{session}:{run}")
}

/// The error text of a call that returned no value.
pub(super) fn error_text(error: ToolError) -> String {
    // Not in the form that a model's replies have: text printed by code must not look like a next step of ours.
    let next = error.next.map(|next| format!(" ({next})")).unwrap_or_default();
    error.message + &next
}

/// An answer: a value, or an error text.
pub(super) fn answered(outcome: Result<Value, String>) -> Response<Body> {
    match outcome {
        Ok(value) => json_response(StatusCode::OK, &json!({"ok": true, "value": value})),
        Err(error) => refused(StatusCode::OK, &error),
    }
}

/// A refusal, in the same form so that code can show its text.
pub(super) fn refused(status: StatusCode, error: &str) -> Response<Body> {
    json_response(status, &json!({"ok": false, "error": error}))
}

fn json_response(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = respond(status, body.to_string());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
