//! Messages as they travel on a websocket: the current binary form, and the two older forms.
//!
//! Owns the layouts. Pure. The gateway signs and checks messages, and other modules read the
//! contents.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::jupyter::message::{Channel, HeaderError, Message, Parts};
use crate::lenient;

/// Name of the current binary form, as a subprotocol.
pub(crate) const V1: &str = "v1.kernel.websocket.jupyter.org";

/// Form of messages that a gateway speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// The binary form: a table of offsets, then the parts.
    V1,
    /// The older form: one JSON object, or a table, the object and its buffers.
    Old,
}

/// One frame of a websocket, text or binary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Frame {
    Text(Bytes),
    Binary(Bytes),
}

/// Reason why a frame is not a message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("malformed frame: wrong table of parts")]
    Table,
    #[error("unknown channel {0:?}")]
    Channel(String),
    #[error("malformed frame: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Header(#[from] HeaderError),
}

/// Encodes a message in this form.
pub(crate) fn encode(form: Form, channel: Channel, parts: &Parts) -> Frame {
    match form {
        Form::V1 => Frame::Binary(encode_v1(channel, parts)),
        Form::Old => Frame::Text(encode_text(channel, parts)),
    }
}

fn encode_v1(channel: Channel, parts: &Parts) -> Bytes {
    let channel = channel.as_str().as_bytes();
    let pieces = || std::iter::once(channel).chain(parts.iter().map(|part| &part[..]));
    let count = pieces().count() + 1;
    let mut at = 8 * (1 + count);
    let total = at + pieces().map(<[u8]>::len).sum::<usize>();
    let mut frame = Vec::with_capacity(total);
    frame.extend_from_slice(&(count as u64).to_le_bytes());
    frame.extend_from_slice(&(at as u64).to_le_bytes());
    for piece in pieces() {
        at += piece.len();
        frame.extend_from_slice(&(at as u64).to_le_bytes());
    }
    for piece in pieces() {
        frame.extend_from_slice(piece);
    }
    Bytes::from(frame)
}

fn encode_text(channel: Channel, [header, parent, metadata, content]: &Parts) -> Bytes {
    // Each part is JSON already, so it is inserted unchanged.
    let mut text = Vec::with_capacity(header.len() + content.len() + 128);
    let fields = [
        ("{\"channel\":\"", channel.as_str().as_bytes()),
        ("\",\"header\":", header),
        (",\"parent_header\":", parent),
        (",\"metadata\":", metadata),
        (",\"content\":", content),
        (",\"buffers\":[]}", b""),
    ];
    for (name, value) in fields {
        text.extend_from_slice(name.as_bytes());
        text.extend_from_slice(value);
    }
    Bytes::from(text)
}

/// Decodes a frame into its channel and its message.
pub(crate) fn decode(form: Form, frame: &Frame) -> Result<(Channel, Message), WireError> {
    match (form, frame) {
        (_, Frame::Text(text)) => decode_json(text),
        (Form::V1, Frame::Binary(bytes)) => decode_v1(bytes),
        (Form::Old, Frame::Binary(bytes)) => decode_json(&first_of_old(bytes)?),
    }
}

fn decode_v1(frame: &Bytes) -> Result<(Channel, Message), WireError> {
    let number = |at: usize| -> Option<usize> {
        let bytes = frame.get(at.checked_mul(8)?..)?.get(..8)?;
        usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let count = number(0).ok_or(WireError::Table)?;
    // Channel, four parts, and the end; buffers may follow.
    if count < 6 || count > frame.len() / 8 {
        return Err(WireError::Table);
    }
    let piece = |index: usize| -> Result<Bytes, WireError> {
        let (from, to) = (number(index + 1), number(index + 2));
        let (from, to) = (from.ok_or(WireError::Table)?, to.ok_or(WireError::Table)?);
        if from > to || to > frame.len() {
            return Err(WireError::Table);
        }
        Ok(frame.slice(from..to))
    };
    let channel = channel(&String::from_utf8_lossy(&piece(0)?))?;
    let message = Message::from_parts(&piece(1)?, &piece(2)?, &piece(4)?)?;
    // The last entry of the table is the end.
    let buffers = (5..count - 1).map(piece).collect::<Result<_, _>>()?;
    Ok((channel, Message { buffers, ..message }))
}

/// Returns the JSON of a message with buffers. Servers write the table in network byte order. Some
/// clients use the other order, and no table is valid in both.
fn first_of_old(frame: &Bytes) -> Result<Bytes, WireError> {
    let number = |at: usize, read: fn([u8; 4]) -> u32| -> Option<usize> {
        let bytes = frame.get(at.checked_mul(4)?..)?.get(..4)?;
        usize::try_from(read(bytes.try_into().ok()?)).ok()
    };
    for read in [u32::from_be_bytes, u32::from_le_bytes] {
        let Some(count) = number(0, read).filter(|count| (1..=frame.len() / 4).contains(count))
        else {
            continue;
        };
        let (from, to) = (number(1, read), number(2, read).filter(|_| count > 1));
        let (Some(from), to) = (from, to.unwrap_or(frame.len())) else { continue };
        if from == 4 * (count + 1) && from <= to && to <= frame.len() {
            return Ok(frame.slice(from..to));
        }
    }
    Err(WireError::Table)
}

fn decode_json(text: &[u8]) -> Result<(Channel, Message), WireError> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        channel: Cow<'a, str>,
        #[serde(borrow)]
        header: &'a RawValue,
        #[serde(borrow, default)]
        parent_header: Option<&'a RawValue>,
        #[serde(borrow, default)]
        content: Option<&'a RawValue>,
    }
    let raw = |raw: &RawValue| Bytes::copy_from_slice(raw.get().as_bytes());
    let (name, header, parent, content) = lenient::read(text, |text| {
        let read: Envelope<'_> = serde_json::from_str(text)?;
        let (parent, content) = (read.parent_header.map(raw), read.content.map(raw));
        Ok((read.channel.into_owned(), raw(read.header), parent, content))
    })?;
    let empty = || Bytes::from_static(b"{}");
    let (parent, content) = (parent.unwrap_or_else(empty), content.unwrap_or_else(empty));
    Ok((channel(&name)?, Message::from_parts(&header, &parent, &content)?))
}

fn channel(name: &str) -> Result<Channel, WireError> {
    let all = [Channel::Iopub, Channel::Shell, Channel::Stdin, Channel::Control];
    let found = all.into_iter().find(|channel| channel.as_str() == name);
    found.ok_or_else(|| WireError::Channel(name.chars().take(40).collect()))
}

#[cfg(test)]
mod tests;
