//! The requirements that a message must meet before it has any effect.
//!
//! Owns what a refusal answers, and that a message means one thing: a key that is given twice is refused, so that
//! the choice of a reader between the client and us never matters. Must not know how messages arrive.

use std::collections::HashSet;

use inkcell_engine::notebook::{JsonRole, json_tokens};
use rmcp::model::{
    CallToolRequestParams, ClientRequest, CustomRequest, ErrorData, GetPromptRequestParams,
    InitializeRequestParams, JsonRpcMessage, JsonRpcRequest, ReadResourceRequestParams, RequestId,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::answer::cleaned;
use super::skim::Skim;
use crate::words;

/// The deepest nesting that is read.
const DEEPEST: usize = 127;
/// The longest id of a request, in bytes. It is kept while the request is under way.
const LONGEST_ID: usize = 256;

/// The content of a line.
#[derive(Debug)]
pub(crate) enum LineContent {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    Refused(Refusal),
    /// A notification that needs no answer, or an empty line.
    Nothing,
}

/// The reason why a message is refused. Without an id it answers no request.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Refusal {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: ErrorData,
}

pub(crate) fn take(line: &[u8]) -> LineContent {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.is_empty() {
        return LineContent::Nothing;
    }
    let value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return LineContent::Refused(unreadable(line, &error)),
    };
    if let Some(instead) = instead_of(&value, find_repeated_key(line)) {
        return instead;
    }
    let id = id_of(&value).ok().flatten();
    let method = value.get("method").and_then(Value::as_str).map(str::to_owned);
    let wrong = |id: RequestId, method: &str, error: &serde_json::Error| {
        let problem = cleaned(format!("invalid params for {method}: {error}"));
        LineContent::Refused(Refusal {
            id: Some(id),
            error: ErrorData::invalid_params(problem, None),
        })
    };
    match (serde_json::from_value(value), method, id) {
        (Ok(message), _, _) => match misfit(&message) {
            Some((id, method, error)) => wrong(id, method, &error),
            None => LineContent::Message(Box::new(message)),
        },
        (Err(error), Some(method), Some(id)) => wrong(id, &method, &error),
        // A notification is never answered, and neither is an answer to a question that was not asked.
        _ => LineContent::Nothing,
    }
}

/// A request of a known method with unfit params, which the library reads as an unknown method.
fn misfit(message: &RxJsonRpcMessage<RoleServer>) -> Option<(RequestId, &str, serde_json::Error)> {
    fn fit<T: DeserializeOwned>(params: Value) -> Result<(), serde_json::Error> {
        serde_json::from_value::<T>(params).map(drop)
    }
    let JsonRpcMessage::Request(JsonRpcRequest { id, request, .. }) = message else { return None };
    let ClientRequest::CustomRequest(CustomRequest { method, params, .. }) = request else {
        return None;
    };
    let params = params.clone().unwrap_or_default();
    let fits = match method.as_str() {
        "initialize" => fit::<InitializeRequestParams>(params),
        "tools/call" => fit::<CallToolRequestParams>(params),
        "resources/read" => fit::<ReadResourceRequestParams>(params),
        "prompts/get" => fit::<GetPromptRequestParams>(params),
        _ => Ok(()),
    };
    Some((id.clone(), method, fits.err()?))
}

/// The refusal of a message that exceeds the limit.
pub(crate) fn too_long(skim: &Skim, limit: usize) -> Refusal {
    let problem = words::protocol::too_long(&skim.length(), limit);
    Refusal { id: skim.id(), error: ErrorData::invalid_request(problem, None) }
}

/// The refusal of a request whose id is in use.
pub(crate) fn id_in_use(id: RequestId) -> Refusal {
    let problem = words::protocol::id_in_use(&id_value(&id));
    Refusal { id: Some(id), error: ErrorData::invalid_request(problem, None) }
}

fn id_value(id: &RequestId) -> Value {
    id.clone().into_json_value()
}

fn unreadable(line: &[u8], error: &serde_json::Error) -> Refusal {
    let mut skim = Skim::default();
    skim.feed(line);
    if skim.deepest() > DEEPEST {
        let deepest = skim.deepest();
        let problem = words::protocol::too_deep(&deepest, &DEEPEST);
        return Refusal { id: skim.id(), error: ErrorData::invalid_request(problem, None) };
    }
    let problem = match std::str::from_utf8(line) {
        Ok(_) => words::protocol::not_json(&error),
        Err(error) => words::protocol::not_text(&error),
    };
    // JSON with invalid text, such as half a surrogate pair, has an id, and its sender waits for an answer.
    let is_whole = serde_json::from_slice::<&RawValue>(line).is_ok();
    let id = if is_whole { skim.id() } else { None };
    Refusal { id, error: ErrorData::parse_error(problem, None) }
}

/// The replacement of a message that is not allowed; a notification is never answered.
fn instead_of(value: &Value, twice: Option<String>) -> Option<LineContent> {
    let refused = |id: Option<RequestId>, problem: &str| {
        let error = ErrorData::invalid_request(cleaned(problem), None);
        Some(LineContent::Refused(Refusal { id, error }))
    };
    let Value::Object(fields) = value else {
        return refused(
            None,
            match value {
                Value::Array(_) => words::protocol::NO_BATCHES,
                _ => words::protocol::NOT_OBJECT,
            },
        );
    };
    let is_request = fields.contains_key("method");
    let id = match id_of(value) {
        Ok(id) => id,
        Err(problem) if is_request => return refused(None, &problem),
        Err(_) => return Some(LineContent::Nothing),
    };
    if let Some(key) = twice {
        if !is_request || id.is_none() {
            return Some(LineContent::Nothing);
        }
        // Of two ids, neither is certain to be the one that the client means.
        let id = id.filter(|_| key != "id");
        return refused(id, &words::protocol::key_twice(&json!(key)));
    }
    let problem = if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
        "jsonrpc must be \"2.0\""
    } else if is_request && !fields["method"].is_string() {
        words::protocol::METHOD_STRING
    } else if !is_request && !fields.contains_key("result") && !fields.contains_key("error") {
        words::protocol::NO_METHOD
    } else {
        return None;
    };
    refused(id, problem)
}

/// The id of a request; none for a notification.
fn id_of(value: &Value) -> Result<Option<RequestId>, String> {
    match value.get("id") {
        None => Ok(None),
        Some(Value::Number(number)) if number.is_i64() => {
            Ok(number.as_i64().map(RequestId::Number))
        }
        Some(Value::String(text)) if text.len() <= LONGEST_ID => {
            Ok(Some(RequestId::String(text.as_str().into())))
        }
        Some(Value::String(_)) => Err(words::protocol::id_too_long(LONGEST_ID)),
        Some(_) => Err(words::protocol::ID_TYPE.to_owned()),
    }
}

/// The first key that one object of this JSON gives twice.
fn find_repeated_key(line: &[u8]) -> Option<String> {
    let mut open: Vec<HashSet<String>> = Vec::new();
    for token in json_tokens(line).map_while(Result::ok) {
        match token.role {
            JsonRole::Open => open.push(HashSet::new()),
            JsonRole::Close => drop(open.pop()),
            JsonRole::Key => {
                // One key can be spelled in several ways.
                let key: String = serde_json::from_slice(token.spelled?).ok()?;
                let keys = open.last_mut()?;
                if !keys.insert(key.clone()) {
                    return Some(key);
                }
            }
            JsonRole::Scalar => {}
        }
    }
    None
}

#[cfg(test)]
#[path = "strict/tests.rs"]
mod tests;
