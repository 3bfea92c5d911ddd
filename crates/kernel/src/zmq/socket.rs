//! A connection to one socket of a kernel: opened, read, written.
//!
//! Owns the stream of bytes. The next read reports its end at once. Other modules know what travels
//! on it. Most connections are idle most of the time, so an idle one holds no buffer.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpStream, UnixStream, tcp, unix};
use tokio::runtime::Handle;

use crate::zmq::zmtp::{self, Decoder, GREETING_BYTES, Incoming, SocketType, ZmtpError};

/// Bytes that one read accepts. Most messages are small, and a longer frame makes room for itself.
const READ_BYTES: usize = 8 << 10;

/// Address of a socket: a path or a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Address {
    Ipc(PathBuf),
    Tcp(SocketAddr),
}

/// An open connection after a successful handshake.
pub(crate) struct OpenSocket {
    pub(crate) stream: Stream,
    /// Decoder, which may hold bytes that have already arrived.
    pub(crate) decoder: Decoder,
}

pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// Reads messages of a connection.
pub(crate) struct Reader {
    stream: ReadHalf,
    decoder: Decoder,
    answers: Writer,
}

enum ReadHalf {
    Unix(unix::OwnedReadHalf),
    Tcp(tcp::OwnedReadHalf),
}

/// Writes messages in the order in which they were posted. Posting never waits.
#[derive(Clone)]
pub(crate) struct Writer(Arc<Outlet>);

struct Outlet {
    stream: WriteHalf,
    runtime: Handle,
    waiting: Mutex<Waiting>,
    has_failed: AtomicBool,
}

enum WriteHalf {
    Unix(unix::OwnedWriteHalf),
    Tcp(tcp::OwnedWriteHalf),
}

/// Bytes that the connection has not taken yet.
#[derive(Default)]
struct Waiting {
    /// Messages behind the one that a task is writing.
    queue: VecDeque<Vec<u8>>,
    has_task: bool,
}

/// Opens a connection and performs the handshake.
pub(crate) async fn connect(
    address: &Address,
    kind: SocketType,
    identity: &[u8],
    topics: &[&[u8]],
) -> io::Result<OpenSocket> {
    let mut stream = match address {
        Address::Ipc(path) => Stream::Unix(UnixStream::connect(path).await?),
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            // On a port without a listener, a socket can connect to itself, and then no other
            // program gets the port.
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
    Ok(OpenSocket { stream, decoder })
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
            None => poll_fn(|context| poll_more(stream, &mut decoder, context)).await?,
        }
    };
    zmtp::check_ready(kind, &ready)?;
    for topic in topics {
        stream.write_all(&zmtp::subscription(topic)).await?;
    }
    Ok(decoder)
}

/// Reads into a buffer that exists only during the read.
pub(crate) fn poll_read(
    stream: &mut (impl AsyncRead + Unpin),
    context: &mut Context<'_>,
    take: impl FnOnce(&[u8]),
) -> Poll<io::Result<()>> {
    let mut room = [const { MaybeUninit::uninit() }; READ_BYTES];
    let mut buffer = ReadBuf::uninit(&mut room);
    ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
    match buffer.filled() {
        [] => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        bytes => {
            take(bytes);
            Poll::Ready(Ok(()))
        }
    }
}

/// Reads more bytes of a message.
fn poll_more(
    stream: &mut (impl AsyncRead + Unpin),
    decoder: &mut Decoder,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let buffer = decoder.buffer();
    if buffer.capacity() - buffer.len() <= READ_BYTES {
        return poll_read(stream, context, |bytes| buffer.extend_from_slice(bytes));
    }
    // Read a long frame directly into the room reserved for it.
    match ready!(pin!(stream.read_buf(buffer)).poll(context))? {
        0 => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        _ => Poll::Ready(Ok(())),
    }
}

impl OpenSocket {
    /// Splits the connection into its two directions.
    pub(crate) fn split(self) -> (Reader, Writer) {
        let (stream, write) = match self.stream {
            Stream::Unix(stream) => {
                let (read, write) = stream.into_split();
                (ReadHalf::Unix(read), WriteHalf::Unix(write))
            }
            Stream::Tcp(stream) => {
                let (read, write) = stream.into_split();
                (ReadHalf::Tcp(read), WriteHalf::Tcp(write))
            }
        };
        let writer = Writer(Arc::new(Outlet {
            stream: write,
            runtime: Handle::current(),
            waiting: Mutex::default(),
            has_failed: AtomicBool::new(false),
        }));
        let answers = writer.clone();
        (Reader { stream, decoder: self.decoder, answers }, writer)
    }
}

impl Stream {
    /// Returns the same connection for a thread with its own runtime.
    pub(crate) fn shared_with(&self, runtime: &Handle) -> io::Result<Stream> {
        let _entered = runtime.enter();
        Ok(match self {
            Stream::Unix(_) => {
                let stream =
                    std::os::unix::net::UnixStream::from(self.as_fd().try_clone_to_owned()?);
                Stream::Unix(UnixStream::from_std(stream)?)
            }
            Stream::Tcp(_) => {
                let stream = std::net::TcpStream::from(self.as_fd().try_clone_to_owned()?);
                Stream::Tcp(TcpStream::from_std(stream)?)
            }
        })
    }

    /// Reads more bytes of a message, if there are any.
    pub(crate) fn poll_more(
        &mut self,
        decoder: &mut Decoder,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Stream::Unix(stream) => poll_more(stream, decoder, context),
            Stream::Tcp(stream) => poll_more(stream, decoder, context),
        }
    }

    /// Waits until there are bytes to read, or the connection has ended.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.readable().await,
            Stream::Tcp(stream) => stream.readable().await,
        }
    }

    /// Reads the bytes that are there now; returns zero when the connection has ended.
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.try_read(buffer),
            Stream::Tcp(stream) => stream.try_read(buffer),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Reader {
    /// Returns the next message. Cancel-safe: the bytes of an incomplete message stay.
    pub(crate) async fn next(&mut self) -> io::Result<Vec<Bytes>> {
        loop {
            match self.decoder.next()? {
                Some(Incoming::Message(frames)) => return Ok(frames),
                Some(Incoming::Command(body)) => {
                    if let Some(answer) = zmtp::answer(&body)? {
                        self.answers.post(answer);
                    }
                }
                None => poll_fn(|context| self.poll_more(context)).await?,
            }
        }
    }

    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            ReadHalf::Unix(stream) => poll_more(stream, &mut self.decoder, context),
            ReadHalf::Tcp(stream) => {
                let read = ready!(poll_more(stream, &mut self.decoder, context));
                Poll::Ready(read.map_err(|error| refused(stream.as_ref()).unwrap_or(error)))
            }
        }
    }
}

/// Returns the error of bytes that reached the other end after it had closed. A read does not show
/// this error, only the close.
fn refused(stream: &TcpStream) -> Option<io::Error> {
    let error = stream.take_error().ok().flatten();
    error.map(|_| io::ErrorKind::ConnectionReset.into())
}

impl WriteHalf {
    async fn writable(&self) -> io::Result<()> {
        match self {
            WriteHalf::Unix(stream) => stream.writable().await,
            WriteHalf::Tcp(stream) => stream.writable().await,
        }
    }

    /// Returns `true` if the other end is known to be closed. A port accepts bytes after that, and
    /// they are never read.
    fn is_closed(&self) -> bool {
        let WriteHalf::Tcp(stream) = self else { return false };
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(stream.as_ref(), &mut [0; 1], flags) {
            Ok((_, size)) => size == 0,
            Err(error) => !matches!(error, Errno::AGAIN | Errno::INTR),
        }
    }

    /// Writes as much as the connection takes now, and returns the number of bytes.
    fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < bytes.len() {
            let attempt = match self {
                WriteHalf::Unix(stream) => stream.try_write(&bytes[written..]),
                WriteHalf::Tcp(stream) => stream.try_write(&bytes[written..]),
            };
            match attempt {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(size) => written += size,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }
}

impl Writer {
    /// Posts a message of these frames.
    pub(crate) fn send(&self, frames: &[Bytes]) {
        self.post(zmtp::encode(frames));
    }

    /// Returns `true` after a write has failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.has_failed.load(Ordering::SeqCst)
    }

    fn post(&self, bytes: Vec<u8>) {
        let outlet = &self.0;
        let mut waiting = outlet.waiting();
        // The reader reports the end of the connection.
        if self.has_failed() {
            return;
        }
        if waiting.has_task {
            waiting.queue.push_back(bytes);
            return;
        }
        if outlet.stream.is_closed() {
            outlet.has_failed.store(true, Ordering::SeqCst);
            return;
        }
        match outlet.stream.write_now(&bytes) {
            Ok(written) if written == bytes.len() => {}
            Ok(written) => {
                waiting.has_task = true;
                drop(waiting);
                outlet.runtime.spawn(Arc::clone(outlet).write(bytes, written));
            }
            Err(_) => outlet.has_failed.store(true, Ordering::SeqCst),
        }
    }
}

impl Outlet {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the rest of these bytes, and all that is posted meanwhile.
    async fn write(self: Arc<Outlet>, mut bytes: Vec<u8>, mut written: usize) {
        loop {
            while written < bytes.len() {
                let ready = self.stream.writable().await;
                match ready.and_then(|()| self.stream.write_now(&bytes[written..])) {
                    Ok(size) => written += size,
                    // The reader reports the end of the connection.
                    Err(_) => return self.fail(),
                }
            }
            let mut waiting = self.waiting();
            let Some(next) = waiting.queue.pop_front() else {
                *waiting = Waiting::default();
                return;
            };
            (bytes, written) = (next, 0);
        }
    }

    fn fail(&self) {
        self.has_failed.store(true, Ordering::SeqCst);
        *self.waiting() = Waiting::default();
    }
}

#[cfg(test)]
mod tests;
