//! Those who take part: each a host process of its own, asked for one sample after the other.
//!
//! Owns the environment they see and the order of a round. Must not know what a sample is.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::task::Task;
use crate::bench::peers;
use crate::bench::row::Row;
use crate::bench::sample::INHERITED;
use crate::workspace::Workspace;

/// Where hosts come from and what they see.
pub(super) struct Arena {
    pub(super) xtask: PathBuf,
    pub(super) inkcell: PathBuf,
    pub(super) python: PathBuf,
    scripts: PathBuf,
    /// Everything that is written during a run.
    pub(super) root: PathBuf,
    pub(super) env: BTreeMap<String, String>,
}

/// Who takes a sample.
#[derive(Clone, Copy)]
pub(super) enum Program {
    /// A host of our kernels, from the dist build.
    Ours,
    /// The same program, with a plain process in the place of a kernel.
    Plain,
    /// A Python program of the peers.
    Peer(&'static str),
}

pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) program: Program,
    pub(super) task: Task,
}

/// How often each is asked, and whether a first time counts for nothing.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    pub(super) count: usize,
    pub(super) warm_up: usize,
}

impl Arena {
    pub(super) fn new(workspace: &Workspace, python: PathBuf) -> Result<Arena> {
        let root = workspace.path("target/bench/kernel");
        // A home of their own: what the peers leave there is neither read nor written anywhere else.
        for dir in ["home", "work", "state"] {
            std::fs::create_dir_all(root.join(dir))?;
        }
        let mut env = BTreeMap::new();
        for name in INHERITED {
            if let Ok(value) = std::env::var(name) {
                env.insert((*name).to_owned(), value);
            }
        }
        let bin = python.parent().context("an interpreter is in a folder")?;
        let path = env.get("PATH").cloned().unwrap_or_default();
        let set = [
            ("HOME", root.join("home").display().to_string()),
            ("PATH", format!("{}:{path}", bin.display())),
            ("INKCELL_STATE_DIR", root.join("state").display().to_string()),
        ];
        env.extend(set.map(|(name, value)| (name.to_owned(), value)));
        Ok(Arena {
            xtask: peers::built(workspace, "xtask"),
            inkcell: peers::built(workspace, "inkcell"),
            python,
            scripts: workspace.path(peers::SCRIPTS),
            root,
            env,
        })
    }

    fn command(&self, contender: &Contender) -> Result<Command> {
        let mut command = match contender.program {
            Program::Peer(script) => {
                let mut command = Command::new(&self.python);
                command.arg(self.scripts.join(script));
                command
            }
            Program::Ours | Program::Plain => {
                let mut command = Command::new(&self.xtask);
                let who = if matches!(contender.program, Program::Ours) { "ours" } else { "plain" };
                command.args(["bench", "kernel-host", who]);
                command
            }
        };
        command.arg(serde_json::to_string(&contender.task)?);
        command.env_clear().envs(&self.env).current_dir(&contender.task.cwd);
        Ok(command)
    }

    /// Asks everybody in turn, each round beginning with another one. Who failed is not asked again.
    pub(super) fn interleave(
        &self,
        contenders: &[Contender],
        rounds: Rounds,
    ) -> Result<Vec<(&'static str, Row)>> {
        let mut rows: Vec<Row> = contenders.iter().map(|_| Row::default()).collect();
        let mut hosts = Vec::new();
        for (contender, row) in contenders.iter().zip(&mut rows) {
            let stderr = self.root.join(format!("stderr-{}.txt", hosts.len()));
            match Host::start(self.command(contender)?, &stderr)? {
                Ok(host) => hosts.push(Some(host)),
                Err(failure) => {
                    row.failure = Some(failure);
                    hosts.push(None);
                }
            }
        }
        for round in 0..rounds.warm_up + rounds.count {
            for offset in 0..contenders.len() {
                let index = (round + offset) % contenders.len();
                let Some(host) = &mut hosts[index] else { continue };
                match host.ask()? {
                    Ok(figures) if round >= rounds.warm_up => rows[index].add(&figures),
                    Ok(_) => {}
                    Err(failure) => {
                        rows[index].failure = Some(failure);
                        hosts[index] = None;
                    }
                }
            }
        }
        Ok(contenders.iter().map(|contender| contender.name).zip(rows).collect())
    }
}

/// A running host. Dropped, it is told to end and waited for.
struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: PathBuf,
}

impl Host {
    fn start(mut command: Command, stderr: &Path) -> Result<Result<Host, String>> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(stderr)?);
        let mut child = command.spawn().context("cannot start a host")?;
        let stdin = Some(child.stdin.take().context("the input is a pipe")?);
        let stdout = BufReader::new(child.stdout.take().context("the output is a pipe")?);
        let mut host = Host { child, stdin, stdout, stderr: stderr.to_owned() };
        Ok(host.answer()?.map(|_| host))
    }

    fn ask(&mut self) -> Result<Result<Value, String>> {
        if let Some(stdin) = &mut self.stdin {
            // A host that is gone answers with its end.
            let _ = stdin.write_all(b"go\n");
        }
        self.answer()
    }

    fn answer(&mut self) -> Result<Result<Value, String>> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            let said = std::fs::read_to_string(&self.stderr).unwrap_or_default();
            let tail: Vec<&str> = said.trim().lines().rev().take(3).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            return Ok(Err(format!("the host ended: {line}{}", tail.join(" / "))));
        };
        Ok(match value["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(value),
        })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}
