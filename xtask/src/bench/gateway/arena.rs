//! Those who take part: the servers, what starts each client, and what it is told.
//!
//! Owns the environment they see and the folders they use. Must not know what a sample is.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::task::{Client, Job, Task};
use crate::bench::family::{empty_root, forget};
use crate::bench::jupyter::{Jupyter, Sort};
use crate::bench::peers;
use crate::bench::row::Row;
use crate::bench::turns::{self, Rounds, Speaker, Starting};
use crate::workspace::Workspace;

const SCRIPTS: &str = "xtask/src/bench/gateway";

/// What lifts a server's limits on output; the gateway that inkcell starts is told the same.
const LIFTED: &str = "--ZMQChannelsWebsocketConnection.limit_rate=False";

/// Where clients come from and what they see. Dropped, its folders are gone.
pub(super) struct Arena {
    xtask: PathBuf,
    python: PathBuf,
    scripts: PathBuf,
    root: PathBuf,
    pub(super) env: BTreeMap<String, String>,
}

/// What a server does about much output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Limits {
    Lifted,
    AsTheyCome,
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
        let root = workspace.path("target/bench/gateway");
        empty_root(&root)?;
        let mut env = turns::environment(&python, &root.join("home"))?;
        let runtime = root.join("runtime").display().to_string();
        env.insert("JUPYTER_RUNTIME_DIR".to_owned(), runtime);
        let xtask = peers::built(workspace, "xtask");
        let scripts = workspace.path(SCRIPTS);
        Ok(Arena { xtask, python, scripts, root, env })
    }

    /// A server that runs.
    pub(super) fn server(&self, sort: Sort, limits: Limits) -> Result<Jupyter> {
        let arguments: &[&str] = if limits == Limits::Lifted { &[LIFTED] } else { &[] };
        let command = self.placed(Command::new(&self.python));
        Jupyter::start(sort, command, arguments, &self.root.join("stderr-server.txt"))
    }

    /// A stand-in whose kernels do nothing, and its port.
    pub(super) fn stand_in(&self) -> Result<(Speaker, u16)> {
        let mut command = self.placed(self.script("kernels.py"));
        match Speaker::heard(&mut command, &self.root.join("stderr-kernels.txt"))? {
            Ok((speaker, said)) => {
                let port = said["port"].as_u64().and_then(|port| u16::try_from(port).ok());
                Ok((speaker, port.context("the stand-in said no port")?))
            }
            Err(failure) => bail!("the gateway whose kernels do nothing: {failure}"),
        }
    }

    /// What every client of a table shares; the rest is set where it differs.
    pub(super) fn task(&self, job: Job, code: &str, server: Option<&Jupyter>) -> Task {
        Task {
            job,
            port: server.map_or(0, Jupyter::port),
            token: server.map_or_else(|| "none".to_owned(), |server| server.token().to_owned()),
            client: Client::Waiting,
            quick: false,
            code: code.to_owned(),
            count: 1,
            bytes: 0,
            python: self.python.clone(),
            cwd: self.root.join("work"),
            state_dir: self.root.join("state"),
            runtime_dir: self.root.join("spill"),
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
        let starting = |contender: &Contender| Ok((contender.name, self.command(contender)?));
        contenders.iter().map(starting).collect()
    }

    fn command(&self, contender: &Contender) -> Result<Command> {
        let mut command = match contender.who {
            Who::Ours => {
                let mut command = Command::new(&self.xtask);
                command.args(["bench", "gateway-host"]);
                command
            }
            Who::Peer => self.script("client.py"),
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
}

impl Drop for Arena {
    fn drop(&mut self) {
        // Nothing can be done about what cannot be removed; the figures are taken all the same.
        let _ = forget(&self.root);
    }
}
