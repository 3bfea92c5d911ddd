//! The first words with a kernel: who it is, and that what it says is heard.
//!
//! Owns when a kernel is ready: it has answered, and its output is known to reach us. What comes before that
//! belongs to nobody. Time limits are whoever calls this's.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::jupyter::about::About;
use crate::jupyter::beginning::Beginning;
use crate::jupyter::fold::Channel;
use crate::jupyter::message::Message;
use crate::zmq::lines::{Lines, Speaker};

/// How soon a question is asked anew whose answer came, while output was not heard yet.
const UNHEARD: Duration = Duration::from_millis(100);

/// How soon one is asked anew that was not answered.
const UNANSWERED: Duration = Duration::from_secs(5);

/// Why the first words failed.
#[derive(Debug)]
pub(crate) enum Unmet {
    /// The connection ended.
    Closed,
    /// The code that it begins with failed, with this.
    Startup { name: String, value: String },
}

/// What was odd while it was waited for, for who must explain that it took too long.
#[derive(Debug, Default)]
pub(crate) struct Oddity(pub(crate) Option<String>);

/// Waits until a kernel answers and its output is heard.
pub(crate) async fn meet(
    lines: &mut Lines,
    speaker: &Speaker,
    odd: &mut Oddity,
) -> Result<(About, Beginning), Unmet> {
    let ask = || speaker.request(Channel::Shell, "kernel_info_request", &json!({}));
    let mut asked = vec![ask()];
    let mut again = Instant::now() + UNANSWERED;
    let (mut about, mut is_heard) = (None, false);
    let mut beginning = Beginning::until(&asked[0]);
    loop {
        if is_heard && let Some(about) = about {
            return Ok((about, beginning));
        }
        let (channel, frames) = tokio::select! {
            frames = lines.shell.next() => (Channel::Shell, frames.map_err(|_| Unmet::Closed)?),
            frames = lines.output.next() => {
                let frames = frames.ok_or(Unmet::Closed)?;
                (Channel::Iopub, frames.map_err(|_| Unmet::Closed)?)
            }
            () = tokio::time::sleep_until(again) => {
                let request = ask();
                // The one before may be lost.
                if !beginning.is_over() {
                    beginning = Beginning::until(&request);
                }
                asked.push(request);
                again = Instant::now() + if about.is_some() { UNHEARD } else { UNANSWERED };
                continue;
            }
        };
        let message = match lines.decode(channel, &frames) {
            Ok(message) => message,
            Err(problem) => {
                odd.0 = Some(problem.to_string());
                continue;
            }
        };
        beginning.heard(channel, &message);
        let is_answer = asked.iter().any(|request| message.is_of(request));
        match (channel, message.header.msg_type.as_str()) {
            (Channel::Shell, "kernel_info_reply") if is_answer => {
                let read = serde_json::from_slice(&message.content);
                about.get_or_insert_with(|| read.unwrap_or_default());
                again = Instant::now() + UNHEARD;
            }
            // Kernels of old say nothing of subscriptions; that they are busy for us proves as much.
            (Channel::Iopub, "status") if is_answer => is_heard = true,
            (Channel::Iopub, "iopub_welcome") => {
                is_heard |= is_welcome(&message, &lines.output.topic);
            }
            _ => {}
        }
    }
}

/// Only the first who subscribes to a topic is welcomed, so the one that counts is that of our own topic.
fn is_welcome(message: &Message, topic: &str) -> bool {
    #[derive(Deserialize)]
    struct Welcome {
        subscription: String,
    }
    serde_json::from_slice::<Welcome>(&message.content).is_ok_and(|it| it.subscription == topic)
}

/// Runs code that is nobody's cell, to its end.
pub(crate) async fn run_at_start(
    lines: &mut Lines,
    speaker: &Speaker,
    code: &str,
) -> Result<Beginning, Unmet> {
    #[derive(Deserialize)]
    struct Reply {
        status: String,
        #[serde(default)]
        ename: String,
        #[serde(default)]
        evalue: String,
    }
    let content = json!({"code": code, "silent": true, "store_history": false,
        "user_expressions": {}, "allow_stdin": false, "stop_on_error": false});
    let request = speaker.request(Channel::Shell, "execute_request", &content);
    let mut beginning = Beginning::until(&request);
    loop {
        let (channel, frames) = tokio::select! {
            frames = lines.shell.next() => (Channel::Shell, frames.map_err(|_| Unmet::Closed)?),
            // What it says meanwhile is nobody's.
            frames = lines.output.next() => match frames.ok_or(Unmet::Closed)? {
                Ok(frames) => (Channel::Iopub, frames),
                Err(_) => continue,
            },
        };
        let Ok(message) = lines.decode(channel, &frames) else { continue };
        beginning.heard(channel, &message);
        if channel != Channel::Shell
            || message.header.msg_type != "execute_reply"
            || !message.is_of(&request)
        {
            continue;
        }
        return match serde_json::from_slice(&message.content) {
            Ok(Reply { status, .. }) if status == "ok" => Ok(beginning),
            Ok(Reply { ename, evalue, .. }) => Err(Unmet::Startup { name: ename, value: evalue }),
            Err(_) => Err(Unmet::Closed),
        };
    }
}
