//! Rules about the documentation: how long a page is, how it begins, where its links lead, and words it avoids.

use std::path::Path;

use inkcell_testkit::console::pages;
use inkcell_testkit::prose::{Place, faults};

use super::workspace;

/// The most words of a page, and the most lines of README.md.
const MOST_WORDS: usize = 1_500;
const MOST_README_LINES: usize = 150;
/// The most columns of a line of prose, and the most lines of a paragraph.
const MOST_COLUMNS: usize = 100;
const MOST_PARAGRAPH_LINES: usize = 6;

/// Pages that `cargo xtask docs` makes.
const GENERATED: [&str; 5] = [
    "benchmarks.md",
    "reference/commands.md",
    "reference/exit-codes.md",
    "reference/settings.md",
    "reference/tools.md",
];

/// A page of docs: its path there, and its text.
fn all() -> Vec<(String, String)> {
    let docs = workspace().join("docs");
    let read = |path: &Path| std::fs::read_to_string(path).expect("a page");
    let name = |path: &Path| path.strip_prefix(&docs).expect("below docs").display().to_string();
    pages(&docs).iter().map(|path| (name(path), read(path))).collect()
}

fn written() -> Vec<(String, String)> {
    let is_written = |(name, _): &(String, String)| !GENERATED.contains(&name.as_str());
    all().into_iter().filter(is_written).collect()
}

/// The lines of a page outside code.
fn outside_code(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// The lines of a page outside code, tables and headings.
fn prose(text: &str) -> Vec<&str> {
    outside_code(text).filter(|line| !line.starts_with(['|', '#', '<'])).collect()
}

/// The paragraphs of a page, each on one line, its headings and the rows of its tables.
fn texts(text: &str) -> Vec<String> {
    let prose = prose(text).join("\n");
    let paragraphs = prose.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    let others = outside_code(text).filter(|line| line.starts_with(['|', '#']));
    paragraphs.chain(others.map(str::to_owned)).collect()
}

#[test]
fn pages_are_short() {
    for (name, text) in written() {
        let count =
            text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
        assert!(count <= MOST_WORDS, "docs/{name} has {count} words: split it");
    }
    let readme = std::fs::read_to_string(workspace().join("README.md")).expect("a page");
    let count = readme.lines().count();
    assert!(count <= MOST_README_LINES, "README.md has {count} lines");
}

#[test]
fn generated_pages_say_so() {
    for (name, text) in all() {
        let is_generated = text.starts_with("<!-- Generated ");
        assert_eq!(is_generated, GENERATED.contains(&name.as_str()), "docs/{name}");
    }
}

/// The sentence and the language of the first block, if a page begins with a title, one sentence and a block.
fn opening(text: &str) -> Option<(&str, &str)> {
    let (title, rest) = text.split_once("\n\n")?;
    let (sentence, rest) = rest.split_once("\n\n")?;
    let fence = rest.lines().next()?.strip_prefix("```")?;
    let is_one = sentence.ends_with('.') && !sentence.contains(". ");
    (title.starts_with("# ") && is_one && sentence.lines().count() <= 2)
        .then_some((sentence, fence))
}

#[test]
fn pages_begin_with_a_sentence_and_a_command() {
    for (name, text) in written() {
        if !name.starts_with("decisions/") {
            let fence = opening(&text).map(|(_, fence)| fence);
            assert_eq!(
                fence,
                Some("console"),
                "docs/{name}: a title, one sentence, a console block"
            );
        }
    }
    assert_eq!(opening("# A\n\nIt is.\n\n```sh\n"), Some(("It is.", "sh")));
    for other in ["# A\n\nIt is. It was.\n\n```sh\n", "# A\n\nIt is.\n\nMore.\n", "# A\n"] {
        assert_eq!(opening(other), None, "{other}");
    }
}

#[test]
fn paragraphs_are_short_and_lines_fit() {
    for (name, text) in written() {
        let prose = prose(&text);
        if let Some(line) = prose.iter().find(|line| line.chars().count() > MOST_COLUMNS) {
            assert!(name.starts_with("decisions/"), "docs/{name}: {line}");
        }
        let is_end =
            |line: &&str| line.is_empty() || line.starts_with(['-', '1', '2', '3', '4', '5']);
        for paragraph in prose.split(is_end) {
            let is_decision = name.starts_with("decisions/");
            let count = paragraph.len();
            assert!(is_decision || count <= MOST_PARAGRAPH_LINES, "docs/{name}: {paragraph:#?}");
        }
    }
}

#[test]
fn pages_speak_plainly() {
    let readme = std::fs::read_to_string(workspace().join("README.md")).expect("a page");
    for (name, text) in written().into_iter().chain([("README.md".to_owned(), readme)]) {
        if name.starts_with("decisions/") {
            continue;
        }
        let found = texts(&text).into_iter().map(|text| (faults(&text, Place::Text), text));
        let wrong: Vec<_> = found.filter(|(faults, _)| !faults.is_empty()).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
}

/// Where the links of a text lead, without those to addresses.
fn links(text: &str) -> Vec<&str> {
    let ends = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    ends.map(|(target, _)| target).filter(|target| !target.contains("://")).collect()
}

/// The anchor of a heading, as Markdown makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The strict build of the site shows the same for the pages of docs.
#[test]
fn links_of_the_pages_in_the_root_lead_somewhere() {
    for page in ["AGENTS.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"] {
        let text = std::fs::read_to_string(workspace().join(page)).expect("a page");
        for link in links(&text) {
            let (file, wanted) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { page } else { file };
            let target = workspace().join(file);
            assert!(target.exists(), "{page} links to {link}");
            if !wanted.is_empty() {
                let text = std::fs::read_to_string(&target).expect("a page");
                let mut headings = text.lines().filter(|line| line.starts_with('#'));
                assert!(headings.any(|line| anchor(line) == wanted), "{page} links to {link}");
            }
        }
    }
    assert_eq!(links("[a](b.md#c), [d](https://e) and [f](g)"), ["b.md#c", "g"]);
    assert_eq!(anchor("## What `clean` removes, and why"), "what-clean-removes-and-why");
}
