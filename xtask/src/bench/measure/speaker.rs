//! Clients that take turns: each is a separate process and takes one sample at a time.
//!
//! Owns their conversation with the coordinator. Must not know what a sample is.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::{Value, to_value};

use super::{Rounds, Rows, Turn, interleave};

/// A client: the name of its row, and the command that starts it.
pub(in crate::bench) type Launch = (&'static str, Command);

/// Starts all clients and samples them in turn. Their standard error goes into files of this folder.
pub(in crate::bench) fn ask_in_turn(
    clients: Vec<Launch>,
    folder: &Path,
    rounds: Rounds,
) -> Result<Rows> {
    let (mut turns, mut speakers) = (Vec::new(), Vec::new());
    for (name, mut command) in clients {
        let stderr = folder.join(format!("stderr-{}.txt", speakers.len()));
        speakers.push(Speaker::start(&mut command, &stderr)?.map(|(speaker, _)| speaker));
        turns.push(Turn { name, is_quick: false });
    }
    interleave(&turns, rounds, |index| {
        let answer = match &mut speakers[index] {
            Ok(speaker) => speaker.ask()?,
            Err(failure) => return Ok(Err(failure.clone())),
        };
        // A failed client is not asked again, and must not run beside the others.
        if let Err(failure) = &answer {
            speakers[index] = Err(failure.clone());
        }
        Ok(answer)
    })
}

/// Samples with new processes each time, because a process would reuse memory that it has freed.
pub(in crate::bench) fn ask_anew(
    count: usize,
    folder: &Path,
    clients: impl Fn() -> Result<Vec<Launch>>,
) -> Result<Rows> {
    let mut rows = Rows::new();
    for _ in 0..count {
        let found = ask_in_turn(clients()?, folder, Rounds::warm(1).cold())?;
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

/// A process that prints a line when it is ready and one for each sample. A drop tells it to end and waits for it.
pub(in crate::bench) struct Speaker {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    stderr: PathBuf,
}

impl Speaker {
    /// Starts a process; returns it with its first line, or in the inner error the reason why it is not ready.
    pub(in crate::bench) fn start(
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
            // A process that is gone answers with its end.
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

#[cfg(test)]
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
        let rows = ask_in_turn(clients, folder.path(), Rounds::warm(2)).unwrap();
        assert_eq!((rows[0].1.count("ms"), rows[0].1.least("ms")), (2, Some(2.0)));
        assert_eq!(rows[1].1.failure.as_deref(), Some("no"));
        assert_eq!(rows[2].1.failure.as_deref(), Some("it ended: nothing"));
    }

    #[test]
    fn processes_are_new_for_each_sample() {
        let folder = tempfile::tempdir().unwrap();
        let once = || Ok(vec![("once", shell("echo {}; read go; echo '{\"mib\": 1}'; read go"))]);
        let rows = ask_anew(3, folder.path(), once).unwrap();
        assert_eq!((rows[0].1.count("mib"), rows[0].1.median("mib")), (3, Some(1.0)));
    }
}
