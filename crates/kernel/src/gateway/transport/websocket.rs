//! Frames of a websocket, read in pieces: however large a message is, at most one block of it is
//! held here.
//!
//! Owns the duties of a client in the protocol: masks, pings, fragments, the close. The handshake
//! is an ordinary request, and `frame` owns the bytes of a header. This module must not know what
//! messages mean, only how long one may be.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::gateway::transport::frame::{self, FrameHeader, HEADER_BYTES, Opcode};

/// Bytes read at once; the block is kept as long as the kernel.
const BLOCK: usize = 16 << 10;

/// Longest payload of a control frame, in bytes.
const CONTROL_BYTES: u64 = 125;

/// Kind of a message: text or binary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Text,
    Binary,
}

/// A piece of a message, or a control frame, as read.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Piece<'a> {
    /// The next bytes of a message. The last piece carries the message's kind.
    Data(&'a [u8], Option<Kind>),
    /// A ping, to be answered with the same bytes.
    Ping(&'a [u8]),
    Pong,
    /// The other end closes the connection, for this reason.
    Close(String),
}

/// Reason why nothing more can be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the gateway closed the connection")]
    Ended,
    #[error("{0}")]
    Lost(#[from] io::Error),
    #[error("the gateway broke the protocol of websockets ({0})")]
    Protocol(&'static str),
    #[error(
        "the kernel sent a message of {} MB, and no more than {} MB are taken at once; write large data to a \
         file instead of showing it", .size >> 20, .limit >> 20
    )]
    TooLong { size: u64, limit: u64 },
}

/// Reads the pieces of a websocket.
pub(crate) struct Reader<R> {
    from: R,
    block: Box<[u8]>,
    /// Position in the block of the first byte that is not read yet.
    start: usize,
    end: usize,
    /// The current frame, and the bytes of it that are still to come.
    frame: Option<(FrameHeader, u64)>,
    /// The current message, and its length so far.
    message: Option<(Kind, u64)>,
    limit: u64,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Creates a reader that reads `early` first, then the connection. `limit` is the longest
    /// message in bytes.
    pub(crate) fn new(from: R, early: &[u8], limit: u64) -> Reader<R> {
        let mut block = vec![0; BLOCK.max(early.len())];
        block[..early.len()].copy_from_slice(early);
        let (block, end) = (block.into_boxed_slice(), early.len());
        Reader { from, block, start: 0, end, frame: None, message: None, limit }
    }

    /// Returns the next piece. Not cancel-safe: after a cancelled call the reader is unusable.
    pub(crate) async fn next(&mut self) -> Result<Piece<'_>, Broken> {
        let (header, left) = match self.frame.take() {
            Some(begun) => begun,
            None => self.header().await?,
        };
        match header.opcode {
            Opcode::Continuation | Opcode::Text | Opcode::Binary => {
                if self.start == self.end && left > 0 {
                    self.fill().await?;
                }
                let here = usize::try_from(left).unwrap_or(usize::MAX).min(self.end - self.start);
                let left = left - here as u64;
                let mut ended = None;
                if left > 0 {
                    self.frame = Some((header, left));
                } else if header.is_final {
                    ended = self.message.take().map(|(kind, _)| kind);
                }
                let from = self.start;
                self.start += here;
                Ok(Piece::Data(&self.block[from..from + here], ended))
            }
            Opcode::Ping | Opcode::Pong | Opcode::Close => {
                let size = usize::try_from(left).unwrap_or(usize::MAX);
                while self.end - self.start < size {
                    self.fill().await?;
                }
                let said = &self.block[self.start..self.start + size];
                self.start += size;
                Ok(match header.opcode {
                    Opcode::Ping => Piece::Ping(said),
                    Opcode::Pong => Piece::Pong,
                    _ => {
                        let reason = said.get(2..).unwrap_or_default();
                        let reason = String::from_utf8_lossy(reason);
                        Piece::Close(reason.chars().filter(|c| !c.is_control()).collect())
                    }
                })
            }
        }
    }

    /// Reads the header of the next frame, and checks that the frame may occur here.
    async fn header(&mut self) -> Result<(FrameHeader, u64), Broken> {
        let header = loop {
            match frame::parse(&self.block[self.start..self.end]) {
                Ok(Some((header, bytes))) => {
                    self.start += bytes;
                    break header;
                }
                Ok(None) => self.fill().await?,
                Err(_) => return Err(Broken::Protocol("a frame of no known kind")),
            }
        };
        if header.reserved != 0 || header.mask.is_some() {
            return Err(Broken::Protocol("a frame with unexpected marks"));
        }
        let size = header.size;
        match (header.opcode, self.message) {
            (Opcode::Ping | Opcode::Pong | Opcode::Close, _) => {
                if !header.is_final || size > CONTROL_BYTES {
                    return Err(Broken::Protocol("a long frame that should be short"));
                }
            }
            (Opcode::Continuation, Some((kind, so_far))) => {
                self.begin(kind, so_far.saturating_add(size))?;
            }
            (Opcode::Text, None) => self.begin(Kind::Text, size)?,
            (Opcode::Binary, None) => self.begin(Kind::Binary, size)?,
            (Opcode::Continuation | Opcode::Text | Opcode::Binary, _) => {
                return Err(Broken::Protocol("a message inside another"));
            }
        }
        Ok((header, size))
    }

    fn begin(&mut self, kind: Kind, size: u64) -> Result<(), Broken> {
        if size > self.limit {
            return Err(Broken::TooLong { size, limit: self.limit });
        }
        self.message = Some((kind, size));
        Ok(())
    }

    /// Reads more into the block. There is always room, because everything that must be read whole
    /// is shorter than the block.
    async fn fill(&mut self) -> Result<(), Broken> {
        if self.start > 0 {
            self.block.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let size = self.from.read(&mut self.block[self.end..]).await?;
        if size == 0 {
            return Err(Broken::Ended);
        }
        self.end += size;
        Ok(())
    }
}

/// Kind of a frame that a client sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameKind {
    Message(Kind),
    Ping,
    Pong,
    Close,
}

/// Writes one frame. A client must mask its frames with unpredictable bytes.
pub(crate) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    what: FrameKind,
    bytes: &[u8],
) -> io::Result<()> {
    let opcode = match what {
        FrameKind::Message(Kind::Text) => Opcode::Text,
        FrameKind::Message(Kind::Binary) => Opcode::Binary,
        FrameKind::Ping => Opcode::Ping,
        FrameKind::Pong => Opcode::Pong,
        FrameKind::Close => Opcode::Close,
    };
    let mut mask = [0; 4];
    rustix::rand::getrandom(&mut mask, rustix::rand::GetRandomFlags::empty())?;
    let size = bytes.len() as u64;
    let header = FrameHeader { opcode, is_final: true, reserved: 0, mask: Some(mask), size };
    let mut sent = Vec::with_capacity(HEADER_BYTES + bytes.len());
    frame::format(&header, &mut sent);
    sent.extend(bytes.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    to.write_all(&sent).await?;
    to.flush().await
}

#[cfg(test)]
mod tests;
