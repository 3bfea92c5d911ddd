//! The websocket of one kernel: opened, drained, kept awake, and its end noticed.
//!
//! Owns the connection and its limits. It must not know what messages mean; whoever reads them decides what the
//! end of a connection is worth.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::gateway::dial::Way;
use crate::gateway::error::GatewayError;
use crate::gateway::http::Upgraded;
use crate::gateway::lanes::Lane;
use crate::gateway::queue::Queue;
use crate::gateway::rest::{RemoteId, Rest};
use crate::gateway::websocket::{self, Kind, Piece, Reader, Sent};
use crate::gateway::wire::{Form, Frame, V1};

/// The largest message that is taken. A server sends an output in one piece, however large it is.
const MESSAGE_BYTES: u64 = 512 << 20;

/// How long a websocket may take to open.
pub(crate) const OPEN: Duration = Duration::from_secs(10);

/// How often the other end is asked for a sign of life, and how long there may be none.
const PING: Duration = Duration::from_secs(8);
const SILENCE: Duration = Duration::from_secs(25);

/// What is to be sent.
type Post = (Sent, Bytes);

/// A connection to a kernel. Dropped, it is closed.
pub(crate) struct Line {
    pub(crate) form: Form,
    queue: Arc<Queue>,
    outgoing: mpsc::UnboundedSender<Post>,
    end: Arc<Mutex<String>>,
    _tasks: JoinSet<()>,
}

/// Opens the websocket of a kernel, under the name by which a gateway keeps messages for us.
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
    let Upgraded { way, early, form } = opened.map_err(|_| GatewayError::SocketTimeout)??;
    drop(room);
    // A server of old answers as if it had not been asked for a form.
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
    /// Posts a frame. One that cannot be written any more is missed by the reader.
    pub(crate) fn send(&self, frame: Frame) {
        let _ = self.outgoing.send(match frame {
            Frame::Binary(bytes) => (Sent::Message(Kind::Binary), bytes),
            Frame::Text(text) => (Sent::Message(Kind::Text), text),
        });
    }

    /// The next frame; none when the connection has ended. Cancel-safe.
    pub(crate) async fn next(&self) -> Option<Frame> {
        self.queue.next().await
    }

    /// Why the connection has ended.
    pub(crate) fn why(&self) -> String {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Takes what comes and does nothing else: a gateway keeps in memory what is not taken from it, and takes us
/// for dead when its pings are not answered.
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
                let _ = outgoing.send((Sent::Pong, Bytes::copy_from_slice(bytes)));
            }
            Ok(Ok(Piece::Pong)) => {}
            Ok(Ok(Piece::Close(reason))) => {
                let _ = outgoing.send((Sent::Close, Bytes::new()));
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
            Err(_) => (Sent::Ping, Bytes::new()),
        };
        // Whoever reads sees the end of the connection.
        if websocket::write(&mut to, what, &bytes).await.is_err() {
            return;
        }
    }
}
