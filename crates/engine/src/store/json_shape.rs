//! The shape of a value in an artifact that is JSON: its keys, its types and how many entries they have.
//!
//! Owns the size of what is told, which is small for a value of any size. It must not know paths.

use inkcell_notebook::{JsonKind, JsonRole, JsonToken};

use super::error::ArtifactError;
use super::json::JsonWalk;

/// The most keys in a list of keys, and the most keys of one object in a skeleton.
const LISTED_KEYS: u64 = 1000;
const SHOWN_KEYS: u64 = 50;
/// A skeleton only counts values at this depth, and all further values once it has this many bytes.
const DEEPEST: usize = 8;
const MOST_BYTES: usize = 16 * 1024;

/// The keys of an object as JSON, with the number of keys in this text and the number of all.
pub(super) fn keys(walk: &mut JsonWalk<'_>) -> Result<(String, u64, u64), ArtifactError> {
    let (mut keys, mut count) = (Vec::new(), 0);
    while walk.next()?.role == JsonRole::Key {
        count += 1;
        if count <= LISTED_KEYS {
            keys.push(key(walk));
        }
        let value = walk.next()?;
        walk.pass(value)?;
    }
    Ok((format!("[{}]", keys.join(", ")), count.min(LISTED_KEYS), count))
}

/// The last key as JSON; one that cannot be named is an ellipsis.
fn key(walk: &JsonWalk<'_>) -> String {
    walk.key().map_or("…".to_owned(), |key| serde_json::Value::from(key).to_string())
}

/// Draws the types in the value that begins with this token. The first item of an array stands for all.
pub(super) fn draw(
    walk: &mut JsonWalk<'_>,
    first: JsonToken<'_>,
    depth: usize,
    out: &mut String,
) -> Result<(), ArtifactError> {
    let is_open = depth < DEEPEST && out.len() < MOST_BYTES;
    match first.kind {
        JsonKind::Object if is_open => draw_object(walk, depth, out),
        JsonKind::Array if is_open => {
            let mut count = 0u64;
            out.push('[');
            let start = out.len();
            loop {
                let item = walk.next()?;
                if item.role == JsonRole::Close {
                    break;
                }
                match count {
                    0 => draw(walk, item, depth + 1, out)?,
                    _ => drop(walk.pass(item)?),
                }
                count += 1;
            }
            if count > 0 {
                out.insert_str(start, &format!("{count} × "));
            }
            out.push(']');
            Ok(())
        }
        kind => {
            let entries = walk.pass(first)?.entries;
            match (kind, entries) {
                (JsonKind::Object, Some(count)) => out.push_str(&format!("{{{count} keys}}")),
                (_, Some(count)) => out.push_str(&format!("[{count} items]")),
                (_, None) => out.push_str(kind.name()),
            }
            Ok(())
        }
    }
}

fn draw_object(
    walk: &mut JsonWalk<'_>,
    depth: usize,
    out: &mut String,
) -> Result<(), ArtifactError> {
    let indent = "  ".repeat(depth);
    let mut count = 0;
    out.push('{');
    while walk.next()?.role == JsonRole::Key {
        count += 1;
        let name = key(walk);
        let value = walk.next()?;
        if count > SHOWN_KEYS {
            walk.pass(value)?;
            continue;
        }
        out.push_str(&format!("\n{indent}  {name}: "));
        draw(walk, value, depth + 1, out)?;
    }
    if count > SHOWN_KEYS {
        out.push_str(&format!("\n{indent}  … {} more keys", count - SHOWN_KEYS));
    }
    out.push_str(&if count == 0 { "}".to_owned() } else { format!("\n{indent}}}") });
    Ok(())
}
