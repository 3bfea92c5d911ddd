//! The record of a batch while it runs, so that it can be resumed after it was killed.
//!
//! Owns the lines: one for each row that ended well, with a digest of its notebook at that time. It is pure: it
//! must not know where the lines are kept.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The identity of a row, whatever its place in the plan.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct RowKey(String);

/// The identity of a batch, from everything that decides about its rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    name: String,
}

/// A row that ended well.
#[derive(Serialize, Deserialize)]
struct Line {
    row: RowKey,
    /// The digest of the notebook's cells.
    source: String,
}

impl RowKey {
    /// The key for this input, this output and these parameters.
    pub(crate) fn of(input: &Path, output: &Path, values: &[(String, String)]) -> RowKey {
        let mut hasher = Hasher::default();
        hasher.add(input.as_os_str().as_encoded_bytes());
        hasher.add(output.as_os_str().as_encoded_bytes());
        for (name, value) in values {
            hasher.add(name.as_bytes());
            hasher.add(value.as_bytes());
        }
        RowKey(hasher.finish())
    }
}

/// A digest of a notebook's cells: types, sources and tags, and nothing that a run writes.
pub(crate) fn source<'a>(cells: impl Iterator<Item = (&'a str, &'a str, &'a [String])>) -> String {
    let mut hasher = Hasher::default();
    for (kind, source, tags) in cells {
        hasher.add(kind.as_bytes());
        hasher.add(source.as_bytes());
        hasher.add(tags.len().to_string().as_bytes());
        tags.iter().for_each(|tag| hasher.add(tag.as_bytes()));
    }
    hasher.finish()
}

impl Record {
    /// The batch that these arguments mean in this folder.
    pub(crate) fn of<'a>(folder: &Path, words: impl IntoIterator<Item = &'a str>) -> Record {
        let mut hasher = Hasher::default();
        hasher.add(folder.as_os_str().as_encoded_bytes());
        words.into_iter().for_each(|word| hasher.add(word.as_bytes()));
        Record { name: hasher.finish() }
    }

    /// The name of its file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The line that records a row that ended well.
    pub(crate) fn line(row: &RowKey, source: &str) -> String {
        let line = Line { row: row.clone(), source: source.to_owned() };
        let mut text = serde_json::to_string(&line).unwrap_or_default();
        text.push('\n');
        text
    }
}

/// The finished rows of an earlier run of the batch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Past {
    done: HashMap<RowKey, String>,
}

impl Past {
    /// Parses the lines of a record. A line that is cut off or malformed is ignored.
    pub(crate) fn parse(text: &str) -> Past {
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let lines = lines.filter_map(|line| serde_json::from_str::<Line>(line).ok());
        Past { done: lines.map(|line| (line.row, line.source)).collect() }
    }

    /// Returns whether a row is finished, and with this notebook.
    pub(crate) fn has(&self, row: &RowKey, source: &str) -> bool {
        self.done.get(row).is_some_and(|known| known == source)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.done.is_empty()
    }
}

/// A digest that differs for any two different lists of texts.
#[derive(Default)]
struct Hasher(blake3::Hasher);

impl Hasher {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn finish(&self) -> String {
        self.0.finalize().to_hex()[..32].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(input: &str, value: &str) -> RowKey {
        let values = [("year".to_owned(), value.to_owned())];
        RowKey::of(Path::new(input), Path::new("out"), &values)
    }

    /// A line that a kill has cut in the middle does no harm.
    #[test]
    fn what_was_done_is_known_again() {
        let mut text = Record::line(&key("a", "1"), "old");
        text.push_str(&Record::line(&key("a", "1"), "new"));
        text.push_str("{\"nonsense\":1}\n");
        let cut = Record::line(&key("a", "2"), "new");
        text.push_str(cut.trim_end());
        let past = Past::parse(&text);
        assert!(past.has(&key("a", "1"), "new"));
        assert!(!past.has(&key("a", "1"), "old"), "the last word counts");
        assert!(!past.has(&key("a", "2"), "new"));
        assert!(Past::parse("").is_empty());
    }

    #[test]
    fn what_differs_has_another_name() {
        assert_ne!(key("a", "1"), key("a", "2"));
        assert_ne!(key("a", "1"), key("b", "1"));
        let record = |words: &[&str]| Record::of(Path::new("/w"), words.iter().copied());
        assert_ne!(record(&["ab", "c"]), record(&["a", "bc"]));
        assert_eq!(record(&["a"]).name().len(), 32);
        let none: &[String] = &[];
        let tagged = ["parameters".to_owned()];
        let of = |tags| source([("code", "x = 1", tags)].into_iter());
        assert_ne!(of(none), of(&tagged[..]));
        assert_eq!(of(none), of(none));
    }
}
