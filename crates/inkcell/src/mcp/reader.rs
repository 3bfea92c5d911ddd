//! Standard input, with word of its end.
//!
//! Owns noticing that a client is gone. The protocol's own loop first answers what is under way, and a cell may
//! run for hours.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::sync::CancellationToken;

/// A stream that sets a token at its end.
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
