//! The arguments of the commands about hosts and their sessions.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use clap::{Args as ClapArgs, Subcommand};

/// Whether a command may use a host that stays.
#[derive(ClapArgs, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct HostArgs {
    /// Do not use the background host
    #[arg(
        long,
        help_heading = "Python and kernel",
        long_help = "Do not use the background host; the session ends with \
        this command [implied if CI is set]"
    )]
    pub(crate) no_host: bool,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct HostCommand {
    #[command(subcommand)]
    pub(crate) command: HostVerb,
}

impl HostCommand {
    /// Whether this process is to be the host.
    pub(crate) fn serves(&self) -> bool {
        matches!(self.command, HostVerb::Serve)
    }
}

#[derive(Subcommand, Debug)]
pub(crate) enum HostVerb {
    /// Start the host if none is running
    Start,
    /// Stop the host and end its sessions
    Stop {
        /// Kill the host if it does not respond
        #[arg(long)]
        force: bool,
    },
    /// Show the running hosts, including hosts of agents
    Status,
    /// Run as the host until stopped or idle
    #[command(hide = true)]
    Serve,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Lists the sessions of the background host and of running agents. Name a session by its name, its \
        notebook or its process ID.\n\n\
        Examples:\n  \
        inkcell sessions\n  \
        inkcell sessions --json"
)]
pub(crate) struct Sessions {}

/// Which session.
#[derive(ClapArgs, Debug)]
pub(crate) struct OneSession {
    /// Name, notebook or process ID [default: the only session, or this folder's]
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Prints the remembered events of the session first, then new ones. Ctrl-C stops following; the code \
        keeps running. Ctrl-O switches between complete outputs and previews.\n\n\
        Examples:\n  \
        inkcell attach\n  \
        inkcell attach report.ipynb\n  \
        inkcell attach work --from 120 --json"
)]
pub(crate) struct Attach {
    #[command(flatten)]
    pub(crate) which: OneSession,
    /// Start at this event [default: the first one remembered]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) from: Option<u64>,
    /// Print the remembered events and exit
    #[arg(long)]
    pub(crate) no_follow: bool,
}
