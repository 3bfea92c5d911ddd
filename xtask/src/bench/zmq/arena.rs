//! Those who take part: each a process of its own, asked for one sample after the other.
//!
//! Owns the environment they see, the folders they use, and the order of a round. Must not know what a sample is.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::task::{Carrier, Client, Job, Queue, Task};
use crate::bench::family::{empty_root, forget};
use crate::bench::peers;
use crate::bench::row::Row;
use crate::bench::sample::INHERITED;
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

/// How often each is asked, and whether a first time counts for nothing.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    pub(super) count: usize,
    pub(super) warm_up: usize,
}

impl Arena {
    pub(super) fn new(workspace: &Workspace, python: PathBuf) -> Result<Arena> {
        let root = workspace.path("target/bench/zmq");
        empty_root(&root)?;
        let runtime = std::env::temp_dir().join(format!("inkcell-bench-{}", std::process::id()));
        std::fs::create_dir(&runtime)
            .with_context(|| format!("cannot make {}", runtime.display()))?;
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
            ("JUPYTER_RUNTIME_DIR", runtime.join("jupyter").display().to_string()),
        ];
        env.extend(set.map(|(name, value)| (name.to_owned(), value)));
        let xtask = peers::release(workspace, "xtask");
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

    /// Asks everybody in turn, each round beginning with another one. Who failed is not asked again.
    pub(super) fn interleave(
        &self,
        contenders: &[Contender],
        rounds: Rounds,
    ) -> Result<Vec<(&'static str, Row)>> {
        let mut rows: Vec<Row> = contenders.iter().map(|_| Row::default()).collect();
        let mut clients = Vec::new();
        for (contender, row) in contenders.iter().zip(&mut rows) {
            let stderr = self.root.join(format!("stderr-{}.txt", clients.len()));
            match Speaker::start(self.command(contender)?, &stderr)? {
                Ok(client) => clients.push(Some(client)),
                Err(failure) => {
                    row.failure = Some(failure);
                    clients.push(None);
                }
            }
        }
        for round in 0..rounds.warm_up + rounds.count {
            for offset in 0..contenders.len() {
                let index = (round + offset) % contenders.len();
                let Some(client) = &mut clients[index] else { continue };
                match client.ask()? {
                    Ok(figures) if round >= rounds.warm_up => rows[index].add(&figures),
                    Ok(_) => {}
                    Err(failure) => {
                        rows[index].failure = Some(failure);
                        clients[index] = None;
                    }
                }
            }
        }
        Ok(contenders.iter().map(|contender| contender.name).zip(rows).collect())
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

/// A process that says a line when it is ready and one for each sample. Dropped, it is told to end and waited for.
pub(super) struct Speaker {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: PathBuf,
}

impl Speaker {
    /// A process that is ready, or in the inner error why it is not.
    fn start(mut command: Command, stderr: &Path) -> Result<Result<Speaker, String>> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(stderr)?);
        let mut child = command.spawn().context("cannot start a client")?;
        let stdin = Some(child.stdin.take().context("the input is a pipe")?);
        let stdout = BufReader::new(child.stdout.take().context("the output is a pipe")?);
        let mut speaker = Speaker { child, stdin, stdout, stderr: stderr.to_owned() };
        Ok(speaker.answer()?.map(|_| speaker))
    }

    fn ask(&mut self) -> Result<Result<Value, String>> {
        if let Some(stdin) = &mut self.stdin {
            // One that is gone answers with its end.
            let _ = stdin.write_all(b"go\n");
        }
        self.answer()
    }

    fn answer(&mut self) -> Result<Result<Value, String>> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            let said = std::fs::read_to_string(&self.stderr).unwrap_or_default();
            let lines: Vec<&str> = said.trim().lines().collect();
            let tail = &lines[lines.len().saturating_sub(3)..];
            return Ok(Err(format!("it ended: {line}{}", tail.join(" / "))));
        };
        Ok(match value["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(value),
        })
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}
