//! The handshake with a kernel: its identity, a working output channel, and its startup code.
//!
//! Owns the moment at which a kernel is ready: it has answered, and its output is known to reach
//! us. Output from before that belongs to no cell. Callers set time limits.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::jupyter::content;
use crate::jupyter::message::{Channel, Message, Speak};

/// A kernel's answer to `kernel_info_request`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
pub(crate) struct About {
    #[serde(default)]
    pub(crate) language_info: Language,
}

impl About {
    /// Returns `true` if the kernel runs Python.
    pub(crate) fn is_python(&self) -> bool {
        self.language_info.name.eq_ignore_ascii_case("python")
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
pub(crate) struct Language {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) version: String,
}

/// Progress of a kernel's start.
///
/// Output during the start belongs to no cell: warnings of loaded modules, output of the startup
/// code. Replies and output come on different channels, and a reply may overtake output. Only the
/// next idle status proves that all earlier output has arrived.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum StartPhase {
    Until {
        request: String,
    },
    #[default]
    Over,
}

impl StartPhase {
    /// Returns a start that lasts until this request is over.
    pub(crate) fn until(request: &str) -> StartPhase {
        StartPhase::Until { request: request.to_owned() }
    }

    pub(crate) fn is_over(&self) -> bool {
        *self == StartPhase::Over
    }

    /// Ends the start if the message is the idle status of its request.
    pub(crate) fn note(&mut self, channel: Channel, message: &Message) {
        if let StartPhase::Until { request } = self
            && channel == Channel::Iopub
            && message.is_of(request)
            && message.header.msg_type == "status"
            && content::state(&message.content).is_ok_and(|state| state == "idle")
        {
            *self = StartPhase::Over;
        }
    }
}

/// Reason why the handshake failed.
#[derive(Debug)]
pub(crate) enum MeetError {
    /// The connection ended before any code was run.
    Closed(String),
    /// The connection ended later, so it is unknown which code has run.
    Lost(String),
    /// The gateway reports that the kernel is gone.
    Died(&'static str),
    /// The startup code raised this exception.
    Startup { name: String, value: String },
}

/// A kernel during the handshake.
pub(crate) trait Newcomer: Send {
    /// Time after which an unanswered question is asked again.
    const UNANSWERED: Duration;

    /// Time after which a question is asked again whose answer came while no output was heard.
    const UNHEARD: Duration;

    /// Returns the sender of messages.
    fn speaker(&self) -> &impl Speak;

    /// Returns the next message of the kernel, or `None` if it cannot be read. Cancel-safe.
    fn next(
        &mut self,
    ) -> impl Future<Output = Result<Option<(Channel, Message)>, MeetError>> + Send;

    /// Called with each answer to our questions, which is known to be the kernel's own.
    fn learn(&mut self, _: &Message) {}

    /// Returns `true` if a message welcomes us as the only subscriber to its topic.
    fn is_welcome(&self, _: &Message) -> bool {
        false
    }
}

fn ask(newcomer: &impl Newcomer) -> String {
    newcomer.speaker().request(Channel::Shell, "kernel_info_request", &json!({}))
}

/// Waits until a kernel answers and its output is heard.
pub(crate) async fn meet<N: Newcomer>(newcomer: &mut N) -> Result<(About, StartPhase), MeetError> {
    let mut asked = vec![ask(newcomer)];
    let mut again = Instant::now() + N::UNANSWERED;
    let (mut about, mut is_heard) = (None, false);
    let mut start_phase = StartPhase::until(&asked[0]);
    loop {
        if is_heard && let Some(about) = about {
            return Ok((about, start_phase));
        }
        let read = tokio::select! {
            read = newcomer.next() => read?,
            () = tokio::time::sleep_until(again) => {
                let request = ask(newcomer);
                // The earlier question may be lost.
                if !start_phase.is_over() {
                    start_phase = StartPhase::until(&request);
                }
                asked.push(request);
                let wait = if about.is_some() { N::UNHEARD } else { N::UNANSWERED };
                again = Instant::now() + wait;
                continue;
            }
        };
        let Some((channel, message)) = read else { continue };
        start_phase.note(channel, &message);
        let is_answer = asked.iter().any(|request| message.is_of(request));
        match (channel, message.header.msg_type.as_str()) {
            (Channel::Shell, "kernel_info_reply") if is_answer => {
                let read = serde_json::from_slice(&message.content);
                about.get_or_insert_with(|| read.unwrap_or_default());
                if N::UNHEARD < N::UNANSWERED {
                    again = Instant::now() + N::UNHEARD;
                }
                newcomer.learn(&message);
            }
            // Old kernels do not confirm subscriptions; a busy status for our request proves the
            // same.
            (Channel::Iopub, "status") if is_answer => {
                is_heard = true;
                newcomer.learn(&message);
            }
            (Channel::Iopub, "iopub_welcome") => is_heard |= newcomer.is_welcome(&message),
            _ => {}
        }
    }
}

/// Runs code outside any cell to its end. Returns the value of `expression` after it, as text.
pub(crate) async fn run_at_start(
    newcomer: &mut impl Newcomer,
    code: &str,
    expression: Option<&str>,
) -> Result<(String, StartPhase), MeetError> {
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
    let expressions = expression.map_or_else(|| json!({}), |expression| json!({"it": expression}));
    let content = json!({"code": code, "silent": true, "store_history": false,
        "user_expressions": expressions, "allow_stdin": false, "stop_on_error": false});
    let request = newcomer.speaker().request(Channel::Shell, "execute_request", &content);
    let mut start_phase = StartPhase::until(&request);
    loop {
        let read = newcomer.next().await.map_err(|unmet| match unmet {
            MeetError::Closed(reason) => MeetError::Lost(reason),
            unmet => unmet,
        });
        let Some((channel, message)) = read? else { continue };
        start_phase.note(channel, &message);
        if channel != Channel::Shell
            || message.header.msg_type != "execute_reply"
            || !message.is_of(&request)
        {
            continue;
        }
        return match serde_json::from_slice(&message.content) {
            Ok(Reply { status, user_expressions, .. }) if status == "ok" => {
                let text = user_expressions["it"]["data"]["text/plain"].as_str();
                Ok((text.unwrap_or("").to_owned(), start_phase))
            }
            Ok(Reply { ename, evalue, .. }) => {
                Err(MeetError::Startup { name: ename, value: evalue })
            }
            Err(error) => Err(MeetError::Lost(error.to_string())),
        };
    }
}
