//! The arguments of the commands about stored output.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};

use super::python::seconds;

#[derive(ClapArgs, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "An artifact is the complete text of an output that was too long for an answer. 'inkcell result ID' \
        prints one. inkcell deletes artifacts older than artifacts.keep, and the oldest ones when \
        artifacts.session_bytes or artifacts.total_bytes is used up."
)]
pub(crate) struct Artifacts {
    #[command(flatten)]
    pub(crate) list: ListArtifacts,
    #[command(subcommand)]
    pub(crate) command: Option<ArtifactsCommand>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ArtifactsCommand {
    /// List stored outputs, the oldest first
    #[command(alias = "ls")]
    List(ListArtifacts),
    /// Delete stored outputs
    #[command(alias = "remove")]
    Rm(RemoveArtifacts),
    /// Delete outputs that are too old or exceed the limits
    Gc,
}

#[derive(ClapArgs, Debug)]
pub(crate) struct ListArtifacts {
    /// List only outputs of this session
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
}

#[derive(ClapArgs, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct RemoveArtifacts {
    /// IDs to delete; deletes nothing if one does not exist
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// Delete every output that is complete
    #[arg(long)]
    pub(crate) all: bool,
    /// Delete the outputs of this session
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
    /// Print the paths of locks, versions, artifacts and the environment
    Path,
}

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Without --raw, the text has no escape sequences, and progress bars appear as they ended. Line \
        numbers are the same with and without --raw.\n\n\
        Examples:\n  \
        inkcell result 3kf09ab2m1xq7z5t\n  \
        inkcell result artifact://3kf09ab2m1xq7z5t:100-200\n  \
        inkcell result 3kf09ab2m1xq7z5t --grep '(?i)error'\n  \
        inkcell result 3kf09ab2m1xq7z5t --json-path '.files[0].name'"
)]
pub(crate) struct ShowResult {
    /// Artifact or background call, with an optional range: ID:10-20
    ///
    /// ID:raw is the same as --raw. 'inkcell artifacts' lists the artifacts; 'inkcell run --detach' and
    /// 'inkcell py --detach' print the ID of a call.
    pub(crate) id: String,
    /// Wait up to SECONDS for the call to end
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) wait: Option<Duration>,
    /// Print only these lines, such as 10-20,50-
    ///
    /// 10-20 is a range, 3+4 four lines from line 3, 50- line 50 to the end; separate several with commas.
    #[arg(long, value_name = "LINES", conflicts_with = "json_path")]
    pub(crate) lines: Option<String>,
    /// Print lines that match a regular expression, numbered
    #[arg(long, value_name = "RE", conflicts_with = "json_path", allow_hyphen_values = true)]
    pub(crate) grep: Option<String>,
    /// Print the value at a path, such as .files[0].name
    ///
    /// Join .key, [0], [-1] and ["any key"]. [2:5] and [*] print several values. End the path with | keys, | length or
    /// | skeleton to describe the value.
    #[arg(long, value_name = "PATH")]
    pub(crate) json_path: Option<String>,
    /// Print the bytes as the program wrote them
    #[arg(long)]
    pub(crate) raw: bool,
}
