//! The state of a host, and the link from a call to its client.
//!
//! Owns the numbers of owners, and how a frame is written. It must not know the requests.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use inkcell_engine::kernel::InputReply;
use inkcell_engine::registry::OwnerId;
use inkcell_engine::{Engine, EngineError};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::frames::{FromHost, HostEvent};
use crate::exit::Failure;
use crate::mcp::Calls;
use crate::settings::Profile;

/// The state of a host. Clones share it.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) engine: Engine,
    pub(crate) profile: Profile,
    /// Whether the host ends with its only call.
    pub(crate) life: Life,
    /// Set when the host is to end.
    pub(crate) ending: CancellationToken,
    /// The calls of agents' clients.
    pub(crate) calls: Calls,
    pub(super) started: Instant,
    pub(super) clients: Arc<AtomicUsize>,
    owners: Arc<AtomicU64>,
}

/// How long a host lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Life {
    /// For one command: no kernel is left when its call is answered.
    OneCall,
    /// Until it is told to end, or no client needs it.
    Long,
}

/// Owners that are not clients of a host have smaller numbers.
const FIRST_OWNER: u64 = 1 << 32;

impl Host {
    pub(crate) fn new(engine: Engine, profile: Profile, life: Life) -> Host {
        let calls = Calls::default();
        Host {
            engine,
            profile,
            life,
            ending: calls.ending.clone(),
            calls,
            started: Instant::now(),
            clients: Arc::default(),
            owners: Arc::new(AtomicU64::new(FIRST_OWNER)),
        }
    }

    /// A new number for a user of sessions.
    pub(super) fn new_owner(&self) -> OwnerId {
        OwnerId(self.owners.fetch_add(1, Ordering::Relaxed))
    }

    /// The number of connected clients.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Ordering::SeqCst)
    }
}

/// The link from a call to its client.
pub(super) struct Talk {
    pub(super) events: mpsc::Sender<FromHost>,
    /// How often the client cancelled the call.
    pub(super) cancels: watch::Receiver<u32>,
    /// The client's answers to requests for input.
    pub(super) replies: mpsc::UnboundedReceiver<InputReply>,
    /// How many more events of code the client has room for.
    pub(super) room: Arc<Semaphore>,
    /// Set when the client is gone.
    pub(super) gone: CancellationToken,
}

impl Talk {
    /// Sends the client an event. Nothing is sent to a client that is gone.
    pub(super) async fn tell(&self, event: HostEvent) {
        let _ = self.events.send(FromHost::Event(Box::new(event))).await;
    }

    /// Returns when the call was cancelled this often.
    pub(super) async fn cancelled(&self, times: u32) {
        let mut cancels = self.cancels.clone();
        if cancels.wait_for(|so_far| *so_far >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits for an answer until the client cancels the call or goes away.
    pub(super) async fn unless_given_up<T>(
        &self,
        answer: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            answer = answer => Ok(answer?),
            () = self.cancelled(1) => Err(Failure::Pipe),
            () = self.gone.cancelled() => Err(Failure::Pipe),
        }
    }
}

pub(super) fn line(frame: &FromHost) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(frame).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

pub(super) async fn send(write: &mut OwnedWriteHalf, frame: &FromHost) -> io::Result<()> {
    write.write_all(&line(frame)).await
}
