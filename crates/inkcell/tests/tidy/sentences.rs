//! Where sentences stand: what users and models read is in `words`, and the faces only place it.

use super::{sources, test_code};

/// The folders whose sentences are in `words`.
const FACES: [&str; 1] = ["view"];

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

/// The string literals of a source, without its tests, that are sentences: four words or more.
fn sentences(path: &str, text: &str) -> Vec<String> {
    let code = &text[..text.len() - test_code(path, text).len()];
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    let code = code.replace("'\"'", "").replace("\\\\", "").replace("\\\"", "");
    let code = without_attributes(&code);
    let literals = code.split('"').skip(1).step_by(2);
    // A sequence for a terminal is not read.
    let is_sentence = |literal: &&str| words(literal) >= 4 && !literal.starts_with("\\u{1b}");
    literals.filter(is_sentence).map(str::to_owned).collect()
}

#[test]
fn sentences_stand_in_one_module() {
    let mut wrong = Vec::new();
    for face in FACES {
        for (path, text) in sources(&format!("crates/inkcell/src/{face}")) {
            let found = sentences(&path, &text);
            if !found.is_empty() {
                wrong.push(format!("{path} has {}: {found:?}", found.len()));
            }
        }
    }
    assert!(wrong.is_empty(), "move these to words: {wrong:#?}");
}

#[test]
fn sentences_are_told_from_other_strings() {
    let count = |text: &str| sentences("crates/inkcell/src/view/a.rs", text).len();
    assert_eq!(count("let a = \"the kernel was ended\";"), 1);
    assert_eq!(count("let a = format!(\"{a} of {b} ran, {}\", \"it was \\\"not run\\\"\");"), 1);
    assert_eq!(count("// \"the kernel was ended\"\nlet a = '\"'; let b = \"cell\";"), 0);
    assert_eq!(count("#[error(\n    \"the [kernel] was ended\"\n)]\nEnded,"), 0);
    assert_eq!(count("let a = \"\\u{1b}]1337;File=inline=1;width=3;height=4;type=a;name=b\";"), 0);
    assert_eq!(count("mod tests {\n    let a = \"the kernel was ended\";\n}"), 0);
}
