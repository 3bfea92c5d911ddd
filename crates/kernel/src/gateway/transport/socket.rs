//! The websocket of one kernel: opened, drained, kept awake, and its end noticed.
//!
//! Owns the connection and its limits. It must not know the meaning of messages; its reader decides
//! how serious the end of a connection is.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::error::gateway::GatewayError;
use crate::gateway::transport::dial::Way;
use crate::gateway::transport::lanes::Lane;
use crate::gateway::transport::queue::Queue;
use crate::gateway::transport::rest::http::UpgradedConnection;
use crate::gateway::transport::rest::{RemoteId, Rest};
use crate::gateway::transport::websocket::{self, FrameKind, Kind, Piece, Reader};
use crate::gateway::transport::wire::{Form, Frame, V1};

/// Longest message that is accepted, in bytes. A server sends an output in one piece, however large
/// it is.
const MESSAGE_BYTES: u64 = 512 << 20;

/// Time limit for opening a websocket.
pub(crate) const OPEN: Duration = Duration::from_secs(10);

/// Interval between pings, and the longest silence of the other end.
const PING: Duration = Duration::from_secs(8);
const SILENCE: Duration = Duration::from_secs(25);

/// A frame on its way out.
type Post = (FrameKind, Bytes);

/// A connection to a kernel. Dropping it closes it.
pub(crate) struct Line {
    pub(crate) form: Form,
    queue: Arc<Queue>,
    outgoing: mpsc::UnboundedSender<Post>,
    end: Arc<Mutex<String>>,
    _tasks: JoinSet<()>,
}

/// Opens the websocket of a kernel, under the session id for which a gateway keeps messages.
pub(crate) async fn open(
    rest: &Rest,
    id: &RemoteId,
    session: &str,
    spill: &Path,
    within: Duration,
) -> Result<Line, GatewayError> {
    let path = format!("/api/kernels/{}/channels?session_id={session}", id.as_str());
    let room = rest.lanes.room(Lane::Begin).await;
    let opened = tokio::time::timeout(within, rest.upgrade(&path, Some(V1))).await;
    let UpgradedConnection { way, early, form } =
        opened.map_err(|_| GatewayError::SocketTimeout)??;
    drop(room);
    // An old server answers as if no subprotocol had been named.
    let form = if form.as_deref() == Some(V1) { Form::V1 } else { Form::Old };
    let queue = Arc::new(Queue::new(spill));
    let end = Arc::new(Mutex::new(String::new()));
    let (outgoing, posted) = mpsc::unbounded_channel();
    let (from, to) = tokio::io::split(way);
    let reader = Reader::new(from, &early, MESSAGE_BYTES);
    let mut tasks = JoinSet::new();
    tasks.spawn(drain(reader, outgoing.clone(), Arc::clone(&queue), Arc::clone(&end)));
    tasks.spawn(write(to, posted));
    Ok(Line { form, queue, outgoing, end, _tasks: tasks })
}

impl Line {
    /// Posts a frame. If it can no longer be written, the reader notices the end of the connection.
    pub(crate) fn send(&self, frame: Frame) {
        let _ = self.outgoing.send(match frame {
            Frame::Binary(bytes) => (FrameKind::Message(Kind::Binary), bytes),
            Frame::Text(text) => (FrameKind::Message(Kind::Text), text),
        });
    }

    /// Returns the next frame, or `None` when the connection has ended. Cancel-safe.
    pub(crate) async fn next(&self) -> Option<Frame> {
        self.queue.next().await
    }

    /// Returns the reason why the connection ended.
    pub(crate) fn why(&self) -> String {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Takes what arrives and does nothing else. A gateway keeps unread messages in memory, and counts
/// a client as dead that does not answer its pings.
async fn drain(
    mut reader: Reader<ReadHalf<Way>>,
    outgoing: mpsc::UnboundedSender<Post>,
    queue: Arc<Queue>,
    end: Arc<Mutex<String>>,
) {
    let why = loop {
        match tokio::time::timeout(SILENCE, reader.next()).await {
            Err(_) => break "the gateway was silent for too long".to_owned(),
            Ok(Err(error)) => break error.to_string(),
            Ok(Ok(Piece::Data(bytes, ends))) => queue.push(bytes, ends).await,
            Ok(Ok(Piece::Ping(bytes))) => {
                let _ = outgoing.send((FrameKind::Pong, Bytes::copy_from_slice(bytes)));
            }
            Ok(Ok(Piece::Pong)) => {}
            Ok(Ok(Piece::Close(reason))) => {
                let _ = outgoing.send((FrameKind::Close, Bytes::new()));
                let what = "the gateway closed the connection";
                break if reason.is_empty() {
                    what.to_owned()
                } else {
                    format!("{what}: {reason}")
                };
            }
        }
    };
    *end.lock().unwrap_or_else(PoisonError::into_inner) = why;
    queue.close();
}

async fn write(mut to: WriteHalf<Way>, mut posted: mpsc::UnboundedReceiver<Post>) {
    loop {
        let (what, bytes) = match tokio::time::timeout(PING, posted.recv()).await {
            Ok(Some(post)) => post,
            Ok(None) => return,
            Err(_) => (FrameKind::Ping, Bytes::new()),
        };
        // The reader reports the end of the connection.
        if websocket::write(&mut to, what, &bytes).await.is_err() {
            return;
        }
    }
}
