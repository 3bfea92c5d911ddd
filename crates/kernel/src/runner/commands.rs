//! Sends commands to a runner.
//!
//! Owns the writing end of the channel. Most commands fit into the socket at once; the poster writes
//! them itself, which saves a round through the scheduler. A task writes the rest of a longer command,
//! in order, and no caller waits for it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::net::{SendFlags, Shutdown};
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use crate::kernel::KernelGone;
use crate::runner::frames::Command;
use crate::trace::MessageTrace;

/// The name of the frame channel in traces.
pub(crate) const CONTROL: &str = "control";

/// The name of signals in traces.
pub(crate) const SIGNAL: &str = "signal";

pub(crate) struct CommandWriter {
    shared: Arc<Shared>,
    queue: mpsc::UnboundedSender<Vec<u8>>,
    trace: MessageTrace,
}

struct Shared {
    write: OwnedFd,
    /// The number of commands that the task has not written yet.
    waiting: AtomicUsize,
}

impl Shared {
    /// Writes as many bytes as fit now.
    fn write_now(&self, line: &[u8]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(rustix::net::send(&self.write, line, flags)?)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The pump's reading end keeps the socket open, so tell the runner that no command follows.
        let _ = rustix::net::shutdown(&self.write, Shutdown::Write);
    }
}

impl CommandWriter {
    pub(crate) fn new(write: OwnedFd, trace: MessageTrace) -> CommandWriter {
        let shared = Arc::new(Shared { write, waiting: AtomicUsize::new(0) });
        let (queue, rest) = mpsc::unbounded_channel();
        tokio::spawn(write_rest(Arc::clone(&shared), rest));
        CommandWriter { shared, queue, trace }
    }

    /// Traces and posts a command.
    pub(crate) fn command(&self, command: &Command<'_>) -> Result<(), KernelGone> {
        self.trace.sent(CONTROL, command.kind(), command.id());
        self.post(command.to_line())
    }

    /// Traces a signal, which goes beside the channel.
    pub(crate) fn signalled(&self, kind: &'static str) {
        self.trace.sent(SIGNAL, kind, None);
    }

    /// Sends a line. At most one request is open and questions are small, so the queue stays short. Only
    /// the handle posts, so no line can come between the check and the write.
    fn post(&self, mut line: Vec<u8>) -> Result<(), KernelGone> {
        if self.shared.waiting.load(Ordering::Acquire) == 0 {
            // The pump reports an error: it sees the end of the channel.
            let written = self.shared.write_now(&line).unwrap_or(0);
            if written == line.len() {
                return Ok(());
            }
            line.drain(..written);
        }
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        self.queue.send(line).map_err(|_| KernelGone)
    }
}

async fn write_rest(shared: Arc<Shared>, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        if write_all(&shared, &line).await.is_err() {
            return;
        }
        shared.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Writes the whole line, waiting for room. Only meanwhile does the runtime watch the socket.
async fn write_all(shared: &Shared, line: &[u8]) -> io::Result<()> {
    let socket = std::os::unix::net::UnixStream::from(shared.write.try_clone()?);
    UnixStream::from_std(socket)?.write_all(line).await
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// Both ends of a channel: one for commands, and the runner's.
    fn channel() -> (OwnedFd, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (ours.into_std().unwrap().into(), theirs)
    }

    /// B:R-02 A command that does not fit into the socket is written as the runner reads, in the order of posting.
    #[tokio::test]
    async fn a_command_that_does_not_fit_is_written_whole_and_in_order() {
        let (write, mut theirs) = channel();
        let writer = CommandWriter::new(write, MessageTrace::default());
        let long = vec![b'x'; 4 << 20];
        let commands = [b"first\n".to_vec(), long, b"\nlast\n".to_vec()];
        for command in &commands {
            writer.post(command.clone()).unwrap();
        }
        let mut read = vec![0; commands.iter().map(Vec::len).sum()];
        theirs.read_exact(&mut read).await.unwrap();
        assert!(read == commands.concat());
        // The next command is written at once again, after the earlier ones.
        writer.post(b"more\n".to_vec()).unwrap();
        let mut more = [0; 5];
        theirs.read_exact(&mut more).await.unwrap();
        assert_eq!(&more, b"more\n");
    }

    /// B:R-02 The runner sees the end of its commands while the host still reads its output.
    #[tokio::test]
    async fn the_end_of_commands_is_seen_while_the_channel_is_read() {
        let (write, mut theirs) = channel();
        let _reading = write.try_clone().unwrap();
        drop(CommandWriter::new(write, MessageTrace::default()));
        assert_eq!(theirs.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
