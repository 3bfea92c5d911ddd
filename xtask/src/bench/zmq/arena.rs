//! Those who take part: what starts each, and what it is told.
//!
//! Owns the environment they see and the folders they use. Must not know what a sample is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::task::{Carrier, Client, Job, Queue, Task};
use crate::bench::family::{empty_root, forget};
use crate::bench::peers;
use crate::bench::row::Row;
use crate::bench::turns::{self, Rounds, Speaker, Starting};
use crate::workspace::Workspace;

const SCRIPTS: &str = "xtask/src/bench/zmq";

/// Where clients come from and what they see. Dropped, its folders are gone.
pub(super) struct Arena {
    xtask: PathBuf,
    python: PathBuf,
    scripts: PathBuf,
    root: PathBuf,
    /// For sockets, whose names must be short wherever the workspace is.
    runtime: PathBuf,
    pub(super) env: BTreeMap<String, String>,
}

/// Who takes a sample.
#[derive(Clone, Copy)]
pub(super) enum Who {
    Ours,
    Peer,
}

pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) who: Who,
    pub(super) task: Task,
}

impl Arena {
    pub(super) fn new(workspace: &Workspace, python: PathBuf) -> Result<Arena> {
        let root = workspace.path("target/bench/zmq");
        empty_root(&root)?;
        let runtime = std::env::temp_dir().join(format!("inkcell-bench-{}", std::process::id()));
        std::fs::create_dir(&runtime)
            .with_context(|| format!("cannot make {}", runtime.display()))?;
        let mut env = turns::environment(&python, &root.join("home"))?;
        let jupyter = runtime.join("jupyter").display().to_string();
        env.insert("JUPYTER_RUNTIME_DIR".to_owned(), jupyter);
        let xtask = peers::built(workspace, "xtask");
        let scripts = workspace.path(SCRIPTS);
        Ok(Arena { xtask, python, scripts, root, runtime, env })
    }

    /// What every client of a table shares; the rest is set where it differs.
    pub(super) fn task(&self, job: Job, code: &str) -> Task {
        Task {
            job,
            python: self.python.clone(),
            cwd: self.root.join("work"),
            state_dir: self.root.join("state"),
            runtime_dir: self.runtime.join("k"),
            transport: Carrier::Ipc,
            client: Client::Blocking,
            queue: Queue::Endless,
            silence_s: None,
            code: code.to_owned(),
            count: 1,
            bytes: 0,
            pool: 0,
            connections: Vec::new(),
        }
    }

    fn command(&self, contender: &Contender) -> Result<Command> {
        let mut command = match contender.who {
            Who::Ours => {
                let mut command = Command::new(&self.xtask);
                command.args(["bench", "zmq-host"]);
                command
            }
            Who::Peer => self.script("jupyter.py"),
        };
        command.arg(serde_json::to_string(&contender.task)?);
        Ok(self.placed(command))
    }

    fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(self.scripts.join(name));
        command
    }

    fn placed(&self, mut command: Command) -> Command {
        command.env_clear().envs(&self.env).current_dir(self.root.join("work"));
        command
    }

    /// Kernels that do nothing, all in one process, and their connection files.
    pub(super) fn idle_kernels(&self, count: usize) -> Result<(Speaker, Vec<PathBuf>)> {
        let folder = self.runtime.join("idle");
        forget(&folder)?;
        std::fs::create_dir(&folder)?;
        let mut command = self.script("kernels.py");
        command.arg(&folder).arg(count.to_string());
        let files = (0..count).map(|number| folder.join(format!("{number}.json"))).collect();
        match Speaker::start(self.placed(command), &self.root.join("stderr-kernels.txt"))? {
            Ok(kernels) => Ok((kernels, files)),
            Err(failure) => bail!("the kernels that do nothing: {failure}"),
        }
    }

    /// Asks everybody in turn.
    pub(super) fn interleave(
        &self,
        contenders: &[Contender],
        rounds: Rounds,
    ) -> Result<Vec<(&'static str, Row)>> {
        turns::interleave(self.starting(contenders)?, &self.root, rounds)
    }

    /// The same with new processes for each sample.
    pub(super) fn each_anew(
        &self,
        contenders: &[Contender],
        count: usize,
    ) -> Result<Vec<(&'static str, Row)>> {
        turns::each_anew(count, &self.root, || self.starting(contenders))
    }

    fn starting(&self, contenders: &[Contender]) -> Result<Vec<Starting>> {
        contenders.iter().map(|contender| Ok((contender.name, self.command(contender)?))).collect()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for folder in [&self.runtime, &self.root] {
            // Nothing can be done about what cannot be removed; the figures are taken all the same.
            let _ = forget(folder);
        }
    }
}
