//! The command line: every command, flag and default, as types.
//!
//! Owns names and help. What a command does is in `cli/`; nothing there looks at an argument again.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{
    Args as ClapArgs, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use inkcell_engine::notebook::Outputs;
use serde::{Deserialize, Serialize};

mod agents;
mod artifacts;
mod comfort;
mod examples;
mod help;
mod hosts;
mod jupyter;
mod mistake;
mod notebook;
mod operations;
mod page;
mod parameters;
mod python;
mod run;
mod term;
#[cfg(test)]
mod tests;
mod topics;
mod verify;

pub(crate) use agents::{ClientArg, Doctor, Mcp, ScopeArg, Setup, Tool, ToolsArg};
pub(crate) use artifacts::{
    Artifacts, ArtifactsCommand, ListArtifacts, RemoveArtifacts, ShowResult, State, StateCommand,
};
pub(crate) use comfort::{Completions, Man};
pub(crate) use help::{GROUPS, Help, HelpPage, NoCommand};
pub(crate) use hosts::{Attach, HostArgs, HostCommand, HostVerb, OneSession, Sessions};
pub(crate) use jupyter::{Gateway, GatewayCommand, GatewayStart, Kernel, KernelCommand, Specs};
pub(crate) use mistake::Mistake;
pub(crate) use operations::{Op, Source, typed_position};
pub(crate) use page::PageStyle;
#[cfg(test)]
pub(crate) use parameters::Word;
pub(crate) use parameters::{ParameterArgs, paired};
pub(crate) use python::{
    Env, EnvCommand, EnvSetup, KernelArgs, Py, PythonArgs, ShellArg, ShowSettings, View,
    WhichKernel,
};
pub(crate) use run::Run;
pub(crate) use term::{Repl, Tui};
pub(crate) use verify::{ImagesArg, Verify};

/// Edit and run Jupyter notebooks from a terminal, a script or a coding agent
#[derive(Parser, Debug)]
#[command(
    name = "inkcell",
    version,
    disable_help_subcommand = true,
    override_usage = "inkcell <COMMAND> [OPTIONS]"
)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long, global = true, help_heading = page::GLOBAL)]
    json: bool,
    /// Refuse paths outside DIR (repeatable)
    #[arg(long = "root", global = true, value_name = "DIR", help_heading = page::GLOBAL)]
    pub(crate) roots: Vec<PathBuf>,
    /// Do not page long output
    #[arg(long, global = true, help_heading = page::GLOBAL)]
    pub(crate) no_pager: bool,
    /// Color the output
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorArg::Auto,
          help_heading = page::GLOBAL)]
    pub(crate) color: ColorArg,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The whole command line, with examples.
pub(crate) fn command() -> clap::Command {
    examples::added(Args::command())
}

impl Args {
    /// The command line of this process.
    pub(crate) fn of_process() -> Result<Args, NoCommand> {
        Args::read(&notebook::opened(std::env::args_os()))
    }

    fn read(words: &[OsString]) -> Result<Args, NoCommand> {
        let paired = paired(words.iter().cloned());
        let matches = Args::command().try_get_matches_from(&paired);
        matches
            .and_then(|matches| Args::from_arg_matches(&matches))
            .map_err(|error| NoCommand::new(&error, words, paired))
    }

    /// Whether the answer is JSON.
    pub(crate) fn is_json(&self) -> bool {
        // What follows an operation that is not known is not understood, but it may say how to answer.
        let unread = match &self.command {
            Command::Edit(edit) => match &edit.op {
                Some(Op::Other(words)) => words.as_slice(),
                _ => &[],
            },
            _ => &[],
        };
        self.json || unread.iter().any(|word| word == "--json")
    }
}

/// When output has colors.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ColorArg {
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorArg {
    /// The choice that words make which were not understood as a whole.
    pub(crate) fn named_in(words: &[OsString]) -> ColorArg {
        let mut words = words.iter().filter_map(|word| word.to_str());
        let value = words.by_ref().find_map(|word| word.strip_prefix("--color"));
        let value = match value {
            Some("") => words.next(),
            value => value.and_then(|value| value.strip_prefix('=')),
        };
        value.and_then(|value| ColorArg::from_str(value, false).ok()).unwrap_or_default()
    }
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Print a notebook as text, or list its cells
    Read(Read),
    /// Save edited text back into a notebook
    Write(Write),
    /// Change, insert, move or delete cells
    Edit(Box<Edit>),
    /// Create an empty notebook
    New(New),
    /// Compare two notebooks cell by cell
    Diff(Diff),
    /// Strip outputs and execution counts
    Clean(Clean),
    /// Convert to a Python script or Markdown
    To(To),
    /// Run notebooks and save their outputs
    Run(Box<Run>),
    /// Re-run notebooks and check their outputs
    #[command(long_about = "Re-run notebooks and check their outputs (changes no files)")]
    Verify(Box<Verify>),
    /// Open a notebook in the terminal
    Tui(Box<Tui>),
    /// Run Python code in a session that remembers
    Py(Box<Py>),
    /// Start an interactive Python prompt
    Repl(Box<Repl>),
    /// List running sessions
    Sessions(Sessions),
    /// Follow a session live
    #[command(long_about = "Follow a session live, including what an agent runs in it")]
    Attach(Attach),
    /// Interrupt the running cell
    Interrupt(OneSession),
    /// Restart a session with a fresh kernel
    Restart(OneSession),
    /// End a session
    Stop(OneSession),
    /// Manage the background process for sessions
    Host(HostCommand),
    /// Show which Python is used, or create one
    Env(Box<Env>),
    /// List installed Jupyter kernels
    Kernel(Kernel),
    /// Manage Jupyter gateways
    Gateway(Gateway),
    /// Show stored output or a background run
    Result(ShowResult),
    /// List or delete stored outputs
    Artifacts(Artifacts),
    /// Show where inkcell stores its files
    State(State),
    /// Show settings and where they come from
    Settings(ShowSettings),
    /// Start the MCP server
    Mcp(Mcp),
    /// Call one of the agent tools by hand
    Tool(Tool),
    /// Connect Claude Code, Cursor, VS Code and others
    Setup(Setup),
    /// Check the installation and suggest fixes
    Doctor(Doctor),
    /// Generate shell completions
    Completions(Completions),
    /// Generate manual pages
    Man(Man),
    /// Show help for a command or a topic
    Help(Help),
}

impl Command {
    /// Whether what it shows may be longer than a screen, and is read rather than watched.
    pub(crate) fn is_read_by_pages(&self) -> bool {
        matches!(self, Command::Read(_) | Command::Diff(_) | Command::Result(_))
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OutputsArg {
    /// No outputs
    None,
    /// One line per output
    Digest,
    /// Complete text
    Full,
}

impl From<OutputsArg> for Outputs {
    fn from(given: OutputsArg) -> Outputs {
        match given {
            OutputsArg::None => Outputs::None,
            OutputsArg::Digest => Outputs::Digest,
            OutputsArg::Full => Outputs::Full,
        }
    }
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Read {
    /// Notebook to print, with an optional range: nb.ipynb:10-20
    ///
    /// Ranges count lines of the text: :10-20, :10 (line 10 to the end), :10+5 (five lines), :1-9,40-50. :raw prints
    /// the stored JSON, and :raw:1-9 lines of it.
    pub(crate) path: String,
    /// More notebooks, with --check
    #[arg(value_name = "PATH", requires = "check")]
    pub(crate) more: Vec<String>,
    /// List the cells, one line each
    ///
    /// Each line has the position, ID, type, execution count, number of lines, first line and outputs of a cell.
    #[arg(long, conflicts_with_all = ["search", "outputs"])]
    pub(crate) outline: bool,
    /// List stale or failed cells; exit 1 if any exist
    #[arg(long, value_enum, conflicts_with_all = ["cells", "outputs", "search", "pad", "page", "textconv"])]
    pub(crate) check: Option<CheckArg>,
    /// Print only these cells, such as 0,3-5,ab12,-1
    ///
    /// A list of positions, ranges and IDs, or one word: stale, failed, headings, makes:NAME or uses:NAME. See
    /// 'inkcell help cells'.
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) cells: Option<String>,
    /// Print outputs with the cells
    #[arg(long, value_enum)]
    pub(crate) outputs: Option<OutputsArg>,
    /// Print lines that match a regular expression
    ///
    /// With --outputs full, also searches the outputs.
    #[arg(long, value_name = "RE")]
    pub(crate) search: Option<String>,
    /// Leave IDs out of the cell markers
    #[arg(long)]
    pub(crate) no_ids: bool,
    /// Add one line before and three lines after each range
    #[arg(long)]
    pub(crate) pad: bool,
    /// Print at most 3000 lines or 50 KiB at a time
    #[arg(long)]
    pub(crate) page: bool,
    /// Print text for git diff
    ///
    /// Prints the text without IDs, or the bytes of a file that is not a notebook. Remembers no version.
    #[arg(long, conflicts_with_all = ["outline", "cells", "outputs", "search", "pad", "page"])]
    pub(crate) textconv: bool,
}

/// The cells that a check looks for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CheckArg {
    /// Cells with outdated outputs
    Stale,
    /// Cells that failed
    Failed,
}

/// How a change is saved.
#[derive(ClapArgs, Debug)]
pub(crate) struct Save {
    /// Refuse if the cells changed since this version
    ///
    /// Every answer in JSON names the version that it read. If a cell that you name changed since, inkcell writes
    /// nothing.
    #[arg(long, global = true, value_name = "VERSION")]
    pub(crate) hash: Option<String>,
    /// Write to OUT and leave the notebook unchanged
    #[arg(short, long, global = true, value_name = "OUT")]
    pub(crate) output: Option<String>,
    /// Keep the previous file as NAME.bak
    #[arg(long, global = true)]
    pub(crate) backup: bool,
    /// Show the changes by cell and write nothing
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// Write even if the file is read-only or not yours
    #[arg(long, global = true, long_help = FORCE)]
    pub(crate) force: bool,
}

/// What `--force` does, for every command that writes notebooks.
const FORCE: &str = "Write even if the file is read-only or its owner or access list would be lost";

#[derive(ClapArgs, Debug)]
pub(crate) struct Write {
    /// Notebook to write; created if missing
    pub(crate) path: String,
    /// Clear outputs and counts of code cells that change
    #[arg(long)]
    pub(crate) clear_changed: bool,
    /// Confirm that the text deletes N cells
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) drop: usize,
    #[command(flatten)]
    pub(crate) save: Save,
}

#[derive(ClapArgs, Debug)]
#[command(
    subcommand_precedence_over_arg = true,
    after_help = "Name a cell by its ID, the start of its ID (four characters or more) or its position. Position 0 is \
        the first cell, -1 the last. In a batch, positions mean the cells before the batch."
)]
pub(crate) struct Edit {
    /// Notebook to change
    pub(crate) path: String,
    /// Apply a batch of JSON operations; - reads standard input
    ///
    /// The batch changes everything or nothing.
    #[arg(long, value_name = "FILE")]
    pub(crate) ops: Option<String>,
    /// Replace this text, which must match exactly once
    ///
    /// The text is the one that 'inkcell read' prints, and may span cells.
    #[arg(long, value_name = "TEXT", requires = "new", allow_hyphen_values = true)]
    pub(crate) old: Option<String>,
    /// Put this text in place of --old
    #[arg(long, value_name = "TEXT", requires = "old", allow_hyphen_values = true)]
    pub(crate) new: Option<String>,
    /// Replace every match of --old
    #[arg(long, requires = "old")]
    pub(crate) all: bool,
    /// Confirm that --old and --new delete N cells
    #[arg(long, value_name = "N", default_value_t = 0, requires = "old")]
    pub(crate) drop: usize,
    /// Keep outputs and counts of cells that change
    #[arg(long, global = true)]
    pub(crate) keep_outputs: bool,
    #[command(flatten)]
    pub(crate) save: Save,
    #[command(subcommand)]
    pub(crate) op: Option<Op>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct New {
    /// Notebook to create; must not exist yet
    pub(crate) path: String,
    /// Kernel to name in the notebook, such as python3
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Diff {
    /// Notebook, or the old one of two
    pub(crate) a: String,
    /// New notebook [default: A, compared with its last git commit]
    pub(crate) b: Option<String>,
    /// Compare only sources and cell types
    #[arg(long)]
    pub(crate) sources: bool,
    /// Exit with 1 if the notebooks differ
    #[arg(long)]
    pub(crate) exit_code: bool,
}

#[derive(ClapArgs, Debug)]
#[command(after_help = "As a git filter, so that outputs never reach a commit:\n  \
        git config filter.inkcell.clean 'inkcell clean -'\n  \
        git config filter.inkcell.smudge cat\n  \
        git config filter.inkcell.required true\n  \
        echo '*.ipynb filter=inkcell' >> .gitattributes")]
pub(crate) struct Clean {
    /// Notebooks to clean; - filters standard input
    #[arg(required = true)]
    pub(crate) paths: Vec<String>,
    /// Change nothing; exit with 1 if cleaning is needed
    #[arg(long)]
    pub(crate) check: bool,
    /// Keep outputs, counts and their metadata
    #[arg(long)]
    pub(crate) keep_outputs: bool,
    /// Keep the metadata of outputs
    #[arg(long)]
    pub(crate) keep_metadata: bool,
    /// Also remove KEY from cell metadata (repeatable)
    #[arg(long, value_name = "KEY")]
    pub(crate) cell_meta: Vec<String>,
    /// Also remove KEY from notebook metadata (repeatable)
    #[arg(long, value_name = "KEY")]
    pub(crate) notebook_meta: Vec<String>,
    /// Write to OUT and leave the notebook unchanged
    ///
    /// Works with one notebook only.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<String>,
    /// Write even if the file is read-only or not yours
    #[arg(long, long_help = FORCE)]
    pub(crate) force: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExportForm {
    /// Python script in the percent format
    Script,
    /// Markdown text
    Markdown,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct To {
    /// Format to convert to
    #[arg(value_enum)]
    pub(crate) form: ExportForm,
    /// Notebook to convert
    pub(crate) path: String,
    /// Write to OUT [default: -, standard output]
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<String>,
    /// Include outputs in Markdown [default: full]
    #[arg(long, value_enum)]
    pub(crate) outputs: Option<OutputsArg>,
}
