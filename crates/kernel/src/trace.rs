//! A trace of a backend: kernels that start and end, and each message.
//!
//! Owns the words, which are the same for every backend. A trace never holds a body, an argument or a
//! secret, so a caller may write all of it anywhere. This module must not know who writes it, or where.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::event::Death;
use crate::kernel::KernelInfo;

/// A caller's log of what a backend does. The backend calls it in the middle of its work: it must not wait.
pub trait KernelTrace: Send + Sync {
    /// Whether the log wants each message; the backend asks once for each kernel.
    fn messages(&self) -> Messages;

    /// A message went to a kernel or came from one.
    fn message(&self, message: &Message<'_>);

    /// A kernel is ready, `took` after its start.
    fn started(&self, info: &KernelInfo, took: Duration);

    /// A kernel has ended.
    fn died(&self, pid: Option<u32>, death: &Death);

    /// A fork server of this interpreter is ready, refuses, or has ended.
    fn fork_server(&self, python: &Path, state: &ZygoteState);
}

/// The state of a fork server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ZygoteState {
    /// The fork server is still importing.
    Starting,
    /// The fork server hands out runners. Some modules may have failed to preload.
    Ready {
        /// The modules that failed, each with the reason.
        failed: BTreeMap<String, String>,
    },
    /// The fork server refused to fork, for this reason.
    Refused(String),
    /// The fork server has ended.
    Gone,
}

/// Whether a log wants messages one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Messages {
    /// Every message, one by one.
    Told,
    /// No message, which costs nothing.
    Untold,
}

/// One message without its body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// The process of the kernel, if it runs on this machine.
    pub pid: Option<u32>,
    /// Towards the kernel or from it.
    pub direction: Direction,
    /// The channel of the protocol, such as `shell`.
    pub channel: &'a str,
    /// The type of the message in the words of the protocol, such as `execute_request`.
    pub kind: &'a str,
    /// The request itself, or the request that the message belongs to.
    pub id: Option<MessageId<'a>>,
}

/// The direction of a message, seen from the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the host to the kernel.
    Sent,
    /// From the kernel to the host.
    Received,
}

/// The id of a request; some protocols use numbers, others texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageId<'a> {
    /// The runner's counter of requests.
    Number(u64),
    /// The id of a Jupyter message.
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

/// The messages of one kernel, for a log that wants them. Without such a log, a call costs one check of an `Option`.
#[derive(Clone, Default)]
pub(crate) struct MessageTrace(Option<(Arc<dyn KernelTrace>, Option<u32>)>);

impl MessageTrace {
    pub(crate) fn new(trace: Option<&Arc<dyn KernelTrace>>, pid: Option<u32>) -> MessageTrace {
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

    /// As [`MessageTrace::sent`], where texts identify requests.
    pub(crate) fn sent_as(&self, channel: &str, kind: &str, id: Option<&str>) {
        if let Some((trace, pid)) = &self.0 {
            let (direction, id) = (Direction::Sent, id.map(MessageId::Text));
            trace.message(&Message { pid: *pid, direction, channel, kind, id });
        }
    }

    /// As [`MessageTrace::received`], where texts identify requests.
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
