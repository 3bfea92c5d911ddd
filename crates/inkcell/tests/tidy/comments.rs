//! How comments read: the phrases they avoid, and doc comments that only repeat a name.
//!
//! Must not look at strings: what users read has rules of its own.

use inkcell_testkit::prose::{Place, faults};

use super::sources;

/// Doc comments here become help texts and schemas, which users read.
const FOR_USERS: [&str; 3] =
    ["/src/args/", "crates/inkcell/src/mcp/tools/", "crates/inkcell/src/mcp/compat/"];

/// The text of a comment line, and whether it documents an item.
fn comment(line: &str) -> Option<(&str, bool)> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
    let is_doc = text.is_some();
    text.or_else(|| line.strip_prefix("//")).map(|text| (text.trim(), is_doc))
}

/// The lines whose comments a stranger would read twice, with the reason.
fn unclear(path: &str, text: &str) -> Vec<String> {
    let is_for_users = FOR_USERS.iter().any(|place| path.contains(place));
    let lines: Vec<_> = text.lines().map(comment).collect();
    let is_comment = |at: Option<usize>| at.and_then(|at| *lines.get(at)?).is_some();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((comment, is_doc)) = *line else { continue };
        if is_for_users && is_doc {
            continue;
        }
        let place = format!("{path}:{}", at + 1);
        let faults = faults(comment, Place::Comment);
        found.extend(faults.iter().map(|fault| format!("{place}: {comment:?} {fault}")));
        // The name of a statement says what a test shows.
        let is_statement = ["B:", "F-", "S-", "E-", "#", "[", "```"];
        let is_named = is_statement.iter().any(|start| comment.starts_with(start));
        let is_alone = !is_comment(at.checked_sub(1)) && !is_comment(Some(at + 1));
        let words = comment.split_whitespace().count();
        if is_doc && is_alone && !is_named && (1..=3).contains(&words) {
            found.push(format!("{place}: {comment:?} says no more than a name"));
        }
    }
    found
}

#[test]
fn comments_are_read_once() {
    let mut found = Vec::new();
    for below in ["crates", "xtask"] {
        for (path, text) in sources(below) {
            // The rules themselves.
            if !path.ends_with("tidy/comments.rs") {
                found.extend(unclear(&path, &text));
            }
        }
    }
    assert!(found.is_empty(), "{} comments: {found:#?}", found.len());
}

#[test]
fn unclear_comments_are_found() {
    let count = |text: &str| unclear("crates/a/src/b.rs", text).len();
    assert_eq!(count("// Whoever asks gets it.\nfn f() {}\n"), 1);
    assert_eq!(count("/// Its name.\nfn f() {}\n"), 1);
    assert_eq!(count("/// B:N-12\nfn f() {}\n"), 0);
    assert_eq!(count("/// Its name.\n/// In UTF-8, at most 80 bytes.\nfn f() {}\n"), 0);
    assert_eq!(count("let text = \"nobody\";\n"), 0);
    assert_eq!(count("// The newer kernel renews it.\n"), 0);
    assert!(unclear("crates/inkcell/src/args/a.rs", "/// Its name.\nfn f() {}\n").is_empty());
}
