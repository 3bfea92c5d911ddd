//! The arguments of the commands for people who let an agent use inkcell.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Without --write, inkcell shows the configuration file and what to add, and changes nothing. With \
        --write, the rest of the file stays unchanged.\n\n\
        Examples:\n  \
        inkcell setup claude-code --write\n  \
        inkcell setup vscode --scope project --write\n  \
        inkcell setup codex --tools compat"
)]
pub(crate) struct Setup {
    /// Program to connect
    #[arg(value_enum)]
    pub(crate) client: ClientArg,
    /// Write the configuration of the program
    #[arg(long)]
    pub(crate) write: bool,
    /// Configure for you everywhere, or for this project
    #[arg(long, value_enum, default_value_t = ScopeArg::User)]
    pub(crate) scope: ScopeArg,
    /// Offer these tools to the agent
    #[arg(long, value_enum, default_value_t = ToolsArg::Default)]
    pub(crate) tools: ToolsArg,
    /// Name of the server in the configuration
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
    /// You, in every folder
    User,
    /// Everyone in the project of this folder
    Project,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ToolsArg {
    /// Tools of inkcell
    Default,
    /// Tools named as in the source documents
    Compat,
    /// Tools of both
    All,
}

impl ToolsArg {
    /// The arguments of `inkcell mcp`.
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
    Err("use a letter, then letters, digits, - and _, at most 64 in all".to_owned())
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Each line has a result (ok, warn or fail), the part that was checked and a command that fixes it. \
        The exit code is 0 if nothing fails. The check starts a kernel, so it takes a moment."
)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) python: super::PythonArgs,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "The server speaks the Model Context Protocol on standard input and output until its client \
        disconnects. Clients start the server themselves; see 'inkcell setup'. With --http, clients can connect and \
        disconnect, each with a token, until you stop the server.\n\n\
        Examples:\n  \
        inkcell mcp\n  \
        inkcell mcp --tools compat\n  \
        inkcell mcp --keep\n  \
        inkcell mcp --root ~/notebooks\n  \
        inkcell mcp --http 127.0.0.1:8000 --token-file ~/.inkcell-tokens\n  \
        inkcell mcp --inspect"
)]
pub(crate) struct Mcp {
    /// Offer these tools
    #[arg(long, value_enum, default_value_t = ToolsArg::Default)]
    pub(crate) tools: ToolsArg,
    /// Serve over HTTP on a local address
    ///
    /// ADDR is HOST, :PORT or HOST:PORT of this machine. Without a port, the system picks one.
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    pub(crate) http: Option<String>,
    /// Read the tokens of clients from FILE, one per line
    ///
    /// Clients with the same token share sessions. [default: http.token, or a new token that the server prints]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Accept requests to this host name (repeatable)
    ///
    /// NAME, or NAME:PORT.
    #[arg(long = "allow-host", value_name = "NAME", requires = "http")]
    pub(crate) hosts: Vec<String>,
    /// Accept connections from other machines
    #[arg(
        long,
        requires = "http",
        long_help = "Accept connections from other machines. Not encrypted: anyone with the \
        token can run code here"
    )]
    pub(crate) allow_remote: bool,
    /// Keep sessions when the client disconnects
    ///
    /// Sessions live in the background host, which commands share.
    #[arg(long, conflicts_with_all = ["http", "inspect"])]
    pub(crate) keep: bool,
    /// Print the tools as a client sees them
    #[arg(long, conflicts_with = "http")]
    pub(crate) inspect: bool,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Prints the text that an agent gets; --json prints the whole reply. 'inkcell help exit-codes' lists \
        the exit codes. Sessions end with the command, so the next call starts without variables. Cells of one call \
        share a session.\n\n\
        Examples:\n  \
        inkcell tool --list\n  \
        inkcell tool notebook_read '{\"path\": \"nb.ipynb\", \"view\": \"outline\"}'\n  \
        inkcell tool python '{\"cells\": [{\"code\": \"x = 20\"}, {\"code\": \"x\"}]}'\n  \
        inkcell tool write - < arguments.json"
)]
pub(crate) struct Tool {
    /// Tool to call
    #[arg(required_unless_present = "list")]
    pub(crate) name: Option<String>,
    /// Arguments as a JSON object; - reads standard input [default: {}]
    #[arg(value_name = "JSON", conflicts_with = "list")]
    pub(crate) arguments: Option<String>,
    /// List the tools, or show the arguments of one
    #[arg(long)]
    pub(crate) list: bool,
    /// Use the tools of this profile
    ///
    /// A tool that both profiles have is inkcell's own, unless you ask for compat.
    #[arg(long, value_enum, default_value_t = ToolsArg::All)]
    pub(crate) tools: ToolsArg,
    /// Write images to DIR [default: print the paths of stored images]
    #[arg(long, value_name = "DIR")]
    pub(crate) images: Option<PathBuf>,
}
