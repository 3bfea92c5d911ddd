//! A kernel on a gateway during the handshake: the voice of its process, and the gateway's report
//! of its end.
//!
//! `jupyter/handshake.rs` decides when the kernel is ready.

use std::time::Duration;

use crate::gateway::identity::KernelIdentity;
use crate::gateway::link::loss;
use crate::gateway::talk::Talk;
use crate::jupyter::handshake::{MeetError, Newcomer};
use crate::jupyter::message::{Channel, Message, Speak};

pub(crate) struct GatewayNewcomer<'a> {
    pub(crate) talk: &'a Talk,
    pub(crate) identity: KernelIdentity,
}

impl Newcomer for GatewayNewcomer<'_> {
    const UNANSWERED: Duration = Duration::from_secs(2);
    const UNHEARD: Duration = Duration::from_secs(2);

    fn speaker(&self) -> &impl Speak {
        self.talk
    }

    async fn next(&mut self) -> Result<Option<(Channel, Message)>, MeetError> {
        let Some(read) = self.talk.next().await else {
            return Err(MeetError::Closed(self.talk.why()));
        };
        // A malformed frame says nothing about the kernel.
        let Ok((channel, message)) = read else { return Ok(None) };
        match loss::death_on(channel, &message) {
            Some(problem) => Err(MeetError::Died(problem)),
            None => Ok(Some((channel, message))),
        }
    }

    fn learn(&mut self, message: &Message) {
        self.identity.learn(message);
    }
}
