use std::net::SocketAddr;
use std::sync::Arc;

use hyper::StatusCode;
use inkcell_testkit::wait::{on_skipping_clock, skip_time};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinHandle;

use super::*;
use crate::http::{BodyLimits, Caller, Guard, Methods, Policy, Routes, Token, Tokens, respond};

/// A limit that only an event which never comes exceeds.
const LIMIT: Duration = Duration::from_secs(180);

struct Site {
    at: SocketAddr,
    token: String,
    ending: CancellationToken,
    closing: CancellationToken,
    serving: JoinHandle<()>,
}

async fn site(limits: ConnectionLimits) -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let (tokens, token) = (Tokens::new().unwrap(), Token::make().unwrap());
    tokens.admit(&token, Caller(1));
    let guard = Guard::new(vec![at.to_string()], tokens);
    let body = BodyLimits { bytes: 64, time: LIMIT };
    let health = |_| async { respond(StatusCode::NO_CONTENT, "") };
    let never = |_| async {
        std::future::pending::<()>().await;
        respond(StatusCode::OK, "")
    };
    let site = Routes::new()
        .add("/health", Policy::Open, Methods::READ, health)
        .add("/mine", Policy::Token, Methods::READ, health)
        .add("/never", Policy::Token, Methods::READ, never)
        .behind(Arc::new(guard), body);
    let (ending, closing) = (CancellationToken::new(), CancellationToken::new());
    let serving = tokio::spawn(serve(listener, site, limits, ending.clone(), closing.clone()));
    Site { at, token: token.reveal().to_owned(), ending, closing, serving }
}

impl Site {
    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    async fn ask(&self, path: &str) -> TcpStream {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.at)).await
    }

    /// The text of a request that shows the token.
    fn with_token(&self, path: &str) -> String {
        let Site { at, token, .. } = self;
        format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nAuthorization: Bearer {token}\r\n\r\n")
    }

    /// A connection whose client has shown the token.
    async fn guest(&self) -> TcpStream {
        let mut guest = self.send(&self.with_token("/mine")).await;
        assert!(heard(&mut guest).await.starts_with("HTTP/1.1 204"));
        guest
    }
}

/// Reads until the head of an answer is complete, or the connection ends.
async fn heard(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let reading = async {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            text.extend_from_slice(&buffer[..count]);
            if text.windows(4).any(|part| part == b"\r\n\r\n") {
                break;
            }
        }
    };
    tokio::time::timeout(LIMIT, reading).await.expect("in time");
    String::from_utf8(text).unwrap()
}

const FEW: ConnectionLimits = ConnectionLimits { connections: 1, ..ConnectionLimits::USUAL };

/// A client that sends nothing, or only half a request, does not keep a place.
#[tokio::test]
async fn a_slow_client_loses_its_place() {
    let site = site(FEW).await;
    for said in ["", "GET /health HTTP/1.1\r\nHost:"] {
        let _slow = site.send(said).await;
        let mut next = site.ask("/health").await;
        skip_time(FEW.head_time + Duration::from_secs(1)).await;
        assert!(heard(&mut next).await.starts_with("HTTP/1.1 204"), "{said:?}");
    }
    // The same holds between two requests, with or without a token.
    let mut stranger = site.ask("/health").await;
    assert!(heard(&mut stranger).await.starts_with("HTTP/1.1 204"));
    let _guest = site.guest().await;
    let mut next = site.ask("/health").await;
    skip_time(FEW.head_time + Duration::from_secs(1)).await;
    assert!(heard(&mut next).await.starts_with("HTTP/1.1 204"));
}

/// S-018 Issue 21, 30: however many clients say nothing, or half a request, one with the token comes in at once, and
/// stays.
#[tokio::test]
async fn strangers_make_room() {
    let limits = ConnectionLimits { connections: 4, head_time: 100 * LIMIT, ..FEW };
    let site = site(limits).await;
    let mut guest = site.guest().await;
    let mut strangers = Vec::new();
    for number in 0..40 {
        let half = format!("GET /health HTTP/1.1\r\nHost: {}", site.at);
        strangers.push(site.send(if number % 2 == 0 { "" } else { &half }).await);
    }
    let _another = site.guest().await;
    guest.write_all(site.with_token("/mine").as_bytes()).await.unwrap();
    assert!(heard(&mut guest).await.starts_with("HTTP/1.1 204"));
}

/// S-018 Issue 21, 30: a client without a token does not stay, even if no other client comes.
#[tokio::test]
async fn a_stranger_does_not_stay() {
    let limits = ConnectionLimits { head_time: 100 * LIMIT, ..ConnectionLimits::USUAL };
    let site = site(limits).await;
    let mut guest = site.guest().await;
    let mut stranger = site.ask("/health").await;
    assert!(heard(&mut stranger).await.starts_with("HTTP/1.1 204"));
    skip_time(LIMIT).await;
    assert_eq!(heard(&mut stranger).await, "", "it is closed");
    guest.write_all(site.with_token("/mine").as_bytes()).await.unwrap();
    assert!(heard(&mut guest).await.starts_with("HTTP/1.1 204"));
}

/// If clients with a token have all places, the next client waits for one.
#[tokio::test]
async fn there_are_only_so_many_places() {
    let site = site(FEW).await;
    let mut first = site.guest().await;
    first.write_all(site.with_token("/never").as_bytes()).await.unwrap();
    let mut second = site.ask("/health").await;
    let waiting = tokio::time::timeout(FEW.head_time / 2, heard(&mut second));
    let early = on_skipping_clock(waiting).await;
    assert!(early.is_err(), "{early:?}");
    drop(first);
    assert!(heard(&mut second).await.starts_with("HTTP/1.1 204"));
}

#[tokio::test]
async fn a_long_head_is_refused() {
    let site = site(ConnectionLimits::USUAL).await;
    let long = "x".repeat(ConnectionLimits::USUAL.head_bytes * 2);
    let mut stream = TcpStream::connect(site.at).await.unwrap();
    let head = format!("GET /health HTTP/1.1\r\nHost: {}\r\nX: {long}\r\n\r\n", site.at);
    // The server may close the connection in the middle.
    let _ = stream.write_all(head.as_bytes()).await;
    let heard = heard(&mut stream).await;
    assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 431"), "{heard}");
}

/// A server told to end accepts no client, and it does not wait for a client that never finishes.
#[tokio::test]
async fn it_ends_when_it_is_told_to() {
    let site = site(ConnectionLimits::USUAL).await;
    let mut idle = site.ask("/health").await;
    assert!(heard(&mut idle).await.starts_with("HTTP/1.1 204"));
    let _never = site.send(&site.with_token("/never")).await;
    site.ending.cancel();
    assert_eq!(heard(&mut idle).await, "", "a connection with nothing under way is closed");
    site.closing.cancel();
    tokio::time::timeout(LIMIT, site.serving).await.expect("in time").unwrap();
    assert!(TcpStream::connect(site.at).await.is_err());
}
