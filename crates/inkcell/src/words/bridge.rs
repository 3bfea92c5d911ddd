//! Sentences for code that calls tools.

pub(crate) const MISSING: &str = "Missing session/run/name";

pub(crate) fn not_active(key: &str) -> String {
    format!("No active Python tool bridge session: {key}")
}

pub(crate) const INTERRUPTED: &str = "aborted: eval cell was interrupted";

pub(crate) fn no_tool(name: &str, names: &str) -> String {
    format!("tool.{name} is not available to code; available are: {names}")
}
