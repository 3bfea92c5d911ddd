//! The size of the program: its lines of Rust outside tests, which only grow on purpose.

use super::sources;

/// The most lines, comments and blank lines included. Answers to agents took 4,800 lines: budgets and news of calls,
/// facts about them, suggestions, what a failure blocks and a choice of cells needs, what a run changed, renames by
/// scope, parts of large data, and the measurement of an agent's tasks. Drawings took 1,400: the limits on documents,
/// the prices of drawing, and the pictures of answers and files. Pipes without threads took 150. The first hour of a user
/// took 9,500: packages and the release (3,000), help, colours and the lint of texts, the keys and pictures of the notebook
/// on the screen, the prompt, what users of papermill and nbval expect, and the choice of Python under uvx. A change that
/// needs more raises the number and says why.
const MOST: usize = 135_200;

/// Lines outside of items that are compiled for tests alone. As in an editor, a final line end begins another line.
fn lines_outside_tests(text: &str) -> usize {
    let mut lines = text.split('\n').map(str::trim_start);
    let mut count = 0;
    while let Some(line) = lines.next() {
        if !line.starts_with("#[cfg(test") && !line.starts_with("#[cfg(all(test") {
            count += 1;
            continue;
        }
        let mut depth = 0;
        for line in lines.by_ref().skip_while(|line| line.starts_with("#[")) {
            depth += line.matches('{').count() as i64 - line.matches('}').count() as i64;
            if depth <= 0 {
                break;
            }
        }
    }
    count
}

#[test]
fn the_program_does_not_grow_unnoticed() {
    let is_test = |path: &str| {
        path.split('/').any(|part| part == "tests")
            || ["/tests.rs", "_tests.rs"].iter().any(|end| path.ends_with(end))
    };
    let all = ["crates", "xtask"].into_iter().flat_map(sources);
    let counted: usize =
        all.filter(|(path, _)| !is_test(path)).map(|(_, text)| lines_outside_tests(&text)).sum();
    assert!(counted <= MOST, "{counted} lines outside tests, and {MOST} are allowed");
}

#[test]
fn items_of_tests_are_not_counted() {
    let text = "a\n#[cfg(test)]\n#[path = \"x.rs\"]\nmod x;\nb\n    #[cfg(all(test, unix))]\n    fn f() {\n    }\nc";
    assert_eq!(lines_outside_tests(text), 3);
}
