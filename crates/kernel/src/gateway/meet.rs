//! The first words with a kernel on a gateway: who it is, that its output is heard, and what it begins with.
//!
//! Owns when such a kernel is ready. Time limits are whoever calls this's.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::gateway::loss;
use crate::gateway::talk::Talk;
use crate::jupyter::about::About;
use crate::jupyter::beginning::Beginning;
use crate::jupyter::fold::Channel;
use crate::jupyter::speak::Speak as _;
use crate::jupyter::voice::Voice;

/// How soon a question is asked anew that was not answered, or whose echo was not heard.
const AGAIN: Duration = Duration::from_secs(2);

/// Why the first words failed.
#[derive(Debug)]
pub(crate) enum Unmet {
    /// The connection ended before anything was run.
    Closed(String),
    /// It ended later, so that nobody knows what was run.
    Lost(String),
    /// The kernel is gone, as its gateway says.
    Died(&'static str),
    /// The code that it begins with failed, with this.
    Startup { name: String, value: String },
}

/// Waits until a kernel answers and its output is heard; gives the voice of its process, too.
pub(crate) async fn meet(talk: &Talk) -> Result<(About, Voice, Beginning), Unmet> {
    let ask = || talk.request(Channel::Shell, "kernel_info_request", &json!({}));
    let mut asked = vec![ask()];
    let mut again = Instant::now() + AGAIN;
    let (mut about, mut is_heard) = (None, false);
    let (mut voice, mut beginning) = (Voice::new(talk.session()), Beginning::until(&asked[0]));
    loop {
        if is_heard && let Some(about) = about {
            return Ok((about, voice, beginning));
        }
        let next = tokio::select! {
            next = talk.next() => next,
            () = tokio::time::sleep_until(again) => {
                let request = ask();
                // The one before may be lost.
                if !beginning.is_over() {
                    beginning = Beginning::until(&request);
                }
                asked.push(request);
                again = Instant::now() + AGAIN;
                continue;
            }
        };
        let Some(read) = next else { return Err(Unmet::Closed(talk.why())) };
        // What is no message says nothing about the kernel.
        let Ok((channel, message)) = read else { continue };
        if let Some(problem) = loss::death_on(channel, &message) {
            return Err(Unmet::Died(problem));
        }
        if !asked.iter().any(|request| message.is_of(request)) {
            continue;
        }
        beginning.heard(channel, &message);
        match (channel, message.header.msg_type.as_str()) {
            (Channel::Shell, "kernel_info_reply") => {
                about = Some(serde_json::from_slice(&message.content).unwrap_or_default());
                voice.learn(&message);
            }
            (Channel::Iopub, "status") => {
                is_heard = true;
                voice.learn(&message);
            }
            _ => {}
        }
    }
}

/// Runs code that is nobody's cell, to its end; gives what an expression is then, as text.
pub(crate) async fn run_at_start(
    talk: &Talk,
    code: &str,
    expression: &str,
) -> Result<(String, Beginning), Unmet> {
    #[derive(Deserialize)]
    struct Reply {
        status: String,
        #[serde(default)]
        ename: String,
        #[serde(default)]
        evalue: String,
        #[serde(default)]
        user_expressions: Value,
    }
    let content = json!({"code": code, "silent": true, "store_history": false,
        "user_expressions": {"it": expression}, "allow_stdin": false, "stop_on_error": false});
    let request = talk.request(Channel::Shell, "execute_request", &content);
    let mut beginning = Beginning::until(&request);
    loop {
        let Some(read) = talk.next().await else { return Err(Unmet::Lost(talk.why())) };
        let Ok((channel, message)) = read else { continue };
        if let Some(problem) = loss::death_on(channel, &message) {
            return Err(Unmet::Died(problem));
        }
        beginning.heard(channel, &message);
        if channel != Channel::Shell {
            continue;
        }
        if message.header.msg_type != "execute_reply" || !message.is_of(&request) {
            continue;
        }
        return match serde_json::from_slice(&message.content) {
            Ok(Reply { status, user_expressions, .. }) if status == "ok" => {
                let text = user_expressions["it"]["data"]["text/plain"].as_str();
                Ok((text.unwrap_or("").to_owned(), beginning))
            }
            Ok(Reply { ename, evalue, .. }) => Err(Unmet::Startup { name: ename, value: evalue }),
            Err(error) => Err(Unmet::Lost(error.to_string())),
        };
    }
}
