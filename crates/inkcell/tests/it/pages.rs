//! The pages of the documentation: each command works, and prints what its page shows.
//!
//! Owns which pages are run and which commands are not. What a block looks like is in the test kit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use inkcell_testkit::console::{Block, Reader, blocks, pages};

use crate::env;

/// Beginnings of commands that are not run, with the reason.
const EXCEPT: &[(&str, &str)] = &[
    ("cargo ", "builds and tests are stages of the test command"),
    ("claude ", "needs Claude Code"),
    ("rm -r ", "would end the test's own state"),
    ("export INKCELL_GATEWAY_URL", "needs a server"),
    ("inkcell completions ", "writes where a shell looks"),
    ("inkcell doctor", "prints what this machine has"),
    ("inkcell env", "prints what this machine has, and installs packages"),
    ("inkcell kernel specs", "prints what this machine has"),
    ("inkcell mcp", "serves until its client is gone"),
    ("inkcell result 3kf09ab2m1xq7z5t", "the id is an example"),
    ("inkcell result artifact://3kf09ab2m1xq7z5t", "the id is an example"),
    ("inkcell settings", "prints what this machine has"),
    ("inkcell tui", "needs a terminal"),
];

/// Pages whose commands need something else, with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("contributing", "commands for a checkout"),
    ("decisions", "no commands"),
    ("guides/enterprise-gateway.md", "needs a cluster"),
    ("guides/jupyter-kernels.md", "needs kernels of other languages"),
    ("guides/remote-kernels.md", "needs a server"),
    ("install.md", "needs an empty machine"),
    ("tutorial.md", "has a test of its own, in an empty folder"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a page in a folder with the notebook of the examples.
fn check(page: &Path) {
    let reader = Reader::new(env(), EXCEPT);
    for name in ["report.ipynb", "sales.csv"] {
        let bytes = std::fs::read(root().join("examples").join(name)).expect("an example");
        reader.env().put(name, bytes);
    }
    reader.check(page);
}

/// The pages of a folder of docs whose commands are run; those right in docs if it has no name.
fn run_pages(folder: &str) -> Vec<PathBuf> {
    let docs = root().join("docs");
    let is_wanted = |page: &PathBuf| {
        let page = page.strip_prefix(&docs).expect("below docs");
        let is_here = page.parent() == Some(Path::new(folder));
        is_here && !NOT_RUN.iter().any(|(start, _)| page.starts_with(start))
    };
    let found: Vec<PathBuf> = pages(&docs).into_iter().filter(is_wanted).collect();
    assert!(!found.is_empty(), "no page in {folder:?}");
    found
}

fn check_folder(folder: &str) {
    run_pages(folder).iter().for_each(|page| check(page));
}

#[test]
fn the_readme_does_what_it_says() {
    check(&root().join("README.md"));
}

#[test]
fn the_tutorial_prints_what_it_shows() {
    Reader::new(env(), EXCEPT).check(&root().join("docs/tutorial.md"));
}

#[test]
fn the_first_pages_print_what_they_show() {
    check_folder("");
}

#[test]
fn the_guides_print_what_they_show() {
    check_folder("guides");
}

#[test]
fn the_concepts_print_what_they_show() {
    check_folder("concepts");
}

#[test]
fn the_reference_prints_what_it_shows() {
    check_folder("reference");
}

/// A row without a command or a page would hide the next mistake.
#[test]
fn each_exception_is_of_some_page() {
    let mut commands = BTreeSet::new();
    for page in pages(&root().join("docs")).into_iter().chain([root().join("README.md")]) {
        let text = std::fs::read_to_string(page).expect("a page");
        for block in blocks(&text) {
            match block {
                Block::Console(steps, _) => {
                    commands.extend(steps.into_iter().map(|step| step.command));
                }
                Block::Script(script) => _ = commands.insert(script),
            }
        }
    }
    for (start, why) in EXCEPT {
        let is_used = commands.iter().any(|command| command.starts_with(start));
        assert!(is_used, "no page has a command that begins with {start:?} ({why})");
    }
    for (page, why) in NOT_RUN {
        assert!(root().join("docs").join(page).exists(), "{page} is gone ({why})");
    }
}
