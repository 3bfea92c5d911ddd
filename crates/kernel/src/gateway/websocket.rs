//! Frames of a websocket, read in pieces: however large a message is, no more of it is held here than a block.
//!
//! Owns what a client must do by the protocol: masks, pings, fragments, the close. The handshake is a request
//! like others. It must not know what messages are, only how long one may be. The bytes of a header are for `frame`.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::gateway::frame::{self, FrameHeader, HEADER_BYTES, Opcode};

/// How much is read at once, and kept for as long as there is a kernel.
const BLOCK: usize = 16 << 10;

/// The longest frame that is about the connection itself.
const CONTROL_BYTES: u64 = 125;

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Text,
    Binary,
}

/// What was read.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Piece<'a> {
    /// The next bytes of a message; with its kind, the last ones.
    Data(&'a [u8], Option<Kind>),
    /// To be answered with the same.
    Ping(&'a [u8]),
    Pong,
    /// The other end is done, for this reason.
    Close(String),
}

/// Why nothing more can be read.
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

/// Reads a websocket.
pub(crate) struct Reader<R> {
    from: R,
    block: Box<[u8]>,
    /// What has been read and not looked at.
    start: usize,
    end: usize,
    /// The frame that was begun, and how much of it is to come.
    frame: Option<(FrameHeader, u64)>,
    /// The message that was begun, and how long it is so far.
    message: Option<(Kind, u64)>,
    limit: u64,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Reads what came early, then the rest. No message may be longer than this.
    pub(crate) fn new(from: R, early: &[u8], limit: u64) -> Reader<R> {
        let mut block = vec![0; BLOCK.max(early.len())];
        block[..early.len()].copy_from_slice(early);
        let (block, end) = (block.into_boxed_slice(), early.len());
        Reader { from, block, start: 0, end, frame: None, message: None, limit }
    }

    /// The next piece. Not cancel-safe: what is given up half-way has to be given up whole.
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

    /// The beginning of the next frame, which must be one that can be here.
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
            return Err(Broken::Protocol("a frame with marks that nobody asked for"));
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

    /// Reads more into the block, which has room: nothing that must be whole is as long as it is.
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

/// What is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sent {
    Message(Kind),
    Ping,
    Pong,
    Close,
}

/// Sends one frame. What a client sends is masked, with something that nobody could have foreseen.
pub(crate) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    what: Sent,
    bytes: &[u8],
) -> io::Result<()> {
    let opcode = match what {
        Sent::Message(Kind::Text) => Opcode::Text,
        Sent::Message(Kind::Binary) => Opcode::Binary,
        Sent::Ping => Opcode::Ping,
        Sent::Pong => Opcode::Pong,
        Sent::Close => Opcode::Close,
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
