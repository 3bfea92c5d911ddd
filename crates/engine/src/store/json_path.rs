//! One value of an artifact that is JSON, by its path.
//!
//! Owns the small language of paths, the same as in Python's `output(id, query=...)`. Steps are `.key`, `[0]`, `[-1]`
//! for the last, and `["any key"]`, one after the other. An empty path, `.` or `$` is the whole. It must not know how
//! JSON is spelled.

use std::collections::VecDeque;

pub use inkcell_notebook::JsonKind;
use inkcell_notebook::{JsonRole, JsonToken};

use super::error::{ArtifactError, shortened};
use super::json::{JsonWalk, PassedValue};
use super::read::{Artifact, whole_characters};

/// Number of keys that an error names, and the length of each.
const NAMED_KEYS: usize = 20;
const NAMED_KEY_CHARS: usize = 60;
const MAX_PATH_BYTES: usize = 4096;
/// Entries remembered on the way to one that is counted from the end.
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

/// A value that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct JsonRead {
    /// The type of the value.
    pub kind: JsonKind,
    /// Byte offset of the value in the artifact.
    pub offset: u64,
    /// The value as spelled there, or its beginning.
    pub bytes: Vec<u8>,
    /// Full length of the value in bytes.
    pub total_bytes: u64,
    /// Number of entries of an object or array.
    pub entries: Option<u64>,
}

/// The result of following a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JsonFound {
    /// The path leads to this value.
    Value(JsonRead),
    /// The path leads to no value.
    Nothing {
        /// Number of steps that could be followed.
        followed: usize,
        /// The type of the last value reached.
        kind: JsonKind,
        /// Number of entries of the last value reached.
        entries: Option<u64>,
        /// The first of its keys.
        keys: Vec<String>,
    },
}

impl JsonPath {
    /// Parses a path such as `.rows[0]["name"]`, with or without `$` in front. The error names the place.
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

/// Splits off the first step of a path.
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

enum Outcome {
    Value { offset: u64, passed: PassedValue },
    Nothing { followed: usize, kind: JsonKind, entries: Option<u64>, keys: Vec<String> },
}

/// Says if the walk must end after the value it enters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rest {
    Needed,
    Unneeded,
}

impl Artifact {
    /// Finds the value at a path and returns at most `max_bytes` of it. The file is read once, in small pieces, and
    /// only as far as needed. Of equal keys the last one counts, as in Python.
    pub fn json(&self, path: &JsonPath, max_bytes: usize) -> Result<JsonFound, ArtifactError> {
        let mut walk = JsonWalk::new(self)?;
        let first = walk.next()?;
        let (offset, passed) = match follow(&mut walk, first, &path.steps, 0, Rest::Unneeded)? {
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

/// Follows the remaining steps from the value that begins with this token. Each step goes one value deeper. The length
/// of a path is limited, so the recursion is, too.
fn follow(
    walk: &mut JsonWalk<'_>,
    first: JsonToken<'_>,
    steps: &[Step],
    followed: usize,
    rest: Rest,
) -> Result<Outcome, ArtifactError> {
    let Some(step) = steps.get(followed) else {
        return Ok(Outcome::Value { offset: first.start, passed: walk.pass(first)? });
    };
    match (step, first.kind) {
        (Step::Key(wanted), JsonKind::Object) => follow_key(walk, wanted, steps, followed),
        (Step::Index(wanted), JsonKind::Array) => match u64::try_from(*wanted) {
            Ok(index) => follow_index(walk, index, steps, followed, rest),
            Err(_) => follow_back(walk, first.start, wanted.unsigned_abs(), steps, followed),
        },
        (_, kind) => {
            let entries = walk.pass(first)?.entries;
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
    while walk.next()?.role == JsonRole::Key {
        entries += 1;
        if let Some(key) = walk.key().filter(|_| keys.len() < NAMED_KEYS) {
            keys.push(key.chars().take(NAMED_KEY_CHARS).collect());
        }
        let is_wanted = walk.key() == Some(wanted);
        let value = walk.next()?;
        if is_wanted {
            found = Some(follow(walk, value, steps, followed + 1, Rest::Needed)?);
        } else {
            walk.pass(value)?;
        }
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
    loop {
        let item = walk.next()?;
        if item.role == JsonRole::Close {
            break;
        }
        if entries == wanted {
            let outcome = follow(walk, item, steps, followed + 1, rest)?;
            if rest == Rest::Unneeded {
                return Ok(outcome);
            }
            found = Some(outcome);
        } else {
            walk.pass(item)?;
        }
        entries += 1;
    }
    let (kind, entries) = (JsonKind::Array, Some(entries));
    Ok(found.unwrap_or(Outcome::Nothing { followed, kind, entries, keys: Vec::new() }))
}

/// Finds an entry counted from the end of the array at `from`. The walk remembers where the last entries begin.
fn follow_back(
    walk: &mut JsonWalk<'_>,
    from: u64,
    back: u64,
    steps: &[Step],
    followed: usize,
) -> Result<Outcome, ArtifactError> {
    let remembered = usize::try_from(back).unwrap_or(usize::MAX).min(MAX_REMEMBERED);
    let mut last = VecDeque::with_capacity(remembered);
    let mut entries = 0;
    loop {
        let item = walk.next()?;
        if item.role == JsonRole::Close {
            break;
        }
        if last.len() == remembered {
            last.pop_front();
        }
        last.push_back(item.start);
        walk.pass(item)?;
        entries += 1;
    }
    let end = walk.mark();
    let Some(index) = u64::checked_sub(entries, back) else {
        let (kind, entries) = (JsonKind::Array, Some(entries));
        return Ok(Outcome::Nothing { followed, kind, entries, keys: Vec::new() });
    };
    let outcome = match last.front() {
        Some(offset) if back == remembered as u64 => {
            let item = walk.enter(*offset)?;
            follow(walk, item, steps, followed + 1, Rest::Unneeded)
        }
        // So far from the end that a second walk from the start is faster.
        _ => {
            walk.enter(from)?;
            follow_index(walk, index, steps, followed, Rest::Unneeded)
        }
    }?;
    walk.return_to(end);
    Ok(outcome)
}

#[cfg(test)]
mod tests;
