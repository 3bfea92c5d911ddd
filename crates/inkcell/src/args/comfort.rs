//! The arguments of the commands that make the others easier to type and to look up.
//!
//! Owns their names and help, as `args/mod.rs` does for the others.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

#[derive(ClapArgs, Debug)]
#[command(after_help = "Examples:\n  \
        inkcell completions bash > ~/.local/share/bash-completion/completions/inkcell\n  \
        inkcell completions zsh > ~/.zfunc/_inkcell\n  \
        inkcell completions fish > ~/.config/fish/completions/inkcell.fish")]
pub(crate) struct Completions {
    /// Shell to generate completions for
    #[arg(value_enum)]
    pub(crate) shell: ShellName,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShellName {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
}

impl From<ShellName> for clap_complete::Shell {
    fn from(given: ShellName) -> clap_complete::Shell {
        match given {
            ShellName::Bash => clap_complete::Shell::Bash,
            ShellName::Zsh => clap_complete::Shell::Zsh,
            ShellName::Fish => clap_complete::Shell::Fish,
            ShellName::Elvish => clap_complete::Shell::Elvish,
            ShellName::Powershell => clap_complete::Shell::PowerShell,
        }
    }
}

#[derive(ClapArgs, Debug)]
#[command(after_help = "Examples:\n  \
        inkcell man | man -l -\n  \
        inkcell man --dir ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write a page for every command to DIR
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
