//! A host of kernels as a process of its own, from a dist build: told "go", it takes one sample.
//!
//! Owns the conversation with the coordinator: a line when it is ready, a line for each sample. Must not
//! know what a sample means.

use std::io::{BufRead as _, Write as _};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::ours::Ours;
use super::plain::Plain;
use super::task::Task;

/// Runs until the coordinator closes our standard input.
pub(in crate::bench) fn run(args: &[String]) -> Result<()> {
    let [who, task] = args else { anyhow::bail!("a host is told who it is and what to do") };
    let task: Task = serde_json::from_str(task).context("the task cannot be read")?;
    // As the product: one thread drives all kernels.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(who, task))
}

enum Host {
    Ours(Box<Ours>),
    Plain(Box<Plain>),
}

impl Host {
    async fn prepare(who: &str, task: Task) -> Result<Host> {
        Ok(match who {
            "ours" => Host::Ours(Box::new(Ours::prepare(task).await?)),
            _ => Host::Plain(Box::new(Plain::prepare(task)?)),
        })
    }

    async fn sample(&mut self) -> Result<Value> {
        match self {
            Host::Ours(ours) => ours.sample().await,
            Host::Plain(plain) => plain.sample(),
        }
    }
}

async fn serve(who: &str, task: Task) -> Result<()> {
    let mut orders = orders();
    let mut host = match Host::prepare(who, task).await {
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

/// Orders come from a thread, so that kernels are served between samples too.
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
