//! The arguments of the commands for whoever lets an agent use inkcell.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Without --write nothing is changed: where the configuration is and what belongs into it \
        is shown. With --write the rest of the file stays as it is, and a second time there is nothing to \
        change.\n\n\
        Examples:\n  \
        inkcell setup claude-code --write\n  \
        inkcell setup vscode --scope project --write\n  \
        inkcell setup codex --tools compat"
)]
pub(crate) struct Setup {
    /// The program the agent works in.
    #[arg(value_enum)]
    pub(crate) client: ClientArg,
    /// Write it into the program's configuration.
    #[arg(long)]
    pub(crate) write: bool,
    /// For you wherever you work, or for everybody in the project of this folder.
    #[arg(long, value_enum, default_value_t = ScopeArg::User)]
    pub(crate) scope: ScopeArg,
    /// Which tools the agent is offered.
    #[arg(long, value_enum, default_value_t = ToolsArg::Default)]
    pub(crate) tools: ToolsArg,
    /// What the server is called there: letters, digits, - and _.
    #[arg(long, value_name = "NAME", default_value = "inkcell", value_parser = server_name)]
    pub(crate) name: String,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClientArg {
    ClaudeCode,
    Cursor,
    Vscode,
    Codex,
    Zed,
    Goose,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ScopeArg {
    User,
    Project,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ToolsArg {
    /// Inkcell's own.
    Default,
    /// Those of the source documents.
    Compat,
    /// Both.
    All,
}

impl ToolsArg {
    /// What `inkcell mcp` is told.
    pub(crate) fn words(self) -> &'static [&'static str] {
        match self {
            ToolsArg::Default => &[],
            ToolsArg::Compat => &["--tools", "compat"],
            ToolsArg::All => &["--tools", "all"],
        }
    }
}

/// A name that every client takes, and that needs no quotes in any of their files.
fn server_name(given: &str) -> Result<String, String> {
    let is_fine = |any: char| any.is_ascii_alphanumeric() || any == '-' || any == '_';
    let begins_well = given.starts_with(|first: char| first.is_ascii_alphabetic());
    if begins_well && given.len() <= 64 && given.chars().all(is_fine) {
        return Ok(given.to_owned());
    }
    Err("a letter, then letters, digits, - and _, at most 64 in all".to_owned())
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Each line is ok, warn or fail, what was looked at, and what to type. The code is 0 when \
        nothing fails. A kernel is really started, so it takes a moment."
)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) python: super::PythonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "It speaks the Model Context Protocol on standard input and output until its client is gone. \
        Clients start it themselves: see inkcell setup. With --http it serves clients that come and go, each \
        with a token, until it is told to end.\n\n\
        Examples:\n  \
        inkcell mcp\n  \
        inkcell mcp --tools compat\n  \
        inkcell mcp --keep\n  \
        inkcell mcp --root ~/notebooks\n  \
        inkcell mcp --http 127.0.0.1:8000 --token-file ~/.inkcell-tokens\n  \
        inkcell mcp --inspect"
)]
pub(crate) struct Mcp {
    /// Which tools are offered.
    #[arg(long, value_enum, default_value_t = ToolsArg::Default)]
    pub(crate) tools: ToolsArg,
    /// Serve over HTTP at this address, which is one of this machine: HOST, :PORT or HOST:PORT. Without a port
    /// the system picks one.
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub(crate) http: Option<String>,
    /// Tokens that clients must send, one a line; those who share one share sessions. Without it the setting
    /// http.token counts, and without that a token is made and shown.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Also a name, or NAME:PORT, by which clients may call this server.
    #[arg(long = "allow-host", value_name = "NAME", requires = "http")]
    pub(crate) hosts: Vec<String>,
    /// Let other machines come. Whoever has the token can run any code here, and nothing is encrypted.
    #[arg(long, requires = "http")]
    pub(crate) allow_remote: bool,
    /// Keep sessions in the host that commands share: they, and what runs in them, stay when the client goes.
    #[arg(long, conflicts_with_all = ["http", "inspect"])]
    pub(crate) keep: bool,
    /// Show the tools as a client sees them, and end.
    #[arg(long, conflicts_with = "http")]
    pub(crate) inspect: bool,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "A tool answers as it answers an agent: its text is printed, --json has the whole reply. A call \
        that fails ends with a code of the table (inkcell --help). Sessions end with the command: what one call \
        set is not there for the next; several cells of one call share a session.\n\n\
        Examples:\n  \
        inkcell tool --list\n  \
        inkcell tool notebook_read '{\"path\": \"nb.ipynb\", \"view\": \"outline\"}'\n  \
        inkcell tool python '{\"cells\": [{\"code\": \"x = 20\"}, {\"code\": \"x + 1\"}]}'\n  \
        inkcell tool write - < arguments.json"
)]
pub(crate) struct Tool {
    /// Its name.
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,
    /// Its arguments, an object; - reads it from standard input. None when left out.
    #[arg(value_name = "JSON", conflicts_with = "list")]
    pub(crate) arguments: Option<String>,
    /// Show which tools there are; with a name, that one with its arguments.
    #[arg(long)]
    pub(crate) list: bool,
    /// Whose tools; what both have is as inkcell's own profile has it, unless compat is asked for.
    #[arg(long, value_enum, default_value_t = ToolsArg::All)]
    pub(crate) tools: ToolsArg,
    /// Write images into this folder; without it their stored files are named.
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<PathBuf>,
}
