//! Requests to a gateway: its kernelspecs, new kernels, interrupts, ends.
//!
//! Owns each request with its time limit, and the meaning of its answer. Tokens go in headers,
//! never in addresses, and no redirect is followed. Messages of kernels travel elsewhere.

pub(crate) mod http;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap, LOCATION, RETRY_AFTER, SET_COOKIE};
use hyper::{Method, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::error::gateway::{GatewayError, GatewayName, RefusalCause, TokenSent, Whose};
use crate::gateway::transport::dial::Dial;
use crate::gateway::transport::lanes::{Lane, Lanes};
use crate::gateway::transport::path::ContentsPath;
use crate::gateway::transport::rest::http::Reply;
use crate::gateway::transport::url::{GatewayUrl, Token};
use crate::kernelspec::InterruptMode;

/// Longest answer about kernels that is read.
const ANSWER_BYTES: usize = 16 << 20;

/// Time limit for reading the state of a gateway.
pub(crate) const LOOK: Duration = Duration::from_secs(5);

/// Time limit for an interrupt request.
const INTERRUPT: Duration = Duration::from_secs(2);

/// Time limit for the end of a kernel. A gateway gives an unresponsive kernel five seconds.
const DELETE: Duration = Duration::from_secs(15);

/// Longest pause that is honoured when a busy gateway asks for one.
const PATIENCE: Duration = Duration::from_secs(10);

/// Id of a kernel on a gateway.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct RemoteId(String);

impl RemoteId {
    /// Parses an id. An id becomes part of request paths, so only the characters of ids are
    /// accepted.
    pub(crate) fn parse(text: &str) -> Option<RemoteId> {
        let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_id = (1..=64).contains(&text.len()) && text.bytes().all(is_fine);
        is_id.then(|| RemoteId(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Request for a new kernel.
pub(crate) struct NewKernel {
    pub(crate) name: String,
    pub(crate) env: BTreeMap<String, String>,
    /// Notebook that the kernel is for; the kernel works in its folder.
    pub(crate) beside: Option<ContentsPath>,
}

/// A kernelspec that a gateway offers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[non_exhaustive]
pub struct RemoteKernel {
    /// Language of its cells, such as `python`.
    #[serde(default)]
    pub language: String,
    /// Name that people see, such as `Python 3 (ipykernel)`.
    #[serde(default)]
    pub display_name: String,
    /// How its kernel is interrupted: by a signal or by a message.
    #[serde(default)]
    pub interrupt_mode: InterruptMode,
    /// Further entries of the kernelspec, as the gateway sends them.
    #[serde(default)]
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

/// Location where a gateway starts a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Starts {
    Usually,
    /// On a cluster, through a process proxy of Enterprise Gateway.
    Elsewhere,
}

impl RemoteKernel {
    pub(crate) fn starts(&self) -> Starts {
        match self.metadata.get("process_proxy") {
            Some(_) => Starts::Elsewhere,
            None => Starts::Usually,
        }
    }
}

/// Kernelspecs that a gateway offers, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RemoteKernels {
    /// Name of the kernelspec that the gateway starts by default; may be empty.
    pub default: String,
    /// All kernelspecs, by their names.
    pub kernels: BTreeMap<String, RemoteKernel>,
}

impl RemoteKernels {
    /// Returns the kernelspec for Python: the default if it is Python, else the usual name of
    /// Jupyter's own Python, else any.
    pub(crate) fn python(&self) -> Option<&str> {
        let is_python = |name: &str| {
            let found = self.kernels.get(name);
            found.is_some_and(|kernel| kernel.language.eq_ignore_ascii_case("python"))
        };
        let usual = [self.default.as_str(), "python3"].into_iter();
        usual.chain(self.kernels.keys().map(String::as_str)).find(|name| is_python(name))
    }
}

/// A gateway, with everything that a request to it needs.
pub(crate) struct Rest {
    pub(crate) url: GatewayUrl,
    pub(crate) whose: Whose,
    pub(crate) dial: Dial,
    pub(crate) lanes: Lanes,
    token: Option<Token>,
    /// Value that a server without tokens demands with every change.
    xsrf: Mutex<Option<String>>,
    /// Requests that go on without a waiting caller: starts and removals of kernels.
    pub(crate) under_way: TaskTracker,
}

impl Rest {
    pub(crate) fn new(url: GatewayUrl, token: Option<Token>, whose: Whose, dial: Dial) -> Rest {
        let (lanes, under_way) = (Lanes::new(), TaskTracker::new());
        Rest { url, whose, dial, lanes, token, xsrf: Mutex::new(None), under_way }
    }

    /// Returns the headers that every request to the gateway carries.
    pub(crate) fn credentials(&self) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        if let Some(token) = &self.token {
            headers.push((AUTHORIZATION.as_str(), token.header()));
        }
        if let Some(xsrf) = &*self.xsrf.lock().unwrap_or_else(PoisonError::into_inner) {
            headers.push((COOKIE.as_str(), format!("_xsrf={xsrf}")));
            headers.push(("x-xsrftoken", xsrf.clone()));
        }
        headers
    }

    /// Lists the kernelspecs. This is the first request to any gateway.
    pub(crate) async fn kernelspecs(&self) -> Result<RemoteKernels, GatewayError> {
        #[derive(Deserialize)]
        struct Answer {
            #[serde(default)]
            default: String,
            kernelspecs: BTreeMap<String, Entry>,
        }
        #[derive(Deserialize)]
        struct Entry {
            #[serde(default)]
            spec: RemoteKernel,
        }
        let reply = self.ask(Method::GET, "/api/kernelspecs", None, of(Lane::Begin, LOOK)).await?;
        let reply = self.expect(reply, StatusCode::OK)?;
        let read: Answer = self.read(&reply)?;
        let kernels = read.kernelspecs.into_iter().map(|(name, entry)| (name, entry.spec));
        Ok(RemoteKernels { default: read.default, kernels: kernels.collect() })
    }

    /// Returns the version that the gateway reports, or `None` if it reports none.
    pub(crate) async fn version(&self) -> Result<Option<String>, GatewayError> {
        #[derive(Deserialize)]
        struct Answer {
            version: String,
        }
        let reply = self.ask(Method::GET, "/api", None, of(Lane::Begin, LOOK)).await?;
        let read = serde_json::from_slice::<Answer>(&reply.body).ok();
        Ok(read.map(|read| cleaned(&read.version)).filter(|version| !version.is_empty()))
    }

    /// Starts a kernel, unless `is_wanted` returns `false` by the time there is room for the
    /// request.
    ///
    /// A gateway that fails is asked once more. A busy one is asked again at the time that it
    /// names. Neither has started anything.
    pub(crate) async fn create(
        &self,
        new: &NewKernel,
        deadline: Instant,
        is_wanted: impl Fn() -> bool,
    ) -> Result<RemoteId, GatewayError> {
        let mut body = json!({"name": new.name});
        if !new.env.is_empty() {
            body["env"] = json!(new.env);
        }
        if let Some(path) = &new.beside {
            body["path"] = json!(path.as_str());
        }
        let body = Bytes::from(body.to_string());
        let late = || GatewayError::Timeout { at: self.named() };
        let mut is_last = false;
        loop {
            let room = tokio::time::timeout_at(deadline, self.lanes.room(Lane::Begin)).await;
            let room = room.map_err(|_| late())?;
            let within = deadline.saturating_duration_since(Instant::now());
            if within.is_zero() || !is_wanted() {
                return Err(late());
            }
            let limits = of(Lane::Begin, within);
            let answered = self.answer(Method::POST, "/api/kernels", Some(body.clone()), limits);
            let reply = answered.await.map_err(perhaps_made)?;
            drop(room);
            let wait = match reply.status {
                status if status.is_success() => return self.created(&reply).map_err(perhaps_made),
                StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                    retry_after(&reply.headers).unwrap_or(Duration::from_secs(1))
                }
                // For a shared gateway, the caller checks its health before it asks again.
                StatusCode::INTERNAL_SERVER_ERROR if self.whose == Whose::External => {
                    Duration::ZERO
                }
                // The failure comes from a proxy, which does not know the outcome of the request.
                StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {
                    let problem = self.not_created(&reply).to_string();
                    return Err(GatewayError::PerhapsMade { problem });
                }
                _ => return Err(self.not_created(&reply)),
            };
            if is_last || wait > PATIENCE || Instant::now() + wait >= deadline {
                return Err(self.not_created(&reply));
            }
            is_last = true;
            tokio::time::sleep(wait).await;
        }
    }

    fn created(&self, reply: &Reply) -> Result<RemoteId, GatewayError> {
        let read: Model = self.read(reply)?;
        RemoteId::parse(&read.id).ok_or_else(|| self.nonsense("a kernel without a usable id"))
    }

    fn not_created(&self, reply: &Reply) -> GatewayError {
        let words = self.said(&reply.body);
        // Other requests were accepted, so the gateway's own reason for this refusal helps most.
        if reply.status == StatusCode::FORBIDDEN && !matches!(words.as_str(), "" | "Forbidden") {
            return GatewayError::Forbidden { at: self.named(), said: words };
        }
        match self.status(reply) {
            GatewayError::Status { status, said, .. } => {
                let said = if said.is_empty() { format!("status {status}") } else { said };
                GatewayError::Create { whose: self.whose, status, said }
            }
            other => other,
        }
    }

    /// Asks if the kernel still exists.
    pub(crate) async fn has(
        &self,
        id: &RemoteId,
        within: Duration,
    ) -> Result<Presence, GatewayError> {
        let path = format!("/api/kernels/{}", id.as_str());
        let reply = self.ask(Method::GET, &path, None, of(Lane::Control, within)).await?;
        if reply.status == StatusCode::NOT_FOUND {
            return Ok(Presence::Gone);
        }
        let reply = self.expect(reply, StatusCode::OK)?;
        let read: Model = self.read(&reply)?;
        Ok(if read.execution_state == "dead" { Presence::Gone } else { Presence::There })
    }

    /// Interrupts the running cell of a kernel.
    pub(crate) async fn interrupt(&self, id: &RemoteId) -> Result<(), GatewayError> {
        let path = format!("/api/kernels/{}/interrupt", id.as_str());
        let reply = self.ask(Method::POST, &path, None, of(Lane::Control, INTERRUPT)).await?;
        if reply.status.is_success() { Ok(()) } else { Err(self.status(&reply)) }
    }

    /// Ends a kernel. A kernel that does not exist counts as ended.
    pub(crate) async fn delete(&self, id: &RemoteId) -> Result<(), GatewayError> {
        let path = format!("/api/kernels/{}", id.as_str());
        let reply = self.ask(Method::DELETE, &path, None, of(Lane::End, DELETE)).await?;
        let is_gone = reply.status.is_success() || reply.status == StatusCode::NOT_FOUND;
        if is_gone { Ok(()) } else { Err(self.status(&reply)) }
    }

    /// Sends a request once there is room for it. The time limit starts then; the wait before
    /// counts for the caller.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
        limits: Limits,
    ) -> Result<Reply, GatewayError> {
        let _room = self.lanes.room(limits.lane).await;
        self.answer(method, path, body, limits).await
    }

    /// Sends a request. If the server demands its `_xsrf` value, sends the request once more with
    /// it.
    async fn answer(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
        limits: Limits,
    ) -> Result<Reply, GatewayError> {
        let late = |_| GatewayError::Timeout { at: self.named() };
        let longest = limits.longest;
        let asked = async {
            let reply = self.exchange(&method, path, body.clone(), longest).await?;
            let is_refused = reply.status == StatusCode::FORBIDDEN && method != Method::GET;
            if is_refused
                && self.token.is_none()
                && contains(&reply.body, b"_xsrf")
                && let Some(xsrf) =
                    xsrf(&self.exchange(&Method::GET, "/login", None, longest).await?)
            {
                *self.xsrf.lock().unwrap_or_else(PoisonError::into_inner) = Some(xsrf);
                return self.exchange(&method, path, body, longest).await;
            }
            Ok(reply)
        };
        let reply = tokio::time::timeout(limits.within, asked).await.map_err(late)??;
        if reply.status.is_redirection() {
            return Err(self.redirected(&reply));
        }
        Ok(reply)
    }

    pub(crate) fn expect(&self, reply: Reply, status: StatusCode) -> Result<Reply, GatewayError> {
        if reply.status == status { Ok(reply) } else { Err(self.status(&reply)) }
    }

    /// Translates an unexpected status code into an error.
    pub(crate) fn status(&self, reply: &Reply) -> GatewayError {
        self.of_status(reply.status.as_u16(), &reply.body)
    }

    pub(crate) fn of_status(&self, status: u16, body: &[u8]) -> GatewayError {
        match status {
            401 | 403 => self.closed(),
            status => GatewayError::Status { at: self.named(), status, said: self.said(body) },
        }
    }

    /// Returns the server's words about a failure, without our token: a server may send back what
    /// it received.
    fn said(&self, body: &[u8]) -> String {
        let words = said(body);
        match &self.token {
            Some(token) => words.replace(token.secret(), "[token]"),
            None => words,
        }
    }

    pub(crate) fn redirected(&self, reply: &Reply) -> GatewayError {
        let to = reply.headers.get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("");
        // The query and the fragment may hold a secret.
        let to = to.split(['?', '#']).next().unwrap_or("");
        if to.ends_with("/login") || to.contains("/oauth2/") || to.contains("/oauth_") {
            return self.closed();
        }
        GatewayError::Redirect { at: self.named(), to: cleaned(to) }
    }

    /// The gateway rejects requests without a token, or rejects our token.
    fn closed(&self) -> GatewayError {
        let token = if self.token.is_some() { TokenSent::Yes } else { TokenSent::No };
        GatewayError::Authentication { at: self.named(), token }
    }

    /// Returns the gateway's name for messages.
    pub(crate) fn named(&self) -> GatewayName {
        GatewayName { whose: self.whose, url: self.url.to_string() }
    }

    pub(crate) fn nonsense(&self, what: &str) -> GatewayError {
        GatewayError::Nonsense { at: self.named(), what: cleaned(what) }
    }

    pub(crate) fn read<T: for<'a> Deserialize<'a>>(
        &self,
        reply: &Reply,
    ) -> Result<T, GatewayError> {
        serde_json::from_slice(&reply.body).map_err(|error| self.nonsense(&error.to_string()))
    }
}

/// Limits of a request: its lane, its time and the size of its answer.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) lane: Lane,
    pub(crate) within: Duration,
    pub(crate) longest: usize,
}

/// Returns the limits of a request about kernels.
fn of(lane: Lane, within: Duration) -> Limits {
    Limits { lane, within, longest: ANSWER_BYTES }
}

/// Translates a failure to start a kernel. A request that was sent and not answered may have
/// started one whose id is lost.
fn perhaps_made(problem: GatewayError) -> GatewayError {
    match problem {
        GatewayError::Timeout { .. }
        | GatewayError::Nonsense { .. }
        | GatewayError::Unreachable { refused: RefusalCause::Unknown, .. } => {
            GatewayError::PerhapsMade { problem: problem.to_string() }
        }
        other => other,
    }
}

/// Answer to the question if a gateway has a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Presence {
    There,
    Gone,
}

/// A kernel as a gateway describes it.
#[derive(Deserialize)]
struct Model {
    id: String,
    #[serde(default)]
    execution_state: String,
}

/// Returns a gateway's words about a failure: its message if it sent one, else the beginning of the
/// body. A page for browsers is left out, because it explains nothing.
fn said(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Problem {
        message: Option<String>,
        reason: Option<String>,
    }
    if let Ok(problem) = serde_json::from_slice::<Problem>(body)
        && let Some(words) = problem.message.filter(|words| !words.is_empty()).or(problem.reason)
    {
        return cleaned(&words);
    }
    let text = String::from_utf8_lossy(&body[..body.len().min(2000)]);
    let is_page = text.trim_start().starts_with('<');
    if is_page { String::new() } else { cleaned(&text) }
}

/// Returns the text as one short line without control characters.
fn cleaned(text: &str) -> String {
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(300).collect()
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

fn xsrf(reply: &Reply) -> Option<String> {
    reply.headers.get_all(SET_COOKIE).iter().find_map(|cookie| {
        let value = cookie.to_str().ok()?.strip_prefix("_xsrf=")?;
        let value = value.split(';').next().unwrap_or("");
        (!value.is_empty()).then(|| value.to_owned())
    })
}

fn contains(text: &[u8], wanted: &[u8]) -> bool {
    text.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests;
