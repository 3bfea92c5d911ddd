//! The sentences that users and models read: they are in `words`, the faces only place them, and a stranger reads
//! them once.

use std::sync::LazyLock;

use inkcell_testkit::prose::{Place, faults, long_sentences};
use regex::Regex;

use super::{crate_sources, sources, test_code};

/// The folders whose sentences are in `words`.
const FACES: [&str; 12] = [
    "app", "batch", "cli", "client", "host", "http", "log", "mcp", "settings", "setup", "term",
    "view",
];

/// Files with text that is not a sentence of a face, or that is a table of its own, and how many literals. A number may
/// only shrink.
const EXCEPTIONS: [(&str, usize); 15] = [
    // Markup, headers and JSON.
    ("batch/junit.rs", 4),
    ("cli/result.rs", 1),
    ("cli/verify/junit.rs", 3),
    ("http/routes.rs", 1),
    ("mcp/protocol/markdown.rs", 2),
    // Programs, commands and folders.
    ("cli/doctor/kernels.rs", 1),
    ("mcp/tools/bash/command.rs", 1),
    ("setup/client.rs", 2),
    // The titles of tools, beside their descriptions.
    ("mcp/compat/by_id.rs", 1),
    ("mcp/compat/edit.rs", 1),
    ("mcp/compat/notebook.rs", 1),
    // The prompts that the server offers.
    ("mcp/protocol/prompts.rs", 6),
    // What each setting means, and which values it takes.
    ("settings/table.rs", 3),
    ("settings/table/rows.rs", 59),
    ("settings/value.rs", 6),
];

/// The words of a text, without what a format fills in.
fn words(text: &str) -> usize {
    let mut depth = 0;
    let shown = text.chars().filter(|c| {
        depth += i32::from(*c == '{');
        let is_shown = depth == 0;
        depth -= i32::from(*c == '}');
        is_shown
    });
    let shown: String = shown.collect();
    shown.split(|c: char| !c.is_alphabetic() && c != '\'').filter(|word| word.len() > 1).count()
}

/// The code without attributes: the text of an error stands at its type.
fn without_attributes(code: &str) -> String {
    let (mut depth, mut is_string) = (0, false);
    let is_code = |line: &&str| {
        let begins = ["#[", "#!["].iter().any(|begin| line.trim_start().starts_with(begin));
        if depth == 0 && !begins {
            return true;
        }
        for c in line.chars() {
            match c {
                '"' => is_string = !is_string,
                '[' if !is_string => depth += 1,
                ']' if !is_string => depth -= 1,
                _ => {}
            }
        }
        false
    };
    code.lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

/// The code of a source that can be shown, without its tests.
fn shown_code(path: &str, text: &str) -> String {
    let code = &text[..text.len() - test_code(path, text).len()];
    // Lines for the log are not shown.
    let is_shown =
        |line: &&str| !line.trim_start().starts_with("//") && !line.contains("tracing::");
    code.lines().filter(is_shown).collect::<Vec<_>>().join("\n").replace("'\"'", "")
}

/// The string literals of a source, without its tests, that are sentences: four words or more.
fn sentences(path: &str, text: &str) -> Vec<String> {
    let code = shown_code(path, text);
    let code = code.replace("\\\\", "").replace("\\\"", "");
    let code = without_attributes(&code);
    let literals = code.split('"').skip(1).step_by(2);
    // The name of a variable is one word, and a sequence for a terminal is not read.
    let is_sentence = |literal: &&str| {
        words(literal) >= 4 && literal.contains(' ') && !literal.starts_with("\\u{1b}")
    };
    literals.filter(is_sentence).map(str::to_owned).collect()
}

#[test]
fn sentences_stand_in_one_module() {
    let mut wrong = Vec::new();
    for face in FACES {
        for (path, text) in sources(&format!("crates/inkcell/src/{face}")) {
            let file = path.trim_start_matches("crates/inkcell/src/");
            let found = sentences(&path, &text);
            let row = EXCEPTIONS.iter().find(|(name, _)| *name == file);
            if found.len() != row.map_or(0, |(_, count)| *count) {
                wrong.push(format!("{file} has {}: {found:?}", found.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "move these to words, or lower the number here: {wrong:#?}");
}

#[test]
fn sentences_differ_from_other_strings() {
    let count = |text: &str| sentences("crates/inkcell/src/view/a.rs", text).len();
    assert_eq!(count("let a = \"the kernel was ended\";"), 1);
    assert_eq!(count("let a = format!(\"{a} of {b} ran, {}\", \"it was \\\"not run\\\"\");"), 1);
    assert_eq!(count("// \"the kernel was ended\"\nlet a = '\"'; let b = \"cell\";"), 0);
    assert_eq!(count("#[error(\n    \"the [kernel] was ended\"\n)]\nEnded,"), 0);
    assert_eq!(count("let a = \"\\u{1b}]1337;File=inline=1;width=3;height=4;type=a;name=b\";"), 0);
    assert_eq!(count("tracing::warn!(\"the kernel was ended\");"), 0);
    assert_eq!(count("(\"INKCELL_A_B_C_D\", 1)"), 0);
    assert_eq!(count("mod tests {\n    let a = \"the kernel was ended\";\n}"), 0);
}

/// Texts that the source documents fix, which the compatible tools say.
const OF_DOCUMENTS: [&str; 4] = [
    "Line selector 0 is invalid; lines are 1-indexed. Use :1.",
    "Invalid range {start}-{end}: end must be >= start.",
    "Invalid range {start}+0: count must be >= 1.",
    "expected first line to be \"# %% [code] cell:0\", \"# %% [markdown] cell:0\", or \"# %% [raw] cell:0\".",
];

/// A string literal of a source as it is shown.
fn unescaped(literal: &str) -> String {
    let mut lines = literal.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    let joined = lines.fold(first, |text, line| text + line.trim_start());
    joined.replace("\\n", "\n").replace("\\\"", "\"")
}

/// A string literal, and whether it is the text of an error.
static LITERAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"(?s)(#\[error\(\s*)?"((?:[^"\\]|\\.)*)""#).expect("a pattern"));

/// What a stranger would read twice in the texts of a source, or a final stop in an error.
fn unclear(path: &str, text: &str) -> Vec<String> {
    let code = shown_code(path, text);
    let mut found = Vec::new();
    for captures in LITERAL.captures_iter(&code) {
        let text = unescaped(&captures[2]);
        let is_program = ["import ", "print(", "__"].iter().any(|part| text.contains(part));
        if is_program || !text.contains(' ') || OF_DOCUMENTS.contains(&text.as_str()) {
            continue;
        }
        let mut wrong = [faults(&text, Place::Text), long_sentences(&text)].concat();
        if captures.get(1).is_some() && text.ends_with('.') {
            wrong.push("ends with a full stop".to_owned());
        }
        found.extend(wrong.iter().map(|fault| format!("{path}: {text:?} {fault}")));
    }
    found
}

#[test]
fn texts_are_read_once() {
    let found: Vec<String> =
        crate_sources().iter().flat_map(|(path, text)| unclear(path, text)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn unclear_texts_are_found() {
    let count = |text: &str| unclear("crates/inkcell/src/words/a.rs", text).len();
    assert_eq!(count("let a = \"{path} is no notebook\";"), 1);
    assert_eq!(count("format!(\n    \"the end of it; \\\n     there is \\\"none\\\"\"\n)"), 1);
    assert_eq!(count("#[error(\n    \"{path} is missing.\"\n)]\nMissing,"), 1);
    assert_eq!(count("#[error(\"{path} is missing\")]\nMissing,\nlet a = \"It is gone.\";"), 0);
    assert_eq!(count("// \"somebody else\"\ntracing::debug!(\"{name} is no kernel\");"), 0);
}
