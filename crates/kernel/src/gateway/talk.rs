//! One conversation with a kernel on a gateway: its websocket, and our session id in it.
//!
//! Owns sending and reading messages, and opening the websocket again under the same id. It must
//! not know the meaning of messages.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::error::LaunchError;
use crate::error::gateway::GatewayError;
use crate::gateway::transport::rest::{RemoteId, Rest};
use crate::gateway::transport::socket::{self, Line};
use crate::gateway::transport::wire::{self, WireError};
use crate::jupyter::home::Home;
use crate::jupyter::message::{Author, Channel, Message, Outgoing, Speak};
use crate::trace::MessageTrace;

pub(crate) struct Talk {
    pub(crate) rest: Arc<Rest>,
    pub(crate) id: RemoteId,
    line: Line,
    author: Author,
    /// Folder for output that arrives faster than it is read.
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
        let what = "make a folder for the kernel's output";
        let home = Home::make(runtime_dir).map_err(LaunchError::resources(what))?;
        let line = socket::open(&rest, &id, &session, home.folder(), within).await?;
        let author = Author::new(session);
        Ok(Talk { rest, id, line, author, home, trace })
    }

    /// Opens the websocket again under the same session id, for which the gateway has kept
    /// messages.
    pub(crate) async fn reopen(&mut self, within: Duration) -> Result<(), GatewayError> {
        let session = self.author.session();
        self.line = socket::open(&self.rest, &self.id, session, self.home.folder(), within).await?;
        Ok(())
    }

    pub(crate) fn session(&self) -> &str {
        self.author.session()
    }

    /// Returns the reason why the websocket ended.
    pub(crate) fn why(&self) -> String {
        self.line.why()
    }

    /// Returns the next message or its error, or `None` when the websocket has ended. Cancel-safe.
    pub(crate) async fn next(&self) -> Option<Result<(Channel, Message), WireError>> {
        let frame = self.line.next().await?;
        let read = wire::decode(self.line.form, &frame);
        if let Ok((channel, message)) = &read {
            let parent = message.parent.as_ref().map(|parent| parent.msg_id.as_str());
            self.trace.received_as(channel.as_str(), &message.header.msg_type, parent);
        }
        Some(read)
    }
}

impl Speak for Talk {
    fn author(&self) -> &Author {
        &self.author
    }

    fn send(&self, channel: Channel, kind: &str, message: Outgoing) -> String {
        self.trace.sent_as(channel.as_str(), kind, Some(&message.id));
        self.line.send(wire::encode(self.line.form, channel, &message.parts));
        message.id
    }
}
