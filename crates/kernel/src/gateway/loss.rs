//! What is lost on the way: connections, output beyond a gateway's limits, kernels that a gateway restarts.
//!
//! Owns how each is known, how long a connection is tried to be had again, and what is said of it. What runs is in
//! `pump.rs`.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use crate::event::DeathCause;
use crate::gateway::error::{GatewayError, Refused};
use crate::gateway::fence::Why;
use crate::gateway::handle::Post;
use crate::gateway::near::is_over;
use crate::gateway::pump::{Pump, State};
use crate::gateway::rest::Presence;
use crate::gateway::talk::Talk;
use crate::jupyter::fold::Channel;
use crate::jupyter::message::Message;

/// How long a gateway whose machine says that nobody listens is given to come back.
const RESTARTED: Duration = Duration::from_millis(1200);

/// How long one is tried that cannot be reached.
const AWAY: Duration = Duration::from_secs(30);

/// How long one is tried while nobody wants anything of the kernel, and how often.
const UNUSED: Duration = Duration::from_secs(600);
const NOW_AND_THEN: Duration = Duration::from_secs(1);

/// How long a server may take to notice that a connection is gone.
const NOTICED: Duration = Duration::from_millis(250);

/// How soon it is tried again.
const AGAIN: Duration = Duration::from_millis(200);

/// How long one try may take.
const TRY: Duration = Duration::from_secs(5);

/// What is said about output that a server dropped.
pub(crate) const LIMIT: &str = "the gateway dropped output because it came faster than its limits allow; \
    what is shown is not all. Raise ServerApp.iopub_data_rate_limit and iopub_msg_rate_limit there.";

/// What is said about a cell whose reply was lost.
const UNKNOWN: &str = "the connection to the gateway was lost while the cell ran; whether it succeeded is not \
    known, and output may be incomplete";

/// What is said of a kernel whose gateway has a new one under its name.
const REPLACED: &str = "died, and its gateway started another in its place";

/// How a kernel ended whose process is gone.
pub(crate) const EXITED: &str = "ended on its gateway, which does not say why";

/// Whether this is a server's word that it drops output.
pub(crate) fn is_limit(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    text.starts_with(b"IOPub data rate exceeded")
        || text.starts_with(b"IOPub message rate exceeded")
}

/// The same as a message, which is the server's own.
fn says_limit(message: &Message) -> bool {
    #[derive(Deserialize)]
    struct Stream {
        text: String,
    }
    message.header.msg_type == "stream"
        && serde_json::from_slice(&message.content)
            .is_ok_and(|stream: Stream| is_limit(stream.text.as_bytes()))
}

/// Why the kernel is gone, if this says so.
pub(crate) fn death_on(channel: Channel, message: &Message) -> Option<&'static str> {
    if channel == Channel::Iopub { death(message) } else { None }
}

/// Whether it is about a request, whoever made that.
fn belongs(message: &Message) -> bool {
    message.parent.as_ref().is_some_and(|parent| !parent.msg_id.is_empty())
}

/// Such a message belongs to no request.
fn death(message: &Message) -> Option<&'static str> {
    #[derive(Deserialize)]
    struct Status {
        execution_state: String,
    }
    if message.header.msg_type != "status" || belongs(message) {
        return None;
    }
    let status: Status = serde_json::from_slice(&message.content).ok()?;
    match status.execution_state.as_str() {
        "restarting" | "autorestarting" => Some(REPLACED),
        "dead" => Some("died on its gateway"),
        _ => None,
    }
}

/// Whose word a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Judged {
    /// The kernel's, or its gateway's about it.
    OfTheKernel,
    /// That of a process which has taken its place.
    OfAnother,
    /// It says that the kernel is gone, and how.
    Death(&'static str),
}

impl State {
    /// A gateway puts a new process in the place of one that died, and what that says while it starts comes to us as
    /// well, before or behind the gateway's word of it.
    pub(crate) fn judge(&self, channel: Channel, message: &Message) -> Judged {
        if let Some(problem) = death_on(channel, message) {
            return Judged::Death(problem);
        }
        let kind = message.header.msg_type.as_str();
        let is_another = self.voice.is_another(message);
        match channel {
            // No gateway makes these by itself.
            Channel::Shell if is_another => Judged::Death(REPLACED),
            Channel::Iopub if is_another && kind == "status" => Judged::Death(REPLACED),
            Channel::Iopub if belongs(message) || says_limit(message) => Judged::OfTheKernel,
            Channel::Iopub if is_another || self.is_gone => Judged::OfAnother,
            _ => Judged::OfTheKernel,
        }
    }
}

impl Pump {
    /// The connection is gone; the kernel need not be.
    pub(crate) async fn regain(&mut self) -> Option<DeathCause> {
        let why = self.talk.why();
        let is_open = self.state.fold.is_running() || self.state.asking.is_some();
        let mut posted = Vec::new();
        match self.try_again(&why, is_open, &mut posted).await {
            Regained::Yes => {
                // What was to come behind others on the old connection will not come.
                (self.state.fence, self.state.probe) = (None, None);
                if is_open {
                    let notice =
                        format!("the connection to the gateway was lost for a moment ({why})");
                    self.notice(notice).await;
                    self.raise_fence(Why::Loss(UNKNOWN.to_owned()));
                    // The message that a cell has begun may be lost too.
                    if self.state.fold.is_running() {
                        self.begin_cell();
                    }
                }
                self.rearm();
                for post in posted {
                    let cause = self.post(post).await;
                    if cause.is_some() {
                        return cause;
                    }
                }
                None
            }
            Regained::No(cause) => Some(cause),
        }
    }

    /// Tries until the kernel is had again, or is known to be gone, or nobody can wait any longer. What is posted
    /// meanwhile waits, but for what ends the kernel.
    async fn try_again(&mut self, why: &str, is_open: bool, posted: &mut Vec<Post>) -> Regained {
        let (mut is_awaited, mut since) = (is_open, Instant::now());
        // Only a server that has noticed the loss itself keeps for us what comes meanwhile.
        let mut pause = NOTICED;
        loop {
            let attempted = {
                let attempting = attempt(&mut self.talk, pause);
                tokio::pin!(attempting);
                loop {
                    let post = tokio::select! {
                        attempted = &mut attempting => break attempted,
                        () = self.intent.stop.cancelled() => {
                            return Regained::No(DeathCause::Shutdown);
                        }
                        () = is_over(self.near.as_ref()) => {
                            let outcome = unknown(is_open);
                            let problem = format!(
                                "ended while its gateway was out of reach ({why}){outcome}"
                            );
                            return Regained::No(self.state.ended(&problem));
                        }
                        post = self.posts.recv() => post,
                    };
                    match post {
                        // What ends the kernel must not wait for a gateway that may be gone.
                        Some(Post::Force(force)) => {
                            let near = self.near.as_ref();
                            if let Some(cause) = self.state.force(force, near, &mut self.ending) {
                                return Regained::No(cause);
                            }
                        }
                        Some(post) => {
                            if !std::mem::replace(&mut is_awaited, true) {
                                since = Instant::now();
                            }
                            posted.push(post);
                        }
                        None => return Regained::No(DeathCause::Shutdown),
                    }
                }
            };
            let problem = match attempted {
                Ok(Presence::There) => return Regained::Yes,
                Ok(Presence::Gone) => {
                    return Regained::No(self.state.ended("was removed by its gateway"));
                }
                Err(problem) => problem,
            };
            let is_near = self.near.is_some();
            if since.elapsed() >= patience(&problem, is_awaited, is_near) {
                self.ending.abandon();
                let outcome = unknown(is_open);
                return Regained::No(self.state.ended(&format!(
                    "is out of reach, as is its gateway ({why}; {problem}){outcome}"
                )));
            }
            pause = if is_awaited { AGAIN } else { NOW_AND_THEN };
        }
    }
}

/// What became of a connection that was lost.
enum Regained {
    Yes,
    No(DeathCause),
}

/// How long a kernel is tried to be had again after this. What refuses us now may be a gateway that is gone, or the
/// way to one that is not; a process that we see live speaks for the second.
fn patience(problem: &GatewayError, is_awaited: bool, is_near: bool) -> Duration {
    match problem {
        // Nothing will change by itself.
        GatewayError::Authentication { .. }
        | GatewayError::Redirect { .. }
        | GatewayError::Nonsense { .. } => Duration::ZERO,
        _ if !is_awaited => UNUSED,
        GatewayError::Unreachable { refused: Refused::Yes, .. } if !is_near => RESTARTED,
        _ => AWAY,
    }
}

/// What is said of a cell when its kernel is lost together with whoever could tell.
fn unknown(is_open: bool) -> &'static str {
    if is_open { "; the outcome of the cell is unknown" } else { "" }
}

/// Opens a connection anew, after a pause, if the kernel is still there.
async fn attempt(talk: &mut Talk, pause: Duration) -> Result<Presence, GatewayError> {
    tokio::time::sleep(pause).await;
    let presence = talk.rest.has(&talk.id, TRY).await?;
    if presence == Presence::There {
        match talk.reopen(TRY).await {
            Err(GatewayError::Status { status: 404, .. }) => return Ok(Presence::Gone),
            opened => opened?,
        }
    }
    Ok(presence)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    fn status(state: &str, parent: &serde_json::Value) -> Message {
        let header = Bytes::from(json!({"msg_id": "a", "msg_type": "status"}).to_string());
        let content = Bytes::from(json!({"execution_state": state}).to_string());
        Message::from_parts(&header, &Bytes::from(parent.to_string()), &content).unwrap()
    }

    #[test]
    fn a_death_belongs_to_nobody() {
        for state in ["restarting", "autorestarting", "dead"] {
            assert!(death(&status(state, &json!({}))).is_some(), "{state}");
            assert!(death(&status(state, &json!({"msg_id": "mine"}))).is_none(), "{state}");
        }
        assert!(death(&status("idle", &json!({}))).is_none());
    }

    #[test]
    fn the_words_of_a_server_that_drops_output_are_known() {
        assert!(is_limit(b"\n                    IOPub data rate exceeded.\n The Jupyter"));
        assert!(is_limit(b"IOPub message rate exceeded.\n"));
        assert!(!is_limit(b"a word about IOPub data rate exceeded"));
    }

    /// F-110 F-111: a gateway that is gone is told soon; a kernel that nobody uses now, or that is seen to live, is
    /// waited for.
    #[test]
    fn how_long_is_tried_depends_on_who_waits() {
        let whose = crate::gateway::error::Whose::External;
        let at = crate::gateway::error::Named { whose, url: String::new() };
        let refused = |refused| {
            let (at, reason) = (at.clone(), String::new());
            GatewayError::Unreachable { at, reason, refused }
        };
        let closed = refused(Refused::Yes);
        assert!(patience(&closed, true, false) < Duration::from_secs(2));
        assert!(patience(&closed, true, true) >= Duration::from_secs(30));
        assert!(patience(&closed, false, false) >= Duration::from_secs(300));
        assert!(patience(&refused(Refused::Unknown), true, false) >= Duration::from_secs(30));
        let what = String::new();
        let nonsense = GatewayError::Nonsense { at: at.clone(), what };
        assert_eq!(patience(&nonsense, false, true), Duration::ZERO);
    }
}
