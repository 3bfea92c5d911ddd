//! The arguments that give values to a notebook.
//!
//! Owns their names and help, and how a name and its value may be one word or two.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Values for the cell that is tagged parameters.
#[derive(ClapArgs, Debug, Default)]
#[command(next_help_heading = "Parameters")]
pub(crate) struct ParameterArgs {
    /// Set a parameter (repeatable)
    ///
    /// NAME=VALUE, or NAME VALUE as two words. Numbers, True, False and None are Python values; any other value is text.
    #[arg(short = 'p', long = "param", alias = "parameters", value_name = "NAME=VALUE", value_parser = parse_word,
          allow_hyphen_values = true)]
    pub(crate) words: Vec<Word>,
    /// Set a parameter to exactly this text (repeatable)
    #[arg(short = 'r', long = "raw-param", alias = "parameters_raw", value_name = "NAME=TEXT", value_parser = parse_word,
          allow_hyphen_values = true)]
    pub(crate) raw: Vec<Word>,
    /// Read parameters from a file (repeatable)
    ///
    /// The file is YAML, JSON or TOML.
    #[arg(short = 'f', long = "params", alias = "parameters_file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Set parameters from YAML text (repeatable)
    #[arg(
        short = 'y',
        long = "params-yaml",
        alias = "parameters_yaml",
        value_name = "YAML",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub(crate) yaml: Vec<String>,
    /// Set parameters from YAML in base64 (repeatable)
    #[arg(
        short = 'b',
        long = "params-base64",
        alias = "parameters_base64",
        value_name = "BASE64",
        hide_short_help = true
    )]
    pub(crate) base64: Vec<String>,
}

/// A name and its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Word {
    pub(crate) name: String,
    pub(crate) value: String,
}

fn parse_word(given: &str) -> Result<Word, String> {
    match given.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok(Word { name: name.trim().to_owned(), value: value.to_owned() })
        }
        Some(_) => Err("the name before = is missing; give NAME=VALUE".to_owned()),
        None => Err("the value is missing; give NAME=VALUE, or NAME VALUE".to_owned()),
    }
}

/// Options whose name and value may be two words.
const PAIRS: [&str; 6] = ["-p", "--param", "--parameters", "-r", "--raw-param", "--parameters_raw"];

/// Commands that have them.
const COMMANDS: [&str; 1] = ["run"];

/// Options of all commands whose value may be the next word.
pub(super) const VALUED: [&str; 2] = ["--root", "--color"];

/// The words of the command line, with `-p NAME VALUE` made into `-p NAME=VALUE`: the first word after the option is
/// all of it if it has an equals sign, and else the second belongs to it.
pub(crate) fn paired(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words.peekable();
    let mut out: Vec<OsString> = words.next().into_iter().collect();
    // The command is the first word that is not a global option.
    while let Some(word) = words.next() {
        let is_option = word.as_encoded_bytes().starts_with(b"-");
        let takes_value = VALUED.iter().any(|name| word == *name);
        let is_ours = COMMANDS.iter().any(|name| word == *name);
        out.push(word);
        if takes_value {
            out.extend(words.next());
        } else if !is_option {
            if !is_ours {
                out.extend(words);
                return out;
            }
            break;
        }
    }
    while let Some(word) = words.next() {
        if word == "--" {
            out.push(word);
            out.extend(words);
            return out;
        }
        let is_pair = PAIRS.iter().any(|name| word == *name);
        out.push(word);
        let Some(name) = is_pair.then(|| words.next()).flatten() else { continue };
        let has_value = name.as_encoded_bytes().contains(&b'=');
        let value = if has_value { None } else { words.next() };
        out.push(match value {
            Some(value) => [name.as_os_str(), OsStr::new("="), &value].into_iter().collect(),
            None => name,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paired_of(line: &str) -> String {
        let words = paired(line.split(' ').map(OsString::from));
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_name_and_its_value_are_one_word_or_two() {
        for (given, wanted) in [
            ("inkcell run -p a 1 nb.ipynb", "inkcell run -p a=1 nb.ipynb"),
            ("inkcell run -p a=1 nb.ipynb", "inkcell run -p a=1 nb.ipynb"),
            ("inkcell run -p a b=c nb.ipynb", "inkcell run -p a=b=c nb.ipynb"),
            ("inkcell run nb.ipynb -p a -1 -r b -p", "inkcell run nb.ipynb -p a=-1 -r b=-p"),
            ("inkcell --json run -p a 1", "inkcell --json run -p a=1"),
            ("inkcell --root run run --param a 1", "inkcell --root run run --param a=1"),
            ("inkcell --color never run -p a 1", "inkcell --color never run -p a=1"),
            ("inkcell run -p a", "inkcell run -p a"),
            ("inkcell run -p", "inkcell run -p"),
            ("inkcell run -- -p a 1", "inkcell run -- -p a 1"),
            ("inkcell py -p a 1", "inkcell py -p a 1"),
            ("inkcell", "inkcell"),
        ] {
            assert_eq!(paired_of(given), wanted, "{given}");
        }
    }
}
