//! Values of an artifact that is JSON, by their path.
//!
//! Owns the small language of paths. Steps are `.key`, `[0]`, `[-1]` for the last, and `["any key"]`, one after the
//! other, as in Python's `output(id, query=...)`. `[2:5]` and `[*]` lead to several values. An empty path, `.` or `$`
//! is the whole. `| keys`, `| length` and `| skeleton` at the end tell about the value. It must not know how JSON is
//! spelled.

use std::collections::VecDeque;

pub use inkcell_notebook::JsonKind;
use inkcell_notebook::{JsonRole, JsonToken};

use super::error::{ArtifactError, shortened};
use super::json::{JsonWalk, PassedValue};
use super::json_shape;
use super::read::{Artifact, whole_characters};

/// Number of keys that an error names, and the length of each.
const NAMED_KEYS: usize = 20;
const NAMED_KEY_CHARS: usize = 60;
const MAX_PATH_BYTES: usize = 4096;
/// Entries remembered on the way to one that is counted from the end.
const MAX_REMEMBERED: usize = 4096;
/// How many values of a path that leads to several are remembered. Further ones are only counted.
const MAX_VALUES: usize = 1 << 16;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Key(String),
    Index(i64),
    /// The entries from one to before another; all when neither is given.
    Range(Option<i64>, Option<i64>),
}

/// The facts about a value that a path asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum JsonView {
    Value,
    Keys,
    Length,
    Skeleton,
}

/// A path to a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonPath {
    steps: Vec<Step>,
    view: JsonView,
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
    /// The path leads to several values, or asks about one.
    Made {
        /// The values as an array, or the facts.
        text: String,
        /// Number of values or keys in the text.
        shown: u64,
        /// Number of all of them.
        count: u64,
    },
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
        let view = |name: &str| match name.trim() {
            "keys" => Some(JsonView::Keys),
            "length" => Some(JsonView::Length),
            "skeleton" => Some(JsonView::Skeleton),
            _ => None,
        };
        let asked = path.rsplit_once('|').and_then(|(path, name)| Some((path, view(name)?)));
        let (mut rest, view) = asked.unwrap_or((path, JsonView::Value));
        rest = rest.trim_end();
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
        Ok(JsonPath { steps, view })
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
    let (inner, rest) = inner.split_once(']')?;
    let bound = |text: &str| match text.trim() {
        "" => Some(None),
        text => whole_number(text).map(Some),
    };
    let step = match (inner.trim(), inner.split_once(':')) {
        ("*", _) => Step::Range(None, None),
        (_, Some((from, to))) => Step::Range(bound(from)?, bound(to)?),
        (index, None) => Step::Index(whole_number(index)?),
    };
    Some((step, rest))
}

fn whole_number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

enum Outcome {
    Value {
        offset: u64,
        passed: PassedValue,
    },
    /// Where the first values begin and end, and the number of all.
    Values {
        spans: Vec<(u64, u64)>,
        count: u64,
    },
    Nothing {
        followed: usize,
        kind: JsonKind,
        entries: Option<u64>,
        keys: Vec<String>,
    },
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
            Outcome::Values { spans, count } => return self.values(&spans, count, path, max_bytes),
            Outcome::Nothing { followed, kind, entries, keys } => {
                return Ok(JsonFound::Nothing { followed, kind, entries, keys });
            }
        };
        if path.view != JsonView::Value {
            return self.json_view(offset, passed, path);
        }
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

impl Artifact {
    /// Several values as an array, as far as they fit. A question about keys or types is about the first of them.
    fn values(
        &self,
        spans: &[(u64, u64)],
        count: u64,
        path: &JsonPath,
        max_bytes: usize,
    ) -> Result<JsonFound, ArtifactError> {
        if path.view == JsonView::Length {
            return Ok(JsonFound::Made { text: count.to_string(), shown: 1, count: 1 });
        }
        if let (JsonView::Keys | JsonView::Skeleton, Some((offset, _))) = (path.view, spans.first())
        {
            let mut walk = JsonWalk::new(self)?;
            let first = walk.enter(*offset)?;
            return self.json_view(*offset, walk.pass(first)?, path);
        }
        let (mut text, mut shown) = ("[".to_owned(), 0);
        for (start, end) in spans {
            let length = usize::try_from(end - start).unwrap_or(usize::MAX);
            if text.len().saturating_add(length) > max_bytes {
                break;
            }
            text.push_str(if shown == 0 { "\n" } else { ",\n" });
            text.push_str(&String::from_utf8_lossy(&self.block(*start, length)?));
            shown += 1;
        }
        text.push_str(if shown == 0 { "]" } else { "\n]" });
        Ok(JsonFound::Made { text, shown, count })
    }

    /// The facts that a path asks for, about the value at this offset.
    fn json_view(
        &self,
        offset: u64,
        passed: PassedValue,
        path: &JsonPath,
    ) -> Result<JsonFound, ArtifactError> {
        let mut walk = JsonWalk::new(self)?;
        let first = walk.enter(offset)?;
        let (text, shown, count) = match (path.view, passed.kind, passed.entries) {
            (JsonView::Keys, JsonKind::Object, _) => json_shape::keys(&mut walk)?,
            (JsonView::Length, _, Some(entries)) => (entries.to_string(), 1, 1),
            (JsonView::Skeleton, ..) => {
                let mut text = String::new();
                json_shape::draw(&mut walk, first, 0, &mut text)?;
                (text, 1, 1)
            }
            (_, kind, entries) => {
                let followed = path.steps.len();
                return Ok(JsonFound::Nothing { followed, kind, entries, keys: Vec::new() });
            }
        };
        Ok(JsonFound::Made { text, shown, count })
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
        (Step::Range(from, to), JsonKind::Array | JsonKind::Object) => {
            follow_range(walk, first, (*from, *to), steps, followed)
        }
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

/// Follows the path from several entries. An entry from which it leads nowhere is left out.
fn follow_range(
    walk: &mut JsonWalk<'_>,
    first: JsonToken<'_>,
    (from, to): (Option<i64>, Option<i64>),
    steps: &[Step],
    followed: usize,
) -> Result<Outcome, ArtifactError> {
    let (start, has_keys) = (first.start, first.kind == JsonKind::Object);
    let entries = walk.pass(first)?.entries.unwrap_or(0);
    let end = walk.mark();
    let place = |given: i64| match u64::try_from(given) {
        Ok(place) => place.min(entries),
        Err(_) => entries.saturating_sub(given.unsigned_abs()),
    };
    let (from, to) = (from.map_or(0, place), to.map_or(entries, place));
    let (mut spans, mut count) = (Vec::new(), 0);
    walk.enter(start)?;
    for at in 0..to {
        if has_keys {
            walk.next()?;
        }
        let entry = walk.next()?;
        if at < from {
            walk.pass(entry)?;
            continue;
        }
        match follow(walk, entry, steps, followed + 1, Rest::Needed)? {
            Outcome::Value { offset, passed } => {
                count += 1;
                spans.push((offset, passed.end));
            }
            Outcome::Values { spans: more, count: found } => {
                count += found;
                spans.extend(more);
            }
            Outcome::Nothing { .. } => {}
        }
        spans.truncate(MAX_VALUES);
    }
    walk.return_to(end);
    Ok(Outcome::Values { spans, count })
}

#[cfg(test)]
mod tests;
