//! The process that measures: it starts servers, calls them in turn, and prints the figures.
//!
//! Owns the contenders, the environment of each, and the order of a round. It comes from a dist build, so that
//! the client uses little memory. Must not know goals.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, to_value};

use super::client::Client;
use crate::bench::arena::{environment, explain, remove};
use crate::bench::jupyter::{Jupyter, Sort};
use crate::bench::measure::{Rounds, Row, Rows, Turn, interleave};

/// Time limits: longer than any start, and longer than all calls of a run.
const START_LIMIT: Duration = Duration::from_secs(120);
const CALLS_LIMIT: Duration = Duration::from_secs(1800);

/// Instructions of the coordinator to this process.
#[derive(Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) job: Job,
    pub(super) inkcell: PathBuf,
    /// The script of the bare server, and the interpreter that has the SDK.
    pub(super) bare: PathBuf,
    pub(super) bare_python: PathBuf,
    /// The interpreter that has jupyter-mcp-server; without it, its rows are left out.
    pub(super) jupyter_python: Option<PathBuf>,
    /// The folder for all files that this process writes.
    pub(super) root: PathBuf,
    pub(super) rounds: usize,
    /// Calls to a quick server in a round.
    pub(super) calls: usize,
}

/// The kind of a sample.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Job {
    /// Start new processes, each until it has listed its tools.
    Start,
    /// Call a tool of servers that are running already.
    Call,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Inkcell,
    /// inkcell with an empty state folder, so that it must look for a Python first.
    InkcellFirst,
    Bare,
    Jupyter,
}

impl Who {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Who::Inkcell => "inkcell mcp",
            Who::InkcellFirst => "inkcell mcp, state folder empty",
            Who::Bare => "bare server, official Python SDK",
            Who::Jupyter => "jupyter-mcp-server",
        }
    }

    /// The tool to call, its arguments, and the answer that it must give.
    fn tool(self) -> (&'static str, Value, &'static str) {
        match self {
            Who::Inkcell | Who::InkcellFirst => ("python", json!({"code": "1+1"}), "2"),
            Who::Bare => ("nothing", json!({}), ""),
            Who::Jupyter => ("execute_code", json!({"code": "1+1"}), "2"),
        }
    }
}

/// Measures and prints one line of JSON.
pub(in crate::bench) fn run(args: &[String]) -> Result<()> {
    let [task] = args else { bail!("a host is told what to do") };
    let task: Task = serde_json::from_str(task).context("the task cannot be read")?;
    let rows = match task.job {
        Job::Start => task.starts()?,
        Job::Call => task.calls()?,
    };
    let rows = rows.iter().map(|(name, row)| Ok(((*name).to_owned(), to_value(row)?)));
    println!("{}", Value::Object(rows.collect::<Result<Map<_, _>>>()?));
    Ok(())
}

impl Task {
    fn starts(&self) -> Result<Rows> {
        let mut all = vec![Who::Inkcell, Who::InkcellFirst, Who::Bare];
        let jupyter = self.jupyter()?;
        all.extend(jupyter.is_some().then_some(Who::Jupyter));
        let turn = |who: &Who| Turn { name: who.name(), is_quick: *who == Who::Inkcell };
        let turns: Vec<Turn> = all.iter().map(turn).collect();
        let mut rows = interleave(&turns, Rounds::warm(self.rounds), |index| {
            let started = self.start(all[index], jupyter.as_ref());
            Ok(started.map_err(|failure| self.explain(all[index], &failure)))
        })?;
        if let Some(jupyter) = &jupyter {
            let (rss, pss) = jupyter.held()?;
            let mut row = Row::default();
            row.add(&json!({"ms": jupyter.start_ms, "rss_mib": rss, "pss_mib": pss}));
            rows.push((super::SERVER, row));
        }
        Ok(rows)
    }

    fn start(&self, who: Who, jupyter: Option<&Jupyter>) -> Result<Value> {
        let (tool, arguments, text) = who.tool();
        if who == Who::InkcellFirst {
            remove(&self.state(who))?;
        }
        let command = self.command(who, jupyter, Kernel::WhenAsked)?;
        let mut client = Client::start(command, &self.stderr(who), START_LIMIT)?;
        let ms = client.open(tool)?;
        let held = client.held()?;
        let mut figures = json!({"ms": ms, "rss_mib": held.resident, "pss_mib": held.proportional});
        // The other table has the peer's first call, because that call leaves its kernel behind.
        if who != Who::Jupyter {
            figures["first_call_ms"] = client.call(tool, &arguments, text)?.into();
            figures["called_mib"] = client.held()?.resident.into();
        }
        if let Some(ms) = client.leave()? {
            figures["end_ms"] = ms.into();
        }
        Ok(figures)
    }

    fn calls(&self) -> Result<Rows> {
        let mut all = vec![Who::Inkcell, Who::Bare];
        let jupyter = self.jupyter()?;
        all.extend(jupyter.is_some().then_some(Who::Jupyter));
        let open = |who: &Who| {
            let opened = self.open(*who, jupyter.as_ref());
            opened.map_err(|failure| self.explain(*who, &failure))
        };
        let mut clients: Vec<_> = all.iter().map(open).collect();
        let turn = |who: &Who| Turn { name: who.name(), is_quick: false };
        let turns: Vec<Turn> = all.iter().map(turn).collect();
        let mut rows = interleave(&turns, Rounds::warm(self.rounds), |index| {
            let client = match &mut clients[index] {
                Ok(client) => client,
                Err(failure) => return Ok(Err(failure.clone())),
            };
            // Each call of the peer takes a second, so a few of them are enough.
            let count = if all[index] == Who::Jupyter { 2 } else { self.calls };
            let (tool, arguments, text) = all[index].tool();
            let took: Result<Vec<f64>> =
                (0..count).map(|_| client.call(tool, &arguments, text)).collect();
            let took = took.map_err(|failure| self.explain(all[index], &failure));
            if let Err(failure) = &took {
                clients[index] = Err(failure.clone());
            }
            Ok(took.map(|ms| json!({"ms": ms})))
        })?;
        for (client, (_, row)) in clients.into_iter().zip(&mut rows) {
            let Ok(client) = client else { continue };
            let held = client.held()?;
            row.add(&json!({"rss_mib": held.resident, "pss_mib": held.proportional}));
            client.leave()?;
        }
        Ok(rows)
    }

    fn open(&self, who: Who, jupyter: Option<&Jupyter>) -> Result<Client> {
        let command = self.command(who, jupyter, Kernel::AtStart)?;
        let mut client = Client::start(command, &self.stderr(who), CALLS_LIMIT)?;
        client.open(who.tool().0)?;
        Ok(client)
    }

    fn command(&self, who: Who, jupyter: Option<&Jupyter>, kernel: Kernel) -> Result<Command> {
        let mut command = match who {
            Who::Inkcell | Who::InkcellFirst => {
                let mut command = self.clean(&self.inkcell, &self.bare_python)?;
                command.arg("mcp").env("INKCELL_STATE_DIR", self.state(who));
                command
            }
            Who::Bare => {
                let mut command = self.clean(&self.bare_python, &self.bare_python)?;
                command.arg(&self.bare);
                command
            }
            Who::Jupyter => {
                let python = self.jupyter_python.as_deref().unwrap_or(&self.bare_python);
                let program = python.with_file_name("jupyter-mcp-server");
                let mut command = self.clean(&program, python)?;
                command.args(["start", "--transport", "stdio"]);
                command
            }
        };
        if let (Who::Jupyter, Some(jupyter)) = (who, jupyter) {
            command
                .envs([("DOCUMENT_URL", jupyter.url()), ("CODE_SANDBOX_URL", jupyter.url())])
                .env("DOCUMENT_TOKEN", jupyter.token())
                .env("CODE_SANDBOX_TOKEN", jupyter.token())
                .env("START_NEW_CODE_SANDBOX", kernel.word());
        }
        Ok(command)
    }

    /// Prepares a program in a clean environment, with the folder of its interpreter first in PATH.
    fn clean(&self, program: &Path, python: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.env_clear().envs(environment(python, &self.root)?);
        command.current_dir(self.root.join("work"));
        Ok(command)
    }

    fn jupyter(&self) -> Result<Option<Jupyter>> {
        let Some(python) = &self.jupyter_python else { return Ok(None) };
        let command = self.clean(&python.with_file_name("jupyter"), python)?;
        let stderr = self.root.join("stderr-jupyter.txt");
        Ok(Some(Jupyter::start(Sort::Lab, command, &[], &stderr)?))
    }

    fn state(&self, who: Who) -> PathBuf {
        self.root.join(if who == Who::InkcellFirst { "state-first" } else { "state" })
    }

    fn stderr(&self, who: Who) -> PathBuf {
        self.root.join(format!("stderr-{}.txt", who as usize))
    }

    fn explain(&self, who: Who, failure: &anyhow::Error) -> String {
        explain(failure, &self.stderr(who))
    }
}

/// The moment at which jupyter-mcp-server starts its kernel.
#[derive(Clone, Copy)]
enum Kernel {
    AtStart,
    WhenAsked,
}

impl Kernel {
    fn word(self) -> &'static str {
        match self {
            Kernel::AtStart => "true",
            Kernel::WhenAsked => "false",
        }
    }
}
