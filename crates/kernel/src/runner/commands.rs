//! Commands on their way to a runner.
//!
//! Owns the writing end of the channel. Most commands fit into the socket at once and are written where
//! they are posted, which saves a round through the scheduler; what does not fit is written by a task, in
//! order, and nobody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;

use crate::kernel::Gone;

pub(crate) struct CommandWriter {
    shared: Arc<Shared>,
    queue: mpsc::UnboundedSender<Vec<u8>>,
}

struct Shared {
    write: OwnedWriteHalf,
    /// How many commands the task has not written yet.
    waiting: AtomicUsize,
}

impl CommandWriter {
    pub(crate) fn new(write: OwnedWriteHalf) -> CommandWriter {
        let shared = Arc::new(Shared { write, waiting: AtomicUsize::new(0) });
        let (queue, rest) = mpsc::unbounded_channel();
        tokio::spawn(write_rest(Arc::clone(&shared), rest));
        CommandWriter { shared, queue }
    }

    /// Sends a line. At most one request is open and questions are small, so the queue stays short. Only
    /// the handle posts, so nothing can come between the look and the write.
    pub(crate) fn post(&self, mut line: Vec<u8>) -> Result<(), Gone> {
        if self.shared.waiting.load(Ordering::Acquire) == 0 {
            // An error is told by the pump, which sees the end of the channel.
            let written = self.shared.write.try_write(&line).unwrap_or(0);
            line.drain(..written);
            if line.is_empty() {
                return Ok(());
            }
        }
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        self.queue.send(line).map_err(|_| Gone)
    }
}

async fn write_rest(shared: Arc<Shared>, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = queue.recv().await {
        let mut rest = &line[..];
        while !rest.is_empty() {
            if shared.write.writable().await.is_err() {
                return;
            }
            match shared.write.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
        shared.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}
