//! `cargo xtask package`: makes what a release publishes, and tries each package as its users would.
//!
//! Owns the list of packages and the order in which they are made. Most hold the binary of one wheel. A package is in
//! `target/package` only if it worked. Must not know how any of them is made.

mod action;
mod archive;
mod bundle;
mod crates;
mod docker;
mod formula;
mod links;
mod npm;
mod plugin;
mod pre_commit;
pub(crate) mod product;
mod registry;
mod sandbox;
mod sdist;
mod server;
pub(crate) mod trial;
mod wheel;
mod workshop;

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;

use crate::stages::Stages;
use crate::workspace::Workspace;
use workshop::Workshop;

/// The folder of finished packages.
pub(crate) const OUT: &str = "target/package";

/// A kind of package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Kind {
    /// The crates, each built from its package alone
    Crates,
    /// The wheel, which runs on old systems too
    Wheel,
    /// The source package for PyPI
    Sdist,
    /// The archive and the installer script
    Archive,
    /// The packages for npm
    Npm,
    /// The mirror for pre-commit
    PreCommit,
    /// The bundle for Claude Desktop
    Bundle,
    /// The plugin for Claude Code
    Plugin,
    /// The entry for the MCP registry
    Registry,
    /// The links for Cursor and VS Code
    Links,
    /// The formula for Homebrew
    Formula,
    /// The image for containers
    Docker,
    /// The GitHub Action and the workflows
    Action,
}

/// What to make, and from what.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The kinds to make; empty for all.
    pub(crate) kinds: Vec<Kind>,
    /// The wheel that holds the binary of the other packages; made if absent.
    pub(crate) wheel: Option<PathBuf>,
}

/// Makes packages of one kind. Returns what could not be tried on this machine.
type Make = fn(&mut Workshop<'_>) -> Result<Vec<String>>;

const STEPS: [(Kind, &str, Make); 13] = [
    (Kind::Wheel, "wheel", wheel::make),
    (Kind::Archive, "archive and installer", archive::make),
    (Kind::Npm, "npm", npm::make),
    (Kind::PreCommit, "pre-commit", pre_commit::make),
    (Kind::Bundle, "bundle", bundle::make),
    (Kind::Plugin, "plugin", plugin::make),
    (Kind::Registry, "registry entry", registry::make),
    (Kind::Links, "links", links::make),
    (Kind::Formula, "formula", formula::make),
    (Kind::Docker, "image", docker::make),
    (Kind::Action, "action and workflows", action::make),
    (Kind::Sdist, "sdist", sdist::make),
    (Kind::Crates, "crates", crates::make),
];

pub(crate) fn run(workspace: &Workspace, options: Options) -> Result<()> {
    let mut stages = Stages::default();
    let outcome = make(&mut stages, workspace, options);
    println!("\n{}", stages.table());
    outcome
}

fn make(stages: &mut Stages, workspace: &Workspace, options: Options) -> Result<()> {
    let Options { kinds, wheel } = options;
    let is_wanted = |kind: Kind| kinds.is_empty() || kinds.contains(&kind);
    let mut workshop = stages.run("tools", || Workshop::open(workspace, wheel))?;
    if workshop.product.owner() == product::PLACEHOLDER {
        stages.warn(
            "Cargo.toml does not say who publishes: these packages are for trying only".into(),
        );
    }
    for (_, name, make) in STEPS.into_iter().filter(|(kind, ..)| is_wanted(*kind)) {
        let untried = stages.run(name, || make(&mut workshop))?;
        untried.into_iter().for_each(|line| stages.warn(line));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_made_once() {
        let mut kinds: Vec<Kind> = STEPS.iter().map(|(kind, ..)| *kind).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, Kind::value_variants());
    }
}
