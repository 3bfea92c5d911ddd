//! Changes metadata, and checks the keys that nbformat defines, so that a valid file stays valid.
//!
//! Owns the short table of those keys. Other keys may hold anything. It must not know which cell or
//! notebook the metadata belongs to.

use std::borrow::Cow;

use super::operation::MetaChange;
use super::patch::{Change, edit_object, find_member_indent, quote};
use crate::document::{Indent, Rule, Style, expect_object, expect_text, format_value};
use crate::error::OpError;
use crate::json;

const CELL: &[(&str, Rule)] = &[
    ("tags", expect_tags),
    ("collapsed", expect_boolean),
    ("scrolled", expect_scrolled),
    ("name", expect_name),
    ("format", expect_text),
    ("jupyter", expect_object),
    ("execution", expect_texts),
];

const NOTEBOOK: &[(&str, Rule)] = &[
    ("kernelspec", expect_kernelspec),
    ("language_info", expect_language_info),
    ("orig_nbformat", expect_version),
    ("title", expect_text),
    ("authors", expect_list),
];

/// Number of containers around a value in a cell's metadata: the notebook, its cells, a cell and its
/// metadata.
const CELL_DEPTH: usize = 4;
const NOTEBOOK_DEPTH: usize = 2;

pub(crate) fn check_cell(change: &MetaChange) -> Result<(), OpError> {
    check(change, CELL, CELL_DEPTH)
}

pub(crate) fn check_notebook(change: &MetaChange) -> Result<(), OpError> {
    check(change, NOTEBOOK, NOTEBOOK_DEPTH)
}

fn check(change: &MetaChange, rules: &[(&str, Rule)], outer: usize) -> Result<(), OpError> {
    for (key, value) in &change.set {
        let bad = |problem| OpError::BadMetadata { key: key.clone(), problem };
        json::check(value.as_bytes(), outer).map_err(|error| match error.problem {
            json::TOO_DEEP => bad(json::TOO_DEEP),
            _ => bad("the value is not JSON"),
        })?;
        let rule = rules.iter().find(|(name, _)| name == key);
        if let Some(problem) = rule.and_then(|(_, rule)| rule(value.trim().as_bytes())) {
            return Err(bad(problem));
        }
    }
    Ok(())
}

/// Applies a change to a metadata object. Values that stay the same keep their bytes.
pub(crate) fn apply_change(
    old: &[u8],
    change: &MetaChange,
    holder: &Indent,
    style: &Style,
) -> Vec<u8> {
    let is_object = old.first() == Some(&b'{');
    let change = if is_object { &keep_effective(old, change) } else { change };
    if is_object && change.set.is_empty() && change.unset.is_empty() {
        return old.to_vec();
    }
    let old = if is_object { old } else { b"{}" };
    let inside = find_member_indent(old, holder, style);
    let laid_out = |(_, value): &(String, String)| {
        let mut text = Vec::with_capacity(value.len());
        format_value(&mut text, value.as_bytes(), &inside, style);
        text
    };
    let texts: Vec<Vec<u8>> = change.set.iter().map(laid_out).collect();
    let set = change.set.iter().zip(&texts).map(|((key, _), text)| (&key[..], Some(&text[..])));
    let unset = change.unset.iter().map(|key| (&key[..], None));
    edit_object(old, &set.chain(unset).collect::<Vec<Change<'_>>>(), None, holder, style)
}

/// Drops the parts of a change that make no difference. If a change sets a key several times, the last value
/// counts.
fn keep_effective(old: &[u8], change: &MetaChange) -> MetaChange {
    let differs = |(at, (key, value)): &(usize, &(String, String))| {
        let mut later = change.set[at + 1..].iter().map(|(key, _)| key).chain(&change.unset);
        let is_so = |now: &[u8]| is_equal(now, value.trim_ascii().as_bytes());
        !later.any(|other| other == key) && !json::get(old, key).is_some_and(is_so)
    };
    let is_there = |key: &&String| json::get(old, key).is_some();
    let set = change.set.iter().enumerate().filter(differs);
    MetaChange {
        set: set.map(|(_, change)| change.clone()).collect(),
        unset: change.unset.iter().filter(is_there).cloned().collect(),
    }
}

/// True if two texts are the same JSON value, regardless of layout.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    match (one.first(), other.first()) {
        (Some(b'{'), Some(b'{')) => {
            let members = json::members(one);
            members.len() == json::members(other).len()
                && members.iter().all(|member| {
                    let key = json::decode(member.key.of(one));
                    let theirs = json::get(other, &key.text).filter(|_| !key.lossy);
                    theirs.is_some_and(|theirs| is_equal(member.value.of(one), theirs))
                })
        }
        (Some(b'['), Some(b'[')) => {
            let (ours, theirs) = (json::items(one), json::items(other));
            ours.len() == theirs.len()
                && ours.iter().zip(&theirs).all(|(a, b)| is_equal(a.of(one), b.of(other)))
        }
        (Some(b'"'), Some(b'"')) => {
            let (ours, theirs) = (json::decode(one), json::decode(other));
            one == other || (!ours.lossy && !theirs.lossy && ours.text == theirs.text)
        }
        _ => one == other || is_same_number(one, other),
    }
}

/// True if two texts are the same number. Numbers with more digits than a float holds are the same only if
/// their texts are.
fn is_same_number(one: &[u8], other: &[u8]) -> bool {
    let number = |text: &[u8]| -> Option<f64> {
        let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
        let text = std::str::from_utf8(text).ok().filter(|_| (1..=15).contains(&digits))?;
        // Zero is excluded: it has a sign, and may stand for a number too small for a float.
        text.parse().ok().filter(|number: &f64| number.is_normal())
    };
    matches!((number(one), number(other)), (Some(one), Some(other)) if one == other)
}

/// Builds the change that adds and removes tags; none if the tags are right already. A list that becomes
/// empty is removed.
pub(crate) fn change_tags(
    old: &[u8],
    add: &[String],
    remove: &[String],
    style: &Style,
) -> Option<MetaChange> {
    let list = json::get(old, "tags").unwrap_or_default();
    let items = json::items(list);
    // A tag that stays keeps its spelling.
    let known = |item: &json::Span| (json::decode(item.of(list)).text, item.of(list).to_vec());
    let mut tags: Vec<(Cow<'_, str>, Vec<u8>)> = items.iter().map(known).collect();
    let has = |tags: &[String], tag: &str| tags.iter().any(|other| other == tag);
    tags.retain(|(tag, _)| has(add, tag) || !has(remove, tag));
    let kept = tags.len();
    for tag in add {
        if !tags.iter().any(|(known, _)| known == tag) {
            tags.push((tag.into(), quote(tag, style)));
        }
    }
    if kept == items.len() && tags.len() == kept {
        return None;
    }
    let mut change = MetaChange::default();
    if tags.is_empty() {
        change.unset.push("tags".to_owned());
    } else {
        let texts: Vec<_> = tags.iter().map(|(_, text)| String::from_utf8_lossy(text)).collect();
        change.set.push(("tags".to_owned(), format!("[{}]", texts.join(","))));
    }
    Some(change)
}

fn expect_tags(value: &[u8]) -> Option<&'static str> {
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

fn expect_boolean(value: &[u8]) -> Option<&'static str> {
    (!matches!(value, b"true" | b"false")).then_some("expected true or false")
}

fn expect_scrolled(value: &[u8]) -> Option<&'static str> {
    (!matches!(value, b"true" | b"false" | b"\"auto\""))
        .then_some("expected true, false or \"auto\"")
}

fn expect_name(value: &[u8]) -> Option<&'static str> {
    let name = json::decode(value).text;
    (name.is_empty() || name.contains('\n')).then_some("expected a string of one line, not empty")
}

fn expect_texts(value: &[u8]) -> Option<&'static str> {
    let is_text = |member: &json::Member| member.value.of(value).first() == Some(&b'"');
    let fits = value.first() == Some(&b'{') && json::members(value).iter().all(is_text);
    (!fits).then_some("expected an object of strings")
}

fn expect_list(value: &[u8]) -> Option<&'static str> {
    (value.first() != Some(&b'[')).then_some("expected a list")
}

fn expect_version(value: &[u8]) -> Option<&'static str> {
    let is_digits = value.iter().all(u8::is_ascii_digit);
    (!is_digits || value == b"0").then_some("expected a whole number from 1 on")
}

fn has_text(value: &[u8], key: &str) -> bool {
    json::get(value, key).is_some_and(|found| found.first() == Some(&b'"'))
}

fn expect_kernelspec(value: &[u8]) -> Option<&'static str> {
    let fits = has_text(value, "name") && has_text(value, "display_name");
    (!fits).then_some("expected an object with the strings \"name\" and \"display_name\"")
}

fn expect_language_info(value: &[u8]) -> Option<&'static str> {
    if !has_text(value, "name") {
        return Some("expected an object with the string \"name\"");
    }
    let is_bad = |key: &str| json::get(value, key).is_some() && !has_text(value, key);
    if ["file_extension", "mimetype", "pygments_lexer"].into_iter().any(is_bad) {
        return Some("expected strings for \"file_extension\", \"mimetype\", \"pygments_lexer\"");
    }
    let mode = json::get(value, "codemirror_mode").and_then(|mode| mode.first());
    (!matches!(mode, None | Some(b'"' | b'{')))
        .then_some("expected a string or an object for \"codemirror_mode\"")
}
