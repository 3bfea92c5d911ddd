//! What a backend does, told to whoever writes it down: kernels that start and end, and each message.
//!
//! Owns the words, which are the same for every backend. What is told never holds a body, an argument or a
//! secret, so that all of it may be written anywhere; who writes it, and where, must not be known here.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::event::Death;
use crate::kernel::KernelInfo;
use crate::runner::ZygoteState;

/// Somebody who writes down what a backend does. It is told in the middle of the work: it must not wait.
pub trait Trace: Send + Sync {
    /// Whether each message is to be told; asked once for each kernel.
    fn messages(&self) -> Messages;

    /// A message went to a kernel or came from one.
    fn message(&self, message: &Message<'_>);

    /// A kernel is ready, after so long.
    fn started(&self, info: &KernelInfo, took: Duration);

    /// A kernel is gone.
    fn died(&self, pid: Option<u32>, death: &Death);

    /// A fork server of this interpreter is ready, refuses, or is gone.
    fn fork_server(&self, python: &Path, state: &ZygoteState);
}

/// Whether messages are told one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Messages {
    /// Each of them.
    Told,
    /// None, which costs nothing.
    Untold,
}

/// One message, without what it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// The process of the kernel, when it is on this machine.
    pub pid: Option<u32>,
    /// Whether it went or came.
    pub direction: Direction,
    /// What carries it.
    pub channel: &'a str,
    /// Its type, as the protocol calls it.
    pub kind: &'a str,
    /// The request that it is, or that it belongs to.
    pub id: Option<MessageId<'a>>,
}

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// To the kernel.
    Sent,
    /// From it.
    Received,
}

/// The name of a request; protocols have numbers or texts for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageId<'a> {
    /// As the runner counts them.
    Number(u64),
    /// As Jupyter's messages have it.
    Text(&'a str),
}

impl std::fmt::Display for MessageId<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MessageId::Number(number) => write!(f, "{number}"),
            MessageId::Text(text) => f.write_str(text),
        }
    }
}

/// The messages of one kernel, for whoever wants them. Where nobody does, telling is one look at nothing.
#[derive(Clone, Default)]
pub(crate) struct MessageTrace(Option<(Arc<dyn Trace>, Option<u32>)>);

impl MessageTrace {
    pub(crate) fn new(trace: Option<&Arc<dyn Trace>>, pid: Option<u32>) -> MessageTrace {
        let wanted = trace.filter(|trace| trace.messages() == Messages::Told);
        MessageTrace(wanted.map(|trace| (Arc::clone(trace), pid)))
    }

    #[inline]
    pub(crate) fn sent(&self, channel: &str, kind: &str, id: Option<u64>) {
        if let Some((trace, pid)) = &self.0 {
            let (direction, id) = (Direction::Sent, id.map(MessageId::Number));
            trace.message(&Message { pid: *pid, direction, channel, kind, id });
        }
    }

    /// The same where requests are named by text.
    pub(crate) fn sent_as(&self, channel: &str, kind: &str, id: Option<&str>) {
        if let Some((trace, pid)) = &self.0 {
            let (direction, id) = (Direction::Sent, id.map(MessageId::Text));
            trace.message(&Message { pid: *pid, direction, channel, kind, id });
        }
    }

    /// The same where requests are named by text.
    pub(crate) fn received_as(&self, channel: &str, kind: &str, id: Option<&str>) {
        if let Some((trace, pid)) = &self.0 {
            let (direction, id) = (Direction::Received, id.map(MessageId::Text));
            trace.message(&Message { pid: *pid, direction, channel, kind, id });
        }
    }

    #[inline]
    pub(crate) fn received(&self, channel: &str, kind: &str, id: Option<u64>) {
        if let Some((trace, pid)) = &self.0 {
            let (direction, id) = (Direction::Received, id.map(MessageId::Number));
            trace.message(&Message { pid: *pid, direction, channel, kind, id });
        }
    }
}
