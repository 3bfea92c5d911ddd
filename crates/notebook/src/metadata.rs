//! What nbformat demands of the metadata keys it knows, so that a change keeps a valid file valid.
//!
//! Owns that short table. Keys it does not know may hold anything.

use crate::edit::MetaChange;
use crate::error::OpError;
use crate::json;

/// A rule for one key: what is wrong with a value, if anything.
type Rule = fn(&[u8]) -> Option<&'static str>;

const CELL: &[(&str, Rule)] = &[
    ("tags", tags),
    ("collapsed", boolean),
    ("scrolled", scrolled),
    ("name", text),
    ("format", text),
    ("jupyter", object),
    ("execution", object),
];

const NOTEBOOK: &[(&str, Rule)] =
    &[("kernelspec", kernelspec), ("language_info", language_info), ("title", text)];

pub(crate) fn check_cell(change: &MetaChange) -> Result<(), OpError> {
    check(change, CELL)
}

pub(crate) fn check_notebook(change: &MetaChange) -> Result<(), OpError> {
    check(change, NOTEBOOK)
}

fn check(change: &MetaChange, rules: &[(&str, Rule)]) -> Result<(), OpError> {
    for (key, value) in &change.set {
        let bad = |problem| OpError::BadMetadata { key: key.clone(), problem };
        json::check(value.as_bytes()).map_err(|_| bad("the value is not JSON"))?;
        let rule = rules.iter().find(|(name, _)| name == key);
        if let Some(problem) = rule.and_then(|(_, rule)| rule(value.trim().as_bytes())) {
            return Err(bad(problem));
        }
    }
    Ok(())
}

fn tags(value: &[u8]) -> Option<&'static str> {
    const WANTED: &str =
        "expected a list of different strings without commas, such as [\"parameters\"]";
    if value.first() != Some(&b'[') {
        return Some(WANTED);
    }
    let items = json::items(value);
    let texts: Vec<_> = items.iter().map(|item| json::decode(item.of(value)).text).collect();
    let is_string = items.iter().all(|item| item.of(value).first() == Some(&b'"'));
    let is_tag = texts.iter().all(|tag| !tag.is_empty() && !tag.contains(','));
    let is_unique = texts.iter().enumerate().all(|(at, tag)| !texts[..at].contains(tag));
    (!(is_string && is_tag && is_unique)).then_some(WANTED)
}

fn boolean(value: &[u8]) -> Option<&'static str> {
    (!matches!(value, b"true" | b"false")).then_some("expected true or false")
}

fn scrolled(value: &[u8]) -> Option<&'static str> {
    (!matches!(value, b"true" | b"false" | b"\"auto\""))
        .then_some("expected true, false or \"auto\"")
}

fn text(value: &[u8]) -> Option<&'static str> {
    (value.first() != Some(&b'"')).then_some("expected a string")
}

fn object(value: &[u8]) -> Option<&'static str> {
    (value.first() != Some(&b'{')).then_some("expected an object")
}

fn has_text(value: &[u8], key: &str) -> bool {
    json::get(value, key).is_some_and(|found| found.first() == Some(&b'"'))
}

fn kernelspec(value: &[u8]) -> Option<&'static str> {
    let fits = has_text(value, "name") && has_text(value, "display_name");
    (!fits).then_some("expected an object with the strings \"name\" and \"display_name\"")
}

fn language_info(value: &[u8]) -> Option<&'static str> {
    (!has_text(value, "name")).then_some("expected an object with the string \"name\"")
}
