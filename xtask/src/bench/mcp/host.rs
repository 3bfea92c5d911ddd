//! The process that measures: it starts servers, asks them in turn, and prints what it found.
//!
//! Owns who takes part, what each sees of the environment, and the order of a round. It comes from a dist build,
//! so that the client weighs little. Must not know goals.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::client::Client;
use crate::bench::jupyter::{Jupyter, Sort};
use crate::bench::row::Row;
use crate::bench::sample::INHERITED;

/// Longer than a start takes, and than all calls of a run.
const START_LIMIT: Duration = Duration::from_secs(120);
const CALLS_LIMIT: Duration = Duration::from_secs(1800);

/// How often a quick server is started in one round, where the others are started once.
const QUICK_STARTS: usize = 3;

/// What a host is asked for.
#[derive(Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) family: String,
    pub(super) inkcell: PathBuf,
    /// The script of the bare server and the interpreter that has the SDK.
    pub(super) bare: PathBuf,
    pub(super) bare_python: PathBuf,
    /// The interpreter that has jupyter-mcp-server; without it there are no such rows.
    pub(super) jupyter_python: Option<PathBuf>,
    /// Everything that is written goes below it.
    pub(super) root: PathBuf,
    pub(super) rounds: usize,
    /// Calls of a quick server in a round.
    pub(super) calls: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Inkcell,
    /// The same with an empty state folder: which Python there is has to be found out.
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

    /// The tool that is called, with what, and what it has to answer.
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
    let figures = match task.family.as_str() {
        "start" => task.starts()?,
        _ => task.calls()?,
    };
    println!("{figures}");
    Ok(())
}

impl Task {
    /// New processes, each until it has listed its tools.
    fn starts(&self) -> Result<Value> {
        let mut all = vec![Who::Inkcell, Who::InkcellFirst, Who::Bare];
        let jupyter = self.jupyter()?;
        all.extend(jupyter.is_some().then_some(Who::Jupyter));
        let mut rows: Vec<Row> = all.iter().map(|_| Row::default()).collect();
        // The first round warms up: byte code of the peers, pages of the binaries.
        for round in 0..=self.rounds {
            for offset in 0..all.len() {
                let index = (round + offset) % all.len();
                let times = if all[index] == Who::Inkcell && round > 0 { QUICK_STARTS } else { 1 };
                for _ in 0..times {
                    if rows[index].failure.is_some() {
                        continue;
                    }
                    match self.start(all[index], jupyter.as_ref()) {
                        Ok(figures) if round > 0 => rows[index].add(&figures),
                        Ok(_) => {}
                        Err(failure) => rows[index].failure = Some(self.said(all[index], &failure)),
                    }
                }
            }
        }
        let mut found = named(&all, &rows)?;
        if let Some(jupyter) = &jupyter {
            let (rss, pss) = jupyter.held()?;
            let figures = json!({"ms": jupyter.start_ms, "rss_mib": rss, "pss_mib": pss});
            let mut row = Row::default();
            row.add(&figures);
            found.insert(super::SERVER.to_owned(), serde_json::to_value(&row)?);
        }
        Ok(Value::Object(found))
    }

    fn start(&self, who: Who, jupyter: Option<&Jupyter>) -> Result<Value> {
        let (tool, arguments, text) = who.tool();
        if who == Who::InkcellFirst {
            forget(&self.state(who))?;
        }
        let command = self.command(who, jupyter, Kernel::WhenAsked);
        let mut client = Client::start(command, &self.stderr(who), START_LIMIT)?;
        let ms = client.open(tool)?;
        let held = client.held()?;
        let mut figures = json!({"ms": ms, "rss_mib": held.resident, "pss_mib": held.proportional});
        // What the peer is like at its first call is in the other family, for it leaves its kernel behind.
        if who != Who::Jupyter {
            figures["first_call_ms"] = client.call(tool, &arguments, text)?.into();
            figures["called_mib"] = client.held()?.resident.into();
        }
        if let Some(ms) = client.leave()? {
            figures["end_ms"] = ms.into();
        }
        Ok(figures)
    }

    /// Calls of servers that are there, by turns.
    fn calls(&self) -> Result<Value> {
        let mut all = vec![Who::Inkcell, Who::Bare];
        let jupyter = self.jupyter()?;
        all.extend(jupyter.is_some().then_some(Who::Jupyter));
        let mut rows: Vec<Row> = all.iter().map(|_| Row::default()).collect();
        let mut clients = Vec::new();
        for (who, row) in all.iter().zip(&mut rows) {
            let opened = self.opened(*who, jupyter.as_ref());
            row.failure = opened.as_ref().err().map(|failure| self.said(*who, failure));
            clients.push(opened.ok());
        }
        for round in 0..=self.rounds {
            for offset in 0..all.len() {
                let index = (round + offset) % all.len();
                let Some(client) = &mut clients[index] else { continue };
                // A second for each of its calls is enough of them.
                let count = if all[index] == Who::Jupyter { 2 } else { self.calls };
                let (tool, arguments, text) = all[index].tool();
                let took: Result<Vec<f64>> =
                    (0..count).map(|_| client.call(tool, &arguments, text)).collect();
                match took {
                    Ok(ms) if round > 0 => rows[index].add(&json!({"ms": ms})),
                    Ok(_) => {}
                    Err(failure) => {
                        rows[index].failure = Some(self.said(all[index], &failure));
                        clients[index] = None;
                    }
                }
            }
        }
        for (client, row) in clients.into_iter().zip(&mut rows) {
            let Some(client) = client else { continue };
            let held = client.held()?;
            row.add(&json!({"rss_mib": held.resident, "pss_mib": held.proportional}));
            client.leave()?;
        }
        Ok(Value::Object(named(&all, &rows)?))
    }

    fn opened(&self, who: Who, jupyter: Option<&Jupyter>) -> Result<Client> {
        let command = self.command(who, jupyter, Kernel::AtStart);
        let mut client = Client::start(command, &self.stderr(who), CALLS_LIMIT)?;
        client.open(who.tool().0)?;
        Ok(client)
    }

    fn command(&self, who: Who, jupyter: Option<&Jupyter>, kernel: Kernel) -> Command {
        let mut command = match who {
            Who::Inkcell | Who::InkcellFirst => {
                let mut command = self.clean(&self.inkcell, &self.bare_python);
                command.arg("mcp").env("INKCELL_STATE_DIR", self.state(who));
                command
            }
            Who::Bare => {
                let mut command = self.clean(&self.bare_python, &self.bare_python);
                command.arg(&self.bare);
                command
            }
            Who::Jupyter => {
                let python = self.jupyter_python.as_deref().unwrap_or(&self.bare_python);
                let program = python.with_file_name("jupyter-mcp-server");
                let mut command = self.clean(&program, python);
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
        command
    }

    /// A program in an environment made from a list, with the folder of its interpreter first in PATH.
    fn clean(&self, program: &Path, python: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear();
        for name in INHERITED {
            command.envs(std::env::var_os(name).map(|value| (*name, value)));
        }
        let inherited = std::env::var("PATH").unwrap_or_default();
        let bin = python.parent().unwrap_or(python).display();
        command
            .env("PATH", format!("{bin}:{inherited}"))
            .env("HOME", self.root.join("home"))
            .current_dir(self.root.join("work"));
        command
    }

    fn jupyter(&self) -> Result<Option<Jupyter>> {
        let Some(python) = &self.jupyter_python else { return Ok(None) };
        let command = self.clean(&python.with_file_name("jupyter"), python);
        let stderr = self.root.join("stderr-jupyter.txt");
        Ok(Some(Jupyter::start(Sort::Lab, command, &[], &stderr)?))
    }

    fn state(&self, who: Who) -> PathBuf {
        self.root.join(if who == Who::InkcellFirst { "state-first" } else { "state" })
    }

    fn stderr(&self, who: Who) -> PathBuf {
        self.root.join(format!("stderr-{}.txt", who as usize))
    }

    /// Why a row failed, with the last that its server said.
    fn said(&self, who: Who, failure: &anyhow::Error) -> String {
        let said = std::fs::read_to_string(self.stderr(who)).unwrap_or_default();
        let last = said.trim().lines().last().unwrap_or_default();
        format!("{failure:#} {last}").trim_end().to_owned()
    }
}

/// When jupyter-mcp-server starts its kernel.
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

fn named(all: &[Who], rows: &[Row]) -> Result<Map<String, Value>> {
    let pairs = all.iter().zip(rows);
    pairs.map(|(who, row)| Ok((who.name().to_owned(), serde_json::to_value(row)?))).collect()
}

fn forget(dir: &Path) -> Result<()> {
    match std::fs::remove_dir_all(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context("cannot empty the state folder")
        }
        _ => Ok(()),
    }
}
