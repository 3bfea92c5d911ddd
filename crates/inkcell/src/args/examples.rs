//! Examples of commands whose help says nothing else about how they are used.
//!
//! Owns what can be typed as it stands. Commands that explain more have their examples beside it.

use clap::Command;

/// Which command, and what is typed.
const EXAMPLES: [(&[&str], &[&str]); 27] = [
    (
        &["read"],
        &[
            "inkcell read report.ipynb",
            "inkcell read report.ipynb --outline",
            "inkcell read report.ipynb:10-40",
            "inkcell read report.ipynb --cells 0,3-5 --outputs full",
            "inkcell read report.ipynb --search 'def \\w+'",
        ],
    ),
    (&["write"], &["inkcell write report.ipynb < report.txt"]),
    (
        &["edit"],
        &[
            "inkcell edit report.ipynb replace 3 --source 'x = 1'",
            "inkcell edit report.ipynb insert --after ab12 --source 'x = 2'",
            "inkcell edit report.ipynb sub -1 --old mean --new median",
            "inkcell edit report.ipynb --ops changes.json --dry-run",
        ],
    ),
    (&["new"], &["inkcell new report.ipynb", "inkcell new report.ipynb --kernel python3"]),
    (
        &["diff"],
        &["inkcell diff report.ipynb", "inkcell diff old.ipynb new.ipynb --sources --exit-code"],
    ),
    (&["clean"], &["inkcell clean report.ipynb", "inkcell clean --check report.ipynb other.ipynb"]),
    (
        &["to"],
        &[
            "inkcell to script report.ipynb > report.py",
            "inkcell to markdown report.ipynb -o report.md",
        ],
    ),
    (&["interrupt"], &["inkcell interrupt", "inkcell interrupt report.ipynb"]),
    (&["restart"], &["inkcell restart", "inkcell restart work"]),
    (&["stop"], &["inkcell stop", "inkcell stop report.ipynb"]),
    (&["host"], &["inkcell host status", "inkcell host stop"]),
    (&["host", "start"], &["inkcell host start"]),
    (&["host", "stop"], &["inkcell host stop", "inkcell host stop --force"]),
    (&["host", "status"], &["inkcell host status", "inkcell host status --json"]),
    (&["env"], &["inkcell env", "inkcell env --cwd ~/work --python .venv"]),
    (&["env", "setup"], &["inkcell env setup pandas matplotlib", "inkcell env setup --fresh"]),
    (&["kernel"], &["inkcell kernel specs"]),
    (&["kernel", "specs"], &["inkcell kernel specs", "inkcell kernel specs --backend gateway"]),
    (&["gateway"], &["inkcell gateway status", "inkcell gateway start"]),
    (&["gateway", "start"], &["inkcell gateway start --python .venv"]),
    (&["gateway", "stop"], &["inkcell gateway stop"]),
    (&["gateway", "status"], &["inkcell gateway status"]),
    (&["gateway", "gc"], &["inkcell gateway gc"]),
    (
        &["artifacts"],
        &["inkcell artifacts", "inkcell artifacts rm 3kf09ab2m1xq7z5t", "inkcell artifacts gc"],
    ),
    (&["state"], &["inkcell state path"]),
    (&["settings"], &["inkcell settings", "inkcell settings python --json"]),
    (&["doctor"], &["inkcell doctor", "inkcell doctor --json"]),
];

/// The command line with these examples in its help.
pub(super) fn added(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (path, typed)| at(command, path, typed))
}

fn at(command: Command, path: &[&str], typed: &[&str]) -> Command {
    let Some((first, rest)) = path.split_first() else {
        let said = command.get_after_help().map(|said| format!("{said}\n\n")).unwrap_or_default();
        return command.after_help(format!("{said}Examples:\n  {}", typed.join("\n  ")));
    };
    command.mut_subcommand(first, |below| at(below, rest, typed))
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;
    use crate::args::{self, Args};

    /// Words as a shell takes them apart, up to a pipe, a redirection or another command.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        let (mut word, mut quote) = (None::<String>, None);
        for c in line.chars() {
            match (c, quote) {
                (c, Some(mark)) if c == mark => quote = None,
                (c, Some(_)) => word.get_or_insert_default().push(c),
                ('\'' | '"', None) => {
                    word.get_or_insert_default();
                    quote = Some(c);
                }
                ('|' | '<' | '>' | '&', None) => break,
                (' ', None) => words.extend(word.take()),
                (c, None) => word.get_or_insert_default().push(c),
            }
        }
        assert_eq!(quote, None, "{line}");
        words.extend(word);
        words
    }

    /// The examples in a command's help.
    fn examples(command: &Command) -> Vec<String> {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let Some((_, typed)) = help.split_once("Examples:\n") else { return Vec::new() };
        let lines = typed.lines().take_while(|line| line.starts_with("  "));
        lines.map(|line| line.trim().to_owned()).collect()
    }

    /// Issue 9: every command shows how it is typed, and each example is understood.
    #[test]
    fn every_example_can_be_typed() {
        let mut open: Vec<(String, Command)> = args::command()
            .get_subcommands()
            .map(|c| (c.get_name().to_owned(), c.clone()))
            .collect();
        let mut tried = 0;
        while let Some((path, command)) = open.pop() {
            if command.is_hide_set() {
                continue;
            }
            let shown = examples(&command);
            // Operations are shown with the command that they belong to, and so are lists of little.
            let is_shown_above =
                ["edit ", "artifacts ", "state "].iter().any(|up| path.starts_with(up));
            assert!(is_shown_above || !shown.is_empty(), "inkcell {path} --help has no examples");
            for line in shown {
                for piece in line.split(" | ").flat_map(|piece| piece.split(" && ")) {
                    let words = words(piece);
                    if words.first().is_none_or(|first| first != "inkcell") {
                        continue;
                    }
                    tried += 1;
                    let words = args::paired(words.into_iter().map(Into::into));
                    let read = args::command().try_get_matches_from(words);
                    let read = read.and_then(|matches| Args::from_arg_matches(&matches));
                    assert!(
                        read.is_ok(),
                        "{line}: {}",
                        read.err().map(|e| e.to_string()).unwrap_or_default()
                    );
                }
            }
            let below = command.get_subcommands();
            open.extend(below.map(|c| (format!("{path} {}", c.get_name()), c.clone())));
        }
        assert!(tried > 60, "{tried} examples");
    }

    #[test]
    fn words_are_those_of_a_shell() {
        assert_eq!(words("inkcell py 'x = 1' \"\" a'b c'"), ["inkcell", "py", "x = 1", "", "ab c"]);
        assert_eq!(words("inkcell run - < nb > done"), ["inkcell", "run", "-"]);
    }
}
