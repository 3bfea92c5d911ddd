//! A notebook run by the tool of a server that is there, by turns with a program of its own.
//!
//! Owns the server's start and its preloading. Must not know goals.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::json;

use super::Arena;
use super::file::{LIBRARIES, Subject};
use super::runner::{NOTEBOOK, Runner, folder};
use crate::bench::mcp::Client;
use crate::bench::row::Row;

/// Longer than all calls of a run.
const LIMIT: Duration = Duration::from_secs(1800);

pub(super) const TOOL: &str = "notebook_run";
pub(super) const SERVED: &str = "notebook_run, inkcell mcp with preload";

/// How often the tool is called in one round, where the peer runs once.
const CALLS: usize = 3;

pub(super) fn rows(
    arena: &Arena,
    subject: &Subject,
    rounds: usize,
) -> Result<Vec<(&'static str, Row)>> {
    let (mut served, mut peer) = (Row::default(), Row::default());
    let mut client = match opened(arena) {
        Ok(client) => Some(client),
        Err(failure) => {
            served.failure = Some(arena.said(&failure));
            None
        }
    };
    let command = arena.programs.command(Runner::Nbclient).context("nbclient has a command")?;
    // The first round warms up: the fork server imports, and the peer's byte code is made.
    for round in 0..=rounds {
        if peer.failure.is_none() {
            let dir = arena.fresh(Runner::Nbclient.name(), subject)?;
            let sample = arena.watch.run(&command, &dir)?;
            let left = |sample| subject.check(&dir.join(NOTEBOOK)).map(|()| sample);
            match sample.and_then(left) {
                Ok(sample) if round > 0 => peer.add(&json!({"ms": sample.wall_ms})),
                Ok(_) => {}
                Err(failure) => peer.failure = Some(failure),
            }
        }
        for _ in 0..CALLS {
            let Some(live) = &mut client else { continue };
            let dir = arena.fresh(SERVED, subject)?;
            match call(live, &dir, subject) {
                Ok(ms) if round > 0 => served.add(&json!({"ms": ms})),
                Ok(_) => {}
                Err(failure) => {
                    served.failure = Some(arena.said(&failure));
                    client = None;
                }
            }
        }
    }
    Ok(vec![(SERVED, served), (Runner::Nbclient.name(), peer)])
}

fn opened(arena: &Arena) -> Result<Client> {
    let dir = folder(&arena.root, SERVED);
    std::fs::create_dir_all(&dir)?;
    let mut command = arena.watch.command(&arena.programs.inkcell, &dir);
    command
        .arg("mcp")
        .env("INKCELL_PYTHON_INTERPRETER", &arena.programs.python)
        .env("INKCELL_PYTHON_PRELOAD", LIBRARIES);
    let mut client = Client::start(command, &arena.watch.stderr, LIMIT)?;
    client.open(TOOL)?;
    Ok(client)
}

/// Runs the notebook in a new kernel, as everybody else does; gives the milliseconds to the answer.
fn call(client: &mut Client, dir: &Path, subject: &Subject) -> Result<f64> {
    let file = dir.join(NOTEBOOK);
    let (_, ms) = client.answer_of(TOOL, &json!({"path": file, "fresh": true, "wait": 600}))?;
    subject.check(&file).map_err(anyhow::Error::msg)?;
    Ok(ms)
}
