//! One value of an artifact that is JSON, by its path.
//!
//! Owns the small language of paths, the same that Python's `output(id, query=...)` has: `.key`, `[0]`,
//! `[-1]` for the last, `["any key"]`, one after the other; nothing, `.` or `$` is all of it. It must
//! not know how JSON is spelled.

use super::error::{ArtifactError, shortened};
use super::json::JsonWalk;
use super::read::{Artifact, whole_characters};

/// How many keys are named where a path leads nowhere, and how long each may be.
const NAMED_KEYS: usize = 20;
const NAMED_KEY_CHARS: usize = 60;
const MAX_PATH_BYTES: usize = 4096;

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

/// What came of one step.
enum Followed {
    To(u64),
    Nowhere { entries: Option<u64>, keys: Vec<String> },
}

impl Artifact {
    /// The value at a path, at most `max_bytes` of it. The file is passed over once for each step, in
    /// small pieces. Of equal keys the last one counts, as in Python.
    pub fn json(&self, path: &JsonPath, max_bytes: usize) -> Result<JsonFound, ArtifactError> {
        let mut walk = JsonWalk::new(self)?;
        for (followed, step) in path.steps.iter().enumerate() {
            let (from, kind) = (walk.offset(), walk.kind()?);
            match follow(&mut walk, step, kind)? {
                Followed::To(offset) => walk.seek(offset),
                Followed::Nowhere { mut entries, keys } => {
                    if entries.is_none() && matches!(kind, JsonKind::Object | JsonKind::Array) {
                        walk.seek(from);
                        entries = walk.pass()?.entries;
                    }
                    return Ok(JsonFound::Nothing { followed, kind, entries, keys });
                }
            }
        }
        let offset = walk.offset();
        let passed = walk.pass()?;
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

/// Finds where the value of one step begins.
fn follow(walk: &mut JsonWalk<'_>, step: &Step, kind: JsonKind) -> Result<Followed, ArtifactError> {
    match (step, kind) {
        (Step::Key(wanted), JsonKind::Object) => follow_key(walk, wanted),
        (Step::Index(wanted), JsonKind::Array) => {
            let from = walk.offset();
            let Ok(index) = u64::try_from(*wanted) else {
                let total = walk.pass()?.entries.unwrap_or(0);
                walk.seek(from);
                return match total.checked_sub(wanted.unsigned_abs()) {
                    Some(index) => follow_index(walk, index),
                    None => Ok(Followed::Nowhere { entries: Some(total), keys: Vec::new() }),
                };
            };
            follow_index(walk, index)
        }
        _ => {
            let keys = Vec::new();
            Ok(Followed::Nowhere { entries: None, keys })
        }
    }
}

fn follow_key(walk: &mut JsonWalk<'_>, wanted: &str) -> Result<Followed, ArtifactError> {
    let (mut entries, mut keys, mut found) = (0, Vec::new(), None);
    let mut goes_on = walk.enter()?;
    while goes_on {
        entries += 1;
        let key = walk.key()?;
        if key.as_deref() == Some(wanted) {
            found = Some(walk.offset());
        }
        if keys.len() < NAMED_KEYS {
            keys.extend(key.map(|key| key.chars().take(NAMED_KEY_CHARS).collect()));
        }
        walk.pass()?;
        goes_on = walk.next_entry(JsonKind::Object)?;
    }
    let entries = Some(entries);
    Ok(found.map_or(Followed::Nowhere { entries, keys }, Followed::To))
}

fn follow_index(walk: &mut JsonWalk<'_>, wanted: u64) -> Result<Followed, ArtifactError> {
    let mut entries = 0;
    let mut goes_on = walk.enter()?;
    while goes_on {
        if entries == wanted {
            return Ok(Followed::To(walk.offset()));
        }
        entries += 1;
        walk.pass()?;
        goes_on = walk.next_entry(JsonKind::Array)?;
    }
    Ok(Followed::Nowhere { entries: Some(entries), keys: Vec::new() })
}

#[cfg(test)]
mod tests;
