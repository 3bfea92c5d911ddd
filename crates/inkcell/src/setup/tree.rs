//! The content of a configuration, in any format.
//!
//! Owns the change that adds an entry, and the proof that nothing else changed. It must not know text.

use super::{Entry, Field, Hold, Refusal, Task, Value};
use crate::words;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Tree {
    /// Text after decoding, without quotes and escapes.
    Text(String),
    /// A number, a boolean, null or a date, as it is written.
    Other(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

/// A server with one of these keys is reached over the network, and is not of our kind.
const REMOTE: [&str; 4] = ["url", "uri", "serverUrl", "httpUrl"];

impl Tree {
    pub(super) fn empty() -> Tree {
        Tree::Map(Vec::new())
    }

    fn is_nothing(&self) -> bool {
        match self {
            Tree::Other(text) => matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"),
            Tree::Map(entries) => entries.is_empty(),
            Tree::Text(_) | Tree::List(_) => false,
        }
    }
}

impl Value {
    fn tree(&self) -> Tree {
        match self {
            Value::Text(text) => Tree::Text(text.clone()),
            Value::Texts(texts) => Tree::List(texts.iter().cloned().map(Tree::Text).collect()),
            Value::Switch(on) => Tree::Other(on.to_string()),
            Value::Number(number) => Tree::Other(number.to_string()),
        }
    }
}

/// The value of a key that may occur at most once.
fn only<'a>(
    map: &'a [(String, Tree)],
    key: &str,
    shown: &str,
) -> Result<Option<&'a Tree>, Refusal> {
    let mut found = map.iter().filter(|(name, _)| name == key).map(|(_, value)| value);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(Refusal::Shape(words::setup::twice(shown))),
        (first, None) => Ok(first),
    }
}

/// The edit that is needed; none if the entry is there as it should be.
pub(super) fn wanted<'a>(tree: &Tree, entry: &'a Entry) -> Result<Option<Task<'a>>, Refusal> {
    let Entry { table, name, fields } = entry;
    let root = match tree {
        Tree::Map(root) => root,
        other if other.is_nothing() => return Ok(Some(Task::Add)),
        _ => return Err(Refusal::Shape(words::setup::NOT_TABLE.into())),
    };
    let servers = match only(root, table, table)? {
        Some(Tree::Map(servers)) => servers,
        None => return Ok(Some(Task::Add)),
        Some(other) if other.is_nothing() => return Ok(Some(Task::Add)),
        Some(_) => return Err(Refusal::Shape(words::setup::not_servers(&table))),
    };
    let shown = format!("{table}.{name}");
    let found = match only(servers, name, &shown)? {
        Some(Tree::Map(found)) => found,
        None => return Ok(Some(Task::Add)),
        Some(_) => return Err(Refusal::Shape(words::setup::not_server(&shown))),
    };
    if let Some(key) = REMOTE.iter().find(|key| found.iter().any(|(name, _)| name == *key)) {
        return Err(Refusal::Taken(words::setup::reached_by(&shown, key)));
    }
    let mut missing = Vec::new();
    for field in fields.iter().filter(|field| field.hold == Hold::Always) {
        match only(found, field.key, &format!("{shown}.{}", field.key))? {
            Some(value) if *value == field.value.tree() => {}
            Some(Tree::Text(other)) if field.key == "type" => {
                return Err(Refusal::Taken(words::setup::of_type(&shown, other)));
            }
            _ => missing.push(field),
        }
    }
    Ok((!missing.is_empty()).then_some(Task::Set(missing)))
}

/// Returns whether one tree is the other plus the entry, and nothing else.
pub(super) fn is_only_change(before: &Tree, after: &Tree, entry: &Entry) -> bool {
    let is_done = matches!(wanted(after, entry), Ok(None));
    let (rest_before, old) = taken_apart(before, entry);
    let (rest_after, new) = taken_apart(after, entry);
    let is_field = |field: &Field, key: &str| field.key == key;
    // In an existing entry, only the fields that we set may differ.
    let own = |map: &[(String, Tree)]| -> Vec<(String, Tree)> {
        let is_ours = |key: &str| {
            entry.fields.iter().any(|field| field.hold == Hold::Always && is_field(field, key))
        };
        map.iter().filter(|(key, _)| !is_ours(key)).cloned().collect()
    };
    let is_kept = match (&old, &new) {
        (Some(old), Some(new)) => own(old) == own(new),
        (None, Some(new)) => {
            new.len() == entry.fields.len()
                && entry
                    .fields
                    .iter()
                    .all(|field| new.contains(&(field.key.to_owned(), field.value.tree())))
        }
        _ => false,
    };
    is_done && rest_before == rest_after && is_kept
}

type Map = Vec<(String, Tree)>;

/// The rest of the tree, and the entry. An empty table counts as absent.
fn taken_apart(tree: &Tree, entry: &Entry) -> (Map, Option<Map>) {
    let mut root = match tree {
        Tree::Map(root) => root.clone(),
        _ => Map::new(),
    };
    let mut taken = None;
    for (key, value) in &mut root {
        if key == entry.table
            && let Tree::Map(servers) = value
        {
            servers.retain(|(name, value)| match value {
                Tree::Map(found) if *name == entry.name => {
                    taken = Some(found.clone());
                    false
                }
                _ => true,
            });
        }
    }
    root.retain(|(key, value)| key != entry.table || !value.is_nothing());
    (root, taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, Tree)]) -> Tree {
        Tree::Map(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    }

    fn text(word: &str) -> Tree {
        Tree::Text(word.to_owned())
    }

    /// The proof accepts the intended change, and no other.
    #[test]
    fn any_other_change_is_seen() {
        let field = |key, value: &str, hold| Field { key, value: Value::Text(value.into()), hold };
        let fields = vec![field("command", "x", Hold::Always), field("on", "y", Hold::WhenNew)];
        let entry = Entry { table: "t", name: "n".to_owned(), fields };
        let new = map(&[("command", text("x")), ("on", text("y"))]);
        let mine = map(&[("command", text("old")), ("env", text("e"))]);
        let mended = map(&[("command", text("x")), ("env", text("e"))]);
        let lost = map(&[("command", text("x"))]);
        let file = |rest: &str, servers: &[(&str, Tree)]| {
            map(&[("rest", text(rest)), ("t", map(servers))])
        };
        let other = ("o", text("o"));
        let none = map(&[("rest", text("r"))]);
        let table = [
            (&none, file("r", &[("n", new.clone())]), true),
            (&file("r", &[]), file("r", &[("n", new.clone())]), true),
            (
                &file("r", std::slice::from_ref(&other)),
                file("r", &[("n", new.clone()), other.clone()]),
                true,
            ),
            (&file("r", &[("n", mine.clone())]), file("r", &[("n", mended)]), true),
            (&none, none.clone(), false),
            (&none, file("s", &[("n", new.clone())]), false),
            (&none, file("r", &[("n", new.clone()), other.clone()]), false),
            (&none, file("r", &[("n", lost.clone())]), false),
            (&file("r", &[other]), file("r", &[("n", new)]), false),
            (&file("r", &[("n", mine)]), file("r", &[("n", lost)]), false),
        ];
        for (before, after, wanted) in table {
            assert_eq!(is_only_change(before, &after, &entry), wanted, "{before:?} {after:?}");
        }
    }
}
