//! One server and its client, which counts answers.
//!
//! Owns the rules of the protocol: each request gets one answer, standard output carries only messages, and no
//! answer contains the output of another call.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use regex::Regex;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::plan::CANARY;
use super::processes::{self, MARK, ProcessUsage};
use super::world::World;

/// The longest silence of a healthy server: every call has a limit of a few seconds, and few calls wait for one
/// session.
const SILENCE: Duration = Duration::from_secs(60);
/// The longest time for the end, on a machine that also does other work.
const END: Duration = Duration::from_secs(10);

pub(crate) struct Server {
    child: Child,
    mark: String,
    /// The writer closes standard input when this is dropped.
    input: Option<mpsc::Sender<Vec<u8>>>,
    lines: mpsc::Receiver<String>,
    /// Set when the reader should stop and close its end of the pipe.
    is_deaf: Arc<AtomicBool>,
    requests: BTreeMap<u64, Request>,
    /// Ids of answers to raw messages, which are not counted.
    raw: BTreeSet<String>,
    pub(crate) last_execution: Option<String>,
    pub(crate) last_artifact: Option<String>,
    pub(crate) answers: u64,
    patterns: Patterns,
}

struct Request {
    method: String,
    /// The call's number in its output; none if its answer may contain anything.
    canary: Option<String>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Asked,
    TakenBack,
    Answered,
}

struct Patterns {
    canary: Regex,
    execution: Regex,
    artifact: Regex,
}

impl Server {
    pub(crate) fn start(
        world: &World,
        tools: &str,
        python: &std::path::Path,
        mark: &str,
    ) -> Result<Server> {
        let mut command = world.env().inkcell();
        command.args(["mcp", "--tools", tools]);
        command.env("INKCELL_PYTHON_INTERPRETER", python);
        command.env("TMPDIR", world.temporary()).env(MARK, mark);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start the server")?;
        let stdin = child.stdin.take().context("a pipe")?;
        let stdout = child.stdout.take().context("a pipe")?;
        let (input, bytes) = mpsc::channel::<Vec<u8>>();
        // A thread, so that a server that stops reading shows up by its silence.
        std::thread::spawn(move || {
            let mut stdin = stdin;
            for bytes in bytes {
                if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        let is_deaf = Arc::new(AtomicBool::new(false));
        let deaf = Arc::clone(&is_deaf);
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { return };
                if deaf.load(Ordering::SeqCst) || sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut server = Server {
            child,
            mark: mark.to_owned(),
            input: Some(input),
            lines,
            is_deaf,
            requests: BTreeMap::new(),
            raw: BTreeSet::new(),
            last_execution: None,
            last_artifact: None,
            answers: 0,
            patterns: Patterns::new()?,
        };
        server.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "gremlin", "version": "1"}}),
        );
        server.settle()?;
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        Ok(server)
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.requests.len() as u64 + 1
    }

    /// Sends a request; the id is the request's number.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id();
        let canary = self.canary_of(method, params);
        let method = method.to_owned();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.requests.insert(id, Request { method, canary, state: State::Asked });
        id
    }

    /// Returns the canary in the code of a call; empty if the code has none; none if the call runs no code.
    fn canary_of(&self, method: &str, params: &Value) -> Option<String> {
        let runs = ["python", "eval", "bash"];
        if method != "tools/call" || !runs.iter().any(|tool| params["name"] == *tool) {
            return None;
        }
        let text = params["arguments"].to_string();
        Some(
            self.patterns
                .canary
                .find(&text)
                .map(|found| found.as_str().to_owned())
                .unwrap_or_default(),
        )
    }

    /// Cancels the request this far before the last.
    pub(crate) fn cancel(&mut self, back: usize) -> Option<u64> {
        let id = (self.requests.len() as u64).checked_sub(back as u64)?;
        let request = self.requests.get_mut(&id)?;
        if request.state == State::Asked {
            request.state = State::TakenBack;
        }
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "gremlin"}}));
        Some(id)
    }

    fn send(&mut self, message: &Value) {
        self.send_bytes(format!("{message}\n").into_bytes());
    }

    pub(crate) fn send_bytes(&mut self, bytes: Vec<u8>) {
        // A server that is gone shows up by its silence, or the gremlin ended it.
        if let Some(input) = &self.input {
            let _ = input.send(bytes);
        }
    }

    /// Takes all lines that have arrived.
    pub(crate) fn drain(&mut self) -> Result<()> {
        while let Ok(line) = self.lines.try_recv() {
            self.take(&line)?;
        }
        if let Some(status) = self.child.try_wait()? {
            bail!("the server ended by itself: {status}");
        }
        Ok(())
    }

    /// Waits until every request has an answer.
    pub(crate) fn settle(&mut self) -> Result<()> {
        while self.requests.values().any(|request| request.state == State::Asked) {
            match self.lines.recv_timeout(SILENCE) {
                Ok(line) => self.take(&line)?,
                Err(RecvTimeoutError::Timeout) => {
                    bail!("{SILENCE:?} of silence; without an answer: {}", self.unanswered());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait()?;
                    bail!(
                        "the server ended by itself ({status}); without an answer: {}",
                        self.unanswered()
                    );
                }
            }
        }
        self.drain()
    }

    fn unanswered(&self) -> String {
        let open = self.requests.iter().filter(|(_, request)| request.state == State::Asked);
        open.map(|(id, request)| format!("{id} {}", request.method)).collect::<Vec<_>>().join(", ")
    }

    fn take(&mut self, line: &str) -> Result<()> {
        let message: Value = serde_json::from_str(line)
            .with_context(|| format!("standard output carries something else: {line:.200}"))?;
        if message["jsonrpc"] != "2.0" {
            bail!("a message of no protocol: {line:.200}");
        }
        match (&message["method"], &message["id"]) {
            (Value::String(method), _) if method == "notifications/progress" => {
                self.progress(&message)
            }
            (Value::String(_), _) => Ok(()),
            (_, Value::Number(id)) => self.answer(id.as_u64().unwrap_or(0), &message),
            (_, Value::String(id)) if !self.raw.insert(id.clone()) => {
                // The gremlin may send the same made-up id twice; an answer to each is right.
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn answer(&mut self, id: u64, message: &Value) -> Result<()> {
        self.answers += 1;
        let Some(request) = self.requests.get_mut(&id) else {
            bail!("an answer to {id}, which nobody asked: {message}");
        };
        if request.state == State::Answered {
            bail!("a second answer to {id} ({}): {message}", request.method);
        }
        request.state = State::Answered;
        if message["result"].is_null() == message["error"].is_null() {
            bail!("an answer to {id} that is neither a result nor an error: {message}");
        }
        let text = message["result"]["content"].to_string();
        if let Some(found) = self.patterns.execution.captures(&text) {
            self.last_execution = Some(found[1].to_owned());
        }
        if let Some(found) = self.patterns.artifact.captures(&text) {
            self.last_artifact = Some(found[1].to_owned());
        }
        self.is_own(id, &text)
    }

    fn progress(&self, message: &Value) -> Result<()> {
        let token = &message["params"]["progressToken"];
        let id = token.as_u64().with_context(|| format!("progress of nothing: {message}"))?;
        let Some(request) = self.requests.get(&id) else {
            bail!("progress of {id}, which nobody asked: {message}");
        };
        if request.state == State::Answered {
            bail!("progress of {id} after its answer: {message}");
        }
        self.is_own(id, &message["params"]["message"].to_string())
    }

    /// Checks that a text contains only the output of its own call.
    fn is_own(&self, id: u64, text: &str) -> Result<()> {
        let Some(own) = self.requests.get(&id).and_then(|request| request.canary.as_ref()) else {
            return Ok(());
        };
        match self.patterns.canary.find_iter(text).find(|found| found.as_str() != own) {
            Some(other) => {
                bail!("{id} ({own:?}) got what {:?} printed: {text:.500}", other.as_str())
            }
            None => Ok(()),
        }
    }

    pub(crate) fn taken(&self) -> Result<ProcessUsage> {
        processes::taken(self.child.id())
    }

    /// Lists the processes that the server started.
    pub(crate) fn started(&self) -> Vec<i32> {
        let own = self.child.id() as i32;
        processes::marked(&self.mark).into_iter().filter(|pid| *pid != own).collect()
    }

    /// Closes the server's standard input.
    pub(crate) fn leave(&mut self) {
        self.input = None;
    }

    /// Stops reading the server's output.
    pub(crate) fn be_deaf(&self) {
        self.is_deaf.store(true, Ordering::SeqCst);
    }

    pub(crate) fn signal(&self, signal: Signal) {
        processes::signal(self.child.id() as i32, signal);
    }

    /// Waits for the end of the server; returns its status and the time it took.
    pub(crate) fn end(&mut self) -> Result<(ExitStatus, Duration)> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok((status, began.elapsed()));
            }
            if began.elapsed() > END {
                bail!("the server has not ended after {END:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Patterns {
    fn new() -> Result<Patterns> {
        Ok(Patterns {
            canary: Regex::new(&format!(r"{CANARY}-\d+-"))?,
            execution: Regex::new(r"execution (x[a-z0-9]{4,})")?,
            artifact: Regex::new("artifact://([a-z0-9]{16,})")?,
        })
    }
}
