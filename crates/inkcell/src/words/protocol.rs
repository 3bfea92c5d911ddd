//! Sentences for clients: about messages that do not follow the protocol, and about the server itself.

use std::fmt::Display;

pub(crate) fn choose_token(wanted: &dyn Display) -> String {
    format!(
        "{wanted} accepts connections from other machines, so you must choose the token: give \
         --token-file FILE, or set INKCELL_HTTP_TOKEN"
    )
}

pub(crate) fn token_not_written(folder: &dyn Display, error: &dyn Display) -> String {
    format!("{folder}: {error}; give --token-file FILE")
}

pub(crate) fn token_counts(file: &dyn Display) -> String {
    format!("It is valid until this server ends, and is also in {file}")
}

pub(crate) const OPEN_TO_OTHERS: &str = "warning: this server accepts connections from other machines and does not encrypt them; \
     anyone with a token can run code here. Put an encrypting proxy in front of it";

/// The kinds of resources, as clients describe them to a model.
pub(crate) const ARTIFACT: &str = "A stored output in full, by the id that an answer names";

pub(crate) const EXECUTION: &str = "A call that outlived its answer, with its output so far";

pub(crate) const CELL: &str = "A cell of a notebook with its outputs, by its id or position";

pub(crate) const TOKEN_UNKNOWN: &str = "this token is not known";

pub(crate) const TOO_MANY_SESSIONS: &str =
    "too many sessions; end one with DELETE, or try again later";

pub(crate) const TOOLS_OF_DOCUMENTS: &str = "the tools of the source documents";

/// What a tool may do, from its hints.
pub(crate) const DESTRUCTIVE: &str = "can change or delete data";

pub(crate) const IDEMPOTENT: &str = "repeating it changes nothing";

pub(crate) const OPEN_WORLD: &str = "can reach beyond this machine";

pub(crate) fn too_long(bytes: &dyn Display, limit: usize) -> String {
    format!(
        "the message is {bytes} bytes long; the limit is {limit}. Send less at once: put the data \
         into a file"
    )
}

pub(crate) fn id_in_use(id: &dyn Display) -> String {
    format!("the id {id} is in use; give each request an id of its own")
}

pub(crate) fn too_deep(deepest: &dyn Display, limit: &dyn Display) -> String {
    format!("the message is nested {deepest} levels deep; the limit is {limit}")
}

pub(crate) fn not_json(error: &dyn Display) -> String {
    format!("the message is not JSON: {error}")
}

pub(crate) fn not_text(error: &dyn Display) -> String {
    format!("the message is not UTF-8: {error}")
}

pub(crate) const NO_BATCHES: &str = "the protocol has no batches; send one message a line";

pub(crate) const NOT_OBJECT: &str = "the message is not an object";

pub(crate) fn key_twice(key: &dyn Display) -> String {
    format!("the key {key} is given twice in one object")
}

pub(crate) const METHOD_STRING: &str = "method must be a string";

pub(crate) const NO_METHOD: &str = "the message is neither a request nor an answer; give a method";

pub(crate) fn id_too_long(limit: usize) -> String {
    format!("id is longer than {limit} bytes")
}

pub(crate) const ID_TYPE: &str = "id must be a string or an integer of 64 bits";

pub(crate) const SEND_JSON: &str = "send JSON, with Content-Type: application/json";

pub(crate) const TOO_LARGE: &str = "the request is too large";

pub(crate) const TOO_SLOW: &str = "the request took too long to come";

pub(crate) const HOST_REFUSED: &str = "this host name is not allowed here";

pub(crate) const ORIGIN_REFUSED: &str = "this origin is not allowed here";

pub(crate) const SEND_TOKEN: &str = "send the token: Authorization: Bearer TOKEN";

pub(crate) const TOO_MANY_TOKENS: &str = "too many wrong tokens";
