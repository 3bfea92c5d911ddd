//! Taking figures: one command, one process, one sample; and what a row of samples says.
//!
//! Owns the environment a measured process sees and the order of a round. Must not know what the
//! commands do.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::peers::Peer;
use crate::child;

/// All that a measured process inherits. A list of what to keep, not of what to strip: a variable
/// such as PYTHONUNBUFFERED in somebody's shell once made a floor five times slower than what stood
/// on it.
pub(super) const INHERITED: &[&str] =
    &["PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT"];

/// How often a quick peer runs in one round.
const QUICK_REPEATS: usize = 3;

/// Starts commands under the stop watch.
pub(super) struct StopWatch {
    pub(super) xtask: PathBuf,
    /// What measured processes see beside what they inherit.
    pub(super) env: Vec<(&'static str, OsString)>,
    pub(super) stderr: PathBuf,
}

#[derive(Clone, Copy)]
pub(super) struct Sample {
    pub(super) wall_ms: f64,
    cpu_ms: f64,
    pub(super) peak_kib: f64,
}

/// All samples of one peer, or why there are none.
#[derive(Default)]
pub(super) struct Row {
    samples: Vec<Sample>,
    pub(super) failure: Option<String>,
}

impl StopWatch {
    /// A program that sees what measured processes see.
    pub(super) fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(dir).env_clear();
        for name in INHERITED {
            command.envs(std::env::var_os(name).map(|value| (*name, value)));
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// How many lines a command prints, not timed.
    pub(super) fn lines_of(&self, command: &[OsString], dir: &Path) -> Result<usize> {
        let (program, args) = command.split_first().context("a command has a program")?;
        Ok(child::capture(self.command(program, dir).args(args))?.lines().count())
    }

    /// A sample, or in the inner error what the command said when it failed.
    pub(super) fn run(&self, command: &[OsString], dir: &Path) -> Result<Result<Sample, String>> {
        let mut watch = self.command(&self.xtask, dir);
        watch.args(["bench", "floor", "measure"]).arg(&self.stderr).args(command);
        let text = child::capture(&mut watch)?;
        let value: Value = serde_json::from_str(&text).context("the stop watch printed no JSON")?;
        if value["success"] != true {
            let said = std::fs::read_to_string(&self.stderr).unwrap_or_default();
            let status = value["status"].as_str().unwrap_or("failed");
            return Ok(Err(format!("{status} {}", said.trim())));
        }
        let number = |key: &str| value[key].as_f64().with_context(|| format!("no {key}"));
        Ok(Ok(Sample {
            wall_ms: number("wall_ms")?,
            cpu_ms: number("cpu_ms")?,
            peak_kib: number("peak_kib")?,
        }))
    }
}

/// Runs all peers for some rounds. `before` and `after` bring files into place and look at them;
/// neither is timed, and what `after` finds wrong makes the row a failure. Each round starts with another peer, so that nobody always follows the same
/// one; a peer that failed is not started again.
pub(super) fn interleave(
    peers: &[Peer],
    rounds: usize,
    watch: &StopWatch,
    mut before: impl FnMut(&Peer) -> Result<PathBuf>,
    mut after: impl FnMut(&Peer) -> Result<Result<(), String>>,
) -> Result<BTreeMap<&'static str, Row>> {
    let mut rows: BTreeMap<&'static str, Row> = BTreeMap::new();
    // Round 0 warms caches (byte code of the Python peers, pages of the binaries) and counts for
    // nothing.
    for round in 0..=rounds {
        for repeat in 0..if round == 0 { 1 } else { QUICK_REPEATS } {
            for offset in 0..peers.len() {
                let peer = &peers[(round + offset) % peers.len()];
                let row = rows.entry(peer.name).or_default();
                if (repeat > 0 && !peer.quick) || row.failure.is_some() {
                    continue;
                }
                let dir = before(peer)?;
                match watch.run(&peer.command, &dir)? {
                    Ok(sample) if round > 0 => row.samples.push(sample),
                    Ok(_) => {}
                    Err(failure) => row.failure = Some(failure),
                }
                if row.failure.is_none() {
                    row.failure = after(peer)?.err();
                }
            }
        }
    }
    Ok(rows)
}

/// The same, as figures with names, in the order of the peers.
pub(super) fn interleave_named(
    peers: &[Peer],
    rounds: usize,
    watch: &StopWatch,
    before: impl FnMut(&Peer) -> Result<PathBuf>,
    after: impl FnMut(&Peer) -> Result<Result<(), String>>,
) -> Result<Vec<(&'static str, super::row::Row)>> {
    let mut found = interleave(peers, rounds, watch, before, after)?;
    let named = |peer: &Peer| Some((peer.name, found.remove(peer.name)?.named()));
    Ok(peers.iter().filter_map(named).collect())
}

impl Row {
    pub(super) fn count(&self) -> usize {
        self.samples.len()
    }

    /// The median, or nothing for a row that failed at any time: half a row compares with nothing.
    pub(super) fn wall_ms(&self) -> Option<f64> {
        self.figure(|sample| sample.wall_ms, median)
    }

    pub(super) fn fastest_ms(&self) -> Option<f64> {
        self.figure(|sample| sample.wall_ms, |sorted| sorted.first().copied())
    }

    pub(super) fn cpu_ms(&self) -> Option<f64> {
        self.figure(|sample| sample.cpu_ms, median)
    }

    /// The largest peak of all samples: memory that was needed once may be needed again.
    pub(super) fn peak_mib(&self) -> Option<f64> {
        self.figure(|sample| sample.peak_kib / 1024.0, |sorted| sorted.last().copied())
    }

    /// The same samples as figures with names.
    pub(super) fn named(&self) -> super::row::Row {
        let mut row = super::row::Row::default();
        for sample in &self.samples {
            row.add(&json!({
                "ms": sample.wall_ms,
                "cpu_ms": sample.cpu_ms,
                "peak_mib": sample.peak_kib / 1024.0,
            }));
        }
        row.failure.clone_from(&self.failure);
        row
    }

    fn figure(
        &self,
        of: impl Fn(&Sample) -> f64,
        choose: impl Fn(&[f64]) -> Option<f64>,
    ) -> Option<f64> {
        if self.failure.is_some() {
            return None;
        }
        let mut values: Vec<f64> = self.samples.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        choose(&values)
    }
}

pub(super) fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted {
        [] => None,
        _ if sorted.len() % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_or_between_the_two_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
    }

    #[test]
    fn a_row_that_failed_once_has_no_figures() {
        let sample = Sample { wall_ms: 1.0, cpu_ms: 1.0, peak_kib: 1.0 };
        let mut row = Row { samples: vec![sample], failure: None };
        assert_eq!(row.wall_ms(), Some(1.0));
        assert_eq!(row.named().median("ms"), Some(1.0));
        row.failure = Some("killed".to_owned());
        assert_eq!(row.wall_ms(), None);
        assert_eq!(row.named().median("ms"), None);
    }
}
