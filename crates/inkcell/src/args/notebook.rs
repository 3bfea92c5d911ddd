//! A notebook in place of a command: `inkcell report.ipynb` is short for `inkcell tui report.ipynb`.
//!
//! Owns the reading of such a line. The command refuses it without a terminal.

use std::ffi::OsString;

use clap::CommandFactory as _;
use inkcell_engine::is_notebook_path;

use super::Args;

/// The command that a notebook stands for.
const COMMAND: &str = "tui";

/// The words of the command line, with the command put before a notebook that stands where a command would.
pub(crate) fn opened(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    if let Some(at) = find_notebook(&words) {
        words.insert(at, COMMAND.into());
    }
    words
}

/// The place of a notebook that stands where a command would.
fn find_notebook(words: &[OsString]) -> Option<usize> {
    let is_option = |word: &OsString| word.as_encoded_bytes().starts_with(b"-");
    let is_notebook = |word: &OsString| word.to_str().is_some_and(is_notebook_path);
    for (at, word) in words.iter().enumerate().skip(1).filter(|(_, word)| !is_option(word)) {
        if is_notebook(word) {
            return Some(at);
        }
        // Only the word after an option may be its value. Any other word is meant as a command.
        if !is_option(&words[at - 1]) || is_command(word) {
            return None;
        }
    }
    None
}

fn is_command(word: &OsString) -> bool {
    let command = Args::command();
    let mut names = command.get_subcommands().map(clap::Command::get_name);
    word == "help" || names.any(|name| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notebook_stands_for_the_command_that_shows_it() {
        for (given, wanted) in [
            ("inkcell a.ipynb", "inkcell tui a.ipynb"),
            ("inkcell dir/a.ipynb --no-host", "inkcell tui dir/a.ipynb --no-host"),
            ("inkcell --no-host a.ipynb", "inkcell --no-host tui a.ipynb"),
            ("inkcell --root . a.ipynb", "inkcell --root . tui a.ipynb"),
            ("inkcell run a.ipynb", "inkcell run a.ipynb"),
            ("inkcell --json read a.ipynb", "inkcell --json read a.ipynb"),
            ("inkcell help a.ipynb", "inkcell help a.ipynb"),
            ("inkcell --json help a.ipynb", "inkcell --json help a.ipynb"),
            ("inkcell nosuch a.ipynb", "inkcell nosuch a.ipynb"),
            ("inkcell tui.ipynb", "inkcell tui tui.ipynb"),
            ("inkcell a.py", "inkcell a.py"),
            ("inkcell --json", "inkcell --json"),
            ("inkcell", "inkcell"),
        ] {
            let words = opened(given.split(' ').map(OsString::from));
            let words: Vec<String> =
                words.into_iter().map(|word| word.into_string().unwrap()).collect();
            assert_eq!(words.join(" "), wanted);
        }
    }
}
