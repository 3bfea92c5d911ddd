//! What a kernel says while it starts, which is nobody's: warnings of what it loads, what the code that it begins with
//! shows.
//!
//! Owns where that ends. Replies come on another channel than output and may overtake it, so an answer is no sign that
//! what was published before it was heard; only the word that the kernel is idle again is.

use crate::jupyter::content;
use crate::jupyter::fold::Channel;
use crate::jupyter::message::Message;

/// A request of a start, until all that was published before its end was heard.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum Beginning {
    Until {
        request: String,
    },
    #[default]
    Over,
}

impl Beginning {
    /// It lasts until this request is over.
    pub(crate) fn until(request: &str) -> Beginning {
        Beginning::Until { request: request.to_owned() }
    }

    pub(crate) fn is_over(&self) -> bool {
        *self == Beginning::Over
    }

    /// Takes note of a message.
    pub(crate) fn heard(&mut self, channel: Channel, message: &Message) {
        if let Beginning::Until { request } = self
            && channel == Channel::Iopub
            && message.is_of(request)
            && message.header.msg_type == "status"
            && content::state(&message.content).is_ok_and(|state| state == "idle")
        {
            *self = Beginning::Over;
        }
    }
}
