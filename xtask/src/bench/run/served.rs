//! Runs a notebook with a tool of a running server, by turns with a peer that is a whole program.
//!
//! Owns the start of the server and its preloading. Must not know goals.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::file::{LIBRARIES, Subject};
use crate::bench::arena::Arena;
use crate::bench::contender::{NBCLIENT, NOTEBOOK};
use crate::bench::mcp::Client;
use crate::bench::measure::{Rounds, Rows, Turn, interleave};

/// The time limit of the server: longer than all calls of a run.
const LIMIT: Duration = Duration::from_secs(1800);

const TOOL: &str = "notebook_run";
pub(super) const SERVED: &str = "notebook_run, inkcell mcp with preload";

/// Takes the rows: the peer runs once in a round, the tool more often. The first round warms up: the fork server
/// imports libraries, and Python compiles the peer's byte code.
pub(super) fn rows(arena: &Arena, subject: &Subject, rounds: Rounds) -> Result<Rows> {
    let mut client = open(arena).map_err(|failure| arena.explain(&failure));
    let peer = arena.process(&NBCLIENT, &[]).context("nbclient has a command")?;
    let turns =
        [Turn { name: SERVED, is_quick: true }, Turn { name: NBCLIENT.name, is_quick: false }];
    interleave(&turns, rounds, |index| {
        let dir = arena.fresh(turns[index].name, subject)?;
        if index > 0 {
            let figures = arena.time(&peer.command, &dir)?;
            return Ok(figures.and_then(|figures| checked(figures, &dir, subject)));
        }
        let answer = match &mut client {
            Ok(client) => call(client, &dir).map_err(|failure| arena.explain(&failure)),
            Err(failure) => Err(failure.clone()),
        };
        let answer = answer.and_then(|figures| checked(figures, &dir, subject));
        if let Err(failure) = &answer {
            client = Err(failure.clone());
        }
        Ok(answer)
    })
}

fn checked(figures: Value, dir: &Path, subject: &Subject) -> Result<Value, String> {
    subject.check(&dir.join(NOTEBOOK)).map(|()| figures)
}

fn open(arena: &Arena) -> Result<Client> {
    let dir = arena.folder(SERVED);
    std::fs::create_dir_all(&dir)?;
    let mut command = arena.command(&arena.inkcell, &dir);
    command
        .arg("mcp")
        .env("INKCELL_PYTHON_INTERPRETER", &arena.python)
        .env("INKCELL_PYTHON_PRELOAD", LIBRARIES);
    let mut client = Client::start(command, &arena.stderr(), LIMIT)?;
    client.open(TOOL)?;
    Ok(client)
}

/// Runs the notebook in a new kernel, as all contenders do; returns the milliseconds to the answer.
fn call(client: &mut Client, dir: &Path) -> Result<Value> {
    let arguments = json!({"path": dir.join(NOTEBOOK), "fresh": true, "wait": 600});
    let (_, ms) = client.answer_of(TOOL, &arguments)?;
    Ok(json!({"ms": ms}))
}
