//! Names of types: a public one means one thing in the three library crates, and none is a participle.

use std::collections::BTreeMap;

use super::{crate_sources, sources, test_code};

/// The words between `pub` and the name of a type.
const KEYWORDS: [&str; 5] = ["struct ", "enum ", "trait ", "type ", "union "];

/// Participles that do not end in `ed`.
const PARTICIPLES: [&str; 32] = [
    "Begun", "Chosen", "Cut", "Done", "Drawn", "Found", "Given", "Gone", "Heard", "Held", "Kept",
    "Known", "Left", "Lent", "Made", "Meant", "Met", "Put", "Ran", "Read", "Said", "Seen", "Sent",
    "Shown", "Spent", "Split", "Taken", "Thrown", "Told", "Went", "Woke", "Written",
];

/// Names that look like participles: the part that clones of a handle share, and the arguments of `inkcell read`.
const ALLOWED: [(&str, &str); 2] = [("", "Shared"), ("crates/inkcell/src/args/mod.rs", "Read")];

/// The names of the types that a source defines, without those of its tests, and whether each is public.
fn types<'a>(path: &str, text: &'a str) -> Vec<(&'a str, bool)> {
    let tests = test_code(path, text);
    let name = |line: &'a str| {
        let line = line.trim_start();
        let (rest, is_public) = match line.strip_prefix("pub ") {
            Some(rest) => (rest, true),
            None => {
                let scope = line.strip_prefix("pub(").and_then(|rest| rest.split_once(") "));
                (scope.map_or(line, |(_, rest)| rest), false)
            }
        };
        let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
        let rest = KEYWORDS.iter().find_map(|keyword| rest.strip_prefix(keyword))?;
        let name = rest.split(|c: char| c != '_' && !c.is_alphanumeric()).next()?;
        Some((name, is_public))
    };
    text[..text.len() - tests.len()].lines().filter_map(name).collect()
}

/// The names of the public types that a source defines.
fn public_types<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    types(path, text)
        .into_iter()
        .filter_map(|(name, is_public)| is_public.then_some(name))
        .collect()
}

/// The types of a source that are named after what was done to them.
fn participles<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    let is_one_word = |name: &str| name.chars().filter(|c| c.is_uppercase()).count() == 1;
    let is_participle = |name: &str| {
        is_one_word(name)
            && (name.ends_with("ed") && !name.ends_with("eed") || PARTICIPLES.contains(&name))
    };
    let is_allowed =
        |name: &str| ALLOWED.iter().any(|(file, allowed)| *allowed == name && path.ends_with(file));
    let names = types(path, text).into_iter().map(|(name, _)| name);
    names.filter(|name| is_participle(name) && !is_allowed(name)).collect()
}

/// The names with more than one definition, each with the files that define it.
fn repeated(files: &[(String, String)]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, text) in files {
        for name in public_types(path, text) {
            places.entry(name).or_default().push(path);
        }
    }
    let repeated = places.into_iter().filter(|(_, paths)| paths.len() > 1);
    repeated.map(|(name, paths)| format!("{name}: {}", paths.join(", "))).collect()
}

#[test]
fn public_type_names_mean_one_thing() {
    let files: Vec<(String, String)> = ["notebook", "kernel", "engine"]
        .iter()
        .flat_map(|krate| sources(&format!("crates/{krate}/src")))
        .collect();
    assert!(files.iter().any(|(path, text)| !public_types(path, text).is_empty()));
    let found = repeated(&files);
    assert!(found.is_empty(), "rename one of each to a noun of its field: {found:#?}");
}

#[test]
fn repeated_type_names_are_found() {
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let found = |text: &str| {
        repeated(&[file("crates/kernel/src/a.rs", "pub struct Note(u8);\n"), file("b.rs", text)])
    };
    let wanted = ["Note: crates/kernel/src/a.rs, b.rs"];
    for text in [
        "pub enum Note {\n}\n",
        "mod inner {\n    pub struct Note<T> {}\n}\n",
        "pub unsafe trait Note: Send {}\n",
        "pub type Note = u8;\n",
    ] {
        assert_eq!(found(text), wanted, "{text}");
    }
    for text in [
        "pub(crate) struct Note;\n",
        "struct Note;\n",
        "pub struct Notes;\n",
        "// pub struct Note;\n",
        "pub use types::Note;\n",
        "#[cfg(test)]\nmod tests {\n    pub struct Note;\n}\n",
    ] {
        assert!(found(text).is_empty(), "{text}");
    }
    assert!(public_types("crates/kernel/src/a/tests.rs", "pub struct Note;\n").is_empty());
}

#[test]
fn no_type_is_named_by_a_participle() {
    let files = [crate_sources(), sources("xtask/src")].concat();
    let found: Vec<String> = files
        .iter()
        .flat_map(|(path, text)| {
            participles(path, text).into_iter().map(move |name| format!("{path}: {name}"))
        })
        .collect();
    assert!(found.is_empty(), "name each after what it is: {found:#?}");
}

#[test]
fn participles_are_found() {
    let found = |line: &str| participles("crates/kernel/src/a.rs", line).len();
    for line in [
        "struct Told(u8);\n",
        "pub(super) enum Resolved {\n",
        "pub(in crate::cli) struct Kept<'a> {\n",
        "    pub type Listed = u8;\n",
        "pub(crate) struct Read {\n",
    ] {
        assert_eq!(found(line), 1, "{line}");
    }
    for line in
        ["struct Seed;\n", "struct Shared {\n", "struct SavedChange;\n", "// struct Told;\n"]
    {
        assert_eq!(found(line), 0, "{line}");
    }
}
