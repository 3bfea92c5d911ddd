//! `inkcell mcp --http` and its clients over bare sockets, as any program could be.
//!
//! Owns the process, its port and its output. Bounded: a line or an answer that takes more than a minute fails the
//! test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use inkcell_testkit::env::TestEnv;
use inkcell_testkit::wait::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(180);

/// Two tokens chosen by a user.
pub(crate) const ONE: &str = "one-0123456789-0123456789-0123456789";
pub(crate) const OTHER: &str = "other-0123456789-0123456789-0123456789";

/// A server. Dropping it kills it.
pub(crate) struct HttpServer {
    child: Child,
    pub(crate) at: SocketAddr,
    /// Its standard error, line by line.
    lines: Mutex<mpsc::Receiver<String>>,
    pub(crate) said: Vec<String>,
}

/// A reply of the server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The head, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl HttpServer {
    /// A server with a token that it makes itself.
    pub(crate) fn start(env: &TestEnv, args: &[&str]) -> HttpServer {
        HttpServer::with(env, args, |_| {})
    }

    /// A server with the two tokens.
    pub(crate) fn with_two_tokens(env: &TestEnv, args: &[&str]) -> HttpServer {
        let file = env.outside("tokens");
        std::fs::write(&file, format!("one {ONE}\nother {OTHER}\n")).expect("a file");
        private(&file);
        let file = file.display().to_string();
        let args = [&["--token-file", &file], args].concat();
        HttpServer::start(env, &args)
    }

    pub(crate) fn with(
        env: &TestEnv,
        args: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> HttpServer {
        let mut command = command(env, &[&["--http", "127.0.0.1:0"], args].concat());
        change(&mut command);
        HttpServer::of(command)
    }

    pub(crate) fn of(mut command: Command) -> HttpServer {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let (sender, lines) = mpsc::channel();
        let stderr = child.stderr.take().expect("a pipe");
        let stdout = child.stdout.take().expect("a pipe");
        let readers: [Box<dyn Read + Send>; 2] = [Box::new(stderr), Box::new(stdout)];
        for reader in readers {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(reader).lines().map_while(Result::ok);
                lines.for_each(|line| drop(sender.send(line)));
            });
        }
        let at = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut server = HttpServer { child, at, lines: Mutex::new(lines), said: Vec::new() };
        let url = server.line("serving http://");
        let place = url.trim_end_matches("/mcp");
        server.at = place.replace("0.0.0.0", "127.0.0.1").parse().expect("an address");
        server
    }

    /// Waits for a line with this beginning, and returns the rest of it.
    pub(crate) fn line(&mut self, beginning: &str) -> String {
        let until = Instant::now() + LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = match self.lines.get_mut().expect("one reader").recv_timeout(left) {
                Ok(line) => line,
                Err(_) => panic!("no line {beginning:?}, but {:?}", self.said),
            };
            let found = line.strip_prefix(beginning).map(str::to_owned);
            self.said.push(line);
            if let Some(found) = found {
                return found;
            }
        }
    }

    /// The token that the server made.
    pub(crate) fn token(&mut self) -> String {
        self.line("token: ")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a signal");
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect_timeout(&self.at, LIMIT).expect("a connection");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        stream
    }

    /// Sends raw bytes, and reads until the end.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = self.connect();
        stream.write_all(bytes).expect("it is read");
        read(stream)
    }

    /// Sends a request with the right host name and these lines in its head.
    pub(crate) fn ask(&self, method: &str, path: &str, head: &[String], body: &str) -> Reply {
        let host = format!("Host: {}", self.at);
        let head = [&[host][..], head].concat();
        self.ask_bare(method, path, &head, body)
    }

    pub(crate) fn ask_bare(&self, method: &str, path: &str, head: &[String], body: &str) -> Reply {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        head.iter().for_each(|line| text.push_str(&format!("{line}\r\n")));
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        self.raw(text.as_bytes())
    }

    /// Sends a message of the protocol and returns the reply, whatever it is.
    pub(crate) fn post(&self, token: &str, more: &[String], message: &Value) -> Reply {
        let head = [&protocol_head(token)[..], more].concat();
        self.ask("POST", "/mcp", &head, &message.to_string())
    }

    /// Waits for its end, and returns everything it has written.
    pub(crate) fn end(mut self) -> (ExitStatus, Vec<String>) {
        let status = until("the end of the server", || self.child.try_wait().expect("a child"));
        while let Ok(line) = self.lines.get_mut().expect("one reader").recv_timeout(LIMIT) {
            self.said.push(line);
        }
        (status, std::mem::take(&mut self.said))
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// `inkcell mcp` with the Python of the tests.
pub(crate) fn command(env: &TestEnv, args: &[&str]) -> Command {
    let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = env.inkcell();
    command.arg("mcp").args(args).env("INKCELL_PYTHON_INTERPRETER", python);
    command
}

pub(crate) fn private(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
}

pub(crate) fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

pub(crate) fn protocol_head(token: &str) -> Vec<String> {
    let kinds = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
    kinds.iter().map(|line| (*line).to_owned()).chain([bearer(token)]).collect()
}

/// Reads an answer to its end.
pub(crate) fn read(mut stream: TcpStream) -> Reply {
    let mut bytes = Vec::new();
    // A server that has not read everything resets the connection after its answer.
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert!(error.kind() == std::io::ErrorKind::ConnectionReset, "{error}");
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let head = head.to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let is_chunked = head.contains("transfer-encoding: chunked");
    let body = if is_chunked { unchunked(body) } else { body.to_owned() };
    Reply { status, head, body }
}

fn unchunked(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size, 16) else { break };
        let Some(piece) = after.get(..size) else { break };
        body.push_str(piece);
        rest = after[size..].trim_start_matches("\r\n");
    }
    body
}

impl Reply {
    /// The protocol message in the reply, in either form.
    pub(crate) fn message(&self) -> Value {
        let events = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let mut messages = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
        let answer = messages.rfind(|message| message["method"].is_null());
        answer.or_else(|| serde_json::from_str(&self.body).ok()).unwrap_or_default()
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.map(str::trim)
    }
}

/// A session of the protocol, in a revision with sessions.
pub(crate) struct Session<'a> {
    pub(crate) server: &'a HttpServer,
    pub(crate) token: String,
    pub(crate) id: String,
}

impl<'a> Session<'a> {
    pub(crate) fn open(server: &'a HttpServer, token: &str) -> Session<'a> {
        let hello = server.post(token, &[], &hello());
        assert_eq!(hello.status, 200, "{hello:?}");
        assert_eq!(hello.message()["result"]["serverInfo"]["name"], "inkcell", "{hello:?}");
        let id = hello.field("mcp-session-id").expect("an id").to_owned();
        let session = Session { server, token: token.to_owned(), id };
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&ready).status, 202);
        session
    }

    pub(crate) fn post(&self, message: &Value) -> Reply {
        let id = format!("Mcp-Session-Id: {}", self.id);
        self.server.post(&self.token, &[id], message)
    }

    #[allow(clippy::needless_pass_by_value, reason = "callers write JSON in place")]
    pub(crate) fn ask(&self, method: &str, params: Value) -> Value {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let reply = self.post(&message);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.message()
    }

    /// The text of a tool's answer, and whether it is an error.
    #[allow(clippy::needless_pass_by_value, reason = "callers write JSON in place")]
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        text_of(&answer)
    }

    /// The text of a tool's answer, which must not be an error.
    pub(crate) fn ok(&self, tool: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{text}");
        text
    }
}

pub(crate) fn hello() -> Value {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

pub(crate) fn text_of(answer: &Value) -> (String, bool) {
    let blocks = answer["result"]["content"].as_array().cloned();
    let blocks = blocks.unwrap_or_else(|| panic!("no content: {answer}"));
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    (texts.join("\n"), answer["result"]["isError"] == true)
}

/// A call of a tool in the revision without sessions, and the lines of its head.
#[allow(clippy::needless_pass_by_value, reason = "callers write JSON in place")]
pub(crate) fn stateless_call(tool: &str, arguments: Value) -> (Vec<String>, Value) {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let head = [
        "MCP-Protocol-Version: 2026-07-28".to_owned(),
        "Mcp-Method: tools/call".to_owned(),
        format!("Mcp-Name: {tool}"),
    ];
    (head.to_vec(), json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}))
}
