//! The pipes of a client, with word of their end.
//!
//! Owns noticing that a client is gone: there is nothing more to read, or nobody who takes what is written. The
//! protocol's own loop first answers what is under way, and a cell may run for hours.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

/// One end of a pipe that sets a token at its end.
pub(crate) struct Watched<R> {
    inner: R,
    ended: CancellationToken,
}

impl<R> Watched<R> {
    pub(crate) fn new(inner: R, ended: CancellationToken) -> Watched<R> {
        Watched { inner, ended }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
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

impl<W: AsyncWrite + Unpin> Watched<W> {
    /// What came of a write; a pipe that nobody reads stays broken.
    fn told<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if matches!(written, Poll::Ready(Err(_))) {
            self.ended.cancel();
        }
        written
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Watched<W> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.told(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.told(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
