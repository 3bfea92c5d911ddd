//! Standard input and output of a server, read and written without threads.
//!
//! Owns the choice of how: a pipe is opened again as non-blocking, and a socket gets a flag with each call, so that
//! other processes with the same descriptor still block. Terminals and files are left to the threads of the runtime.

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use inkcell_engine::kernel::watch;
use rustix::fs::{Mode, OFlags};
use rustix::net::{RecvFlags, SendFlags};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Stdin, Stdout};

/// Standard input, on which the client sends its messages.
pub(crate) fn standard_input() -> StandardStream<Stdin> {
    match Channel::of(rustix::stdio::stdin(), OFlags::RDONLY, Interest::READABLE) {
        Some(channel) => StandardStream::Direct(channel),
        None => StandardStream::OnThreads(tokio::io::stdin()),
    }
}

/// Standard output, on which the client gets its answers.
pub(crate) fn standard_output() -> StandardStream<Stdout> {
    match Channel::of(rustix::stdio::stdout(), OFlags::WRONLY, Interest::WRITABLE) {
        Some(channel) => StandardStream::Direct(channel),
        None => StandardStream::OnThreads(tokio::io::stdout()),
    }
}

/// Standard input or output.
pub(crate) enum StandardStream<T> {
    Direct(Channel),
    OnThreads(T),
}

/// One end of a pipe or a socket, which never blocks.
pub(crate) struct Channel {
    fd: AsyncFd<OwnedFd>,
    is_socket: bool,
}

impl Channel {
    /// `None` if this is not an anonymous pipe or a socket, or if /proc is missing.
    fn of(fd: BorrowedFd<'_>, access: OFlags, interest: Interest) -> Option<Channel> {
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let target = std::fs::read_link(&path).ok()?;
        let target = target.to_str()?;
        let is_socket = target.starts_with("socket:");
        let own = if is_socket {
            fd.try_clone_to_owned().ok()?
        } else if target.starts_with("pipe:") {
            let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC;
            rustix::fs::open(&path, flags, Mode::empty()).ok()?
        } else {
            return None;
        };
        Some(Channel { fd: watch(own, interest).ok()?, is_socket })
    }

    fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let fd = self.fd.get_ref();
        if self.is_socket {
            let (size, _) = rustix::net::recv(fd, buffer, RecvFlags::DONTWAIT)?;
            return Ok(size);
        }
        Ok(rustix::io::read(fd, buffer)?)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let fd = self.fd.get_ref();
        if self.is_socket {
            return Ok(rustix::net::send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?);
        }
        Ok(rustix::io::write(fd, bytes)?)
    }

    fn poll_read(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.fd.poll_read_ready(cx))?;
            let unfilled = buf.initialize_unfilled();
            if let Ok(read) = ready.try_io(|_| self.read(unfilled)) {
                return Poll::Ready(read.map(|size| buf.advance(size)));
            }
        }
    }

    fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.fd.poll_write_ready(cx))?;
            if let Ok(written) = ready.try_io(|_| self.write(bytes)) {
                return Poll::Ready(written);
            }
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for StandardStream<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            StandardStream::Direct(channel) => channel.poll_read(cx, buf),
            StandardStream::OnThreads(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for StandardStream<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            StandardStream::Direct(channel) => channel.poll_write(cx, bytes),
            StandardStream::OnThreads(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            StandardStream::Direct(_) => Poll::Ready(Ok(())),
            StandardStream::OnThreads(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            StandardStream::Direct(_) => Poll::Ready(Ok(())),
            StandardStream::OnThreads(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Empty, Sink};

    use super::*;

    /// More than any pipe or socket holds.
    const LONG: usize = 4 << 20;

    fn reader(fd: BorrowedFd<'_>) -> StandardStream<Empty> {
        let channel = Channel::of(fd, OFlags::RDONLY, Interest::READABLE);
        StandardStream::Direct(channel.expect("a pipe or a socket"))
    }

    fn writer(fd: BorrowedFd<'_>) -> StandardStream<Sink> {
        let channel = Channel::of(fd, OFlags::WRONLY, Interest::WRITABLE);
        StandardStream::Direct(channel.expect("a pipe or a socket"))
    }

    fn blocks(fd: BorrowedFd<'_>) -> bool {
        !rustix::fs::fcntl_getfl(fd).expect("flags").contains(OFlags::NONBLOCK)
    }

    async fn is_carried(mut from: StandardStream<Sink>, mut to: StandardStream<Empty>) {
        let sent: Vec<u8> = (0..LONG).map(|at| (at % 251) as u8).collect();
        let mut taken = Vec::new();
        let sending = async {
            from.write_all(&sent).await.expect("written");
            drop(from);
        };
        tokio::join!(sending, async {
            to.read_to_end(&mut taken).await.expect("read");
        });
        assert!(taken == sent, "{} of {} bytes", taken.len(), sent.len());
    }

    #[tokio::test]
    async fn a_long_message_passes_a_pipe_and_a_socket_that_stay_as_they_are() {
        let (end, start) = io::pipe().expect("a pipe");
        let (to, from) = (reader(end.as_fd()), writer(start.as_fd()));
        assert!(blocks(end.as_fd()) && blocks(start.as_fd()));
        drop(start);
        is_carried(from, to).await;

        let (end, start) = UnixStream::pair().expect("sockets");
        let (to, from) = (reader(end.as_fd()), writer(start.as_fd()));
        assert!(blocks(end.as_fd()) && blocks(start.as_fd()));
        drop(start);
        is_carried(from, to).await;
    }

    #[tokio::test]
    async fn what_was_sent_before_the_end_is_read() {
        let (end, mut start) = io::pipe().expect("a pipe");
        start.write_all(b"last").expect("written");
        drop(start);
        let mut text = String::new();
        reader(end.as_fd()).read_to_string(&mut text).await.expect("read");
        assert_eq!(text, "last");
    }

    #[tokio::test]
    async fn a_write_without_a_reader_is_an_error() {
        let (end, start) = io::pipe().expect("a pipe");
        let mut to = writer(start.as_fd());
        drop(end);
        let error = to.write_all(b"x").await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn a_file_is_left_to_threads() {
        let mut file = tempfile::tempfile().expect("a file");
        assert!(Channel::of(file.as_fd(), OFlags::RDONLY, Interest::READABLE).is_none());
        let mut text = String::new();
        file.read_to_string(&mut text).expect("still readable");
    }
}
