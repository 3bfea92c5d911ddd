//! Messages as lines, for a client that is a pair of pipes.
//!
//! Owns the length of a line, and that every request is answered under its own id: a request that cannot be taken
//! is refused at once, so that no client waits in vain. The rules for a message are in `strict.rs`.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::model::{ClientNotification, JsonRpcError, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;

use super::order::Ticket;
use super::skim::Skim;
use super::strict::{self, LineContent, Refusal};
use crate::mcp::desk::Turns;

const LONGEST: usize = 64 << 20;
/// A buffer larger than this is freed once its message is read.
const KEPT_BUFFER: usize = 1 << 20;
/// How many ids of cancelled requests are remembered.
const TAKEN_BACK: usize = 4096;

/// The two pipes of a client.
pub(crate) struct Lines<R, W> {
    read: BufReader<R>,
    /// The bytes of an incomplete line. They live here and not in a future, which may be dropped half way.
    line: Vec<u8>,
    /// The line is too long; this is the part of it that matters.
    skipped: Option<Skim>,
    /// A refusal that is being written. Nothing more is read until it is sent.
    refusing: Option<BoxFuture<'static, io::Result<()>>>,
    write: Arc<Mutex<Option<W>>>,
    ids: Ids,
    turns: Turns,
}

/// The ids in use.
#[derive(Default)]
struct Ids {
    /// Set after the first request.
    is_greeted: bool,
    under_way: HashSet<RequestId>,
    /// Cancelled requests. They get no answer, so their end is not visible here, and the answer to one must not
    /// pass for that to another request with the same id.
    taken_back: VecDeque<RequestId>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    pub(crate) fn new(read: R, write: W, turns: Turns) -> Lines<R, W> {
        Lines {
            read: BufReader::with_capacity(64 << 10, read),
            line: Vec::new(),
            skipped: None,
            refusing: None,
            write: Arc::new(Mutex::new(Some(write))),
            ids: Ids::default(),
            turns,
        }
    }

    /// The next complete line. None at the end; half a line is ignored.
    async fn next_line(&mut self) -> Option<LineContent> {
        loop {
            let available = self.read.fill_buf().await.ok().filter(|bytes| !bytes.is_empty())?;
            let newline = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..newline.map_or(available.len(), |at| at + 1)];
            let length = piece.len();
            if let Some(skim) = &mut self.skipped {
                skim.feed(piece);
            } else if self.line.len() + length > LONGEST {
                let mut skim = Skim::default();
                skim.feed(&std::mem::take(&mut self.line));
                skim.feed(piece);
                self.skipped = Some(skim);
            } else {
                self.line.extend_from_slice(piece);
            }
            self.read.consume(length);
            if newline.is_none() {
                continue;
            }
            if let Some(skim) = self.skipped.take() {
                return Some(LineContent::Refused(strict::too_long(&skim, LONGEST)));
            }
            let taken = strict::take(&self.line);
            self.line.clear();
            if self.line.capacity() > KEPT_BUFFER {
                self.line = Vec::new();
            }
            return Some(taken);
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        let message = JsonRpcMessage::Error(JsonRpcError::new(refusal.id, refusal.error));
        self.refusing = Some(write(Arc::clone(&self.write), message).boxed());
    }
}

impl Ids {
    /// Passes a message on, unless it is a request that repeats an id in use, or comes too early.
    fn admit(&mut self, taken: LineContent) -> LineContent {
        let LineContent::Message(message) = &taken else { return taken };
        match &**message {
            JsonRpcMessage::Request(request) => {
                self.is_greeted = true;
                let id = &request.id;
                if self.taken_back.contains(id) || !self.under_way.insert(id.clone()) {
                    return LineContent::Refused(strict::id_in_use(id.clone()));
                }
            }
            // The protocol's loop ends if anything but a request comes first.
            _ if !self.is_greeted => return LineContent::Nothing,
            JsonRpcMessage::Notification(note) => {
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = &cancelled.params.request_id
                    && self.under_way.remove(id)
                {
                    self.taken_back.push_back(id.clone());
                    if self.taken_back.len() > TAKEN_BACK {
                        self.taken_back.pop_front();
                    }
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        taken
    }

    fn answered(&mut self, message: &TxJsonRpcMessage<RoleServer>) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = id {
            self.under_way.remove(id);
        }
    }
}

/// Writes one message as one line.
async fn write<W: AsyncWrite + Unpin>(
    to: Arc<Mutex<Option<W>>>,
    message: TxJsonRpcMessage<RoleServer>,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(&message)?;
    line.push(b'\n');
    let mut to = to.lock().await;
    let to = to.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
    to.write_all(&line).await?;
    to.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.ids.answered(&item);
        write(Arc::clone(&self.write), item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                let written = refusing.await;
                self.refusing = None;
                written.ok()?;
            }
            let taken = self.next_line().await?;
            match self.ids.admit(taken) {
                LineContent::Message(mut message) => {
                    Ticket::give(&mut message, &self.turns);
                    return Some(*message);
                }
                LineContent::Refused(refusal) => self.refuse(refusal),
                LineContent::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.lock().await.take();
        Ok(())
    }
}

#[cfg(test)]
#[path = "lines/tests.rs"]
mod tests;
