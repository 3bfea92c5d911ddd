//! Sends text through sink and artifact, and compares that with copying the same bytes to a file.

use std::fs::File;
use std::io::Write as _;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use inkcell_engine::artifact::{ArtifactId, ArtifactSession, ArtifactSpec, Artifacts, Scope};
use inkcell_engine::kernel::{ExecEvent, StreamName};
use inkcell_engine::output::{OutputLimits, OutputSink, Spill, SpillFile};
use serde_json::{Value, json};

use super::host::Task;
use crate::bench::measure::Row;

/// Bytes in a chunk, as the runner's pipes deliver it.
const CHUNK: usize = 64 * 1024;

pub(super) fn measure(task: &Task) -> Result<Value> {
    let (rounds, size) = (task.pick(9, 2), task.pick(100_000_000, 10_000_000));
    let artifacts = Artifacts::new(task.artifacts());
    let plain = events(&text(size, |n| format!("{n:08}{}\n", "abcdefg ".repeat(12))));
    let escapes = events(&text(size, |n| {
        format!("\x1b[1;32m{n:06}\x1b[0m \x1b[38;5;{}mword\x1b[0m {}\r\n", n % 256, n % 7)
    }));
    let mut row = Row::default();
    for round in 0..=rounds {
        let rates = json!({
            "copy MB/s": timed(size, || copy(task, &plain))?,
            "plain MB/s": timed(size, || sink(&artifacts, &plain, size))?,
            "escapes MB/s": timed(size, || sink(&artifacts, &escapes, size))?,
        });
        // The first round only warms up.
        if round > 0 {
            row.add(&rates);
        }
    }
    Ok(row.medians())
}

fn timed<T>(size: usize, work: impl FnOnce() -> Result<T>) -> Result<f64> {
    let begin = Instant::now();
    work()?;
    Ok(size as f64 / 1e6 / begin.elapsed().as_secs_f64())
}

/// Makes this many bytes of lines that are all different.
fn text(size: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
    let mut text = Vec::with_capacity(size + 200);
    let mut number = 0;
    while text.len() < size {
        text.extend_from_slice(line(number).as_bytes());
        number += 1;
    }
    text.truncate(size);
    text
}

fn events(text: &[u8]) -> Vec<ExecEvent> {
    let event =
        |chunk: &[u8]| ExecEvent::Stream { name: StreamName::Stdout, data: chunk.to_vec().into() };
    text.chunks(CHUNK).map(event).collect()
}

/// The floor: writes the same bytes in the same pieces once.
fn copy(task: &Task, events: &[ExecEvent]) -> Result<()> {
    let path = task.work().join("copy");
    let mut file = File::create_new(&path)?;
    for event in events {
        if let ExecEvent::Stream { data, .. } = event {
            file.write_all(data)?;
        }
    }
    drop(file);
    Ok(std::fs::remove_file(&path)?)
}

fn sink(artifacts: &Artifacts, events: &[ExecEvent], size: usize) -> Result<()> {
    let (store, spec) = (artifacts.clone(), spec());
    let spill = Spill::new(move |_| {
        let writer = store.create(&spec)?;
        Ok(SpillFile { id: writer.id().to_string(), file: Box::new(writer) })
    });
    let mut sink = OutputSink::new(OutputLimits::head_and_tail(), spill);
    for event in events {
        sink.push(event);
    }
    let output = sink.finish();
    let stored = output.artifact.context("it is stored")?;
    if stored.bytes != size as u64 || output.counts.raw_bytes != size as u64 {
        bail!("{} of {size} bytes are stored", stored.bytes);
    }
    // Remove the file, because the floor leaves none either.
    let kept = artifacts.find(&ArtifactId::parse(&stored.id)?, Scope::All)?;
    Ok(std::fs::remove_file(&kept.info().path)?)
}

fn spec() -> ArtifactSpec {
    ArtifactSpec {
        session: ArtifactSession::new("bench", &[]),
        kind: "text/plain".to_owned(),
        title: String::new(),
    }
}
