//! The arguments of the commands that have to do with hosts and their sessions.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use clap::{Args as ClapArgs, Subcommand};

/// Whether a command may use a host that stays.
#[derive(ClapArgs, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct HostArgs {
    /// Use no host that stays: everything ends with the command. It is so where CI is set, too.
    #[arg(long)]
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
    /// Start the host that commands share, if it does not run.
    Start,
    /// End it, with every session in it.
    Stop {
        /// Kill the host if it does not answer, for example because it is stopped.
        #[arg(long)]
        force: bool,
    },
    /// Show every host there is: the shared one, and those of agents.
    Status,
    /// Be the host that commands share, until it is idle or told to end.
    #[command(hide = true)]
    Serve,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Sessions of the host that commands share, and of every agent that has an inkcell mcp. A session is \
        named by its name, by its notebook or by the number of its process.\n\n\
        Examples:\n  \
        inkcell sessions\n  \
        inkcell sessions --json"
)]
pub(crate) struct Sessions {}

/// Which session.
#[derive(ClapArgs, Debug)]
pub(crate) struct OneSession {
    /// Its name, its notebook or the number of its process; the only one, or the one of this folder, when left out.
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "First what happened in it, as far as that is remembered, then what happens. Ctrl-C leaves it; what \
        runs goes on. With ctrl+o everything of what is shown next is shown, again for a preview.\n\n\
        Examples:\n  \
        inkcell attach\n  \
        inkcell attach report.ipynb\n  \
        inkcell attach work --from 120 --json"
)]
pub(crate) struct Attach {
    #[command(flatten)]
    pub(crate) which: OneSession,
    /// Begin with the event of this number; with the first that is remembered when left out.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) from: Option<u64>,
    /// Print the remembered events and end.
    #[arg(long)]
    pub(crate) no_follow: bool,
}
