//! Runs many cells in many sessions: measures the host's memory after one half of them and after the
//! other.

use anyhow::{Context as _, Result};
use futures_util::future::try_join_all;
use inkcell_engine::Engine;
use inkcell_engine::kernel::ForkServer;
use serde_json::{Value, json};

use super::host::Task;
use crate::bench::measure::usage;

pub(super) async fn measure(task: &Task) -> Result<Value> {
    let (sessions, cells) = (task.pick(100, 10), task.pick(20_000, 500));
    let engine = task.engine(task.backend(ForkServer::USUAL)?, sessions);
    let rounds = cells / sessions;
    let begin = std::time::Instant::now();
    let mut half = None;
    for round in 0..rounds {
        let calls = (0..sessions).map(|session| run(task, &engine, session, round));
        try_join_all(calls).await?;
        // By now the engine keeps as many finished calls as it ever does, and the allocator has its spare
        // room.
        if round + 1 == rounds / 2 {
            half = Some(held()?);
        }
    }
    let (half, end) = (half.context("there is a half")?, held()?);
    let took = begin.elapsed().as_secs_f64();
    engine.shutdown().await;
    Ok(json!({
        "sessions": sessions,
        "cells": cells,
        "cells/s": cells as f64 / took,
        "MiB after half": half.0,
        "MiB at the end": end.0,
        "descriptors after half": half.1,
        "descriptors at the end": end.1,
        "threads after half": half.2,
        "threads at the end": end.2,
    }))
}

/// Runs a cell of a session: most print little, some print so much that it is stored.
async fn run(task: &Task, engine: &Engine, session: usize, round: usize) -> Result<()> {
    let code = match round % 10 {
        3 => "for n in range(2000): print('a line of some length, with its number', n)",
        _ => "x = 1\nprint(x)\nx",
    };
    task.cell(engine, &format!("s{session}"), code).await?;
    Ok(())
}

/// Resident memory in MiB, descriptors, threads.
fn held() -> Result<(f64, usize, f64)> {
    let descriptors = std::fs::read_dir("/proc/self/fd")?.count();
    Ok((usage::own_resident_mib()?, descriptors, usage::own_threads()?))
}
