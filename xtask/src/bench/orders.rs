//! Our client as a process of its own, from a dist build: told "go", it takes one sample.
//!
//! Owns the conversation with the coordinator: a line when it is ready, a line for each sample. Must not know what
//! a sample means.

use std::io::{BufRead as _, Write as _};

use anyhow::{Context as _, Result, bail};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Who takes samples.
pub(super) trait Client: Sized {
    type Task: DeserializeOwned;

    async fn prepare(task: Self::Task) -> Result<Self>;
    async fn sample(&mut self) -> Result<Value>;
    /// Leaves no process behind.
    async fn end(self);
}

/// Runs until the coordinator closes our standard input.
pub(super) fn run<C: Client>(args: &[String]) -> Result<()> {
    let [task] = args else { bail!("a client is told what to do") };
    let task = serde_json::from_str(task).context("the task cannot be read")?;
    // As the product: one thread drives all kernels.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve::<C>(task))
}

async fn serve<C: Client>(task: C::Task) -> Result<()> {
    let mut orders = orders();
    let mut client = match C::prepare(task).await {
        Ok(client) => client,
        Err(error) => return say(&json!({"error": format!("{error:#}")})),
    };
    say(&json!({"ready": true}))?;
    while orders.recv().await.is_some() {
        match client.sample().await {
            Ok(figures) => say(&figures)?,
            Err(error) => say(&json!({"error": format!("{error:#}")}))?,
        }
    }
    client.end().await;
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
