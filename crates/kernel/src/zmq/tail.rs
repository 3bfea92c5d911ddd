//! Output of a kernel's process outside the protocol: its log and its last words.
//!
//! Owns the end of that output, which explains a death. The pipes are read at all times, so that a
//! kernel that writes much there does not stop.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

use crate::zmq::socket::poll_read;

/// Number of bytes that are kept.
const TAIL_BYTES: usize = 8 << 10;

/// The end of the output of a process.
pub(crate) struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    readers: Vec<JoinHandle<()>>,
}

impl Tail {
    /// Begins to read the pipes.
    pub(crate) fn of(pipes: [pipe::Receiver; 2]) -> Tail {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let read = |pipe| tokio::spawn(read(pipe, Arc::clone(&kept)));
        let readers = pipes.map(read).into();
        Tail { kept, readers }
    }

    /// Forgets the output so far.
    pub(crate) fn forgetful(self) -> Tail {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self
    }

    /// Returns the output kept so far.
    pub(crate) fn text(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// Returns the output after the process has ended. A child that inherited a pipe does not delay
    /// this.
    pub(crate) async fn last_words(&mut self) -> String {
        let all = futures_util::future::join_all(self.readers.drain(..));
        let _ = tokio::time::timeout(Duration::from_millis(300), all).await;
        self.text()
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        for reader in &self.readers {
            reader.abort();
        }
    }
}

async fn read(mut pipe: pipe::Receiver, kept: Arc<Mutex<Vec<u8>>>) {
    let keep = |bytes: &[u8]| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let extra = kept.len().saturating_sub(TAIL_BYTES);
        kept.drain(..extra);
    };
    while poll_fn(|context| poll_read(&mut pipe, context, keep)).await.is_ok() {}
}
