//! A client of `inkcell mcp` that speaks JSON-RPC line by line, as any program could.
//!
//! Owns the process and the order of answers. Bounded: an answer that takes more than a minute fails the test.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use inkcell_testkit::env::TestEnv;
use inkcell_testkit::wait::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const LIMIT: Duration = Duration::from_secs(180);

/// A server and the client that started it. Dropping it kills the server.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::Receiver<Value>,
    answers: HashMap<u64, Value>,
    /// Every message that was not an answer, in order.
    pub(crate) notes: Vec<Value>,
    next: u64,
}

/// The answer of a tool.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) result: Value,
}

impl Answer {
    /// All text, one block after the other.
    pub(crate) fn text(&self) -> String {
        let blocks = self.result["content"].as_array().cloned().unwrap_or_default();
        let texts = blocks.iter().filter_map(|block| block["text"].as_str());
        texts.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn is_error(&self) -> bool {
        self.result["isError"] == true
    }

    /// The blocks of this type.
    pub(crate) fn blocks(&self, kind: &str) -> Vec<Value> {
        let blocks = self.result["content"].as_array().cloned().unwrap_or_default();
        blocks.into_iter().filter(|block| block["type"] == kind).collect()
    }
}

impl Client {
    /// Starts a server in the folder of the environment and sends the handshake.
    pub(crate) fn start(env: &TestEnv, args: &[&str]) -> Client {
        Client::with(env, args, |_| {})
    }

    pub(crate) fn with(env: &TestEnv, args: &[&str], change: impl FnOnce(&mut Command)) -> Client {
        let python = std::env::var_os("INKCELL_TEST_PYTHON").unwrap_or_else(|| "python3".into());
        let mut command = env.inkcell();
        command.arg("mcp").args(args).env("INKCELL_PYTHON_INTERPRETER", python);
        change(&mut command);
        let mut client = Client::greeted(command);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// A server that has answered the first message of the handshake.
    pub(crate) fn greeted(command: Command) -> Client {
        let mut client = Client::bare(command);
        let hello = client.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        assert_eq!(hello["result"]["serverInfo"]["name"], "inkcell", "{hello}");
        client
    }

    /// A server without a handshake.
    pub(crate) fn bare(mut command: Command) -> Client {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("started");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let Ok(line) = line else { return };
                // Standard output carries only the protocol.
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|_| json!({"not the protocol": line}));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Client { child, stdin, lines, answers: HashMap::new(), notes: Vec::new(), next: 0 }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    pub(crate) fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("it is open");
        writeln!(stdin, "{line}").expect("the server reads");
        stdin.flush().expect("the server reads");
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("it is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the server reads");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request and does not wait.
    #[allow(clippy::needless_pass_by_value, reason = "callers write JSON in place")]
    pub(crate) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for the answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        let until = Instant::now() + LIMIT;
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            self.receive(until);
        }
    }

    /// Waits for the first message that fits and is not an answer to a numbered request.
    pub(crate) fn note(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + LIMIT;
        loop {
            if let Some(at) = self.notes.iter().position(&is_wanted) {
                return self.notes.remove(at);
            }
            self.receive(until);
        }
    }

    fn receive(&mut self, until: Instant) {
        let left = until.saturating_duration_since(Instant::now());
        let message = self.lines.recv_timeout(left).expect("an answer in time");
        assert!(message["not the protocol"].is_null(), "{message}");
        match message["id"].as_u64() {
            Some(of) if message["method"].is_null() => {
                assert!(self.answers.insert(of, message).is_none(), "two answers to {of}");
            }
            _ => self.notes.push(message),
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// Begins a call of a tool.
    #[allow(clippy::needless_pass_by_value, reason = "callers write JSON in place")]
    pub(crate) fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.begin("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    pub(crate) fn called(&mut self, id: u64) -> Answer {
        let answer = self.answer(id);
        assert!(answer["error"].is_null(), "{answer}");
        Answer { result: answer["result"].clone() }
    }

    /// Calls a tool; an error of the tool is part of the answer.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        let id = self.begin_call(tool, arguments);
        self.called(id)
    }

    /// Calls a tool that must succeed.
    pub(crate) fn ok(&mut self, tool: &str, arguments: Value) -> Answer {
        let answer = self.call(tool, arguments);
        assert!(!answer.is_error(), "{answer:?}");
        answer
    }

    pub(crate) fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a signal");
    }

    /// Closes the server's standard input, as a client does when it leaves.
    pub(crate) fn leave(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the process.
    pub(crate) fn end(mut self) -> ExitStatus {
        until("the end of the server", || self.child.try_wait().expect("a child"))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
