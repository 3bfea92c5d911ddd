//! Connections: accepted, bounded, and ended.
//!
//! Owns how long they may be idle; `places` decides which clients get one. A connection carries one request at a
//! time, so the number of connections bounds that of requests too. It must not know what requests ask for.

use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::places::{Place, Places};
use super::routes::GuardedRoutes;

/// The limits of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ConnectionLimits {
    /// The most connections at once. A client that has shown a token keeps its place; one without makes room for
    /// the next.
    pub(crate) connections: usize,
    /// The time limit for the head of a request once the client has shown a token.
    pub(crate) head_time: Duration,
    /// The most bytes in the head of a request.
    pub(crate) head_bytes: usize,
}

impl ConnectionLimits {
    pub(crate) const USUAL: ConnectionLimits = ConnectionLimits {
        connections: 256,
        head_time: Duration::from_secs(30),
        head_bytes: 64 << 10,
    };
}

/// The pause in accepting connections when the system has no descriptor left.
const BREATH: Duration = Duration::from_millis(200);

/// The time that connections get for their last answers when the server ends.
const LAST_ANSWERS: Duration = Duration::from_millis(500);

/// Serves all clients until told to end. After that it accepts no connection. Requests under way are answered if
/// that takes no longer than a moment after `closing`; then nothing is left.
pub(crate) async fn serve(
    listener: TcpListener,
    site: GuardedRoutes,
    limits: ConnectionLimits,
    ending: CancellationToken,
    closing: CancellationToken,
) {
    let places = Places::new(limits.connections);
    let mut open = JoinSet::new();
    loop {
        let place = tokio::select! {
            biased;
            () = ending.cancelled() => break,
            place = places.free() => place,
        };
        let Some(place) = place else { break };
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
        open.spawn(converse(stream, place.taken(), site, limits, ending));
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
    place: Place,
    site: GuardedRoutes,
    limits: ConnectionLimits,
    ending: CancellationToken,
) {
    // Answers are small, and a client waits for each.
    let _ = stream.set_nodelay(true);
    let pass = place.pass();
    let answer = service_fn(move |mut request: Request<Incoming>| {
        // The guard uses the pass once it has identified the caller.
        request.extensions_mut().insert(pass.clone());
        let site = site.clone();
        async move { site.answer(request).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_time)
        .max_buf_size(limits.head_bytes)
        .serve_connection(TokioIo::new(stream), answer);
    tokio::pin!(connection);
    // An error of a connection concerns only the client, which has seen it.
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        () = ending.cancelled() => connection.as_mut().graceful_shutdown(),
        () = place.is_lost() => return,
    }
    let _ = connection.await;
}

#[cfg(test)]
mod tests;
