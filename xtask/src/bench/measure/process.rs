//! One command, one process, one sample.
//!
//! Owns the stop watch, which is a separate process. Must not know what the commands do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{Rounds, Rows, Turn, interleave};
use crate::bench::arena::Arena;
use crate::child;

/// A contender that is a whole process.
pub(in crate::bench) struct Process {
    pub(in crate::bench) name: &'static str,
    pub(in crate::bench) command: Vec<OsString>,
    pub(in crate::bench) is_quick: bool,
}

impl Arena {
    /// Runs all processes by turns. `before` puts files into place and `after` checks them; neither is timed, and a
    /// fault that `after` finds fails the row.
    pub(in crate::bench) fn run_in_turn(
        &self,
        processes: &[Process],
        rounds: Rounds,
        mut before: impl FnMut(&Process) -> Result<PathBuf>,
        mut after: impl FnMut(&Process) -> Result<Result<(), String>>,
    ) -> Result<Rows> {
        let turn = |process: &Process| Turn { name: process.name, is_quick: process.is_quick };
        let turns: Vec<Turn> = processes.iter().map(turn).collect();
        interleave(&turns, rounds, |index| {
            let process = &processes[index];
            let dir = before(process)?;
            let figures = match self.time(&process.command, &dir)? {
                Ok(figures) => figures,
                Err(failure) => return Ok(Err(failure)),
            };
            Ok(after(process)?.map(|()| figures))
        })
    }

    /// Times one process; if it fails, the inner error is its last message.
    pub(in crate::bench) fn time(
        &self,
        command: &[OsString],
        dir: &Path,
    ) -> Result<Result<Value, String>> {
        let mut watch = self.command(&self.xtask, dir);
        watch.args(["bench", "floor", "measure"]).arg(self.stderr()).args(command);
        let text = child::capture(&mut watch)?;
        let mut value: Value =
            serde_json::from_str(&text).context("the stop watch printed no JSON")?;
        if value["failure"].is_null() {
            return Ok(Ok(value.take()));
        }
        let said = std::fs::read_to_string(self.stderr()).unwrap_or_default();
        let status = value["failure"].as_str().unwrap_or("failed");
        Ok(Err(format!("{status} {}", said.trim())))
    }
}
