//! Metadata: a change of them, and what nbformat demands of the keys it knows, so that a change keeps a
//! valid file valid.
//!
//! Owns that short table. Keys it does not know may hold anything. It must not know whose they are.

use std::borrow::Cow;

use crate::edit::MetaChange;
use crate::error::OpError;
use crate::fields::{Change, edit_object, member_indent, quoted};
use crate::json;
use crate::style::{Indent, Style, format_value};

/// A rule for one key: what is wrong with a value, if anything.
pub(crate) type Rule = fn(&[u8]) -> Option<&'static str>;

const CELL: &[(&str, Rule)] = &[
    ("tags", tags),
    ("collapsed", boolean),
    ("scrolled", scrolled),
    ("name", name),
    ("format", text),
    ("jupyter", object),
    ("execution", texts),
];

const NOTEBOOK: &[(&str, Rule)] = &[
    ("kernelspec", kernelspec),
    ("language_info", language_info),
    ("orig_nbformat", version),
    ("title", text),
    ("authors", list),
];

/// How many containers are open around a value: the notebook, its cells, a cell and its metadata.
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

/// An object of metadata after a change. Values that stay the same keep their bytes.
pub(crate) fn changed(old: &[u8], change: &MetaChange, holder: &Indent, style: &Style) -> Vec<u8> {
    let is_object = old.first() == Some(&b'{');
    let change = if is_object { &effective(old, change) } else { change };
    if is_object && change.set.is_empty() && change.unset.is_empty() {
        return old.to_vec();
    }
    let old = if is_object { old } else { b"{}" };
    let inside = member_indent(old, holder, style);
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

/// The part of a change that makes a difference. If a key is changed several times, the last change counts.
fn effective(old: &[u8], change: &MetaChange) -> MetaChange {
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

/// Whether two texts are the same JSON value, however they are laid out.
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

/// Whether two texts are one number. Longer ones than a float can tell apart are the same only by their text.
fn is_same_number(one: &[u8], other: &[u8]) -> bool {
    let number = |text: &[u8]| -> Option<f64> {
        let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
        let text = std::str::from_utf8(text).ok().filter(|_| (1..=15).contains(&digits))?;
        // Zero has a sign, and may be a number that is too small for a float.
        text.parse().ok().filter(|number: &f64| number.is_normal())
    };
    matches!((number(one), number(other)), (Some(one), Some(other)) if one == other)
}

/// The change that adds and removes tags; none when they are so already. A list that becomes empty goes.
pub(crate) fn tags_change(
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
            tags.push((tag.into(), quoted(tag, style)));
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

pub(crate) fn text(value: &[u8]) -> Option<&'static str> {
    (value.first() != Some(&b'"')).then_some("expected a string")
}

fn name(value: &[u8]) -> Option<&'static str> {
    let name = json::decode(value).text;
    (name.is_empty() || name.contains('\n')).then_some("expected a string of one line, not empty")
}

pub(crate) fn object(value: &[u8]) -> Option<&'static str> {
    (value.first() != Some(&b'{')).then_some("expected an object")
}

fn texts(value: &[u8]) -> Option<&'static str> {
    let is_text = |member: &json::Member| member.value.of(value).first() == Some(&b'"');
    let fits = value.first() == Some(&b'{') && json::members(value).iter().all(is_text);
    (!fits).then_some("expected an object of strings")
}

fn list(value: &[u8]) -> Option<&'static str> {
    (value.first() != Some(&b'[')).then_some("expected a list")
}

fn version(value: &[u8]) -> Option<&'static str> {
    let is_digits = value.iter().all(u8::is_ascii_digit);
    (!is_digits || value == b"0").then_some("expected a whole number from 1 on")
}

fn has_text(value: &[u8], key: &str) -> bool {
    json::get(value, key).is_some_and(|found| found.first() == Some(&b'"'))
}

fn kernelspec(value: &[u8]) -> Option<&'static str> {
    let fits = has_text(value, "name") && has_text(value, "display_name");
    (!fits).then_some("expected an object with the strings \"name\" and \"display_name\"")
}

fn language_info(value: &[u8]) -> Option<&'static str> {
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
