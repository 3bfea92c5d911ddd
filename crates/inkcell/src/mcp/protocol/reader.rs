//! The pipes of a client, with a notice of their end.
//!
//! Owns detecting that a client is gone: its input has ended, or no process reads our output. The protocol's own
//! loop first answers the requests under way, and a cell may run for hours. While an answer waits for room nothing
//! is read, so a hang-up is checked for separately.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

/// One end of a pipe that sets a token when the pipe ends.
pub(crate) struct PipeWatch<R> {
    inner: R,
    ended: CancellationToken,
    moved: TransferCount,
}

/// The number of bytes transferred. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct TransferCount(Arc<AtomicU64>);

impl TransferCount {
    pub(crate) fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::SeqCst);
    }

    pub(crate) fn so_far(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl<R> PipeWatch<R> {
    pub(crate) fn new(inner: R, ended: CancellationToken) -> PipeWatch<R> {
        PipeWatch { inner, ended, moved: TransferCount::default() }
    }

    pub(crate) fn moved(&self) -> TransferCount {
        self.moved.clone()
    }
}

/// Calls `tell` when the other end of our standard input is closed, even if earlier input is still unread. This
/// never happens if the input is a file.
pub(crate) fn on_hang_up(tell: impl FnOnce() + Send + 'static) {
    let watch = move || {
        let stdin = rustix::stdio::stdin();
        loop {
            let mut polled = [PollFd::new(&stdin, PollFlags::RDHUP)];
            match poll(&mut polled, None) {
                Ok(_) => return tell(),
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    };
    // Without a thread the end is noticed when it is read.
    let _ = std::thread::Builder::new().name("hang-up".to_owned()).spawn(watch);
}

impl<R: AsyncRead + Unpin> AsyncRead for PipeWatch<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buf);
        let is_over = match &read {
            Poll::Ready(Ok(())) => buf.filled().len() == before && buf.remaining() > 0,
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        };
        if is_over {
            self.ended.cancel();
        }
        read
    }
}

impl<W: AsyncWrite + Unpin> PipeWatch<W> {
    /// Records the result of a write; a pipe without a reader stays broken.
    fn note_end<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if matches!(written, Poll::Ready(Err(_))) {
            self.ended.cancel();
        }
        written
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for PipeWatch<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        if let Poll::Ready(Ok(size)) = written {
            self.moved.add(size);
        }
        self.note_end(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.note_end(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
