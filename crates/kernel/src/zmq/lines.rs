//! The five connections to one kernel as one object: requests go out, messages come in.
//!
//! Owns signing and checking. Other modules know the meaning of messages.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::jupyter::home::random_hex;
use crate::jupyter::message::{Author, Channel, Message, Outgoing, Speak};
use crate::trace::MessageTrace;
use crate::zmq::connection::{Connection, Port};
use crate::zmq::drain::{Drains, Output};
use crate::zmq::sign::{Checker, Signer};
use crate::zmq::socket::{self, OpenSocket, Reader, Writer};
use crate::zmq::wire::{self, WireError};
use crate::zmq::zmtp::SocketType;

/// Pause before another try to connect to a socket that does not exist yet.
pub(crate) const AGAIN: Duration = Duration::from_millis(10);

/// Time limit for the handshake. A slower peer is not a kernel, or gets another try.
const HANDSHAKE: Duration = Duration::from_secs(3);

/// The receiving side of the connections.
pub(crate) struct Lines {
    pub(crate) shell: Reader,
    pub(crate) stdin: Reader,
    pub(crate) control: Reader,
    pub(crate) heartbeat: (Reader, Writer),
    pub(crate) output: Output,
    checker: Checker,
    trace: MessageTrace,
}

/// The sending side of the connections.
#[derive(Clone)]
pub(crate) struct Speaker {
    author: Arc<Author>,
    signer: Signer,
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
    // Shell and standard input share one identity, by which the kernel finds the client to ask for
    // a line.
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
    let author = Arc::new(Author::new(session.clone()));
    let (shell, stdin, control, trace) = (shell.1, stdin.1, control.1, trace.clone());
    Ok((lines, Speaker { author, signer, shell, stdin, control, trace }))
}

/// Tries until the kernel listens. As long as the kernel lives, every failure is temporary: a
/// socket may not exist yet, or an old one is just being closed.
async fn patient(
    connection: &Connection,
    port: Port,
    kind: SocketType,
    identity: &[u8],
    topics: &[&[u8]],
) -> io::Result<OpenSocket> {
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
    /// Decodes a message that came on a channel, and checks its signature.
    pub(crate) fn decode(
        &mut self,
        channel: Channel,
        frames: &[Bytes],
    ) -> Result<Message, WireError> {
        let message = wire::decode(frames, &mut self.checker)?;
        let parent = message.parent.as_ref().map(|parent| parent.msg_id.as_str());
        self.trace.received_as(channel.as_str(), &message.header.msg_type, parent);
        Ok(message)
    }
}

impl Speak for Speaker {
    fn author(&self) -> &Author {
        &self.author
    }

    fn send(&self, channel: Channel, kind: &str, message: Outgoing) -> String {
        self.trace.sent_as(channel.as_str(), kind, Some(&message.id));
        let writer = match channel {
            Channel::Stdin => &self.stdin,
            Channel::Control => &self.control,
            Channel::Shell | Channel::Iopub => &self.shell,
        };
        writer.send(&wire::encode(message.parts, &self.signer));
        message.id
    }
}

impl Speaker {
    /// Reports a signal to the trace. A signal uses no channel, but its place among the messages
    /// matters.
    pub(crate) fn signalled(&self, kind: &str) {
        self.trace.sent_as("signal", kind, None);
    }

    /// Returns `true` if a request could not be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.shell.has_failed()
    }
}
