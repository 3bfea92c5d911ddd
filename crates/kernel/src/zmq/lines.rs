//! The five connections to one kernel, as one thing: what is said to it, and what it says.
//!
//! Owns signing and checking. What messages mean is for others.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;

use crate::jupyter::fold::Channel;
use crate::jupyter::home::random_hex;
use crate::jupyter::message::{Author, Message, MessageError, Outgoing};
use crate::jupyter::sign::{Checker, Signer};
use crate::jupyter::speak::Speak;
use crate::trace::MessageTrace;
use crate::zmq::connection::{Connection, Port};
use crate::zmq::drain::{Drains, Output};
use crate::zmq::socket::{self, Joined, Reader, Writer};
use crate::zmq::zmtp::SocketType;

/// How soon a socket that is not there yet is tried again.
pub(crate) const AGAIN: Duration = Duration::from_millis(10);

/// How long a peer may take to shake hands; whoever needs longer is no kernel, or is asked anew.
const HANDSHAKE: Duration = Duration::from_secs(3);

/// What a kernel says.
pub(crate) struct Lines {
    pub(crate) shell: Reader,
    pub(crate) stdin: Reader,
    pub(crate) control: Reader,
    pub(crate) heartbeat: (Reader, Writer),
    pub(crate) output: Output,
    checker: Checker,
    trace: MessageTrace,
}

/// What is said to a kernel.
#[derive(Clone)]
pub(crate) struct Speaker {
    author: Arc<Author>,
    shell: Writer,
    stdin: Writer,
    control: Writer,
    trace: MessageTrace,
}

/// Connects to a kernel that listens, or is about to.
pub(crate) async fn connect(
    connection: &Connection,
    drains: &Drains,
    folder: &Path,
    trace: &MessageTrace,
) -> io::Result<(Lines, Speaker)> {
    let session = random_hex::<16>()?;
    let topic = format!("inkcell-{session}");
    // Shell and standard input have one identity, by which the kernel knows whom to ask for a line.
    let dealer = |port| patient(connection, port, SocketType::Dealer, session.as_bytes(), &[]);
    let shell = dealer(Port::Shell).await?.split();
    let stdin = dealer(Port::Stdin).await?.split();
    let control = dealer(Port::Control).await?.split();
    let heartbeat = dealer(Port::Heartbeat).await?.split();
    let topics: [&[u8]; 2] = [b"", topic.as_bytes()];
    let iopub = patient(connection, Port::Iopub, SocketType::Sub, &[], &topics).await?;
    let signer = Signer::new(&connection.key);
    let lines = Lines {
        shell: shell.0,
        stdin: stdin.0,
        control: control.0,
        heartbeat,
        output: drains.output(iopub, topic, folder)?,
        checker: Checker::new(signer.clone()),
        trace: trace.clone(),
    };
    let author = Arc::new(Author::new(session.clone(), signer));
    let (shell, stdin, control, trace) = (shell.1, stdin.1, control.1, trace.clone());
    Ok((lines, Speaker { author, shell, stdin, control, trace }))
}

/// Tries until somebody listens. Every failure is passing, as long as the kernel lives: sockets that are not
/// there yet, and others that are just being closed.
async fn patient(
    connection: &Connection,
    port: Port,
    kind: SocketType,
    identity: &[u8],
    topics: &[&[u8]],
) -> io::Result<Joined> {
    let address = connection.address(port).map_err(io::Error::other)?;
    loop {
        let attempt = socket::connect(&address, kind, identity, topics);
        if let Ok(Ok(connected)) = tokio::time::timeout(HANDSHAKE, attempt).await {
            return Ok(connected);
        }
        tokio::time::sleep(AGAIN).await;
    }
}

impl Lines {
    /// Reads what came on a channel.
    pub(crate) fn decode(
        &mut self,
        channel: Channel,
        frames: &[Bytes],
    ) -> Result<Message, MessageError> {
        let message = Message::decode(frames, &mut self.checker)?;
        let parent = message.parent.as_ref().map(|parent| parent.msg_id.as_str());
        self.trace.received_as(channel.as_str(), &message.header.msg_type, parent);
        Ok(message)
    }
}

impl Speak for Speaker {
    fn request(&self, channel: Channel, kind: &str, content: &serde_json::Value) -> String {
        self.send(channel, kind, self.author.request(kind, content))
    }
}

impl Speaker {
    /// Our own name.
    pub(crate) fn session(&self) -> &str {
        self.author.session()
    }

    /// Sends a request; gives its name.
    pub(crate) fn request(&self, channel: Channel, kind: &str, content: &impl Serialize) -> String {
        self.send(channel, kind, self.author.request(kind, content))
    }

    /// The same with metadata.
    pub(crate) fn request_with(
        &self,
        channel: Channel,
        kind: &str,
        metadata: &impl Serialize,
        content: &impl Serialize,
    ) -> String {
        self.send(channel, kind, self.author.request_with(kind, metadata, content))
    }

    /// Sends an answer to the message with this header.
    pub(crate) fn reply(
        &self,
        channel: Channel,
        kind: &str,
        parent: Bytes,
        content: &impl Serialize,
    ) {
        self.send(channel, kind, self.author.reply(kind, parent, content));
    }

    fn send(&self, channel: Channel, kind: &str, message: Outgoing) -> String {
        self.trace.sent_as(channel.as_str(), kind, Some(&message.id));
        let writer = match channel {
            Channel::Stdin => &self.stdin,
            Channel::Control => &self.control,
            Channel::Shell | Channel::Iopub => &self.shell,
        };
        writer.send(&message.frames);
        message.id
    }

    /// A signal is sent beside the channels, and belongs to what is told of them.
    pub(crate) fn signalled(&self, kind: &str) {
        self.trace.sent_as("signal", kind, None);
    }

    /// Whether a request could not even be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.shell.has_failed()
    }
}
