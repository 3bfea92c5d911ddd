//! Replies that do not come: taken away by an interrupt, or lost with a connection.
//!
//! Owns the proof that a request is over without its reply, and the report of that. `pump.rs` runs
//! the kernel.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::{Link, Pump};
use crate::event::KernelEvent;
use crate::jupyter::ask::{Asking, Behind};
use crate::jupyter::fold::Wait;
use crate::jupyter::guest::Guest;
use crate::jupyter::message::Message;
use crate::question::Answer;

/// Longest wait for the idle status of a kernel that has answered a later request.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Longest wait for the echo of a probe after the last sign of life. A gateway that passes on a
/// flood is slow.
const ECHO: Duration = Duration::from_secs(30);

/// A request behind open work. Its answer proves that this work is over, even if no reply was
/// heard.
pub(crate) struct Fence {
    request: String,
    behind: Behind,
    why: Why,
}

/// Possible reason for a missing reply.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Why {
    Interrupt,
    Loss(String),
}

impl<L: Link> Pump<L> {
    /// Sends a request behind the open work. Requests are answered in order, so its answer means
    /// that this work is over.
    pub(crate) fn raise_fence(&mut self, why: Why) {
        let behind = Behind::what(&self.fold, self.asking.as_ref());
        // Not every kernel answers in order, but after a loss there is no other way to know.
        let is_known = self.guest == Guest::Present;
        let is_lost = matches!(why, Why::Loss(_));
        if let Some(behind) = behind
            && (is_lost || (is_known && self.fence.is_none()))
        {
            let request = self.request("kernel_info_request", &json!({}));
            self.fence = Some(Fence { request, behind, why });
        }
    }

    /// Ends the work behind the fence, if this message answers the fence.
    pub(super) async fn pass_fence(&mut self, message: &Message) {
        let fence = self.fence.take_if(|fence| message.is_of(&fence.request));
        let Some(fence) = fence else { return };
        match fence.behind {
            Behind::Execution(request) if self.fold.running() == Some(request.as_str()) => {
                match fence.why {
                    Why::Interrupt => {
                        let effects = self.fold.passed();
                        self.apply(effects).await;
                    }
                    Why::Loss(why) => self.lost = Some((Instant::now() + LAST_WORD, why)),
                }
            }
            Behind::Question(id) if self.asking.take_if(|it| it.id == id).is_some() => {
                let answer = match fence.why {
                    Why::Interrupt => Asking::interrupted(),
                    Why::Loss(why) => Answer::Failed(format!("The answer was lost: {why}")),
                };
                self.send(KernelEvent::Answer { id, answer }).await;
            }
            Behind::Execution(_) | Behind::Question(_) => {}
        }
    }

    /// Settles an execution whose reply was lost, perhaps with earlier output. An error that was
    /// heard proves how the code ended; without one the outcome is unknown.
    pub(super) async fn settle(&mut self) {
        let Some((until, why)) = &self.lost else { return };
        let effects = match self.fold.awaited() {
            _ if !self.fold.is_running() => Vec::new(),
            Some(Wait::Reply) if self.fold.has_failed() => self.fold.gave_up(),
            _ if Instant::now() >= *until => self.fold.lost(why),
            _ => return,
        };
        self.lost = None;
        self.apply(effects).await;
    }

    /// Handles the deadline, unless a part of a long message has arrived meanwhile.
    ///
    /// Where replies overtake output, a kernel without an idle status gets a probe first: the
    /// status that it publishes about the probe follows its output.
    pub(super) async fn late(&mut self) {
        let reads = self.link.reads();
        if self.deadline.take().is_some_and(|(_, before)| before == reads) {
            if self.lost.is_some() {
                self.settle().await;
            } else if self.needs_probe() {
                self.probe = Some(self.request("kernel_info_request", &json!({})));
            } else {
                let effects = self.fold.gave_up();
                self.apply(effects).await;
            }
        }
        self.rearm();
    }

    fn needs_probe(&self) -> bool {
        let is_late = self.fold.awaited() == Some(Wait::Idle);
        L::REPLIES_OVERTAKE && is_late && self.probe.is_none()
    }

    /// Ends the execution at the echo of a probe, after which no output follows.
    pub(super) async fn pass_probe(&mut self, message: &Message) {
        if self.probe.as_ref().is_some_and(|probe| message.is_of(probe)) {
            self.probe = None;
            if self.fold.awaited() == Some(Wait::Idle) {
                let effects = self.fold.gave_up();
                self.apply(effects).await;
            }
        }
    }

    /// Restarts the time for the missing part, on every sign of life.
    pub(crate) fn rearm(&mut self) {
        let reads = self.link.reads();
        if let Some((until, _)) = &self.lost {
            self.deadline = Some((*until, reads));
            return;
        }
        let limit = match self.fold.awaited() {
            Some(Wait::Idle) if self.probe.is_some() => Some(ECHO),
            wait => wait.map(Wait::limit),
        };
        self.deadline = limit.map(|limit| (Instant::now() + limit, reads));
    }
}
