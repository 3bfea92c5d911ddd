//! A connection to one socket of a kernel: made, read, written to.
//!
//! Owns the stream of bytes. Its end is an error of the next read, at once; what travels on it is for others.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;

use crate::zmq::zmtp::{self, Decoder, GREETING_BYTES, Incoming, SocketType, ZmtpError};

/// What one read is ready to take.
const READ_BYTES: usize = 1 << 16;

/// Where a socket is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Address {
    Ipc(PathBuf),
    Tcp(SocketAddr),
}

type Half<T> = Box<T>;

/// What comes.
pub(crate) struct Reader {
    stream: Half<dyn AsyncRead + Send + Unpin>,
    decoder: Decoder,
    answers: Writer,
    /// How many times something has come.
    reads: Arc<AtomicU64>,
}

/// What goes: posted, and written in order by a task that ends with the connection.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: mpsc::UnboundedSender<Vec<u8>>,
    has_failed: Arc<AtomicBool>,
}

/// Connects and shakes hands.
pub(crate) async fn connect(
    address: &Address,
    kind: SocketType,
    identity: &[u8],
    topics: &[&[u8]],
) -> io::Result<(Reader, Writer)> {
    let (mut read, mut write): (
        Half<dyn AsyncRead + Send + Unpin>,
        Half<dyn AsyncWrite + Send + Unpin>,
    ) = match address {
        Address::Ipc(path) => {
            let (read, write) = UnixStream::connect(path).await?.into_split();
            (Box::new(read), Box::new(write))
        }
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            // A port that nobody listens on can be met by our own end, and then nobody else gets it.
            if stream.local_addr()? == stream.peer_addr()? {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            stream.set_nodelay(true)?;
            let (read, write) = stream.into_split();
            (Box::new(read), Box::new(write))
        }
    };
    write.write_all(&zmtp::greeting()).await?;
    let mut greeting = [0; GREETING_BYTES];
    read.read_exact(&mut greeting).await?;
    zmtp::check_greeting(&greeting)?;
    write.write_all(&zmtp::ready(kind, identity)).await?;
    let mut decoder = Decoder::default();
    let ready = loop {
        match decoder.next()? {
            Some(Incoming::Command(body)) => break body,
            Some(Incoming::Message(_)) => return Err(ZmtpError::Command.into()),
            None => read_some(&mut read, &mut decoder).await?,
        }
    };
    zmtp::check_ready(kind, &ready)?;
    for topic in topics {
        write.write_all(&zmtp::subscription(topic)).await?;
    }
    let (queue, posted) = mpsc::unbounded_channel();
    let has_failed = Arc::new(AtomicBool::new(false));
    tokio::spawn(write_posted(write, posted, Arc::clone(&has_failed)));
    let writer = Writer { queue, has_failed };
    let answers = writer.clone();
    Ok((Reader { stream: read, decoder, answers, reads: Arc::default() }, writer))
}

async fn read_some(
    stream: &mut (dyn AsyncRead + Send + Unpin),
    decoder: &mut Decoder,
) -> io::Result<()> {
    let buffer = decoder.buffer();
    buffer.reserve(READ_BYTES);
    match stream.read_buf(buffer).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

async fn write_posted(
    mut stream: Half<dyn AsyncWrite + Send + Unpin>,
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
                None => {
                    read_some(&mut self.stream, &mut self.decoder).await?;
                    self.reads.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// A count that moves whenever something comes, also in the middle of a message.
    pub(crate) fn reads(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.reads)
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
