//! The bridge's server: connections on the loopback, each with one request.
//!
//! Owns the socket and the order of the checks of a request: its path, its owner, its content. `http/guard.rs`
//! decides who may connect, and the tool makes the answer.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use inkcell_engine::CallExtras;
use inkcell_engine::registry::{OwnerId, SessionKey};
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::{CallContext, Desk, ToolSpec, guarded};
use super::request::{ToolRequest, answered, error_text, key, refused};
use super::runs::{Run, Runs};
use super::{offered, value};
use crate::http::{Body, BodyError, BodyLimits, Guard, Pass, Place, Places, Policy, Token, Tokens};
use crate::words;

/// The only path that the server knows.
const PATH: &str = "/v1/tool";

/// The most connections at once. A connection without a token makes room for the next.
const CONNECTIONS: usize = 128;

/// The time limit for the head of a request.
const HEAD: Duration = Duration::from_secs(10);

/// Large enough for the whole text of a notebook.
const LIMITS: BodyLimits = BodyLimits { bytes: 64 << 20, time: Duration::from_secs(60) };

/// The pause before the next try when the system lacks a resource to accept a connection.
const SHORTAGE: Duration = Duration::from_millis(100);

/// The server; it runs until it is dropped.
pub(super) struct Server {
    url: String,
    runs: Runs,
    _stop: DropGuard,
}

impl Server {
    /// Begins to listen on a port that the system chooses.
    pub(super) async fn start() -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let authority = listener.local_addr()?.to_string();
        let tokens = Tokens::new().map_err(|error| io::Error::other(error.to_string()))?;
        let url = format!("http://{authority}");
        let guard = Arc::new(Guard::new(vec![authority], tokens));
        let runs = Runs::new(Arc::clone(&guard));
        let stop = CancellationToken::new();
        let desk = Arc::new(Front { guard, runs: runs.clone() });
        tokio::spawn(accept(listener, desk, stop.clone()));
        Ok(Server { url, runs, _stop: stop.drop_guard() })
    }

    /// Registers a run. Dropping the returned value ends the registration.
    pub(super) fn register(&self, desk: Desk, session: &SessionKey, owner: OwnerId) -> CallExtras {
        let (Ok(token), Ok(id)) = (Token::make(), Token::make()) else {
            return CallExtras::default();
        };
        // A name for the run and not a secret: only the token proves anything.
        let run = format!("r{}", &id.reveal()[..12]);
        let name = session.name.0.clone();
        let stopping = CancellationToken::new();
        let held = self.runs.begin(key(&name, &run), &token, desk, owner, stopping.clone());
        let env = [
            ("PI_TOOL_BRIDGE_URL", self.url.clone()),
            ("PI_TOOL_BRIDGE_TOKEN", token.reveal().to_owned()),
            ("PI_TOOL_BRIDGE_SESSION", name),
            ("PI_TOOL_BRIDGE_RUN", run),
        ];
        let env = env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        CallExtras { env, stopping, held: Some(Box::new(held)) }
    }
}

/// Accepts connections until it is told to stop.
async fn accept(listener: TcpListener, front: Arc<Front>, stop: CancellationToken) {
    let places = Places::new(CONNECTIONS);
    loop {
        let next = async { (places.free().await, listener.accept().await) };
        let taken = tokio::select! {
            () = stop.cancelled() => return,
            taken = next => taken,
        };
        let (Some(place), Ok((stream, _))) = taken else {
            tokio::time::sleep(SHORTAGE).await;
            continue;
        };
        let (front, stop, place) = (Arc::clone(&front), stop.clone(), place.taken());
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = serve(stream, &front, &place) => {}
                () = place.is_lost() => {}
            }
        });
    }
}

/// Serves one connection with one request. A client that closes it gives its call up.
async fn serve(stream: TcpStream, front: &Arc<Front>, place: &Place) {
    // Answers are small, and a caller waits for each.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let (front, pass) = (Arc::clone(front), place.pass());
        async move { Ok::<_, Infallible>(front.answer(request, &pass).await) }
    });
    let mut connection = http1::Builder::new();
    connection.timer(TokioTimer::new()).header_read_timeout(HEAD).keep_alive(false);
    // An error of a connection concerns only the client, which has seen it.
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

struct Front {
    guard: Arc<Guard>,
    runs: Runs,
}

impl Front {
    async fn answer(&self, request: Request<Incoming>, pass: &Pass) -> Response<Body> {
        let (head, body) = request.into_parts();
        if head.uri.path() != PATH || head.method != Method::POST {
            return refused(StatusCode::NOT_FOUND, "Not found");
        }
        let checked = self.guard.check(&head.uri, &head.headers, Policy::Token, Instant::now());
        let Ok(Some(caller)) = checked else {
            return refused(StatusCode::FORBIDDEN, "Forbidden");
        };
        pass.admit();
        let body = match LIMITS.read(&head.headers, body).await {
            Ok(body) => body,
            Err(BodyError::TooLarge) => {
                return refused(StatusCode::PAYLOAD_TOO_LARGE, words::protocol::TOO_LARGE);
            }
            Err(BodyError::TooSlow) => {
                return refused(StatusCode::REQUEST_TIMEOUT, words::protocol::TOO_SLOW);
            }
        };
        let asked = match ToolRequest::parse(&body) {
            Ok(asked) => asked,
            Err(problem) => return refused(StatusCode::BAD_REQUEST, problem),
        };
        drop(body);
        match self.runs.find(&asked.key(), caller) {
            Some(run) => answered(call(&run, asked).await),
            None => answered(Err(not_active(&asked.key()))),
        }
    }
}

fn not_active(key: &str) -> String {
    words::bridge::not_active(key)
}

/// Calls a tool for code. It answers at once when the code is made to stop, or when its run is over.
async fn call(run: &Run, asked: ToolRequest) -> Result<Value, String> {
    let key = asked.key();
    tokio::select! {
        biased;
        () = run.stopping.cancelled() => Err(words::bridge::INTERRUPTED.to_owned()),
        () = run.over.cancelled() => Err(not_active(&key)),
        done = work(run, asked) => done,
    }
}

async fn work(run: &Run, asked: ToolRequest) -> Result<Value, String> {
    let ToolRequest { name, arguments, cwd, .. } = asked;
    let names = offered(&run.desk.exposure);
    let named = |spec: &&ToolSpec| spec.name == name && names.contains(&spec.name);
    let spec = run.desk.tools.iter().copied().find(named);
    let spec = spec.ok_or_else(|| words::bridge::no_tool(&name, &names.join(", ")))?;
    // The semaphore is never closed.
    let _place = run.places.acquire().await;
    let mut desk = run.desk.clone();
    desk.cwd = cwd.unwrap_or(desk.cwd);
    let cancel = CancellationToken::new();
    let context = CallContext::new(run.owner, cancel.clone());
    // Dropping this future cancels the call, since its caller is gone.
    let _given_up = cancel.drop_guard();
    guarded(spec, desk, arguments, context).await.map_err(error_text).and_then(value::of)
}
