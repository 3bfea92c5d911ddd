//! Replies that do not come: taken away by an interrupt, or lost with a connection.
//!
//! Owns how it is known that what was asked is over although nobody said so, and what is said then. What runs
//! is in `pump.rs`.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::event::KernelEvent;
use crate::gateway::pump::Pump;
use crate::jupyter::ask::{Asking, Behind};
use crate::jupyter::fold::{Channel, Wait};
use crate::jupyter::guest::Guest;
use crate::jupyter::message::Message;
use crate::jupyter::speak::Speak as _;
use crate::question::Answer;

/// How long it may take to hear that a kernel is idle that has answered since.
const LAST_WORD: Duration = Duration::from_secs(1);

/// How long the echo of a probe may take after the last sign of life: a gateway that passes a flood on is slow.
const ECHO: Duration = Duration::from_secs(30);

/// A request behind others: when it is answered, those are over, whether we heard it or not.
pub(crate) struct Fence {
    pub(crate) request: String,
    behind: Behind,
    why: Why,
}

/// What may have taken a reply away.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Why {
    Interrupt,
    Loss(String),
}

impl Pump {
    /// Requests are answered in order, so one that is sent now is answered when what is open is over.
    pub(crate) fn raise_fence(&mut self, why: Why) {
        let state = &mut self.state;
        let behind = Behind::what(&state.fold, state.asking.as_ref());
        // Not every kernel answers in order; after a loss there is no other way to know.
        let is_known = self.guest == Guest::Present;
        let is_lost = matches!(why, Why::Loss(_));
        if let Some(behind) = behind
            && (is_lost || (is_known && state.fence.is_none()))
        {
            let request = self.talk.request(Channel::Shell, "kernel_info_request", &json!({}));
            state.fence = Some(Fence { request, behind, why });
        }
    }

    pub(crate) async fn pass_fence(&mut self) {
        let Some(fence) = self.state.fence.take() else { return };
        match fence.behind {
            Behind::Execution(request) if self.state.fold.running() == Some(request.as_str()) => {
                match fence.why {
                    Why::Interrupt => {
                        let effects = self.state.fold.passed();
                        self.apply(effects).await;
                    }
                    Why::Loss(why) => self.state.lost = Some((Instant::now() + LAST_WORD, why)),
                }
            }
            Behind::Question(id) if self.state.asking.take_if(|it| it.id == id).is_some() => {
                let answer = match fence.why {
                    Why::Interrupt => Asking::interrupted(),
                    Why::Loss(why) => Answer::Failed(format!("The answer was lost: {why}")),
                };
                self.send(KernelEvent::Answer { id, answer }).await;
            }
            Behind::Execution(_) | Behind::Question(_) => {}
        }
    }

    /// A reply was lost, and with it perhaps what was published before. An error that was heard is proof of how the
    /// code ended; else nobody knows.
    pub(crate) async fn settle(&mut self) {
        let Some((until, why)) = &self.state.lost else { return };
        let effects = match self.state.fold.awaited() {
            _ if !self.state.fold.is_running() => Vec::new(),
            Some(Wait::Reply) if self.state.fold.has_failed() => self.state.fold.gave_up(),
            _ if Instant::now() >= *until => self.state.fold.lost(why),
            _ => return,
        };
        self.state.lost = None;
        self.apply(effects).await;
    }

    /// What was awaited has not come. A gateway sends replies ahead of a flood of output, so a kernel that is not
    /// known to be idle is asked something first: what it publishes about that comes behind its output.
    pub(crate) async fn late(&mut self) {
        if self.state.lost.is_some() {
            self.settle().await;
        } else if self.state.fold.awaited() == Some(Wait::Idle) && self.state.probe.is_none() {
            let request = self.talk.request(Channel::Shell, "kernel_info_request", &json!({}));
            self.state.probe = Some(request);
        } else {
            let effects = self.state.fold.gave_up();
            self.apply(effects).await;
        }
        self.rearm();
    }

    /// Behind the echo of a probe nothing is left to come.
    pub(crate) async fn pass_probe(&mut self, message: &Message) {
        if self.state.probe.as_ref().is_some_and(|probe| message.is_of(probe)) {
            self.state.probe = None;
            if self.state.fold.awaited() == Some(Wait::Idle) {
                let effects = self.state.fold.gave_up();
                self.apply(effects).await;
            }
        }
    }

    /// The time for what is missing begins anew with everything that comes.
    pub(crate) fn rearm(&mut self) {
        if let Some((until, _)) = &self.state.lost {
            self.state.deadline = Some(*until);
            return;
        }
        let limit = match self.state.fold.awaited() {
            Some(Wait::Idle) if self.state.probe.is_some() => Some(ECHO),
            wait => wait.map(Wait::limit),
        };
        self.state.deadline = limit.map(|limit| Instant::now() + limit);
    }
}
