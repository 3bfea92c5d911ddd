//! ZMTP 3.0, the protocol of ZeroMQ's sockets: greeting, frames, and socket types that fit
//! together.
//!
//! Owns the bytes; pure. Only the parts that a client of a Jupyter kernel needs are here: the
//! `NULL` mechanism and the socket types `DEALER` and `SUB`. This is our own code instead of a
//! library, because a client with its own socket sees at once when the kernel is gone, decides
//! itself when to read, and never drops a message.

use std::io;

use bytes::{Buf as _, Bytes, BytesMut};

/// Length of a greeting in bytes.
pub(crate) const GREETING_BYTES: usize = 64;

/// Longest frame that is accepted, in bytes. A longer announcement is an error.
const MAX_FRAME_BYTES: usize = 1 << 30;

/// From this size on, the bytes behind a frame are copied to free its buffer.
const LARGE_BYTES: usize = 1 << 20;

/// Largest number of frames in a message. Jupyter's messages have six, and one more for each
/// buffer.
const MAX_FRAMES: usize = 1 << 16;

const MORE: u8 = 1;
const LONG: u8 = 2;
const COMMAND: u8 = 4;

/// Type of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SocketType {
    /// Exchanges messages with one peer, which knows the socket by its identity.
    Dealer,
    /// Receives messages on the topics that it subscribed to.
    Sub,
}

impl SocketType {
    fn name(self) -> &'static [u8] {
        match self {
            SocketType::Dealer => b"DEALER",
            SocketType::Sub => b"SUB",
        }
    }

    /// Returns `true` if this socket can speak to a socket of the peer's type.
    fn fits(self, peer: &[u8]) -> bool {
        match self {
            SocketType::Dealer => matches!(peer, b"ROUTER" | b"DEALER" | b"REP"),
            SocketType::Sub => matches!(peer, b"PUB" | b"XPUB"),
        }
    }
}

/// Violation of the protocol by a peer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum ZmtpError {
    #[error("not a ZeroMQ socket")]
    NotZmtp,
    #[error("it speaks version {0} of ZMTP, and 3 is needed")]
    Version(u8),
    #[error("it wants the security mechanism {0}, and only NULL is known")]
    Mechanism(String),
    #[error("it is a {0} socket, which is not the kind expected here")]
    SocketType(String),
    #[error("it refuses the connection: {0}")]
    Refused(String),
    #[error("its frame of {0} bytes is too long")]
    TooLong(u64),
    #[error("its message has too many frames")]
    TooMany,
    #[error("its command cannot be read")]
    Command,
}

impl From<ZmtpError> for io::Error {
    fn from(error: ZmtpError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// Returns the greeting, the first bytes of a connection.
pub(crate) fn greeting() -> [u8; GREETING_BYTES] {
    let mut greeting = [0; GREETING_BYTES];
    greeting[0] = 0xff;
    greeting[9] = 0x7f;
    greeting[10] = 3;
    greeting[12..16].copy_from_slice(b"NULL");
    greeting
}

/// Checks that the peer's greeting can be answered.
pub(crate) fn check_greeting(greeting: &[u8; GREETING_BYTES]) -> Result<(), ZmtpError> {
    if greeting[0] != 0xff || greeting[9] & 1 == 0 {
        return Err(ZmtpError::NotZmtp);
    }
    if greeting[10] < 3 {
        return Err(ZmtpError::Version(greeting[10]));
    }
    let mechanism = greeting[12..32].split(|byte| *byte == 0).next().unwrap_or_default();
    if mechanism != b"NULL" {
        return Err(ZmtpError::Mechanism(String::from_utf8_lossy(mechanism).into_owned()));
    }
    Ok(())
}

/// Encodes the `READY` command, which states our socket type and identity.
pub(crate) fn ready(kind: SocketType, identity: &[u8]) -> Vec<u8> {
    let mut body = command(b"READY");
    property(&mut body, b"Socket-Type", kind.name());
    if !identity.is_empty() {
        property(&mut body, b"Identity", identity);
    }
    let mut frame = Vec::new();
    put_frame(&mut frame, COMMAND, &body);
    frame
}

/// Checks the peer's first command: it must accept us.
pub(crate) fn check_ready(kind: SocketType, body: &[u8]) -> Result<(), ZmtpError> {
    let (name, mut rest) = split_command(body)?;
    if name == b"ERROR" {
        let reason = rest.get(1..).unwrap_or_default();
        return Err(ZmtpError::Refused(String::from_utf8_lossy(reason).into_owned()));
    }
    if name != b"READY" {
        return Err(ZmtpError::Command);
    }
    while !rest.is_empty() {
        let (name, value) = take_property(&mut rest).ok_or(ZmtpError::Command)?;
        if name.eq_ignore_ascii_case(b"Socket-Type") && !kind.fits(value) {
            return Err(ZmtpError::SocketType(String::from_utf8_lossy(value).into_owned()));
        }
    }
    Ok(())
}

/// Returns the answer to a command, if it needs one.
pub(crate) fn answer(body: &[u8]) -> Result<Option<Vec<u8>>, ZmtpError> {
    let (name, rest) = split_command(body)?;
    if name != b"PING" {
        return Ok(None);
    }
    let mut pong = command(b"PONG");
    // The answer repeats the bytes after the time to live.
    pong.extend_from_slice(rest.get(2..).unwrap_or_default());
    let mut frame = Vec::new();
    put_frame(&mut frame, COMMAND, &pong);
    Ok(Some(frame))
}

/// Encodes a subscription to messages that begin with this topic.
pub(crate) fn subscription(topic: &[u8]) -> Vec<u8> {
    let mut body = vec![1];
    body.extend_from_slice(topic);
    let mut frame = Vec::new();
    put_frame(&mut frame, 0, &body);
    frame
}

/// Encodes a message of these frames.
pub(crate) fn encode(frames: &[Bytes]) -> Vec<u8> {
    let size = frames.iter().map(|frame| frame.len() + 9).sum();
    let mut bytes = Vec::with_capacity(size);
    for (at, frame) in frames.iter().enumerate() {
        let more = if at + 1 < frames.len() { MORE } else { 0 };
        put_frame(&mut bytes, more, frame);
    }
    bytes
}

fn put_frame(bytes: &mut Vec<u8>, flags: u8, body: &[u8]) {
    match u8::try_from(body.len()) {
        Ok(size) => bytes.extend_from_slice(&[flags, size]),
        Err(_) => {
            bytes.push(flags | LONG);
            bytes.extend_from_slice(&(body.len() as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(body);
}

fn command(name: &[u8]) -> Vec<u8> {
    // The names are our own and short.
    let mut body = vec![u8::try_from(name.len()).unwrap_or(u8::MAX)];
    body.extend_from_slice(name);
    body
}

fn split_command(body: &[u8]) -> Result<(&[u8], &[u8]), ZmtpError> {
    let (size, rest) = body.split_first().ok_or(ZmtpError::Command)?;
    rest.split_at_checked(usize::from(*size)).ok_or(ZmtpError::Command)
}

fn property(body: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    body.extend_from_slice(&command(name));
    let size = u32::try_from(value.len()).unwrap_or(u32::MAX);
    body.extend_from_slice(&size.to_be_bytes());
    body.extend_from_slice(value);
}

fn take_property<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (size, after) = rest.split_first()?;
    let (name, after) = after.split_at_checked(usize::from(*size))?;
    let (size, after) = after.split_at_checked(4)?;
    let size = u32::from_be_bytes(size.try_into().ok()?);
    let (value, after) = after.split_at_checked(usize::try_from(size).ok()?)?;
    *rest = after;
    Some((name, value))
}

/// A complete item from a peer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Incoming {
    /// A message with all its frames.
    Message(Vec<Bytes>),
    /// A command about the connection itself.
    Command(Bytes),
}

/// Assembles bytes into messages.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    buffer: BytesMut,
    frames: Vec<Bytes>,
}

impl Decoder {
    /// Returns the buffer for new bytes, with room for those that are known to follow.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Returns the next complete item.
    pub(crate) fn next(&mut self) -> Result<Option<Incoming>, ZmtpError> {
        loop {
            let [flags, size, ..] = *self.buffer else { return Ok(None) };
            let (head, size) = if flags & LONG == 0 {
                (2, u64::from(size))
            } else {
                let Some(size) = self.buffer.get(1..9).and_then(|size| size.try_into().ok()) else {
                    return Ok(None);
                };
                (9, u64::from_be_bytes(size))
            };
            let length = usize::try_from(size).ok().filter(|size| *size <= MAX_FRAME_BYTES);
            let length = length.ok_or(ZmtpError::TooLong(size))?;
            let missing = (head + length).saturating_sub(self.buffer.len());
            if missing > 0 {
                // Reserve the whole frame at once, so that a long one is not copied again and
                // again.
                self.buffer.reserve(missing);
                return Ok(None);
            }
            self.buffer.advance(head);
            let body = self.buffer.split_to(length).freeze();
            if self.buffer.is_empty() || length > LARGE_BYTES {
                // An idle connection holds no room, and the bytes behind a huge frame must not keep
                // its buffer.
                self.buffer = BytesMut::from(&self.buffer[..]);
            }
            if flags & COMMAND != 0 {
                return Ok(Some(Incoming::Command(body)));
            }
            self.frames.push(body);
            if self.frames.len() > MAX_FRAMES {
                return Err(ZmtpError::TooMany);
            }
            if flags & MORE == 0 {
                return Ok(Some(Incoming::Message(std::mem::take(&mut self.frames))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames(texts: &[&[u8]]) -> Vec<Bytes> {
        texts.iter().map(|text| Bytes::copy_from_slice(text)).collect()
    }

    #[test]
    fn greetings_are_checked() {
        assert_eq!(check_greeting(&greeting()), Ok(()));
        let mut other = greeting();
        other[12..17].copy_from_slice(b"CURVE");
        assert_eq!(check_greeting(&other), Err(ZmtpError::Mechanism("CURVE".to_owned())));
        other = greeting();
        other[10] = 1;
        assert_eq!(check_greeting(&other), Err(ZmtpError::Version(1)));
        assert_eq!(check_greeting(&[b'H'; GREETING_BYTES]), Err(ZmtpError::NotZmtp));
    }

    #[test]
    fn only_a_fitting_peer_is_taken() {
        let body = |kind: &[u8]| {
            let mut body = command(b"READY");
            property(&mut body, b"Identity", b"");
            property(&mut body, b"Socket-Type", kind);
            body
        };
        assert_eq!(check_ready(SocketType::Dealer, &body(b"ROUTER")), Ok(()));
        assert_eq!(check_ready(SocketType::Sub, &body(b"XPUB")), Ok(()));
        assert!(matches!(
            check_ready(SocketType::Sub, &body(b"ROUTER")),
            Err(ZmtpError::SocketType(_))
        ));
        let refused = b"\x05ERROR\x02no";
        assert_eq!(check_ready(SocketType::Sub, refused), Err(ZmtpError::Refused("no".to_owned())));
        for odd in [b"".as_slice(), b"\x09READY", b"\x05READY\x0bSocket-Type\x00\x00\x00\x09PUB"] {
            assert_eq!(check_ready(SocketType::Sub, odd), Err(ZmtpError::Command), "{odd:?}");
        }
    }

    #[test]
    fn a_ping_is_answered() {
        let pong = answer(b"\x04PING\x00\x10context").unwrap().unwrap();
        assert_eq!(pong, b"\x04\x0c\x04PONGcontext");
        assert_eq!(answer(b"\x05OTHER"), Ok(None));
    }

    #[test]
    fn a_frame_without_bounds_is_refused() {
        let mut decoder = Decoder::default();
        decoder.buffer().extend_from_slice(&[LONG, 0xff, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(decoder.next(), Err(ZmtpError::TooLong(0xff << 56)));
        let mut decoder = Decoder::default();
        decoder.buffer().extend_from_slice(&[MORE, 0].repeat(MAX_FRAMES + 1));
        assert_eq!(decoder.next(), Err(ZmtpError::TooMany));
    }

    proptest! {
        /// Arbitrary messages, cut anywhere, decode to themselves, with commands between them.
        #[test]
        fn any_cutting_gives_the_same_messages(
            messages in prop::collection::vec(prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 1..4), 0..5),
            cuts in prop::collection::vec(1usize..700, 1..20),
        ) {
            let messages: Vec<Vec<Bytes>> =
                messages.iter().map(|one| frames(&one.iter().map(Vec::as_slice).collect::<Vec<_>>())).collect();
            let mut bytes = Vec::new();
            for message in &messages {
                bytes.extend(encode(message));
                put_frame(&mut bytes, COMMAND, b"\x04PING\x00\x00");
            }
            let mut decoder = Decoder::default();
            let (mut read, mut commands, mut rest) = (Vec::new(), 0, bytes.as_slice());
            for cut in cuts.iter().cycle() {
                let (part, after) = rest.split_at((*cut).min(rest.len()));
                decoder.buffer().extend_from_slice(part);
                rest = after;
                while let Some(incoming) = decoder.next().unwrap() {
                    match incoming {
                        Incoming::Message(message) => read.push(message),
                        Incoming::Command(_) => commands += 1,
                    }
                }
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(commands, messages.len());
            prop_assert_eq!(read, messages);
        }

        /// Arbitrary bytes do no harm.
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut decoder = Decoder::default();
            decoder.buffer().extend_from_slice(&bytes);
            while let Ok(Some(_)) = decoder.next() {}
            let _ = (check_ready(SocketType::Sub, &bytes), answer(&bytes));
        }
    }
}
