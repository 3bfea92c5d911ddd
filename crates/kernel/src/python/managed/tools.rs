//! Runs the programs of a setup: each with a time limit, its lines reported, and no process left behind.
//!
//! Owns the environment and the end of such a program. It must not know which programs a setup uses.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::error::SetupError;
use super::{SetupEvent, SetupStep};
use crate::process::{Spawner, kill_group, watch_exit};
use crate::python::interpreter::SkipReason;
use crate::python::probe::{PythonFacts, probe};

/// Variables that would lead a tool to a place other than the new environment.
const MISLEADING: &[&str] = &[
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYTHONHOME",
    "PYTHONPATH",
    "__PYVENV_LAUNCHER__",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_PYTHON",
    "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
    "UV_PROJECT_ENVIRONMENT",
];

/// Variables that stop tools from prompting and drawing, and that override a configuration file which
/// tells pip to install elsewhere, or to refuse outside of an environment.
const STEADYING: &[(&str, &str)] = &[
    ("NO_COLOR", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PIP_NO_INPUT", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_USER", "0"),
    ("PIP_REQUIRE_VIRTUALENV", "0"),
    ("UV_NO_PROGRESS", "1"),
];

/// The time to wait for output after a tool ended: a child it left behind may hold the pipe.
const LATE_OUTPUT: Duration = Duration::from_secs(1);

const MOST_TAIL_LINES: usize = 20;
const MOST_LINE_BYTES: usize = 4096;

/// Why a step failed.
pub(super) enum StepFailure {
    /// The tool failed; another one may succeed.
    Way {
        /// The last lines of the tool.
        said: String,
    },
    /// The setup must stop.
    Stop(SetupError),
}

/// Whether to report the output of a program to the waiting user.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hear {
    Lines,
    Nothing,
}

/// Runs programs one at a time, all with the same environment and time limit.
pub(super) struct Tools<'a> {
    spawner: Spawner,
    env: BTreeMap<String, String>,
    /// The working folder of the programs: not the user's, whose files could change what a tool does.
    cwd: PathBuf,
    limit: Duration,
    cancel: &'a CancellationToken,
    report: &'a mut (dyn FnMut(SetupEvent) + Send),
}

impl<'a> Tools<'a> {
    pub(super) fn new(
        cwd: &Path,
        env: &BTreeMap<String, String>,
        limit: Duration,
        cancel: &'a CancellationToken,
        report: &'a mut (dyn FnMut(SetupEvent) + Send),
    ) -> io::Result<Tools<'a>> {
        let mut env = env.clone();
        env.retain(|name, _| !MISLEADING.contains(&name.as_str()));
        env.extend(STEADYING.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        Ok(Tools { spawner: Spawner::new()?, env, cwd: cwd.to_owned(), limit, cancel, report })
    }

    pub(super) fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }

    /// Sets the folder for temporary files; a path that is not UTF-8 leaves it unchanged.
    pub(super) fn keep_temporary_files_in(&mut self, folder: &Path) {
        if let Some(folder) = folder.to_str() {
            self.env.insert("TMPDIR".to_owned(), folder.to_owned());
        }
    }

    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    pub(super) fn cancel(&self) -> &'a CancellationToken {
        self.cancel
    }

    pub(super) fn report(&mut self, event: SetupEvent) {
        (self.report)(event);
    }

    /// Runs a program as a reported step.
    pub(super) async fn step<A: AsRef<OsStr>>(
        &mut self,
        step: SetupStep,
        program: &Path,
        args: impl IntoIterator<Item = A>,
    ) -> Result<(), StepFailure> {
        self.report(SetupEvent::Began(step.clone()));
        let done = self.bounded(&step, program, args, Hear::Lines).await;
        self.report(match done {
            Ok(()) => SetupEvent::Done(step),
            Err(_) => SetupEvent::Failed(step),
        });
        done
    }

    /// Runs a program without reporting it to the user. Fails if the program does.
    pub(super) async fn succeeds<A: AsRef<OsStr>>(
        &mut self,
        program: &Path,
        args: impl IntoIterator<Item = A>,
    ) -> Result<(), StepFailure> {
        self.bounded(&SetupStep::Look, program, args, Hear::Nothing).await
    }

    /// The answer of an interpreter about itself.
    pub(super) async fn probe(
        &self,
        python: &Path,
    ) -> Result<Result<PythonFacts, SkipReason>, SetupError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(SetupError::Cancelled),
            probed = probe(python, &self.cwd, &self.env, self.limit) => Ok(probed),
        }
    }

    async fn bounded<A: AsRef<OsStr>>(
        &mut self,
        step: &SetupStep,
        program: &Path,
        args: impl IntoIterator<Item = A>,
        hear: Hear,
    ) -> Result<(), StepFailure> {
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.cwd).env_clear().envs(&self.env);
        let (cancel, limit) = (self.cancel, self.limit);
        let mut tail = Tail::default();
        let ended = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(StepFailure::Stop(SetupError::Cancelled)),
            ended = timeout(limit, self.run(command, hear, &mut tail)) => ended,
        };
        match ended {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(StepFailure::Way { said: tail.text(&ending(program, status)) }),
            Ok(Err(problem)) => {
                let said = format!("{} could not be run: {problem}", program.display());
                Err(StepFailure::Way { said })
            }
            Err(_) => {
                let (step, seconds, said) = (step.clone(), limit.as_secs(), tail.text(""));
                Err(StepFailure::Stop(SetupError::TimedOut { step, seconds, said }))
            }
        }
    }

    async fn run(
        &mut self,
        mut command: Command,
        hear: Hear,
        tail: &mut Tail,
    ) -> io::Result<ExitStatus> {
        // One pipe for both streams, so that the lines of the tool keep their order.
        let (reader, writer) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let child = self.spawner.spawn(command, Vec::new()).await?;
        let running = Running(Some(child));
        let exit = watch_exit(running.id())?;
        let mut reader = pipe::Receiver::from_owned_fd(reader.into())?;
        let mut said = Lines::default();
        let mut is_open = true;
        while is_open {
            tokio::select! {
                read = reader.read_buf(&mut said.0) => is_open = matches!(read, Ok(1..)),
                ended = exit.readable() => {
                    let _guard = ended?;
                    break;
                }
            }
            said.take(End::Open, |line| self.hear(line, hear, tail));
        }
        if is_open {
            let rest = async { while let Ok(1..) = reader.read_buf(&mut said.0).await {} };
            let _left_behind = timeout(LATE_OUTPUT, rest).await;
        } else {
            let _guard = exit.readable().await?;
        }
        said.take(End::Closed, |line| self.hear(line, hear, tail));
        running.end()
    }

    fn hear(&mut self, line: String, hear: Hear, tail: &mut Tail) {
        tail.push(line.clone());
        if hear == Hear::Lines {
            self.report(SetupEvent::Line(line));
        }
    }
}

/// A running program. Dropping it kills the program and its group.
struct Running(Option<Child>);

impl Running {
    fn id(&self) -> u32 {
        self.0.as_ref().map_or(0, Child::id)
    }

    /// Kills what an ended program left in its group, then takes its status. The order matters: until the
    /// status is taken, the system cannot reuse the group's number.
    fn end(mut self) -> io::Result<ExitStatus> {
        let Some(mut child) = self.0.take() else { return Err(io::ErrorKind::NotFound.into()) };
        kill_group(child.id(), Signal::KILL);
        child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            kill_group(child.id(), Signal::KILL);
            let _status = child.wait();
        }
    }
}

fn ending(program: &Path, status: ExitStatus) -> String {
    let program = program.display();
    match status.signal() {
        Some(signal) => format!("{program} was killed by signal {signal}"),
        None => format!("{program} ended with exit code {}", status.code().unwrap_or_default()),
    }
}

/// Splits bytes into lines.
#[derive(Default)]
struct Lines(Vec<u8>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Closed,
}

impl Lines {
    /// Passes on every whole line, and at the end the rest. A carriage return ends a line as well: tools redraw
    /// their progress with it.
    fn take(&mut self, end: End, mut line: impl FnMut(String)) {
        let mut give = |bytes: &[u8]| {
            for piece in bytes.chunks(MOST_LINE_BYTES) {
                let text = String::from_utf8_lossy(piece);
                if !text.trim().is_empty() {
                    line(text.trim_end().to_owned());
                }
            }
        };
        let mut done = 0;
        while let Some(length) = self.0[done..].iter().position(|b| matches!(b, b'\n' | b'\r')) {
            give(&self.0[done..done + length]);
            done += length + 1;
        }
        if end == End::Closed || self.0.len() - done > MOST_LINE_BYTES {
            give(&self.0[done..]);
            done = self.0.len();
        }
        self.0.drain(..done);
    }
}

/// The last lines of a tool, at most [`MOST_TAIL_LINES`].
#[derive(Default)]
struct Tail(VecDeque<String>);

impl Tail {
    fn push(&mut self, line: String) {
        if self.0.len() == MOST_TAIL_LINES {
            self.0.pop_front();
        }
        self.0.push_back(line);
    }

    /// The lines, or `otherwise` if the tool wrote none.
    fn text(self, otherwise: &str) -> String {
        if self.0.is_empty() {
            return otherwise.to_owned();
        }
        Vec::from(self.0).join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_either_mark_and_none_is_endless() {
        let long = "y".repeat(MOST_LINE_BYTES + 5);
        let table: &[(&[&str], &[&str])] = &[
            (&["a\nb", "c\n\n", "  \nd"], &["a", "bc", "d"]),
            (&["10%\r20%\r", "30%\n"], &["10%", "20%", "30%"]),
            (&[&long, "z\n"], &[&long[..MOST_LINE_BYTES], "yyyyy", "z"]),
            (&[], &[]),
        ];
        for (pieces, expected) in table {
            let (mut lines, mut got) = (Lines::default(), Vec::new());
            for piece in *pieces {
                lines.0.extend_from_slice(piece.as_bytes());
                lines.take(End::Open, |line| got.push(line));
            }
            lines.take(End::Closed, |line| got.push(line));
            assert_eq!(got, *expected);
        }
    }

    #[test]
    fn the_tail_is_the_last_lines() {
        let mut tail = Tail::default();
        for n in 0..50 {
            tail.push(n.to_string());
        }
        let text = tail.text("nothing");
        assert!(text.starts_with("30\n") && text.ends_with("\n49"), "{text}");
        assert_eq!(Tail::default().text("nothing"), "nothing");
    }
}
