//! Our client of kernels as a separate process from a dist build: on the line "go", it takes one sample.
//!
//! Owns the conversation with the coordinator: a line when it is ready, and a line for each sample. Must not know
//! what a sample means.

mod cells;
mod lines;
mod ours;
mod plain;
mod task;

use std::io::{BufRead as _, Write as _};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::sync::mpsc;

pub(super) use self::lines::{printing, writing};
use self::ours::Ours;
use self::plain::Plain;
pub(super) use self::task::{
    Backend, Carrier, ClientKind, Hashing, Job, Queue, Shell, Start, Task,
};
use super::arena::Arena;
use super::measure::{Rounds, Rows, ask_anew, ask_in_turn};

/// A contender in a table of clients.
pub(super) struct Client {
    pub(super) name: &'static str,
    /// The Python program of a peer; none for a contender in this binary.
    script: Option<&'static str>,
    task: Task,
}

impl Client {
    pub(super) fn ours(name: &'static str, task: Task) -> Client {
        Client { name, script: None, task }
    }

    pub(super) fn peer(name: &'static str, script: &'static str, task: Task) -> Client {
        Client { name, script: Some(script), task }
    }

    fn command(&self, arena: &Arena) -> Result<Command> {
        let mut command = match self.script {
            Some(script) => arena.script(script),
            None => {
                let mut command = arena.command(&arena.xtask, &arena.work());
                command.args(["bench", "client"]);
                command
            }
        };
        command.arg(serde_json::to_string(&self.task)?);
        Ok(command)
    }
}

impl Arena {
    /// Takes samples of all clients in turn.
    pub(super) fn ask_in_turn(&self, clients: &[Client], rounds: Rounds) -> Result<Rows> {
        ask_in_turn(self.commands(clients)?, &self.root, rounds)
    }

    /// Takes samples of all clients, with new processes for each sample.
    pub(super) fn ask_anew(&self, clients: &[Client], rounds: Rounds) -> Result<Rows> {
        ask_anew(rounds.count, &self.root, || self.commands(clients))
    }

    fn commands(&self, clients: &[Client]) -> Result<Vec<(&'static str, Command)>> {
        clients.iter().map(|client| Ok((client.name, client.command(self)?))).collect()
    }

    /// A task with the values that every client of a table shares; callers set the rest.
    pub(super) fn task(&self, job: Job, code: impl Into<String>, backend: Backend) -> Task {
        Task {
            job,
            backend,
            python: self.python.clone(),
            cwd: self.work(),
            state_dir: self.state(),
            code: code.into(),
            count: 1,
            width: 0,
            hashing: Hashing::Never,
            client: ClientKind::Blocking,
            queue: Queue::Endless,
            silence_s: None,
            quick: false,
        }
    }
}

/// The source of the samples in this process.
enum Host {
    Ours(Box<Ours>),
    Plain(Box<Plain>),
}

/// Takes samples until the coordinator closes our standard input.
pub(super) fn run(args: &[String]) -> Result<()> {
    let [task] = args else { bail!("a client is told what to do") };
    let task = serde_json::from_str(task).context("the task cannot be read")?;
    // One thread drives all kernels, as in the product.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(task))
}

async fn serve(task: Task) -> Result<()> {
    let mut orders = orders();
    let mut host = match Host::prepare(task).await {
        Ok(host) => host,
        Err(error) => return say(&json!({"error": format!("{error:#}")})),
    };
    say(&json!({"ready": true}))?;
    while orders.recv().await.is_some() {
        match host.sample().await {
            Ok(figures) => say(&figures)?,
            Err(error) => say(&json!({"error": format!("{error:#}")}))?,
        }
    }
    if let Host::Ours(ours) = host {
        ours.end().await;
    }
    Ok(())
}

impl Host {
    async fn prepare(task: Task) -> Result<Host> {
        Ok(match task.backend {
            Backend::Plain { .. } => Host::Plain(Box::new(Plain::prepare(task)?)),
            _ => Host::Ours(Box::new(Ours::prepare(task).await?)),
        })
    }

    async fn sample(&mut self) -> Result<Value> {
        match self {
            Host::Ours(ours) => ours.sample().await,
            Host::Plain(plain) => plain.sample(),
        }
    }
}

/// Receives orders on a thread, so that kernels are served between samples too.
fn orders() -> mpsc::UnboundedReceiver<()> {
    let (sender, receiver) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if line.is_err() || sender.send(()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn say(value: &Value) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{value}")?;
    Ok(stdout.flush()?)
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}
