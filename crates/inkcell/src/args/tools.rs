//! The arguments of `inkcell tool`.
//!
//! Owns their names and help, as `args.rs` does for the others.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::agents::ToolsArg;

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
