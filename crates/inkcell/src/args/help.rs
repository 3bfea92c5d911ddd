//! Which help is asked for, and the groups in which it lists the commands.
//!
//! Owns `inkcell help`. clap finds out whose help was asked for; `page` draws it.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args as ClapArgs, Command, CommandFactory as _};

use super::mistake::Mistake;
use super::page::{self, PageStyle};
use super::{Args, command, mistake, topics};

/// Every command, in groups.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Notebooks", &["read", "edit", "write", "new", "diff", "clean", "to", "tui"]),
    ("Running", &["run", "verify", "py", "repl"]),
    (
        "Sessions and outputs",
        &["sessions", "attach", "interrupt", "restart", "stop", "result", "artifacts"],
    ),
    ("Coding agents", &["setup", "mcp", "tool"]),
    (
        "Setup and diagnosis",
        &[
            "doctor",
            "env",
            "kernel",
            "gateway",
            "host",
            "settings",
            "state",
            "completions",
            "man",
            "help",
        ],
    ),
];

/// What the page of the program ends with.
const LAST_LINES: &str = "Try: inkcell run report.ipynb\n\
    Exit codes and guides: inkcell help exit-codes, inkcell help topics";

#[derive(ClapArgs, Debug)]
#[command(after_help = "Examples:\n  \
        inkcell help run\n  \
        inkcell help host start\n  \
        inkcell help exit-codes\n  \
        inkcell help topics")]
pub(crate) struct Help {
    /// Command or topic to explain [default: list the commands]
    #[arg(value_name = "COMMAND|TOPIC")]
    words: Vec<String>,
}

impl Help {
    /// The page that the words name.
    pub(crate) fn page(&self) -> Result<HelpPage, Mistake> {
        let Help { words: path } = self;
        if let [name] = path.as_slice()
            && topics::find(name).is_some()
        {
            return Ok(HelpPage { is_long: true, path: path.clone(), is_answer: true });
        }
        let program = command();
        let found = path
            .iter()
            .try_fold(&program, |command, name| command.find_subcommand(name).ok_or(name));
        match found {
            Ok(_) => Ok(HelpPage { is_long: true, path: path.clone(), is_answer: true }),
            Err(name) => Err(mistake::no_help(name, &program)),
        }
    }
}

/// A page of help.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HelpPage {
    /// The words of a command, or one topic; none for the program.
    pub(super) path: Vec<String>,
    pub(super) is_long: bool,
    /// Whether it was asked for, and not shown because a command is missing.
    pub(crate) is_answer: bool,
}

impl HelpPage {
    pub(crate) fn render(&self, style: PageStyle) -> String {
        if let [name] = self.path.as_slice()
            && let Some(topic) = topics::find(name)
        {
            return topics::render(topic, style);
        }
        let mut program = command();
        program.build();
        if self.path.is_empty() {
            return page::of_program(&program, GROUPS, LAST_LINES, style);
        }
        let found =
            self.path.iter().try_fold(&program, |command, name| command.find_subcommand(name));
        page::of_command(found.unwrap_or(&program), self.is_long, style)
    }
}

/// Why a command line has no command to run.
#[derive(Debug)]
pub(crate) enum NoCommand {
    Help(HelpPage),
    /// The version was asked for.
    Version(String),
    Mistake(Mistake),
}

impl NoCommand {
    /// Interprets an error about these words; `paired` are those that were parsed.
    pub(super) fn new(error: &clap::Error, words: &[OsString], paired: Vec<OsString>) -> NoCommand {
        let is_answer = match error.kind() {
            ErrorKind::DisplayVersion => return NoCommand::Version(error.to_string()),
            ErrorKind::DisplayHelp => true,
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => false,
            ErrorKind::InvalidSubcommand if is_help(error) => {
                let path = mistake::named(words).into_iter().map(str::to_owned).collect();
                return NoCommand::Help(HelpPage { path, is_long: true, is_answer: true });
            }
            _ => return NoCommand::Mistake(Mistake::new(error, words)),
        };
        // The same words, read by commands whose help is their own name.
        let located = marked(Args::command(), "").try_get_matches_from(paired);
        let said = located.err().map(|error| error.to_string()).unwrap_or_default();
        let mut said = said.split_whitespace();
        let is_long = said.next() == Some(LONG);
        NoCommand::Help(HelpPage { path: said.map(str::to_owned).collect(), is_long, is_answer })
    }
}

const SHORT: &str = "short";
const LONG: &str = "long";

/// The commands with help that says which one it is, and whether it is long.
fn marked(command: Command, path: &str) -> Command {
    let mark = |length: &str| format!("{length}{path}");
    command
        .help_template("{before-help}")
        .before_help(mark(SHORT))
        .before_long_help(mark(LONG))
        .mut_subcommands(|below| {
            let path = format!("{path} {}", below.get_name());
            marked(below, &path)
        })
}

/// Whether the command that does not exist is `help`, as in `inkcell host help`.
fn is_help(error: &clap::Error) -> bool {
    matches!(error.get(ContextKind::InvalidSubcommand), Some(ContextValue::String(name)) if name == "help")
}
