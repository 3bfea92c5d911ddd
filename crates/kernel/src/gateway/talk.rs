//! One conversation with a kernel on a gateway: its websocket, and our name in it.
//!
//! Owns sending and reading messages, and opening the websocket anew under the same name. It must not know what
//! messages mean.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::error::LaunchError;
use crate::gateway::error::GatewayError;
use crate::gateway::rest::{RemoteId, Rest};
use crate::gateway::socket::{self, Line};
use crate::gateway::wire::{self, WireError};
use crate::jupyter::fold::Channel;
use crate::jupyter::home::Home;
use crate::jupyter::message::{Author, Message, Outgoing};
use crate::jupyter::sign::Signer;
use crate::jupyter::speak::Speak;
use crate::trace::MessageTrace;

pub(crate) struct Talk {
    pub(crate) rest: Arc<Rest>,
    pub(crate) id: RemoteId,
    line: Line,
    author: Author,
    /// Where output waits that comes faster than it is taken.
    home: Home,
    pub(crate) trace: MessageTrace,
}

impl Talk {
    /// Opens the websocket of a kernel.
    pub(crate) async fn open(
        rest: Arc<Rest>,
        id: RemoteId,
        session: String,
        runtime_dir: &Path,
        within: Duration,
        trace: MessageTrace,
    ) -> Result<Talk, LaunchError> {
        let made = Home::make(runtime_dir);
        let home = made.map_err(|source| LaunchError::Resources {
            what: "make a folder for the kernel's output",
            source,
        })?;
        let line = socket::open(&rest, &id, &session, home.folder(), within).await?;
        // The gateway signs what it passes on.
        let author = Author::new(session, Signer::new(""));
        Ok(Talk { rest, id, line, author, home, trace })
    }

    /// Opens it again. Under the same name, the gateway sends what it has kept for us.
    pub(crate) async fn reopen(&mut self, within: Duration) -> Result<(), GatewayError> {
        let session = self.author.session();
        self.line = socket::open(&self.rest, &self.id, session, self.home.folder(), within).await?;
        Ok(())
    }

    pub(crate) fn session(&self) -> &str {
        self.author.session()
    }

    /// Why the websocket has ended.
    pub(crate) fn why(&self) -> String {
        self.line.why()
    }

    /// The next message, if it is one; none when the websocket has ended. Cancel-safe.
    pub(crate) async fn next(&self) -> Option<Result<(Channel, Message), WireError>> {
        let frame = self.line.next().await?;
        let read = wire::decode(self.line.form, &frame);
        if let Ok((channel, message)) = &read {
            let parent = message.parent.as_ref().map(|parent| parent.msg_id.as_str());
            self.trace.received_as(channel.as_str(), &message.header.msg_type, parent);
        }
        Some(read)
    }

    /// Sends a request with metadata; gives its name.
    pub(crate) fn request_with(
        &self,
        channel: Channel,
        kind: &str,
        metadata: &Value,
        content: &Value,
    ) -> String {
        self.send(channel, kind, self.author.request_with(kind, metadata, content))
    }

    /// Sends an answer to the message with this header.
    pub(crate) fn reply(&self, channel: Channel, kind: &str, parent: Bytes, content: &Value) {
        self.send(channel, kind, self.author.reply(kind, parent, content));
    }

    fn send(&self, channel: Channel, kind: &str, message: Outgoing) -> String {
        self.trace.sent_as(channel.as_str(), kind, Some(&message.id));
        // Delimiter and signature are for sockets without a gateway.
        if let [_, _, header, parent, metadata, content] = message.frames.as_slice() {
            let parts = [header, parent, metadata, content].map(Bytes::clone);
            self.line.send(wire::encode(self.line.form, channel, &parts));
        }
        message.id
    }
}

impl Speak for Talk {
    fn request(&self, channel: Channel, kind: &str, content: &Value) -> String {
        self.send(channel, kind, self.author.request(kind, content))
    }
}
