//! A gateway that follows a script, and otherwise answers as a gateway should.
//!
//! Owns requests and the upgrade to a websocket. `fake_kernel.rs` runs its kernels.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use inkcell_kernel::{GatewayUrl, PlainHttp};
use inkcell_testkit::wait::holds_in_time;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::fake_kernel::{self, FakeKernel, Step};

/// A request as the gateway received it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

/// The gateway's reaction to a request.
pub(crate) enum Act {
    /// Answers as a gateway should.
    Usual,
    /// Answers with this status, header lines and body.
    Reply(u16, String, String),
    /// Sends these bytes and closes.
    Bytes(Vec<u8>),
    /// Sends these bytes one by one, and never stops.
    Drip(Vec<u8>),
    /// Reads the request and never answers.
    Hang,
    /// Answers as a gateway should, after a while.
    Slowly,
    /// Answers as a gateway should, after this time.
    After(Duration),
}

/// The prefix of a Hub for the paths of a user's server.
pub(crate) const PREFIX: &str = "/user/me";

/// Maps the code of a cell to the steps of its kernel.
pub(crate) type Cell = dyn Fn(&str) -> Vec<Step> + Send + Sync;

/// Maps a request to the gateway's reaction.
pub(crate) type Script = dyn Fn(&Seen) -> Act + Send + Sync;

/// The gateway's state, shared by its connections.
pub(crate) struct Inside {
    pub(crate) script: Box<Script>,
    pub(crate) cell: Box<Cell>,
    pub(crate) speaks_v1: bool,
    pub(crate) seen: Mutex<Vec<Seen>>,
    pub(crate) kernels: Mutex<BTreeMap<String, Arc<FakeKernel>>>,
    made: Mutex<u32>,
    /// The language that its kernels report.
    pub(crate) language: Mutex<&'static str>,
    /// The exception that the startup code of its kernels raises, if any.
    pub(crate) startup: Mutex<Option<(&'static str, &'static str)>>,
    /// The type of the first request that kills its kernels.
    pub(crate) dies_of: Mutex<Option<&'static str>>,
    /// The number of requests in progress, and the highest number so far.
    answering: Mutex<(usize, usize)>,
}

pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    pub(crate) inside: Arc<Inside>,
    tasks: JoinSet<()>,
}

impl Scripted {
    /// Starts a gateway that treats requests and cells like this.
    pub(crate) async fn start(
        script: impl Fn(&Seen) -> Act + Send + Sync + 'static,
        cell: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static,
    ) -> Scripted {
        Scripted::speaking(true, script, cell).await
    }

    /// As [`Scripted::start`], with the current or the old form of messages.
    pub(crate) async fn speaking(
        speaks_v1: bool,
        script: impl Fn(&Seen) -> Act + Send + Sync + 'static,
        cell: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static,
    ) -> Scripted {
        let inside = Arc::new(Inside {
            script: Box::new(script),
            cell: Box::new(cell),
            speaks_v1,
            seen: Mutex::default(),
            kernels: Mutex::default(),
            made: Mutex::new(0),
            language: Mutex::new("python"),
            startup: Mutex::default(),
            dies_of: Mutex::default(),
            answering: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&inside)));
        Scripted { address, inside, tasks }
    }

    pub(crate) fn url(&self) -> GatewayUrl {
        let text = format!("http://{}", self.address);
        GatewayUrl::parse(&text, PlainHttp::OnlyHere).unwrap().0
    }

    /// The address of the same gateway behind the prefix of a Hub.
    pub(crate) fn url_below(&self) -> GatewayUrl {
        let text = format!("http://{}{PREFIX}/lab/tree/a.ipynb", self.address);
        GatewayUrl::parse(&text, PlainHttp::OnlyHere).unwrap().0
    }

    /// The highest number of simultaneous requests.
    pub(crate) fn at_once(&self) -> usize {
        self.inside.answering.lock().unwrap().1
    }

    /// Ends the gateway and every connection to it.
    pub(crate) fn kill(&mut self) {
        self.tasks.abort_all();
    }

    /// Starts it again with the same kernels, as after a broken network.
    pub(crate) async fn come_back(&mut self) {
        while self.tasks.join_next().await.is_some() {}
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.tasks.spawn(accept(listener, Arc::clone(&self.inside)));
    }

    /// The number of requests with this method and path prefix.
    pub(crate) fn count(&self, method: &str, path: &str) -> usize {
        let seen = self.inside.seen.lock().unwrap();
        seen.iter().filter(|seen| seen.method == method && seen.path.starts_with(path)).count()
    }

    /// The ids of its kernels.
    pub(crate) fn kernels(&self) -> Vec<String> {
        self.inside.kernels.lock().unwrap().keys().cloned().collect()
    }

    /// Waits until it has no kernels left.
    pub(crate) async fn is_empty_soon(&self) -> bool {
        holds_in_time(|| self.kernels().is_empty()).await
    }
}

async fn accept(listener: TcpListener, inside: Arc<Inside>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((stream, _)) = listener.accept() => {
                connections.spawn(serve(stream, Arc::clone(&inside)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(mut stream: TcpStream, inside: Arc<Inside>) {
    // Only peeks: a websocket must read its own beginning.
    let Some(mut seen) = head(&stream).await else { return };
    let is_socket = seen.headers.contains_key("sec-websocket-key");
    if !is_socket {
        seen = whole(&mut stream, seen).await;
    }
    inside.seen.lock().unwrap().push(seen.clone());
    seen.path = seen.path.strip_prefix(PREFIX).unwrap_or(&seen.path).to_owned();
    let answering = Answering::begin(&inside);
    let act = (inside.script)(&seen);
    if matches!(act, Act::Slowly) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    if let Act::After(long) = act {
        tokio::time::sleep(long).await;
    }
    let bytes = match act {
        Act::Usual | Act::Slowly | Act::After(_) if is_socket => {
            drop(answering);
            return fake_kernel::talk(stream, &seen, &inside).await;
        }
        Act::Usual | Act::Slowly | Act::After(_) => {
            let (status, body) = usual(&seen, &inside);
            reply(status, "", &body)
        }
        Act::Reply(status, headers, body) => reply(status, &headers, &body),
        Act::Bytes(bytes) => bytes,
        Act::Drip(bytes) => {
            for byte in bytes.iter().cycle() {
                if stream.write_all(&[*byte]).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            return;
        }
        Act::Hang => std::future::pending().await,
    };
    let _ = stream.write_all(&bytes).await;
    let _ = stream.shutdown().await;
}

/// Counts a request as long as the gateway answers it.
struct Answering<'a>(&'a Inside);

impl Answering<'_> {
    fn begin(inside: &Inside) -> Answering<'_> {
        let mut answering = inside.answering.lock().unwrap();
        answering.0 += 1;
        answering.1 = answering.1.max(answering.0);
        drop(answering);
        Answering(inside)
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.answering.lock().unwrap().0 -= 1;
    }
}

fn reply(status: u16, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n{body}").into_bytes()
}

fn usual(seen: &Seen, inside: &Inside) -> (u16, String) {
    let mut kernels = inside.kernels.lock().unwrap();
    let of = |path: &str| path.strip_prefix("/api/kernels/").map(str::to_owned);
    match (seen.method.as_str(), seen.path.as_str(), of(&seen.path)) {
        ("GET", "/api/kernelspecs", _) => {
            let specs = r#"{"default":"python3","kernelspecs":{"python3":{"name":"python3",
                "spec":{"language":"python"}}}}"#;
            (200, specs.to_owned())
        }
        ("POST", "/api/kernels", _) => {
            let mut made = inside.made.lock().unwrap();
            *made += 1;
            let id = format!("k{made}");
            kernels.insert(id.clone(), Arc::default());
            (201, format!(r#"{{"id":"{id}","name":"python3"}}"#))
        }
        ("POST", _, Some(rest)) if rest.ends_with("/interrupt") => (204, String::new()),
        ("GET", _, Some(id)) if kernels.contains_key(&id) => {
            (200, format!(r#"{{"id":"{id}","execution_state":"idle"}}"#))
        }
        ("DELETE", _, Some(id)) if kernels.remove(&id).is_some() => (204, String::new()),
        _ => (404, r#"{"message":"nothing of that name"}"#.to_owned()),
    }
}

async fn head(stream: &TcpStream) -> Option<Seen> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        stream.readable().await.ok()?;
        let size = stream.peek(&mut buffer).await.ok().filter(|size| *size > 0)?;
        let text = String::from_utf8_lossy(&buffer[..size]).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let mut lines = head.split("\r\n");
            let mut first = lines.next()?.split(' ');
            let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
            let header = |line: &str| {
                let (name, value) = line.split_once(':')?;
                Some((name.to_ascii_lowercase(), value.trim().to_owned()))
            };
            let headers = lines.filter_map(header).collect();
            return Some(Seen { method, path, headers, body: head.len().to_string() });
        }
    }
}

/// Reads the head that was peeked, and the body behind it.
async fn whole(stream: &mut TcpStream, seen: Seen) -> Seen {
    let head: usize = seen.body.parse().unwrap();
    let length = seen.headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut bytes = vec![0; head + 4 + length];
    let _ = stream.read_exact(&mut bytes).await;
    Seen { body: String::from_utf8_lossy(&bytes[head + 4..]).into_owned(), ..seen }
}
