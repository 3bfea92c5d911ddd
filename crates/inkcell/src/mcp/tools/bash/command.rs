//! A shell command as a process: in a group of its own, ended with all it started.
//!
//! Owns the process from its start to its last status. The caller decides what to do with its output.
//!
//! Why there is a guard: if we are killed, no process is left to end the group, and the signal that a system sends
//! at a parent's death reaches only the shell, not its children. So one more process of the group waits for the end
//! of a socket that only we hold, and ends the group then.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::Bytes;
use inkcell_engine::kernel::{ExecEvent, Ladder, Rung, StreamName};
use inkcell_engine::output::OutputSink;
use rustix::process::{Pid, Signal, WaitOptions};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::time::Instant;

use crate::mcp::desk::CallContext;
use crate::mcp::tools::progress::Teller;

/// How much is read at once.
const BLOCK: usize = 64 << 10;
/// How long the pipes are read after the shell has ended, when something it left holds them open.
const REST: Duration = Duration::from_millis(200);

/// How long the guard may take to go; a busy system has not run it yet.
const GUARD_GONE: Duration = Duration::from_secs(2);

/// Starts the guard and becomes the command, which has neither the socket nor any other input. A word on the
/// socket lets the guard go. It outlives the signals that ask the command to end. Bash takes a socket for a connection
/// from another machine and would read `~/.bashrc`, so it is started with `--norc`.
const GUARDED: &str = r#"exec 3<&0 </dev/null
trap '' INT TERM HUP
(exec >/dev/null 2>&1; read -r _ <&3 && exit; kill -KILL 0) &
trap - INT TERM HUP
exec bash -c -- "$1" 3<&-"#;

/// A command that is to be run.
pub(super) struct Command {
    pub(super) text: String,
    pub(super) cwd: PathBuf,
    /// All of its environment.
    pub(super) env: BTreeMap<String, String>,
    pub(super) timeout: Duration,
    /// How it is made to stop.
    pub(super) ladder: Ladder,
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// By itself, or by a signal as shells count it: 128 and its number.
    Exited(i32),
    /// Its time was up.
    TimedOut(Duration),
    /// Its caller gave it up.
    Aborted,
}

/// A command that is over.
pub(super) struct CommandEnd {
    /// The output of the command.
    pub(super) sink: OutputSink,
    pub(super) end: End,
    pub(super) took: Duration,
    /// Whether processes were there that it had left behind.
    pub(super) left: bool,
}

impl Command {
    /// Runs it to its end, which comes within the ladder's time after it is asked to stop.
    pub(super) async fn run(
        self,
        mut sink: OutputSink,
        context: CallContext,
    ) -> io::Result<CommandEnd> {
        let began = Instant::now();
        let mut teller = Teller::new(context.progress, 1, began);
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let guard = UnixStream::from_std(ours)?;
        let mut child = tokio::process::Command::new("bash")
            .args(["--norc", "-c", GUARDED, "bash", &self.text])
            .current_dir(&self.cwd)
            .env_clear()
            .envs(&self.env)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
        let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
        let (mut out_block, mut err_block) = (vec![0; BLOCK], vec![0; BLOCK]);
        let mut stop: Option<Stop> = None;
        let mut exited: Option<(ExitStatus, Instant)> = None;
        let limit = began + self.timeout;
        loop {
            let is_silent = out.is_none() && err.is_none();
            let rest = exited.map(|(_, at)| at + REST);
            if exited.is_some() && is_silent {
                break;
            }
            tokio::select! {
                read = read(&mut out, &mut out_block) => {
                    take(read, StreamName::Stdout, &mut out, &out_block, &mut sink, &mut teller);
                }
                read = read(&mut err, &mut err_block) => {
                    take(read, StreamName::Stderr, &mut err, &err_block, &mut sink, &mut teller);
                }
                status = child.wait(), if exited.is_none() => exited = Some((status?, Instant::now())),
                () = reached(rest) => break,
                () = tokio::time::sleep_until(limit), if stop.is_none() && exited.is_none() => {
                    stop = Some(Stop::new(End::TimedOut(self.timeout), self.ladder));
                }
                () = context.cancel.cancelled(), if stop.is_none() && exited.is_none() => {
                    stop = Some(Stop::new(End::Aborted, self.ladder));
                }
                () = reached(stop.as_ref().and_then(Stop::due)) => {
                    let rung = stop.as_mut().map(|stop| stop.climb(Instant::now()));
                    if let Some(rung) = rung && group.climb(rung) == Rung::Answer {
                        break;
                    }
                }
                () = tokio::time::sleep_until(teller.due()), if exited.is_none() => {
                    teller.tell(Instant::now());
                }
            }
        }
        let left = group.end(&mut child, guard).await;
        let end = match (stop, exited) {
            (Some(stop), _) => stop.end,
            (None, Some((status, _))) => End::Exited(code(status)),
            (None, None) => End::Aborted,
        };
        // A process that had to be stopped does not count as left behind.
        let left = left && matches!(end, End::Exited(_));
        Ok(CommandEnd { sink, end, took: began.elapsed(), left })
    }
}

/// As shells count it.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

/// How many bytes came next from a pipe; none when that was its end, and never ready after that.
async fn read<R: AsyncRead + Unpin>(pipe: &mut Option<R>, block: &mut [u8]) -> Option<usize> {
    match pipe {
        Some(pipe) => pipe.read(block).await.ok().filter(|length| *length > 0),
        None => std::future::pending().await,
    }
}

fn take<R>(
    read: Option<usize>,
    name: StreamName,
    pipe: &mut Option<R>,
    block: &[u8],
    sink: &mut OutputSink,
    teller: &mut Teller,
) {
    match read {
        None => *pipe = None,
        Some(length) => {
            let data = Bytes::copy_from_slice(&block[..length]);
            teller.write(&data);
            sink.push(&ExecEvent::Stream { name, data });
        }
    }
}

async fn reached(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// A command on its way down.
struct Stop {
    end: End,
    began: Instant,
    rungs: std::vec::IntoIter<(Duration, Rung)>,
}

impl Stop {
    fn new(end: End, ladder: Ladder) -> Stop {
        Stop { end, began: Instant::now(), rungs: Vec::from(ladder.rungs()).into_iter() }
    }

    /// When the next rung is due.
    fn due(&self) -> Option<Instant> {
        self.rungs.as_slice().first().map(|(after, _)| self.began + *after)
    }

    /// The rung that is due. One that comes late moves those behind it.
    fn climb(&mut self, now: Instant) -> Rung {
        let Some((after, rung)) = self.rungs.next() else { return Rung::Answer };
        self.began = now.checked_sub(after).unwrap_or(self.began);
        rung
    }
}

/// The process group of a command. Nothing of it is left when this is gone, also when the call is dropped.
struct Group(Option<Pid>);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.0 {
            // A group that is already gone is fine.
            let _ = rustix::process::kill_process_group(leader, signal);
        }
    }

    fn climb(&self, rung: Rung) -> Rung {
        match rung {
            Rung::Interrupt => self.signal(Signal::INT),
            Rung::Terminate => self.signal(Signal::TERM),
            Rung::Kill | Rung::Answer => self.signal(Signal::KILL),
        }
        rung
    }

    /// Ends what is left and takes the statuses. Says whether there was something besides the shell.
    async fn end(mut self, child: &mut Child, guard: UnixStream) -> bool {
        let has_ended = matches!(child.try_wait(), Ok(Some(_)));
        let has_others = has_ended && {
            dismiss(guard).await;
            !self.is_gone_soon().await
        };
        self.signal(Signal::KILL);
        let _ = child.wait().await;
        if self.is_gone_soon().await {
            // From here on the system may give the number to another process.
            self.0 = None;
        }
        has_others
    }

    /// Whether nobody is left of it. What has ended becomes ours where we adopt orphans, and takes a moment.
    async fn is_gone_soon(&self) -> bool {
        let Some(leader) = self.0 else { return true };
        for _ in 0..200 {
            reap(leader);
            if rustix::process::test_kill_process_group(leader).is_err() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        false
    }
}

/// Lets the guard go, and returns when it has gone.
async fn dismiss(mut guard: UnixStream) {
    // The guard may be gone already, with the group.
    let _ = guard.write_all(b"\n").await;
    let mut nothing = [0];
    let _ = tokio::time::timeout(GUARD_GONE, guard.read(&mut nothing)).await;
}

/// Takes the statuses of members that became our children; the shell's own was taken before.
fn reap(leader: Pid) {
    for _ in 0..1000 {
        match rustix::process::waitpgid(leader, WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rung_that_comes_late_makes_none_too_soon() {
        let second = Duration::from_secs(1);
        let mut stop = Stop::new(End::Aborted, Ladder::new(3 * second));
        let late = stop.began + 60 * second;
        assert_eq!(stop.climb(late), Rung::Interrupt);
        assert_eq!(stop.due(), Some(late + second * 3 / 2));
        let later = late + 60 * second;
        assert_eq!(stop.climb(later), Rung::Interrupt);
        assert_eq!(stop.due(), Some(later + second * 3 / 2));
        assert_eq!(stop.climb(later + 60 * second), Rung::Terminate);
        assert_eq!(stop.due(), Some(later + 61 * second));
    }

    /// F-010: when whoever started it is gone without a word, the command and what it started end, also when the
    /// command was asked to end before and does not listen.
    #[tokio::test]
    async fn the_guard_ends_the_group_when_its_socket_closes() {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let stubborn = "trap '' INT TERM HUP; echo ready; sleep 60 & wait; sleep 60";
        let mut child = tokio::process::Command::new("bash")
            .args(["--norc", "-c", GUARDED, "bash", stubborn])
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
        let mut ready = [0; 6];
        child.stdout.as_mut().unwrap().read_exact(&mut ready).await.unwrap();
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            group.signal(signal);
        }
        drop(ours);
        let status = tokio::time::timeout(Duration::from_secs(180), child.wait()).await;
        assert_eq!(status.expect("it ends").unwrap().signal(), Some(9));
        drop(group);
    }
}
