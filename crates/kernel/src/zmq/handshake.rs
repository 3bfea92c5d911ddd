//! A kernel over ZeroMQ during the handshake: its messages, and anything odd among them.
//!
//! Owns the sign that a subscription to the output has arrived. `jupyter/handshake.rs` decides when the
//! kernel is ready.

use std::time::Duration;

use serde::Deserialize;

use crate::jupyter::handshake::{MeetError, Newcomer};
use crate::jupyter::message::{Channel, Message, Speak};
use crate::zmq::lines::{Lines, Speaker};

/// Oddity seen during the wait, which helps to explain a timeout.
#[derive(Debug, Default)]
pub(crate) struct Oddity(pub(crate) Option<String>);

pub(crate) struct ZmqNewcomer<'a> {
    pub(crate) lines: &'a mut Lines,
    pub(crate) speaker: &'a Speaker,
    pub(crate) odd: &'a mut Oddity,
    /// Set in the first phase, in which an unreadable output channel is an error.
    pub(crate) needs_output: bool,
}

impl Newcomer for ZmqNewcomer<'_> {
    const UNANSWERED: Duration = Duration::from_secs(5);
    const UNHEARD: Duration = Duration::from_millis(100);

    fn speaker(&self) -> &impl Speak {
        self.speaker
    }

    async fn next(&mut self) -> Result<Option<(Channel, Message)>, MeetError> {
        let closed = || MeetError::Closed(String::new());
        let (channel, frames) = tokio::select! {
            frames = self.lines.shell.next() => (Channel::Shell, frames.map_err(|_| closed())?),
            frames = self.lines.output.next() => match frames.ok_or_else(closed)? {
                Ok(frames) => (Channel::Iopub, frames),
                Err(_) if self.needs_output => return Err(closed()),
                Err(_) => return Ok(None),
            },
        };
        match self.lines.decode(channel, &frames) {
            Ok(message) => Ok(Some((channel, message))),
            Err(problem) => {
                self.odd.0 = Some(problem.to_string());
                Ok(None)
            }
        }
    }

    /// A kernel welcomes only the first subscriber of a topic, so only the welcome for our own
    /// topic counts.
    fn is_welcome(&self, message: &Message) -> bool {
        #[derive(Deserialize)]
        struct Welcome {
            subscription: String,
        }
        let welcome = serde_json::from_slice::<Welcome>(&message.content);
        welcome.is_ok_and(|it| it.subscription == self.lines.output.topic)
    }
}
