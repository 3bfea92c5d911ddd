//! Finds the tests that name a statement: `B:` and an id for behaviour, a bare id for reliability.
//!
//! Owns which files and which lines count as tests. Must not know which statements exist.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context as _, Result};
use regex::Regex;

use super::functions::Functions;

/// One mention of one statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention {
    /// The id as the place spells it, which may not exist.
    pub(super) name: String,
    /// Path of the function, such as `crate::file::function`.
    pub(super) place: String,
    /// False for a place that names a statement but does not test it, such as a page of prose.
    pub(super) by_test: bool,
}

/// After `B:` the pattern accepts more than an id, so that a mistake is reported instead of
/// overlooked. It does not require a comment or string around it: such text does not occur in
/// formatted code.
#[expect(clippy::expect_used, reason = "the pattern is a constant, and each test run compiles it")]
static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\bB:([A-Za-z]-[0-9]\w*)|\b([FS]-[0-9]{3})\b").expect("a valid pattern")
});

/// Finds every mention by a test in the files below `root`.
pub(super) fn in_workspace(root: &Path) -> Result<Vec<Mention>> {
    let mut mentions = Vec::new();
    walk(root, root, &mut mentions)?;
    mentions.sort_by(|a, b| (&a.name, &a.place).cmp(&(&b.name, &b.place)));
    Ok(mentions)
}

/// Finds mentions in a page of prose, which must be real but do not count as tests.
pub(super) fn in_prose(text: &str, place: &str) -> Vec<Mention> {
    names(text)
        .map(|(_, name)| Mention { name: name.to_owned(), place: place.to_owned(), by_test: false })
        .collect()
}

fn walk(root: &Path, dir: &Path, mentions: &mut Vec<Mention>) -> Result<()> {
    let entries = dir.read_dir().with_context(|| format!("cannot list {}", dir.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {}", dir.display()))?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let kind = entry.file_type().with_context(|| format!("cannot look at {name}"))?;
        if kind.is_dir() {
            if !is_foreign(&path, &name) {
                walk(root, &path, mentions)?;
            }
        } else if kind.is_file() && (name.ends_with(".rs") || name.ends_with(".py")) {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let relative = path.strip_prefix(root).unwrap_or(&path);
            mentions.extend(in_file(&relative.to_string_lossy().replace('\\', "/"), &text));
        }
    }
    Ok(())
}

/// True for build output, hidden folders and other people's packages, and for this chore itself,
/// whose samples name statements without testing them.
fn is_foreign(path: &Path, name: &str) -> bool {
    name.starts_with('.')
        || name == "target"
        || path.join("pyvenv.cfg").exists()
        || path.ends_with("xtask/src/spec")
}

/// Finds the mentions in one file, given its path relative to the root.
pub(super) fn in_file(path: &str, text: &str) -> Vec<Mention> {
    // Most files name no statement. This check is fast; finding functions is not.
    if !["B:", "F-", "S-"].iter().any(|sign| text.contains(sign)) {
        return Vec::new();
    }
    let Some(start) = first_test_byte(path, text) else { return Vec::new() };
    let named: Vec<_> = names(text).filter(|(offset, _)| *offset >= start).collect();
    if named.is_empty() {
        return Vec::new();
    }
    let module = module_name(path);
    let functions =
        if path.ends_with(".py") { Functions::of_python(text) } else { Functions::of_rust(text) };
    let mention = |(offset, name): (usize, &str)| {
        let place = match functions.named_at(offset) {
            Some(function) => format!("{module}::{function}"),
            None => module.clone(),
        };
        Mention { name: name.to_owned(), place, by_test: true }
    };
    named.into_iter().map(mention).collect()
}

fn names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    PATTERN.captures_iter(text).filter_map(|found| {
        let name = found.get(1).or_else(|| found.get(2))?;
        Some((name.start(), name.as_str()))
    })
}

/// The offset of a file's first test, if it has any: 0 for a test file such as `tests.rs` or one
/// under `tests/`, else the offset of `#[cfg(test)]`.
fn first_test_byte(path: &str, text: &str) -> Option<usize> {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name.ends_with(".py") {
        let is_test = name.starts_with("test_") || dir.split('/').any(|part| part == "tests");
        return is_test.then_some(0);
    }
    if name == "tests.rs" || dir.split('/').any(|part| part == "tests") {
        return Some(0);
    }
    let mut offset = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        // `#[cfg(test)] mod tests;` says that another file contains the tests.
        let declares = |next: &&str| next.trim_end().ends_with(';');
        if line.trim() == "#[cfg(test)]" && !lines.peek().is_some_and(declares) {
            return Some(offset);
        }
        offset += line.len();
    }
    None
}

/// Converts a path: `crates/notebook/tests/it/save.rs` becomes `notebook::it::save`.
fn module_name(path: &str) -> String {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let inner = stem.strip_prefix("crates/").unwrap_or(stem);
    let (krate, file) = inner.split_once('/').unwrap_or(("", inner));
    let file = ["src/", "tests/"].iter().find_map(|top| file.strip_prefix(top)).unwrap_or(file);
    format!("{krate}::{}", file.replace('/', "::"))
}
