//! The log of a run: every action with its time, and observations between them. A run can be repeated from
//! it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::action::Action;

/// The number of lines that a failed run prints.
const LAST: usize = 20;
/// The most characters of a line that are printed.
const SHOWN: usize = 300;

/// A log in progress.
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    last: VecDeque<String>,
    began: Instant,
    round: u64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    round: u64,
    /// Milliseconds since the round began.
    millis: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<Action>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
}

/// An action with its time in the round.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TimedAction {
    pub(crate) at: Duration,
    pub(crate) action: Action,
}

impl Log {
    pub(crate) fn create(path: &Path) -> Result<Log> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).context("cannot make the folder of the log")?;
        }
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        let (path, began) = (path.to_path_buf(), Instant::now());
        Ok(Log { path, file, last: VecDeque::new(), began, round: 0 })
    }

    pub(crate) fn begin(&mut self, round: u64) {
        self.round = round;
        self.began = Instant::now();
    }

    pub(crate) fn action(&mut self, action: &Action) -> Result<()> {
        self.line(Some(action.clone()), None)
    }

    pub(crate) fn seen(&mut self, text: &str) -> Result<()> {
        self.line(None, Some(text.chars().take(SHOWN).collect()))
    }

    fn line(&mut self, action: Option<Action>, seen: Option<String>) -> Result<()> {
        let millis = self.began.elapsed().as_millis() as u64;
        let line = Line { round: self.round, millis, action, seen };
        let text = serde_json::to_string(&line)?;
        // Write each line at once, so that the log is complete up to a failure.
        writeln!(self.file, "{text}").context("cannot write the log")?;
        self.last.push_back(text.chars().take(SHOWN).collect());
        if self.last.len() > LAST {
            self.last.pop_front();
        }
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Formats the last lines, indented, for the message of a failure.
    pub(crate) fn tail(&self) -> String {
        self.last.iter().map(|line| format!("  {line}\n")).collect()
    }
}

/// Reads the rounds of a log, to repeat them.
pub(crate) fn read(path: &Path) -> Result<Vec<Vec<TimedAction>>> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut rounds: Vec<Vec<TimedAction>> = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.context("cannot read the log")?;
        let line: Line = serde_json::from_str(&line).with_context(|| {
            format!("line {} of {} is none of a log", number + 1, path.display())
        })?;
        let Some(action) = line.action else { continue };
        if matches!(action, Action::Start { .. }) {
            rounds.push(Vec::new());
        }
        let Some(round) = rounds.last_mut() else { bail!("the log does not begin with a start") };
        round.push(TimedAction { at: Duration::from_millis(line.millis), action });
    }
    Ok(rounds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gremlin::plan;

    /// F-151: a log reads back as the same actions in the same order, without the observations.
    #[test]
    fn a_log_can_be_done_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/7.log");
        let mut log = Log::create(&path).unwrap();
        let wanted: Vec<Vec<Action>> = (0..4).map(|number| plan::round(7, number)).collect();
        for (number, actions) in wanted.iter().enumerate() {
            log.begin(number as u64);
            for action in actions {
                log.action(action).unwrap();
                log.seen("an answer\nof two lines").unwrap();
            }
        }
        let found = read(&path).unwrap();
        let found: Vec<Vec<Action>> = found
            .into_iter()
            .map(|round| round.into_iter().map(|one| one.action).collect())
            .collect();
        assert_eq!(found, wanted);
        assert_eq!(log.tail().lines().count(), LAST);
    }
}
