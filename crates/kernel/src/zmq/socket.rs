//! A connection to one socket of a kernel: made, read, written to.
//!
//! Owns the stream of bytes. Its end is an error of the next read, at once; what travels on it is for others.

use std::io::{self, Read as _};
use std::net::{Shutdown, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;

use crate::zmq::zmtp::{self, Decoder, GREETING_BYTES, Incoming, SocketType, ZmtpError};

/// What one read is ready to take. Requests and replies are small, there are four such readers for each kernel, and
/// a longer frame makes room for itself.
const READ_BYTES: usize = 2 << 10;

/// Where a socket is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Address {
    Ipc(PathBuf),
    Tcp(SocketAddr),
}

/// A connection whose other end is known to be what it should be.
pub(crate) struct Joined {
    stream: Stream,
    decoder: Decoder,
}

enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// What comes.
pub(crate) struct Reader {
    stream: Box<dyn AsyncRead + Send + Unpin>,
    decoder: Decoder,
    answers: Writer,
}

/// What goes: posted, and written in order by a task that ends with the connection.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: mpsc::UnboundedSender<Vec<u8>>,
    has_failed: Arc<AtomicBool>,
}

/// A connection that a thread reads, which blocks.
pub(crate) enum Blocking {
    Unix(std::os::unix::net::UnixStream),
    Tcp(std::net::TcpStream),
}

/// Connects and shakes hands.
pub(crate) async fn connect(
    address: &Address,
    kind: SocketType,
    identity: &[u8],
    topics: &[&[u8]],
) -> io::Result<Joined> {
    let mut stream = match address {
        Address::Ipc(path) => Stream::Unix(UnixStream::connect(path).await?),
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            // A port that nobody listens on can be met by our own end, and then nobody else gets it.
            if stream.local_addr()? == stream.peer_addr()? {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            stream.set_nodelay(true)?;
            Stream::Tcp(stream)
        }
    };
    let decoder = match &mut stream {
        Stream::Unix(stream) => shake_hands(stream, kind, identity, topics).await?,
        Stream::Tcp(stream) => shake_hands(stream, kind, identity, topics).await?,
    };
    Ok(Joined { stream, decoder })
}

async fn shake_hands(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    kind: SocketType,
    identity: &[u8],
    topics: &[&[u8]],
) -> io::Result<Decoder> {
    stream.write_all(&zmtp::greeting()).await?;
    let mut greeting = [0; GREETING_BYTES];
    stream.read_exact(&mut greeting).await?;
    zmtp::check_greeting(&greeting)?;
    stream.write_all(&zmtp::ready(kind, identity)).await?;
    let mut decoder = Decoder::default();
    let ready = loop {
        match decoder.next()? {
            Some(Incoming::Command(body)) => break body,
            Some(Incoming::Message(_)) => return Err(ZmtpError::Command.into()),
            None => read_some(stream, &mut decoder).await?,
        }
    };
    zmtp::check_ready(kind, &ready)?;
    for topic in topics {
        stream.write_all(&zmtp::subscription(topic)).await?;
    }
    Ok(decoder)
}

async fn read_some(
    stream: &mut (impl AsyncRead + Unpin + ?Sized),
    decoder: &mut Decoder,
) -> io::Result<()> {
    let buffer = decoder.buffer();
    buffer.reserve(READ_BYTES);
    match stream.read_buf(buffer).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

impl Joined {
    /// Both directions, for tasks.
    pub(crate) fn split(self) -> (Reader, Writer) {
        let (stream, write): (
            Box<dyn AsyncRead + Send + Unpin>,
            Box<dyn AsyncWrite + Send + Unpin>,
        ) = match self.stream {
            Stream::Unix(stream) => {
                let (read, write) = stream.into_split();
                (Box::new(read), Box::new(write))
            }
            Stream::Tcp(stream) => {
                let (read, write) = stream.into_split();
                (Box::new(read), Box::new(write))
            }
        };
        let (queue, posted) = mpsc::unbounded_channel();
        let has_failed = Arc::new(AtomicBool::new(false));
        tokio::spawn(write_posted(write, posted, Arc::clone(&has_failed)));
        let writer = Writer { queue, has_failed };
        let answers = writer.clone();
        (Reader { stream, decoder: self.decoder, answers }, writer)
    }

    /// For a thread that only reads, with what has come already.
    pub(crate) fn into_blocking(self) -> io::Result<(Blocking, Decoder)> {
        let stream = match self.stream {
            Stream::Unix(stream) => {
                let stream = stream.into_std()?;
                stream.set_nonblocking(false)?;
                Blocking::Unix(stream)
            }
            Stream::Tcp(stream) => {
                let stream = stream.into_std()?;
                stream.set_nonblocking(false)?;
                Blocking::Tcp(stream)
            }
        };
        Ok((stream, self.decoder))
    }
}

impl Blocking {
    pub(crate) fn try_clone(&self) -> io::Result<Blocking> {
        Ok(match self {
            Blocking::Unix(stream) => Blocking::Unix(stream.try_clone()?),
            Blocking::Tcp(stream) => Blocking::Tcp(stream.try_clone()?),
        })
    }

    /// Some bytes; nothing when the connection is over.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Blocking::Unix(stream) => stream.read(buffer),
            Blocking::Tcp(stream) => stream.read(buffer),
        }
    }

    /// Ends the connection, also for a thread that waits in the middle of a read.
    pub(crate) fn shut_down(&self) {
        // One that is over already is no loss.
        let _ = match self {
            Blocking::Unix(stream) => stream.shutdown(Shutdown::Both),
            Blocking::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

async fn write_posted(
    mut stream: Box<dyn AsyncWrite + Send + Unpin>,
    mut posted: mpsc::UnboundedReceiver<Vec<u8>>,
    has_failed: Arc<AtomicBool>,
) {
    while let Some(bytes) = posted.recv().await {
        // Whoever reads sees the end of the connection.
        if stream.write_all(&bytes).await.is_err() {
            has_failed.store(true, Ordering::SeqCst);
            return;
        }
    }
}

impl Reader {
    /// The next message. Cancel-safe: what has come of one stays.
    pub(crate) async fn next(&mut self) -> io::Result<Vec<Bytes>> {
        loop {
            match self.decoder.next()? {
                Some(Incoming::Message(frames)) => return Ok(frames),
                Some(Incoming::Command(body)) => {
                    if let Some(answer) = zmtp::answer(&body)? {
                        self.answers.post(answer);
                    }
                }
                None => read_some(&mut *self.stream, &mut self.decoder).await?,
            }
        }
    }
}

impl Writer {
    /// Sends a message.
    pub(crate) fn send(&self, frames: &[Bytes]) {
        self.post(zmtp::encode(frames));
    }

    /// Whether something could not be written any more.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::SeqCst)
    }

    fn post(&self, bytes: Vec<u8>) {
        // A connection that is gone is told by its reader.
        let _ = self.queue.send(bytes);
    }
}
