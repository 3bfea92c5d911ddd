//! Where notebooks are run to be measured: a folder for everybody who takes part, and the environment they share.
//!
//! Owns the notebooks' being new before and run afterwards. Must not know tables or goals.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::file::Subject;
use super::runner::{DRAWING, NOTEBOOK, Programs, Runner, SCRIPT, folder};
use crate::bench::family::empty_root;
use crate::bench::notebook::settle;
use crate::bench::peers::{self, Peer};
use crate::bench::row::Row;
use crate::bench::sample::{StopWatch, interleave_named};
use crate::workspace::Workspace;

/// How much is done.
pub(in crate::bench) struct Size {
    pub(in crate::bench) is_quick: bool,
    pub(in crate::bench) rounds: Option<usize>,
}

impl Size {
    pub(in crate::bench) fn rounds(&self, full: usize) -> usize {
        self.rounds.unwrap_or(if self.is_quick { 1 } else { full })
    }
}

/// Where everything is measured.
pub(in crate::bench) struct Arena {
    pub(in crate::bench) root: PathBuf,
    pub(in crate::bench) programs: Programs,
    pub(in crate::bench) watch: StopWatch,
}

impl Arena {
    /// An empty one, in the folder of this family.
    pub(in crate::bench) fn new(
        workspace: &Workspace,
        family: &str,
        python: PathBuf,
        nb: Option<PathBuf>,
    ) -> Result<Arena> {
        let root = workspace.path("target/bench").join(family);
        empty_root(&root)?;
        let bin = python.parent().context("an interpreter is in a folder")?.to_owned();
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths([bin].into_iter().chain(std::env::split_paths(&inherited)))?;
        // A home of their own: what they leave there is neither read nor written anywhere else.
        let watch = StopWatch {
            xtask: peers::built(workspace, "xtask"),
            env: vec![
                ("PATH", path),
                ("HOME", root.join("home").into()),
                ("INKCELL_STATE_DIR", root.join("state").into()),
            ],
            stderr: root.join("stderr.txt"),
        };
        let inkcell = peers::built(workspace, "inkcell");
        let programs = Programs { inkcell, python, nb, scripts: workspace.path(peers::SCRIPTS) };
        Ok(Arena { root, programs, watch })
    }

    /// The folder of one who takes part, with nothing in it but a notebook that was never run and its scripts.
    pub(super) fn fresh(&self, name: &str, subject: &Subject) -> Result<PathBuf> {
        let dir = folder(&self.root, name);
        std::fs::create_dir_all(&dir)?;
        for entry in std::fs::read_dir(&dir)? {
            std::fs::remove_file(entry?.path())?;
        }
        let file = dir.join(NOTEBOOK);
        subject.write(&file)?;
        std::fs::write(dir.join(SCRIPT), subject.script())?;
        std::fs::write(dir.join(DRAWING), subject.drawing_script())?;
        settle(&dir, &file)?;
        Ok(dir)
    }

    /// Whole processes by turns, each with a notebook of its own.
    pub(in crate::bench) fn rows(
        &self,
        contenders: &[(Runner, &'static str, &Subject)],
        rounds: usize,
    ) -> Result<Vec<(&'static str, Row)>> {
        let subjects: BTreeMap<&str, _> =
            contenders.iter().map(|(runner, name, subject)| (*name, (*runner, *subject))).collect();
        let peers: Vec<_> = contenders
            .iter()
            .filter_map(|(runner, name, _)| self.programs.peer(*runner, name))
            .collect();
        let before = |peer: &Peer| self.fresh(peer.name, subjects[peer.name].1);
        let after = |peer: &Peer| {
            let (runner, subject) = subjects[peer.name];
            let left = runner.leaves().map(|left| folder(&self.root, peer.name).join(left));
            Ok(left.map_or(Ok(()), |left| subject.check(&left)))
        };
        interleave_named(&peers, rounds, &self.watch, before, after)
    }

    /// Why something failed, with the last that was said.
    pub(super) fn said(&self, failure: &anyhow::Error) -> String {
        let said = std::fs::read_to_string(&self.watch.stderr).unwrap_or_default();
        let last = said.trim().lines().last().unwrap_or_default();
        format!("{failure:#} {last}").trim_end().to_owned()
    }
}
