//! The frames of the runner: encoding and decoding, without input or output.
//!
//! Owns the wire form: a line of JSON with nonce and sequence, followed by as many raw bytes as the
//! line states. A frame out of place is an error and is never used.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::{Buf, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::event::CodeNames;
use crate::kernel::InputReply;
use crate::question::Question;

/// The longest line of a frame.
const MAX_HEADER_BYTES: usize = 64 << 20;

/// The largest payload of a frame.
const MAX_PAYLOAD_BYTES: usize = 4 << 30;

/// The free room in the buffer for one read.
const ROOM_BYTES: usize = 64 << 10;

/// A message from the host to the runner.
#[derive(Serialize, Debug)]
#[serde(tag = "t", rename_all = "lowercase")]
pub(crate) enum Command<'a> {
    Hello {
        nonce: &'a str,
        cwd: &'a str,
        env: &'a BTreeMap<String, String>,
        shell: &'a str,
        prelude: &'a str,
        path: &'a [String],
        modules: &'a [(String, String)],
    },
    Run {
        id: u64,
        code: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        silent: bool,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        asks: bool,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        names: bool,
        #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
        env: serde_json::Map<String, serde_json::Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cwd: Option<String>,
    },
    Ask {
        id: u64,
        question: &'a Question,
    },
    Input {
        id: u64,
        reply: &'a InputReply,
    },
    /// Asks the runner to connect to the socket of this name and to make copies of itself.
    Copies {
        name: &'a str,
        /// The variable whose value each copy gets for itself.
        mark: &'a str,
    },
    Exit,
}

impl Command<'_> {
    /// The name of the type on the wire.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Command::Hello { .. } => "hello",
            Command::Run { .. } => "run",
            Command::Ask { .. } => "ask",
            Command::Input { .. } => "input",
            Command::Copies { .. } => "copies",
            Command::Exit => "exit",
        }
    }

    pub(crate) fn id(&self) -> Option<u64> {
        match self {
            Command::Run { id, .. } | Command::Ask { id, .. } | Command::Input { id, .. } => {
                Some(*id)
            }
            Command::Hello { .. } | Command::Copies { .. } | Command::Exit => None,
        }
    }

    /// The command as a line of JSON.
    pub(crate) fn to_line(&self) -> Vec<u8> {
        // A command holds only strings, numbers and maps of them, so serializing it cannot fail.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// A message from the runner to the host.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Ready {
        version: String,
        executable: String,
        pid: u32,
    },
    Failed {
        reason: String,
    },
    Started {
        id: u64,
        count: Option<u32>,
    },
    Stream {
        id: Option<u64>,
        name: String,
    },
    Display {
        id: Option<u64>,
        parts: Vec<Part>,
        metadata: String,
        display_id: Option<String>,
        update: bool,
    },
    Result {
        id: u64,
        value: Value,
    },
    Clear {
        id: Option<u64>,
        wait: bool,
    },
    Input {
        id: Option<u64>,
        prompt: String,
        password: bool,
    },
    Error {
        id: u64,
        ename: String,
        evalue: String,
        traceback: Vec<String>,
        plain: Vec<String>,
    },
    /// The end of a cell, with its value if the value came right before the end.
    Done {
        id: u64,
        value: Option<Value>,
        names: Option<Box<CodeNames>>,
    },
    Answer {
        id: u64,
        failed: Option<String>,
    },
    /// A message of a widget: its type, content and buffers.
    Comm {
        id: Option<u64>,
        name: String,
        parts: Vec<Part>,
    },
}

impl Frame {
    /// The name of the type on the wire.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Frame::Ready { .. } => "ready",
            Frame::Failed { .. } => "failed",
            Frame::Started { .. } => "started",
            Frame::Stream { .. } => "stream",
            Frame::Display { .. } => "display",
            Frame::Result { .. } => "result",
            Frame::Clear { .. } => "clear",
            Frame::Input { .. } => "input",
            Frame::Error { .. } => "error",
            Frame::Done { .. } => "done",
            Frame::Answer { .. } => "answer",
            Frame::Comm { .. } => "comm",
        }
    }

    pub(crate) fn id(&self) -> Option<u64> {
        match self {
            Frame::Ready { .. } | Frame::Failed { .. } => None,
            Frame::Stream { id, .. }
            | Frame::Display { id, .. }
            | Frame::Clear { id, .. }
            | Frame::Comm { id, .. }
            | Frame::Input { id, .. } => *id,
            Frame::Started { id, .. }
            | Frame::Result { id, .. }
            | Frame::Error { id, .. }
            | Frame::Done { id, .. }
            | Frame::Answer { id, .. } => Some(*id),
        }
    }
}

/// The value of a cell; its parts are the payload.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Value {
    pub(crate) count: u32,
    pub(crate) parts: Vec<Part>,
    pub(crate) metadata: String,
}

/// MIME type, form (`t`ext, `b`inary, `j`son) and size of one part of a payload.
#[derive(Deserialize, Debug, PartialEq, Eq)]
pub(crate) struct Part(pub(crate) String, pub(crate) char, pub(crate) usize);

/// The fields of all frames. One flat form parses several times faster than one form for each kind, and
/// even the shortest cell has two frames.
#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    n: Cow<'a, str>,
    s: u64,
    #[serde(borrow)]
    t: Cow<'a, str>,
    #[serde(default)]
    bytes: usize,
    id: Option<u64>,
    count: Option<u32>,
    pid: Option<u32>,
    version: Option<String>,
    executable: Option<String>,
    reason: Option<String>,
    name: Option<String>,
    parts: Option<Vec<Part>>,
    metadata: Option<String>,
    display_id: Option<String>,
    #[serde(default)]
    update: bool,
    #[serde(default)]
    wait: bool,
    prompt: Option<String>,
    #[serde(default)]
    password: bool,
    ename: Option<String>,
    evalue: Option<String>,
    traceback: Option<Vec<String>>,
    plain: Option<Vec<String>>,
    failed: Option<String>,
    names: Option<Box<CodeNames>>,
}

impl Header<'_> {
    /// The frame; `None` if its kind is unknown or a required field is missing.
    fn frame(self) -> Option<Frame> {
        Some(match &*self.t {
            "ready" => Frame::Ready {
                version: self.version?,
                executable: self.executable?,
                pid: self.pid?,
            },
            "failed" => Frame::Failed { reason: self.reason? },
            "started" => Frame::Started { id: self.id?, count: self.count },
            "stream" => Frame::Stream { id: self.id, name: self.name? },
            "display" => Frame::Display {
                id: self.id,
                parts: self.parts?,
                metadata: self.metadata?,
                display_id: self.display_id,
                update: self.update,
            },
            "result" => {
                let (count, parts, metadata) = (self.count?, self.parts?, self.metadata?);
                Frame::Result { id: self.id?, value: Value { count, parts, metadata } }
            }
            "clear" => Frame::Clear { id: self.id, wait: self.wait },
            "input" => Frame::Input { id: self.id, prompt: self.prompt?, password: self.password },
            "error" => Frame::Error {
                id: self.id?,
                ename: self.ename?,
                evalue: self.evalue?,
                traceback: self.traceback?,
                plain: self.plain?,
            },
            "done" => {
                let value = match self.parts {
                    Some(parts) => {
                        let (count, metadata) = (self.count?, self.metadata?);
                        Some(Value { count, parts, metadata })
                    }
                    None => None,
                };
                Frame::Done { id: self.id?, value, names: self.names }
            }
            "answer" => Frame::Answer { id: self.id?, failed: self.failed },
            "comm" => Frame::Comm { id: self.id, name: self.name?, parts: self.parts? },
            _ => return None,
        })
    }
}

/// Why bytes are not frames of this kernel.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("a line of more than {MAX_HEADER_BYTES} bytes")]
    TooLong,
    #[error("a payload of {0} bytes")]
    TooLarge(usize),
    #[error("not a frame: {0}")]
    NotAFrame(String),
    #[error("a frame of another program")]
    WrongNonce,
    #[error("frame {found} where {expected} was due")]
    OutOfOrder { expected: u64, found: u64 },
}

/// Collects bytes and returns frames.
pub(crate) struct Decoder {
    nonce: String,
    sequence: u64,
    buffer: BytesMut,
    /// A frame whose payload is incomplete.
    waiting: Option<(Frame, usize)>,
    searched: usize,
}

impl Decoder {
    pub(crate) fn new(nonce: String) -> Decoder {
        Decoder { nonce, sequence: 0, buffer: BytesMut::new(), waiting: None, searched: 0 }
    }

    /// The buffer for the next read, with ample room: by itself it would take few bytes at a time.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        if self.buffer.capacity() - self.buffer.len() < ROOM_BYTES / 4 {
            self.buffer.reserve(ROOM_BYTES);
        }
        &mut self.buffer
    }

    /// The next complete frame with its payload.
    pub(crate) fn next(&mut self) -> Result<Option<(Frame, Bytes)>, FrameError> {
        if self.waiting.is_none() {
            let Some(end) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n')
            else {
                self.searched = self.buffer.len();
                if self.buffer.len() > MAX_HEADER_BYTES {
                    return Err(FrameError::TooLong);
                }
                return Ok(None);
            };
            let line = self.buffer.split_to(self.searched + end);
            self.buffer.advance(1);
            self.searched = 0;
            self.waiting = Some(self.header(&line)?);
        }
        match self.waiting.take() {
            Some((frame, size)) if self.buffer.len() >= size => {
                Ok(Some((frame, self.buffer.split_to(size).freeze())))
            }
            waiting => {
                self.waiting = waiting;
                Ok(None)
            }
        }
    }

    fn header(&mut self, line: &[u8]) -> Result<(Frame, usize), FrameError> {
        let not_a_frame = |error: serde_json::Error| FrameError::NotAFrame(error.to_string());
        let header: Header = serde_json::from_slice(line).map_err(not_a_frame)?;
        if header.n != self.nonce {
            return Err(FrameError::WrongNonce);
        }
        self.sequence += 1;
        if header.s != self.sequence {
            return Err(FrameError::OutOfOrder { expected: self.sequence, found: header.s });
        }
        if header.bytes > MAX_PAYLOAD_BYTES {
            return Err(FrameError::TooLarge(header.bytes));
        }
        let (size, kind) = (header.bytes, header.t.clone());
        let frame = header.frame().ok_or_else(|| FrameError::NotAFrame(kind.into_owned()))?;
        Ok((frame, size))
    }
}

#[cfg(test)]
mod tests;
