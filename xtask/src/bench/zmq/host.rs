//! Our client as a process of its own, from a release build: told "go", it takes one sample.
//!
//! Owns the conversation with the coordinator: a line when it is ready, a line for each sample. Must not know what
//! a sample means.

use std::io::{BufRead as _, Write as _};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::ours::Ours;
use super::task::Task;

/// Runs until the coordinator closes our standard input.
pub(in crate::bench) fn run(args: &[String]) -> Result<()> {
    let [task] = args else { bail!("a client is told what to do") };
    let task: Task = serde_json::from_str(task).context("the task cannot be read")?;
    // As the product: one thread drives all kernels.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(task))
}

async fn serve(task: Task) -> Result<()> {
    let mut orders = orders();
    let mut ours = match Ours::prepare(task).await {
        Ok(ours) => ours,
        Err(error) => return say(&json!({"error": format!("{error:#}")})),
    };
    say(&json!({"ready": true}))?;
    while orders.recv().await.is_some() {
        match ours.sample().await {
            Ok(figures) => say(&figures)?,
            Err(error) => say(&json!({"error": format!("{error:#}")}))?,
        }
    }
    ours.end().await;
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
