//! Losses on the way: connections, output beyond a gateway's limits, kernels that a gateway
//! restarts.
//!
//! Owns the signs of each loss, the time for reconnecting, and the messages about it.
//! `jupyter/pump.rs` runs the link.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use crate::error::gateway::{GatewayError, RefusalCause};
use crate::gateway::link::{GatewayEnd, GatewayLink, force};
use crate::gateway::local_process::is_over;
use crate::gateway::talk::Talk;
use crate::gateway::transport::rest::Presence;
use crate::jupyter::kernel::Post;
use crate::jupyter::message::{Channel, Message};
use crate::jupyter::pump::{Pump, Why};

/// Time for a gateway to come back whose machine refuses connections.
const RESTARTED: Duration = Duration::from_millis(1200);

/// Time for which an unreachable gateway is tried.
const AWAY: Duration = Duration::from_secs(30);

/// Time for which a gateway is tried while no request waits on the kernel, and the pause between
/// two tries.
const UNUSED: Duration = Duration::from_secs(600);
const NOW_AND_THEN: Duration = Duration::from_secs(1);

/// Time that a server may need to notice that a connection is gone.
const NOTICED: Duration = Duration::from_millis(250);

/// Pause between two tries while a request waits on the kernel.
const AGAIN: Duration = Duration::from_millis(200);

/// Time limit of one try.
const TRY: Duration = Duration::from_secs(5);

/// Message about output that a server dropped.
pub(crate) const LIMIT: &str = "the gateway dropped output because it came faster than its limits allow; \
    some of it is missing. Raise ServerApp.iopub_data_rate_limit and iopub_msg_rate_limit there.";

/// Message about a cell whose reply was lost.
const UNKNOWN: &str = "the connection to the gateway was lost while the cell ran; whether it succeeded is not \
    known, and output may be incomplete";

/// Message about a kernel that its gateway replaced under the same name.
const REPLACED: &str = "died, and its gateway started another in its place";

/// Message about a kernel whose process is gone.
pub(crate) const EXITED: &str = "ended on its gateway, which does not say why";

/// Returns `true` if the text is a server's notice that it drops output.
pub(crate) fn is_limit(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    text.starts_with(b"IOPub data rate exceeded")
        || text.starts_with(b"IOPub message rate exceeded")
}

/// Returns `true` if the message is such a notice, from the server itself.
fn says_limit(message: &Message) -> bool {
    #[derive(Deserialize)]
    struct Stream {
        text: String,
    }
    message.header.msg_type == "stream"
        && serde_json::from_slice(&message.content)
            .is_ok_and(|stream: Stream| is_limit(stream.text.as_bytes()))
}

/// Returns the way the kernel died, if this message reports its death.
pub(crate) fn death_on(channel: Channel, message: &Message) -> Option<&'static str> {
    if channel == Channel::Iopub { death(message) } else { None }
}

/// Returns `true` if the message belongs to a request of any client.
fn belongs(message: &Message) -> bool {
    message.parent.as_ref().is_some_and(|parent| !parent.msg_id.is_empty())
}

/// Reads a report of death, which never belongs to a request.
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

/// Origin of a message on a kernel's channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The kernel, or its gateway on behalf of the kernel.
    Kernel,
    /// A process that has taken the place of the kernel.
    Successor,
    /// A report that the kernel died, and how.
    Death(&'static str),
}

impl GatewayLink {
    /// Finds the origin of a message. A gateway replaces a process that died, and the messages of
    /// the new one at its start arrive here too, before or after the gateway's report.
    pub(crate) fn source(&self, channel: Channel, message: &Message) -> Source {
        if let Some(problem) = death_on(channel, message) {
            return Source::Death(problem);
        }
        let kind = message.header.msg_type.as_str();
        let is_another = self.identity.is_another(message);
        match channel {
            // No gateway sends these by itself.
            Channel::Shell if is_another => Source::Death(REPLACED),
            Channel::Iopub if is_another && kind == "status" => Source::Death(REPLACED),
            Channel::Iopub if belongs(message) || says_limit(message) => Source::Kernel,
            Channel::Iopub if is_another || self.is_gone => Source::Successor,
            _ => Source::Kernel,
        }
    }
}

impl Pump<GatewayLink> {
    /// Reconnects after a lost connection; the kernel may still live.
    pub(crate) async fn regain(&mut self) -> Option<GatewayEnd> {
        let why = self.link.talk.why();
        let is_open = self.fold.is_running() || self.asking.is_some();
        let mut posted = Vec::new();
        match self.try_again(&why, is_open, &mut posted).await {
            Reconnection::Yes => {
                // Markers sent on the old connection will not be answered.
                (self.fence, self.probe) = (None, None);
                if is_open {
                    let notice =
                        format!("the connection to the gateway was lost for a moment ({why})");
                    self.notice(notice).await;
                    self.raise_fence(Why::Loss(UNKNOWN.to_owned()));
                    // The message that a cell has begun may be lost too.
                    if self.fold.is_running() {
                        self.begin_cell();
                    }
                }
                self.rearm();
                for post in posted {
                    let end = self.post(post).await;
                    if end.is_some() {
                        return end;
                    }
                }
                None
            }
            Reconnection::No(end) => Some(end),
        }
    }

    /// Tries until the kernel is back, is known to be dead, or no caller can wait any longer. Posts
    /// wait meanwhile, except those that end the kernel.
    async fn try_again(
        &mut self,
        why: &str,
        is_open: bool,
        posted: &mut Vec<Post>,
    ) -> Reconnection {
        let (mut is_awaited, mut since) = (is_open, Instant::now());
        // A server keeps messages for us only after it has noticed the loss itself.
        let mut pause = NOTICED;
        loop {
            let attempted = {
                let attempting = attempt(&mut self.link.talk, pause);
                tokio::pin!(attempting);
                loop {
                    let post = tokio::select! {
                        attempted = &mut attempting => break attempted,
                        () = self.intent.stop.cancelled() => {
                            return Reconnection::No(GatewayEnd::Left);
                        }
                        () = is_over(self.link.local.as_ref()) => {
                            let outcome = unknown(is_open);
                            let problem = format!(
                                "ended while its gateway was out of reach ({why}){outcome}"
                            );
                            return Reconnection::No(GatewayEnd::Lost(problem));
                        }
                        post = self.posts.recv() => post,
                    };
                    let Some(post) = post else { return Reconnection::No(GatewayEnd::Left) };
                    // A forced end must not wait for a gateway that may be gone.
                    if let Post::Force(signal) = *post {
                        let local = self.link.local.as_ref();
                        if let Some(end) = force(signal, local, &mut self.link.ending) {
                            return Reconnection::No(end);
                        }
                        continue;
                    }
                    if !std::mem::replace(&mut is_awaited, true) {
                        since = Instant::now();
                    }
                    posted.push(*post);
                }
            };
            let problem = match attempted {
                Ok(Presence::There) => return Reconnection::Yes,
                Ok(Presence::Gone) => {
                    return Reconnection::No(GatewayEnd::Lost(
                        "was removed by its gateway".to_owned(),
                    ));
                }
                Err(problem) => problem,
            };
            let is_near = self.link.local.is_some();
            if since.elapsed() >= patience(&problem, is_awaited, is_near) {
                self.link.ending.abandon();
                let outcome = unknown(is_open);
                return Reconnection::No(GatewayEnd::Lost(format!(
                    "is out of reach, as is its gateway ({why}; {problem}){outcome}"
                )));
            }
            pause = if is_awaited { AGAIN } else { NOW_AND_THEN };
        }
    }
}

/// Outcome of reconnecting after a loss.
enum Reconnection {
    Yes,
    No(GatewayEnd),
}

/// Returns how long to keep trying after this problem. A refusal can mean that the gateway is gone,
/// or only the way to it; a visible process that lives speaks for the second.
fn patience(problem: &GatewayError, is_awaited: bool, is_near: bool) -> Duration {
    match problem {
        // This will not change by itself.
        GatewayError::Authentication { .. }
        | GatewayError::Redirect { .. }
        | GatewayError::Nonsense { .. } => Duration::ZERO,
        _ if !is_awaited => UNUSED,
        GatewayError::Unreachable { refused: RefusalCause::Yes, .. } if !is_near => RESTARTED,
        _ => AWAY,
    }
}

/// Returns the message for a cell when the kernel is lost together with the only source about its
/// outcome.
fn unknown(is_open: bool) -> &'static str {
    if is_open { "; the outcome of the cell is unknown" } else { "" }
}

/// Opens the connection again after a pause, if the kernel still exists.
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

    /// F-110 F-111: a gateway that is gone is reported soon. A kernel is waited for if it is unused
    /// now or visibly alive.
    #[test]
    fn how_long_is_tried_depends_on_who_waits() {
        let whose = crate::error::gateway::Whose::External;
        let at = crate::error::gateway::GatewayName { whose, url: String::new() };
        let refused = |refused| {
            let (at, reason) = (at.clone(), String::new());
            GatewayError::Unreachable { at, reason, refused }
        };
        let closed = refused(RefusalCause::Yes);
        assert!(patience(&closed, true, false) < Duration::from_secs(2));
        assert!(patience(&closed, true, true) >= Duration::from_secs(30));
        assert!(patience(&closed, false, false) >= Duration::from_secs(300));
        assert!(patience(&refused(RefusalCause::Unknown), true, false) >= Duration::from_secs(30));
        let what = String::new();
        let nonsense = GatewayError::Nonsense { at: at.clone(), what };
        assert_eq!(patience(&nonsense, false, true), Duration::ZERO);
    }
}
