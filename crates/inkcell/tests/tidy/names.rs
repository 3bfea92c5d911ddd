//! Names of public types: one name means one thing in the three library crates.

use std::collections::BTreeMap;

use super::{sources, test_code};

/// The words between `pub` and the name of a type.
const KEYWORDS: [&str; 5] = ["struct ", "enum ", "trait ", "type ", "union "];

/// The names of the public types that a source defines, without those of its tests.
fn public_types<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    let tests = test_code(path, text);
    let name = |line: &'a str| {
        let rest = line.trim_start().strip_prefix("pub ")?;
        let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
        let rest = KEYWORDS.iter().find_map(|keyword| rest.strip_prefix(keyword))?;
        rest.split(|c: char| c != '_' && !c.is_alphanumeric()).next()
    };
    text[..text.len() - tests.len()].lines().filter_map(name).collect()
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
