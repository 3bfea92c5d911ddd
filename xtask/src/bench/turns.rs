//! Clients that take turns: each a process of its own, asked for one sample after the other.
//!
//! Owns their conversation with the coordinator, the order of a round, and what all of them see of the environment.
//! Must not know what a sample is.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::{Value, to_value};

use super::row::Row;
use super::sample::INHERITED;

/// How much is done.
pub(super) struct Size {
    pub(super) is_quick: bool,
    pub(super) rounds: Option<usize>,
    pub(super) kernels: usize,
}

/// How often each is asked, and whether a first time counts for nothing.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    pub(super) count: usize,
    pub(super) warm_up: usize,
}

impl Size {
    pub(super) fn pick(&self, full: usize, quick: usize) -> usize {
        if self.is_quick { quick } else { full }
    }

    pub(super) fn rounds(&self, full: usize, quick: usize) -> Rounds {
        Rounds { count: self.rounds.unwrap_or(self.pick(full, quick)), warm_up: 1 }
    }
}

/// A client by the name of its row, and what starts it.
pub(super) type Starting = (&'static str, Command);

/// What every client sees: little of the environment, this Python first, and a home of its own.
pub(super) fn environment(python: &Path, home: &Path) -> Result<BTreeMap<String, String>> {
    let mut env = BTreeMap::new();
    for name in INHERITED {
        if let Ok(value) = std::env::var(name) {
            env.insert((*name).to_owned(), value);
        }
    }
    let bin = python.parent().context("an interpreter is in a folder")?;
    let path = env.get("PATH").cloned().unwrap_or_default();
    env.insert("PATH".to_owned(), format!("{}:{path}", bin.display()));
    env.insert("HOME".to_owned(), home.display().to_string());
    Ok(env)
}

/// Asks everybody in turn, each round beginning with another one. Who failed is not asked again.
pub(super) fn interleave(
    clients: Vec<Starting>,
    stderr: &Path,
    rounds: Rounds,
) -> Result<Vec<(&'static str, Row)>> {
    let mut rows = Vec::new();
    let mut speakers = Vec::new();
    for (name, command) in clients {
        let mut row = Row::default();
        let stderr = stderr.join(format!("stderr-{}.txt", speakers.len()));
        match Speaker::start(command, &stderr)? {
            Ok(speaker) => speakers.push(Some(speaker)),
            Err(failure) => {
                row.failure = Some(failure);
                speakers.push(None);
            }
        }
        rows.push((name, row));
    }
    for round in 0..rounds.warm_up + rounds.count {
        for offset in 0..rows.len() {
            let index = (round + offset) % rows.len();
            let Some(speaker) = &mut speakers[index] else { continue };
            match speaker.ask()? {
                Ok(figures) if round >= rounds.warm_up => rows[index].1.add(&figures),
                Ok(_) => {}
                Err(failure) => {
                    rows[index].1.failure = Some(failure);
                    speakers[index] = None;
                }
            }
        }
    }
    Ok(rows)
}

/// The same with new processes for each sample: memory that was let go of would be used again.
pub(super) fn each_anew(
    count: usize,
    stderr: &Path,
    clients: impl Fn() -> Result<Vec<Starting>>,
) -> Result<Vec<(&'static str, Row)>> {
    let mut rows: Vec<(&'static str, Row)> = Vec::new();
    for _ in 0..count {
        let found = interleave(clients()?, stderr, Rounds { count: 1, warm_up: 0 })?;
        if rows.is_empty() {
            rows = found;
            continue;
        }
        for ((_, row), (_, more)) in rows.iter_mut().zip(found) {
            row.add(&to_value(more.figures())?);
            row.failure = row.failure.take().or(more.failure);
        }
    }
    Ok(rows)
}

/// A process that says a line when it is ready and one for each sample. Dropped, it is told to end and waited for.
pub(super) struct Speaker {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: PathBuf,
}

impl Speaker {
    /// A process that is ready, or in the inner error why it is not.
    pub(super) fn start(mut command: Command, stderr: &Path) -> Result<Result<Speaker, String>> {
        Ok(Speaker::heard(&mut command, stderr)?.map(|(speaker, _)| speaker))
    }

    /// The same, and what it said when it was ready.
    pub(super) fn heard(
        command: &mut Command,
        stderr: &Path,
    ) -> Result<Result<(Speaker, Value), String>> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(stderr)?);
        let mut child = command.spawn().context("cannot start a client")?;
        let stdin = Some(child.stdin.take().context("the input is a pipe")?);
        let stdout = BufReader::new(child.stdout.take().context("the output is a pipe")?);
        let mut speaker = Speaker { child, stdin, stdout, stderr: stderr.to_owned() };
        Ok(speaker.answer()?.map(|said| (speaker, said)))
    }

    fn ask(&mut self) -> Result<Result<Value, String>> {
        if let Some(stdin) = &mut self.stdin {
            // One that is gone answers with its end.
            let _ = stdin.write_all(b"go\n");
        }
        self.answer()
    }

    fn answer(&mut self) -> Result<Result<Value, String>> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        let Ok(value) = serde_json::from_str::<Value>(&line) else {
            let said = std::fs::read_to_string(&self.stderr).unwrap_or_default();
            let lines: Vec<&str> = said.trim().lines().collect();
            let tail = &lines[lines.len().saturating_sub(3)..];
            return Ok(Err(format!("it ended: {line}{}", tail.join(" / "))));
        };
        Ok(match value["error"].as_str() {
            Some(error) => Err(error.to_owned()),
            None => Ok(value),
        })
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_first_round_counts_for_nothing_and_a_failure_ends_a_row() {
        let folder = tempfile::tempdir().unwrap();
        let counts =
            shell("echo {}; n=0; while read go; do n=$((n+1)); echo {\\\"ms\\\":$n}; done");
        let fails = shell("echo {}; read go; echo '{\"error\": \"no\"}'; read go");
        let absent = shell("echo nothing >&2; exit 3");
        let clients = vec![("counts", counts), ("fails", fails), ("absent", absent)];
        let rounds = Rounds { count: 2, warm_up: 1 };
        let rows = interleave(clients, folder.path(), rounds).unwrap();
        assert_eq!((rows[0].1.count("ms"), rows[0].1.least("ms")), (2, Some(2.0)));
        assert_eq!(rows[1].1.failure.as_deref(), Some("no"));
        assert_eq!(rows[2].1.failure.as_deref(), Some("it ended: nothing"));
    }

    #[test]
    fn processes_are_new_for_each_sample() {
        let folder = tempfile::tempdir().unwrap();
        let once = || Ok(vec![("once", shell("echo {}; read go; echo '{\"mib\": 1}'; read go"))]);
        let rows = each_anew(3, folder.path(), once).unwrap();
        assert_eq!((rows[0].1.count("mib"), rows[0].1.median("mib")), (3, Some(1.0)));
    }
}
