//! A minimal client of the protocol: one server process, one request at a time.
//!
//! Owns the process from its start to its end. The same client calls every server, so that its cost is the same
//! for all. Must not know which server it talks to.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::bench::measure::usage;

/// The revision of the protocol that all servers here speak.
const REVISION: &str = "2025-06-18";

/// The time that a server has to end by itself after its client is gone.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// A server that was started and has not received a request yet.
pub(in crate::bench) struct Client {
    child: Arc<Mutex<Child>>,
    pid: u32,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    started: Instant,
    next_id: u64,
    /// Dropped when the server has ended, which ends the watch thread.
    watched: Option<Sender<()>>,
    watch: Option<JoinHandle<()>>,
}

/// Memory of a server, in MiB.
pub(super) struct ServerMemory {
    pub(super) resident: f64,
    pub(super) proportional: f64,
}

impl Client {
    /// Starts a server. A server that lives longer than `limit` is killed, which ends any wait for its answer.
    pub(in crate::bench) fn start(
        mut command: Command,
        stderr: &Path,
        limit: Duration,
    ) -> Result<Client> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(stderr)?);
        let started = Instant::now();
        let mut child = command.spawn().context("cannot start the server")?;
        let stdin = Some(child.stdin.take().context("the input is a pipe")?);
        let stdout = BufReader::new(child.stdout.take().context("the output is a pipe")?);
        let pid = child.id();
        let child = Arc::new(Mutex::new(child));
        let (watched, over) = channel::<()>();
        let late = Arc::clone(&child);
        let watch = std::thread::spawn(move || {
            if over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                let _ = late.lock().unwrap_or_else(PoisonError::into_inner).kill();
            }
        });
        let (watched, watch) = (Some(watched), Some(watch));
        Ok(Client { child, pid, stdin, stdout, started, next_id: 0, watched, watch })
    }

    /// Initializes the session and lists the tools; returns the milliseconds from the start of the process to the
    /// answer.
    pub(in crate::bench) fn open(&mut self, tool: &str) -> Result<f64> {
        let who = json!({"name": "bench", "version": "1"});
        let hello = json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": who});
        self.ask("initialize", &hello)?;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        let (tools, answered) = self.ask("tools/list", &json!({}))?;
        let took = (answered - self.started).as_secs_f64() * 1e3;
        let names = tools["tools"].as_array().into_iter().flatten();
        if !names.into_iter().any(|offered| offered["name"] == tool) {
            bail!("the server offers no tool {tool:?}");
        }
        Ok(took)
    }

    /// Calls a tool that must answer with this text; returns the milliseconds it took.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value, text: &str) -> Result<f64> {
        let (result, ms) = self.answer_of(tool, arguments)?;
        let said = result["content"][0]["text"].as_str();
        if said.map(str::trim) != Some(text) {
            bail!("{tool} answered {result}");
        }
        Ok(ms)
    }

    /// Calls a tool that must not fail; returns its answer and the milliseconds it took.
    pub(in crate::bench) fn answer_of(
        &mut self,
        tool: &str,
        arguments: &Value,
    ) -> Result<(Value, f64)> {
        let params = json!({"name": tool, "arguments": arguments});
        let asked = Instant::now();
        let (result, answered) = self.ask("tools/call", &params)?;
        if result["isError"] == true {
            bail!("{tool} answered {result}");
        }
        Ok((result, (answered - asked).as_secs_f64() * 1e3))
    }

    /// Memory of the server's own process now, without the processes that it started.
    pub(super) fn held(&self) -> Result<ServerMemory> {
        let (resident, proportional) =
            (usage::resident_mib(self.pid)?, usage::pss_mib(&[self.pid])?);
        Ok(ServerMemory { resident, proportional })
    }

    /// Disconnects; returns the milliseconds until the server was gone too, or none if it had to be killed.
    pub(super) fn leave(mut self) -> Result<Option<f64>> {
        self.end()
    }

    fn end(&mut self) -> Result<Option<f64>> {
        let Some(stdin) = self.stdin.take() else { return Ok(None) };
        drop(stdin);
        let left = Instant::now();
        let mut by_itself = None;
        while left.elapsed() < LAST_WORDS && by_itself.is_none() {
            let is_over = self.process(Child::try_wait)?.is_some();
            by_itself = is_over.then(|| left.elapsed().as_secs_f64() * 1e3);
            if !is_over {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        if by_itself.is_none() {
            self.process(Child::kill)?;
            self.process(Child::wait)?;
        }
        self.watched = None;
        if let Some(watch) = self.watch.take() {
            let _ = watch.join();
        }
        Ok(by_itself)
    }

    fn process<T>(&self, act: impl FnOnce(&mut Child) -> std::io::Result<T>) -> Result<T> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut child).context("cannot look after the server")
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("the server is gone")?;
        // Write the line at once: pieces would slow down a server that reads them one by one.
        let line = format!("{message}\n");
        stdin.write_all(line.as_bytes()).context("the server does not listen")
    }

    /// Sends a request and waits; returns the result and the time of its arrival, before parsing.
    fn ask(&mut self, method: &str, params: &Value) -> Result<(Value, Instant)> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.stdout.read_line(&mut line).context("cannot read the server's answer")? == 0 {
                bail!("the server ended before it answered {method}");
            }
            let answered = Instant::now();
            if let Some(result) = answer(&line, id)? {
                return Ok((result, answered));
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Parses a line: the result if it answers this request, none for other messages of the server.
fn answer(line: &str, id: u64) -> Result<Option<Value>> {
    let mut message: Value = serde_json::from_str(line)
        .with_context(|| format!("not a message of the protocol: {}", line.trim_end()))?;
    if message["id"] != id || message.get("method").is_some() {
        return Ok(None);
    }
    match message.get_mut("result") {
        Some(result) => Ok(Some(result.take())),
        None => bail!("the server refused: {}", message["error"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_to_the_question_is_taken() {
        let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
        assert_eq!(answer(note, 3).unwrap(), None);
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#, 3).unwrap(), None);
        // A request of the server itself may have the same number.
        assert_eq!(answer(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#, 3).unwrap(), None);
        let found = answer(r#"{"jsonrpc":"2.0","id":3,"result":{"tools":[]}}"#, 3).unwrap();
        assert_eq!(found, Some(json!({"tools": []})));
    }

    #[test]
    fn a_refusal_and_a_line_of_no_protocol_are_failures() {
        let refused = r#"{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"what?"}}"#;
        assert!(answer(refused, 3).unwrap_err().to_string().contains("what?"));
        assert!(answer("Serving on port 8888\n", 3).is_err());
    }

    #[cfg(unix)]
    fn shell(script: &str, limit: Duration) -> Client {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Client::start(command, Path::new("/dev/null"), limit).unwrap()
    }

    #[cfg(unix)]
    #[test]
    fn a_server_is_asked_and_its_end_is_noticed() {
        let script = r#"read a; echo '{"id":1,"result":{}}'; read b; read c
            echo '{"id":2,"result":{"tools":[{"name":"nothing"}]}}'; read d
            echo '{"id":3,"result":{"content":[{"type":"text","text":"2 "}]}}'; cat"#;
        let mut client = shell(script, Duration::from_secs(60));
        assert!(client.open("nothing").unwrap() > 0.0);
        assert!(client.call("nothing", &json!({}), "2").unwrap() > 0.0);
        assert!(client.leave().unwrap().is_some());
    }

    #[cfg(unix)]
    #[test]
    fn another_text_than_expected_is_a_failure() {
        let script = r#"read a; echo '{"id":1,"result":{"content":[{"type":"text","text":"3"}]}}'"#;
        let mut client = shell(script, Duration::from_secs(60));
        let error = client.call("python", &json!({}), "2").unwrap_err().to_string();
        assert!(error.starts_with("python answered"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_server_that_never_answers_is_ended() {
        let mut client = shell("exec sleep 600", Duration::from_millis(50));
        let error = client.open("nothing").unwrap_err().to_string();
        assert!(error.contains("ended before it answered initialize"), "{error}");
    }
}
