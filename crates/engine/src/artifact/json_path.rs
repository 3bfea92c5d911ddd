//! One value of an artifact that is JSON, by its path.
//!
//! Owns the small language of paths, the same that Python's `output(id, query=...)` has: `.key`, `[0]`,
//! `[-1]` for the last, `["any key"]`, one after the other; nothing, `.` or `$` is all of it. It must
//! not know how JSON is spelled.

use std::collections::VecDeque;

use super::error::{ArtifactError, shortened};
use super::json::{JsonWalk, Passed};
use super::read::{Artifact, whole_characters};

/// How many keys are named where a path leads nowhere, and how long each may be.
const NAMED_KEYS: usize = 20;
const NAMED_KEY_CHARS: usize = 60;
const MAX_PATH_BYTES: usize = 4096;
/// How many entries are remembered on the way to one that is counted from the end.
const MAX_REMEMBERED: usize = 4096;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Key(String),
    Index(i64),
}

/// A path to a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonPath {
    steps: Vec<Step>,
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonKind {
    /// `{...}`
    Object,
    /// `[...]`
    Array,
    /// `"..."`
    String,
    /// A number, or one of the three that only Python writes.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

/// A value that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonRead {
    /// What it is.
    pub kind: JsonKind,
    /// Where in the artifact it begins.
    pub offset: u64,
    /// The value as it is spelled there, or its beginning.
    pub bytes: Vec<u8>,
    /// How many bytes it has.
    pub total_bytes: u64,
    /// How many entries an object or array has.
    pub entries: Option<u64>,
}

/// Where a path leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JsonFound {
    /// To a value.
    Value(JsonRead),
    /// Nowhere.
    Nothing {
        /// How many steps could be followed.
        followed: usize,
        /// What is there.
        kind: JsonKind,
        /// How many entries it has.
        entries: Option<u64>,
        /// The first of its keys.
        keys: Vec<String>,
    },
}

impl JsonPath {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<JsonPath, ArtifactError> {
        let path = text.trim();
        let mut rest = path;
        if let Some(behind) = rest.strip_prefix('$')
            && (behind.is_empty() || behind.starts_with(['.', '[']))
        {
            rest = behind;
        }
        let mut steps = Vec::new();
        while !rest.is_empty() && rest != "." {
            let step = if path.len() > MAX_PATH_BYTES { None } else { step(rest) };
            let Some((step, behind)) = step else {
                let (path, rest) = (shortened(path), shortened(rest));
                return Err(ArtifactError::JsonPath { path, rest });
            };
            steps.push(step);
            rest = behind;
        }
        Ok(JsonPath { steps })
    }
}

/// The first step of a path and what follows it.
fn step(text: &str) -> Option<(Step, &str)> {
    let text = text.strip_prefix('.').unwrap_or(text);
    let Some(inner) = text.strip_prefix('[') else {
        let end = text.find(|c: char| matches!(c, '.' | '[' | ']' | '"') || c.is_whitespace());
        let (key, rest) = text.split_at(end.unwrap_or(text.len()));
        return (!key.is_empty()).then(|| (Step::Key(key.to_owned()), rest));
    };
    let inner = inner.trim_start();
    if let Some(quoted) = inner.strip_prefix('"') {
        let (key, rest) = quoted.split_once('"')?;
        return Some((Step::Key(key.to_owned()), rest.trim_start().strip_prefix(']')?));
    }
    let (index, rest) = inner.split_once(']')?;
    let index = index.trim_end();
    let digits = index.strip_prefix('-').unwrap_or(index);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(())?;
    Some((Step::Index(index.parse().ok()?), rest))
}

/// Where steps led.
enum Outcome {
    Value { offset: u64, passed: Passed },
    Nothing { followed: usize, kind: JsonKind, entries: Option<u64>, keys: Vec<String> },
}

/// Whether the walk has to end behind the value it looks into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rest {
    Needed,
    Unneeded,
}

impl Artifact {
    /// The value at a path, at most `max_bytes` of it. The file is passed over once, in small pieces, and
    /// only as far as is needed. Of equal keys the last one counts, as in Python.
    pub fn json(&self, path: &JsonPath, max_bytes: usize) -> Result<JsonFound, ArtifactError> {
        let mut walk = JsonWalk::new(self)?;
        let (offset, passed) = match follow(&mut walk, &path.steps, 0, Rest::Unneeded)? {
            Outcome::Value { offset, passed } => (offset, passed),
            Outcome::Nothing { followed, kind, entries, keys } => {
                return Ok(JsonFound::Nothing { followed, kind, entries, keys });
            }
        };
        let total_bytes = passed.end - offset;
        let length = usize::try_from(total_bytes).unwrap_or(usize::MAX).min(max_bytes);
        let mut bytes = self.block(offset, length)?;
        if (bytes.len() as u64) < total_bytes {
            bytes.truncate(whole_characters(&bytes));
        }
        let (kind, entries) = (passed.kind, passed.entries);
        Ok(JsonFound::Value(JsonRead { kind, offset, bytes, total_bytes, entries }))
    }
}

/// Follows the steps that are left into the value the walk stands at. Each goes one value deeper, and values
/// are nested only so deep, so this does not recurse for ever.
fn follow(
    walk: &mut JsonWalk<'_>,
    steps: &[Step],
    followed: usize,
    rest: Rest,
) -> Result<Outcome, ArtifactError> {
    let offset = walk.offset();
    let Some(step) = steps.get(followed) else {
        return Ok(Outcome::Value { offset, passed: walk.pass()? });
    };
    let kind = walk.kind()?;
    match (step, kind) {
        (Step::Key(wanted), JsonKind::Object) => follow_key(walk, wanted, steps, followed),
        (Step::Index(wanted), JsonKind::Array) => match u64::try_from(*wanted) {
            Ok(index) => follow_index(walk, index, steps, followed, rest),
            Err(_) => follow_back(walk, wanted.unsigned_abs(), steps, followed),
        },
        _ => {
            let entries = walk.pass()?.entries;
            Ok(Outcome::Nothing { followed, kind, entries, keys: Vec::new() })
        }
    }
}

fn follow_key(
    walk: &mut JsonWalk<'_>,
    wanted: &str,
    steps: &[Step],
    followed: usize,
) -> Result<Outcome, ArtifactError> {
    let (mut entries, mut keys, mut found) = (0, Vec::new(), None);
    let mut key = String::new();
    let mut goes_on = walk.enter()?;
    while goes_on {
        entries += 1;
        let can_be_named = walk.key(&mut key)?;
        if can_be_named && keys.len() < NAMED_KEYS {
            keys.push(key.chars().take(NAMED_KEY_CHARS).collect());
        }
        if can_be_named && key == wanted {
            found = Some(follow(walk, steps, followed + 1, Rest::Needed)?);
        } else {
            walk.pass()?;
        }
        goes_on = walk.next_entry(JsonKind::Object)?;
    }
    let (kind, entries) = (JsonKind::Object, Some(entries));
    Ok(found.unwrap_or(Outcome::Nothing { followed, kind, entries, keys }))
}

fn follow_index(
    walk: &mut JsonWalk<'_>,
    wanted: u64,
    steps: &[Step],
    followed: usize,
    rest: Rest,
) -> Result<Outcome, ArtifactError> {
    let (mut entries, mut found) = (0, None);
    let mut goes_on = walk.enter()?;
    while goes_on {
        if entries == wanted {
            let outcome = follow(walk, steps, followed + 1, rest)?;
            if rest == Rest::Unneeded {
                return Ok(outcome);
            }
            found = Some(outcome);
        } else {
            walk.pass()?;
        }
        entries += 1;
        goes_on = walk.next_entry(JsonKind::Array)?;
    }
    let (kind, entries) = (JsonKind::Array, Some(entries));
    Ok(found.unwrap_or(Outcome::Nothing { followed, kind, entries, keys: Vec::new() }))
}

/// An entry counted from the end. Where the last ones begin is remembered on the way to the end.
fn follow_back(
    walk: &mut JsonWalk<'_>,
    back: u64,
    steps: &[Step],
    followed: usize,
) -> Result<Outcome, ArtifactError> {
    let remembered = usize::try_from(back).unwrap_or(usize::MAX).min(MAX_REMEMBERED);
    let mut last = VecDeque::with_capacity(remembered);
    let from = walk.offset();
    let mut entries = 0;
    let mut goes_on = walk.enter()?;
    while goes_on {
        if last.len() == remembered {
            last.pop_front();
        }
        last.push_back(walk.offset());
        walk.pass()?;
        entries += 1;
        goes_on = walk.next_entry(JsonKind::Array)?;
    }
    let end = walk.offset();
    let Some(index) = u64::checked_sub(entries, back) else {
        let (kind, entries) = (JsonKind::Array, Some(entries));
        return Ok(Outcome::Nothing { followed, kind, entries, keys: Vec::new() });
    };
    let outcome = match last.front() {
        Some(offset) if back == remembered as u64 => {
            walk.seek(*offset);
            follow(walk, steps, followed + 1, Rest::Unneeded)
        }
        // So far back that it is found faster from the beginning.
        _ => {
            walk.seek(from);
            follow_index(walk, index, steps, followed, Rest::Unneeded)
        }
    }?;
    walk.seek(end);
    Ok(outcome)
}

#[cfg(test)]
mod tests;
