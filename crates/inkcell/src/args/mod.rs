//! The command line: every command, flag and default, as types.
//!
//! Owns names and help. What a command does is in `cli/`; nothing there looks at an argument again.

use std::path::PathBuf;

use clap::{
    Args as ClapArgs, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use inkcell_engine::notebook::Outputs;

use crate::exit;

mod agents;
mod artifacts;
mod comfort;
mod examples;
mod hosts;
mod jupyter;
mod operations;
mod parameters;
mod python;
mod run;
mod term;
mod verify;

pub(crate) use agents::{ClientArg, Doctor, Mcp, ScopeArg, Setup, Tool, ToolsArg};
pub(crate) use artifacts::{
    Artifacts, ArtifactsCommand, ListArtifacts, RemoveArtifacts, ShowResult, State, StateCommand,
};
pub(crate) use comfort::{Completions, Man};
pub(crate) use hosts::{Attach, HostArgs, HostCommand, HostVerb, OneSession, Sessions};
pub(crate) use jupyter::{Gateway, GatewayCommand, GatewayStart, Kernel, KernelCommand, Specs};
pub(crate) use operations::{Op, Source};
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

/// A notebook file that can be changed without harming anything else in it, and Python beside it.
#[derive(Parser, Debug)]
#[command(name = "inkcell", version, after_help = exit::help(), max_term_width = 100)]
pub(crate) struct Args {
    /// Answer in JSON.
    #[arg(long, global = true)]
    json: bool,
    /// Write long answers to a terminal as they are, without a pager.
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// Allow only paths inside this folder (may be repeated).
    #[arg(long = "root", global = true, value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The whole command line, with examples.
pub(crate) fn command() -> clap::Command {
    examples::added(Args::command())
}

impl Args {
    /// What this process was told.
    pub(crate) fn of_process() -> Result<Args, clap::Error> {
        let matches = command().try_get_matches_from(paired(std::env::args_os()))?;
        Args::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))
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

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Show a notebook: as text that can be written back, as an outline, by lines, cells or pattern.
    Read(Read),
    /// Write text from standard input back into a notebook.
    Write(Write),
    /// Change cells of a notebook.
    Edit(Box<Edit>),
    /// Make an empty notebook.
    New(New),
    /// Compare two notebooks, or one with its last commit, cell by cell.
    Diff(Diff),
    /// Remove outputs, counts and the metadata that belong to them, and other metadata as chosen.
    Clean(Clean),
    /// Export a notebook.
    To(To),
    /// Run the cells of a notebook; their outputs go into the file.
    Run(Box<Run>),
    /// Run notebooks anew and compare their outputs with those that are stored; nothing is written.
    Verify(Box<Verify>),
    /// Show a notebook in the terminal: look at it, edit it, run it.
    Tui(Box<Tui>),
    /// Run Python code.
    Py(Box<Py>),
    /// Type cells and see what they do, in a session that stays.
    Repl(Box<Repl>),
    /// List the sessions there are, in every host.
    Sessions(Sessions),
    /// See what happens in a session: what an agent runs, what somebody else does.
    Attach(Attach),
    /// Interrupt what runs in a session.
    Interrupt(OneSession),
    /// Give a session a new kernel; its variables are gone.
    Restart(OneSession),
    /// End a session.
    Stop(OneSession),
    /// Have to do with the host in which sessions outlive commands.
    Host(HostCommand),
    /// Say which Python would run code here, and why.
    Env(Box<Env>),
    /// Have to do with Jupyter kernels.
    Kernel(Kernel),
    /// Have to do with Jupyter gateways and servers.
    Gateway(Gateway),
    /// Show stored output: whole, by lines, by pattern, or a value of JSON.
    Result(ShowResult),
    /// List or remove stored output.
    Artifacts(Artifacts),
    /// Say where inkcell keeps what it keeps.
    State(State),
    /// List every setting, its value and where it comes from.
    Settings(ShowSettings),
    /// Serve the tools to an agent, on standard input and output.
    Mcp(Mcp),
    /// Call one of the tools that agents get.
    Tool(Tool),
    /// Show or write the configuration that gives an agent inkcell's tools.
    Setup(Setup),
    /// Say what works here, what does not, and what to type.
    Doctor(Doctor),
    /// Print what completes commands and arguments in a shell.
    Completions(Completions),
    /// Print the manual page, or write all of them into a folder.
    Man(Man),
}

impl Command {
    /// Whether what it shows may be longer than a screen, and is read rather than watched.
    pub(crate) fn is_read_by_pages(&self) -> bool {
        matches!(self, Command::Read(_) | Command::Diff(_) | Command::Result(_))
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OutputsArg {
    /// Not at all.
    None,
    /// One line each.
    Digest,
    /// Their text.
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
    /// The notebook, with a selector if wanted: nb.ipynb:10-20, :5, :3+4, :1-9,40-50, :raw, :raw:1-9.
    pub(crate) path: String,
    /// More notebooks, with --check.
    #[arg(value_name = "PATH", requires = "check")]
    pub(crate) more: Vec<String>,
    /// One line a cell: position, id, kind, count, lines, first line, outputs.
    #[arg(long, conflicts_with_all = ["search", "outputs"])]
    pub(crate) outline: bool,
    /// List only the cells that are stale or failed, and exit with code 1 if there are any.
    #[arg(long, value_enum, conflicts_with_all = ["cells", "outputs", "search", "pad", "page", "textconv"])]
    pub(crate) check: Option<CheckArg>,
    /// Only these cells: ids, positions and ranges, such as 0,3-5,ab12,-1. Or stale, failed, headings, makes:NAME or
    /// uses:NAME.
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) cells: Option<String>,
    /// Show outputs with the cells.
    #[arg(long, value_enum)]
    pub(crate) outputs: Option<OutputsArg>,
    /// Show the lines that match a regular expression; in outputs too with --outputs full.
    #[arg(long, value_name = "RE")]
    pub(crate) search: Option<String>,
    /// Leave ids out of the markers.
    #[arg(long)]
    pub(crate) no_ids: bool,
    /// Show a line before and three after each range of lines.
    #[arg(long)]
    pub(crate) pad: bool,
    /// Stop after 3000 lines or 50 KiB and say how to go on.
    #[arg(long)]
    pub(crate) page: bool,
    /// For git diff: the text without ids, or the bytes of what is no notebook; no version is kept.
    #[arg(long, conflicts_with_all = ["outline", "cells", "outputs", "search", "pad", "page"])]
    pub(crate) textconv: bool,
}

/// The cells that a check looks for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CheckArg {
    /// Cells whose outputs are out of date.
    Stale,
    /// Cells that failed.
    Failed,
}

/// How a change is saved.
#[derive(ClapArgs, Debug)]
pub(crate) struct Save {
    /// The version you have read; if cells you name changed since, nothing is written.
    #[arg(long, global = true, value_name = "VERSION")]
    pub(crate) hash: Option<String>,
    /// Write here and leave the notebook alone.
    #[arg(short, long, global = true, value_name = "OUT")]
    pub(crate) output: Option<String>,
    /// Keep the earlier file as <name>.bak.
    #[arg(long, global = true)]
    pub(crate) backup: bool,
    /// Show what would change, by cell, and write nothing.
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// Write also where owner, access list or read-only mode stand against it.
    #[arg(long, global = true)]
    pub(crate) force: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Write {
    /// The notebook; made when it is not there.
    pub(crate) path: String,
    /// Clear outputs and count of code cells whose source changes.
    #[arg(long)]
    pub(crate) clear_changed: bool,
    /// The text leaves out exactly this many cells; they are deleted.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) drop: usize,
    #[command(flatten)]
    pub(crate) save: Save,
}

#[derive(ClapArgs, Debug)]
#[command(
    subcommand_precedence_over_arg = true,
    after_help = "A cell is named by its id, by the first four or more characters of it, or by its position \
        (0 is the first, -1 the last). In a batch, positions mean the cells as they are before it."
)]
pub(crate) struct Edit {
    /// The notebook.
    pub(crate) path: String,
    /// A batch of operations in JSON, all or nothing; - for standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) ops: Option<String>,
    /// Replace this in the notebook's text; it may span cells. Must be there exactly once.
    #[arg(long, value_name = "TEXT", requires = "new", allow_hyphen_values = true)]
    pub(crate) old: Option<String>,
    /// What to put in place of --old.
    #[arg(long, value_name = "TEXT", requires = "old", allow_hyphen_values = true)]
    pub(crate) new: Option<String>,
    /// Replace every place where --old is found.
    #[arg(long, requires = "old")]
    pub(crate) all: bool,
    /// With --old: the change deletes exactly this many cells.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "old")]
    pub(crate) drop: usize,
    /// Keep outputs and count of cells whose source changes.
    #[arg(long, global = true)]
    pub(crate) keep_outputs: bool,
    #[command(flatten)]
    pub(crate) save: Save,
    #[command(subcommand)]
    pub(crate) op: Option<Op>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct New {
    /// The notebook to make; it must not be there yet.
    pub(crate) path: String,
    /// Name the kernel it is for, such as python3.
    #[arg(long, value_name = "NAME")]
    pub(crate) kernel: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct Diff {
    /// The notebook; the old one when two are given.
    pub(crate) a: String,
    /// The new one. Without it, the notebook is compared with its last commit in git.
    pub(crate) b: Option<String>,
    /// Compare sources and types only.
    #[arg(long)]
    pub(crate) sources: bool,
    /// Exit with 1 when there is a difference.
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
    /// The notebooks; - reads standard input and writes standard output.
    #[arg(required = true)]
    pub(crate) paths: Vec<String>,
    /// Change nothing; exit with 1 when something would change.
    #[arg(long)]
    pub(crate) check: bool,
    /// Leave outputs and counts alone, and the metadata that belong to them.
    #[arg(long)]
    pub(crate) keep_outputs: bool,
    /// Leave the metadata that belong to outputs alone.
    #[arg(long)]
    pub(crate) keep_metadata: bool,
    /// Also remove this metadata key from every cell.
    #[arg(long, value_name = "KEY")]
    pub(crate) cell_meta: Vec<String>,
    /// Also remove this metadata key from the notebook.
    #[arg(long, value_name = "KEY")]
    pub(crate) notebook_meta: Vec<String>,
    /// Write here and leave the notebook alone (one notebook only).
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<String>,
    /// Write also where owner, access list or read-only mode stand against it.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExportForm {
    /// A script in the percent format.
    Script,
    /// Markdown.
    Markdown,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct To {
    /// The form.
    #[arg(value_enum)]
    pub(crate) form: ExportForm,
    /// The notebook.
    pub(crate) path: String,
    /// Write here instead of to standard output, which is -.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<String>,
    /// How outputs appear in Markdown; full when left out.
    #[arg(long, value_enum)]
    pub(crate) outputs: Option<OutputsArg>,
}
