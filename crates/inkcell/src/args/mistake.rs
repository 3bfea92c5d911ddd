//! Errors about the command line: what is wrong, in one line, and a command that works, in another.
//!
//! Owns their sentences. clap finds the mistake and what was probably meant.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _};

use super::parameters::VALUED;
use super::{Args, topics};

/// A command line that was not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mistake {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Mistake {
    /// The mistake in these words, which begin with the name of the program.
    pub(super) fn new(error: &clap::Error, words: &[OsString]) -> Mistake {
        let command = [vec!["inkcell"], named(words)].concat().join(" ");
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => text.clone(),
            Some(ContextValue::Strings(texts)) => texts.join(", "),
            _ => String::new(),
        };
        let suggestion = |wrong: &str, kind| {
            let better = corrected(words, wrong, nearest(error, kind)?)?;
            Some(did_you_mean(&better))
        };
        let arg = context(ContextKind::InvalidArg);
        let value = context(ContextKind::InvalidValue);
        let usage = || Some(format!("see how to use it with '{command} --help'"));
        let (message, hint) = match error.kind() {
            ErrorKind::InvalidSubcommand => {
                let name = context(ContextKind::InvalidSubcommand);
                let list = match command.as_str() {
                    "inkcell" => "list the commands with 'inkcell help'".to_owned(),
                    _ => format!("list its commands with '{command} -h'"),
                };
                let hint = suggestion(&name, ContextKind::SuggestedSubcommand).unwrap_or(list);
                (format!("'{command}' has no command '{name}'"), Some(hint))
            }
            ErrorKind::MissingSubcommand if command == "inkcell" => return Mistake::no_command(),
            ErrorKind::MissingSubcommand => (
                format!("'{command}' needs a command"),
                Some(format!("list its commands with '{command} -h'")),
            ),
            ErrorKind::UnknownArgument if arg.starts_with('-') => {
                let hint = suggestion(&arg, ContextKind::SuggestedArg)
                    .unwrap_or_else(|| format!("list the options with '{command} -h'"));
                (format!("'{command}' has no option '{arg}'"), Some(hint))
            }
            ErrorKind::UnknownArgument => (format!("unexpected argument '{arg}'"), usage()),
            ErrorKind::InvalidValue => {
                let allowed = context(ContextKind::ValidValue);
                let allowed = match allowed.as_str() {
                    "" => String::new(),
                    _ => format!(" (allowed: {allowed})"),
                };
                let message = match value.as_str() {
                    "" => format!("'{arg}' needs a value{allowed}"),
                    _ => format!("invalid value '{value}' for '{arg}'{allowed}"),
                };
                (message, suggestion(&value, ContextKind::SuggestedValue).or_else(usage))
            }
            ErrorKind::ValueValidation => {
                let why = error.source().map(|why| format!(": {why}")).unwrap_or_default();
                (format!("invalid value '{value}' for '{arg}'{why}"), usage())
            }
            ErrorKind::MissingRequiredArgument => (format!("missing {arg}"), usage()),
            ErrorKind::ArgumentConflict => {
                let other = context(ContextKind::PriorArg);
                let message = match other.as_str() {
                    "" => format!("'{arg}' cannot be combined with the other arguments"),
                    _ if other == arg => format!("'{arg}' cannot be used more than once"),
                    _ => format!("'{arg}' cannot be used with '{other}'"),
                };
                (message, usage())
            }
            _ => {
                let text = error.to_string();
                let line = text.lines().next().unwrap_or_default();
                (line.strip_prefix("error: ").unwrap_or(line).to_owned(), usage())
            }
        };
        Mistake { message, hint }
    }
}

impl Mistake {
    /// The mistake of naming no command.
    pub(crate) fn no_command() -> Mistake {
        let hint = "list the commands with 'inkcell help'".to_owned();
        Mistake { message: "no command given".to_owned(), hint: Some(hint) }
    }
}

/// The mistake of asking for help about a name that is none.
pub(super) fn no_help(name: &str, program: &Command) -> Mistake {
    let asked = ["inkcell", "help", name].map(OsString::from);
    let topics = || topics::TOPICS.iter().map(|topic| topic.name);
    let known = program.clone().subcommands(topics().map(Command::new));
    let error = known.try_get_matches_from(["inkcell", name]).err();
    let better = topics()
        .find(|topic| topic.starts_with(name))
        .or_else(|| nearest(error.as_ref()?, ContextKind::SuggestedSubcommand));
    let hint = match better.and_then(|better| corrected(&asked, name, better)) {
        Some(better) => did_you_mean(&better),
        None => "list the topics with 'inkcell help topics'".to_owned(),
    };
    Mistake { message: format!("no command or topic named '{name}'"), hint: Some(hint) }
}

/// What was probably meant. The most similar of several comes last.
fn nearest(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        ContextValue::Strings(texts) => texts.last().map(String::as_str),
        _ => None,
    }
}

/// The commands that these words name, the outer one first.
pub(super) fn named(words: &[OsString]) -> Vec<&str> {
    let program = Args::command();
    let (mut command, mut path) = (&program, Vec::new());
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if VALUED.iter().any(|name| word == *name) {
            words.next();
            continue;
        }
        let Some(word) = word.to_str() else { continue };
        match command.find_subcommand(word) {
            Some(below) => {
                command = below;
                path.push(word);
            }
            // The first word that is not an option is the command, or was meant to be one.
            None if path.is_empty() && !word.starts_with('-') => break,
            None => {}
        }
    }
    path
}

/// The command line with one word, or one part of a word, in place of another.
fn corrected(words: &[OsString], wrong: &str, better: &str) -> Option<String> {
    let mut is_done = false;
    let mut line = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let word = if at == 0 { "inkcell" } else { word.to_str()? };
        let fixed = match word.split_once('=') {
            _ if is_done => None,
            _ if word == wrong => Some(better.to_owned()),
            Some((name, value)) if name == wrong => Some(format!("{better}={value}")),
            Some((name, value)) if value == wrong => Some(format!("{name}={better}")),
            _ => None,
        };
        is_done |= fixed.is_some();
        line.push(quoted(fixed.as_deref().unwrap_or(word)));
    }
    is_done.then(|| line.join(" "))
}

/// A hint with a command. One that has quotes of its own gets no others.
fn did_you_mean(command: &str) -> String {
    match command.contains('\'') {
        true => format!("did you mean: {command}"),
        false => format!("did you mean '{command}'?"),
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
