//! Where sentences stand: what users and models read is in `view/words`, and painters only place it.

use super::{sources, test_code};

/// Painters that still hold sentences of their own, and how many. A number may only become smaller.
const EXCEPTIONS: [(&str, usize); 17] = [
    ("bounded_outputs.rs", 1),
    ("ending.rs", 6),
    ("freshness.rs", 1),
    ("inspection.rs", 8),
    ("outline.rs", 1),
    ("recorded.rs", 1),
    ("reply.rs", 8),
    ("report.rs", 8),
    ("run.rs", 10),
    ("sessions.rs", 9),
    ("execution/interactive.rs", 1),
    ("execution/stored.rs", 1),
    ("execution/traceback.rs", 1),
    ("fold/live_output.rs", 1),
    ("image/iterm.rs", 1),
    ("reply/notebook.rs", 3),
    ("run/table.rs", 1),
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

/// The string literals of a source, without its tests, that are sentences: four words or more.
fn sentences(path: &str, text: &str) -> Vec<String> {
    let code = &text[..text.len() - test_code(path, text).len()];
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = code.collect::<Vec<_>>().join("\n");
    let code = code.replace("'\"'", "").replace("\\\\", "").replace("\\\"", "");
    let literals = code.split('"').skip(1).step_by(2);
    literals.filter(|literal| words(literal) >= 4).map(str::to_owned).collect()
}

#[test]
fn sentences_stand_in_one_module() {
    let mut wrong = Vec::new();
    for (path, text) in sources("crates/inkcell/src/view") {
        let file = path.trim_start_matches("crates/inkcell/src/view/");
        if file.starts_with("words/") {
            continue;
        }
        let found = sentences(&path, &text);
        let row = EXCEPTIONS.iter().find(|(name, _)| *name == file);
        if found.len() != row.map_or(0, |(_, count)| *count) {
            wrong.push(format!("{file} has {}: {found:?}", found.len()));
        }
    }
    assert!(wrong.is_empty(), "move these to view/words, or lower the number here: {wrong:#?}");
}

#[test]
fn sentences_are_told_from_other_strings() {
    let count = |text: &str| sentences("crates/inkcell/src/view/a.rs", text).len();
    assert_eq!(count("let a = \"the kernel was ended\";"), 1);
    assert_eq!(count("let a = format!(\"{a} of {b} ran, {}\", \"it was \\\"not run\\\"\");"), 1);
    assert_eq!(count("// \"the kernel was ended\"\nlet a = '\"'; let b = \"cell\";"), 0);
    assert_eq!(count("mod tests {\n    let a = \"the kernel was ended\";\n}"), 0);
}
