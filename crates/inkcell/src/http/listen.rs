//! Connections: taken, bounded, and ended.
//!
//! Owns how many there are and how long they may be idle. A connection carries one request at a time, so the
//! number of connections bounds that of requests too. It must not know what requests ask for.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::routes::Guarded;

/// What connections may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ConnectionLimits {
    /// So many at once; more wait to be taken.
    pub(crate) connections: usize,
    /// How long the head of a request may take to come, the first one as any later one.
    pub(crate) head_time: Duration,
    /// How much the head of a request may hold.
    pub(crate) head_bytes: usize,
}

impl ConnectionLimits {
    pub(crate) const USUAL: ConnectionLimits = ConnectionLimits {
        connections: 256,
        head_time: Duration::from_secs(30),
        head_bytes: 64 << 10,
    };
}

/// How long nobody is taken when the system has no descriptor to give.
const BREATH: Duration = Duration::from_millis(200);

/// How long connections have for their last answers once everything is to end.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Answers whoever comes, until told to end. Nobody is taken after that; requests that are under way are answered
/// as long as that takes no longer than a moment after `closing`, and then nothing is left.
pub(crate) async fn serve(
    listener: TcpListener,
    site: Guarded,
    limits: ConnectionLimits,
    ending: CancellationToken,
    closing: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut open = JoinSet::new();
    loop {
        // The place is taken before the connection, so that those who wait do so in the system's queue.
        let place = tokio::select! {
            biased;
            () = ending.cancelled() => break,
            place = Arc::clone(&places).acquire_owned() => place,
        };
        let Ok(place) = place else { break };
        let taken = tokio::select! {
            biased;
            () = ending.cancelled() => break,
            taken = listener.accept() => taken,
        };
        while open.try_join_next().is_some() {}
        let Ok((stream, _)) = taken else {
            tokio::time::sleep(BREATH).await;
            continue;
        };
        let (site, ending) = (site.clone(), ending.clone());
        open.spawn(async move {
            converse(stream, site, limits, ending).await;
            drop(place);
        });
    }
    drop(listener);
    let finish = async {
        closing.cancelled().await;
        tokio::time::sleep(LAST_ANSWERS).await;
    };
    tokio::pin!(finish);
    loop {
        tokio::select! {
            ended = open.join_next() => if ended.is_none() { return },
            () = &mut finish => break,
        }
    }
    open.shutdown().await;
}

async fn converse(
    stream: TcpStream,
    site: Guarded,
    limits: ConnectionLimits,
    ending: CancellationToken,
) {
    // Answers are small and somebody waits for each.
    let _ = stream.set_nodelay(true);
    let answer = service_fn(move |request| {
        let site = site.clone();
        async move { site.answer(request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(stream), answer);
    tokio::pin!(connection);
    // What goes wrong on a connection is its client's to know, and the client has seen it.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = ending.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

#[cfg(test)]
mod tests;
