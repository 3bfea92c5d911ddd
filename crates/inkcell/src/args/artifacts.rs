//! The arguments of the commands about stored output.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};

use super::python::seconds;

#[derive(ClapArgs, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Output that is too long for an answer is stored whole, as an artifact; inkcell result ID shows \
        one.\nWhat is older than artifacts.keep goes by itself, and so does the oldest when \
        artifacts.session_bytes\nor artifacts.total_bytes are used up."
)]
pub(crate) struct Artifacts {
    #[command(flatten)]
    pub(crate) list: ListArtifacts,
    #[command(subcommand)]
    pub(crate) command: Option<ArtifactsCommand>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ArtifactsCommand {
    /// List what is stored, the oldest first.
    #[command(alias = "ls")]
    List(ListArtifacts),
    /// Remove artifacts.
    #[command(alias = "remove")]
    Rm(RemoveArtifacts),
    /// Remove what is too old or too much, and what killed writers left.
    Gc,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ListArtifacts {
    /// Only those of sessions of this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

#[derive(ClapArgs, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct RemoveArtifacts {
    /// The artifacts; when one of them is not there, none is removed.
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Remove all that are not being written.
    #[arg(long)]
    pub(crate) all: bool,
    /// Remove those of sessions of this name.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct State {
    #[command(subcommand)]
    pub(crate) command: StateCommand,
}

#[derive(Subcommand, Clone, Copy, Debug)]
pub(crate) enum StateCommand {
    /// Say where locks, versions, artifacts and the managed environment are.
    Path,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Escape sequences are left out and progress bars are shown as they ended, unless --raw is \
        given.\nLines have the same numbers either way: those that notices speak of.\n\n\
        Examples:\n  \
        inkcell result 3kf09ab2m1xq7z5t\n  \
        inkcell result artifact://3kf09ab2m1xq7z5t:100-200\n  \
        inkcell result 3kf09ab2m1xq7z5t --grep '(?i)error'\n  \
        inkcell result 3kf09ab2m1xq7z5t --json-path '.files[0].name'"
)]
pub(crate) struct ShowResult {
    /// The artifact, as an answer named it; with a selector if wanted: ID:10-20, ID:raw. Or a call that runs, or has
    /// run, in a host.
    pub(crate) id: String,
    /// Wait for the end of a call for so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) wait: Option<Duration>,
    /// Only these lines: 10-20, 3+4 (four of them), 50- (and all that follow), 1-9,40-50.
    #[arg(long, value_name = "LINES", conflicts_with = "json_path")]
    pub(crate) lines: Option<String>,
    /// Only the lines that match a regular expression, with their numbers.
    #[arg(long, value_name = "RE", conflicts_with = "json_path", allow_hyphen_values = true)]
    pub(crate) grep: Option<String>,
    /// Only the value at this path of JSON: .key, [0], [-1], ["any key"], one after the other. [2:5] and [*] give
    /// several; | keys, | length or | skeleton at the end tells about the value.
    #[arg(long, value_name = "PATH")]
    pub(crate) json_path: Option<String>,
    /// The bytes as the program wrote them.
    #[arg(long)]
    pub(crate) raw: bool,
}
