//! The identity of a kernel's process: messages of a successor arrive on the same connection.
//!
//! Owns how the two are told apart: by the session id in each process's own messages. Other modules
//! decide what follows.

use crate::jupyter::message::Message;

/// Session id of a kernel's process, if it has a stable one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KernelIdentity {
    /// Our own session id, which some kernels send back as if it were theirs.
    ours: String,
    theirs: Theirs,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Theirs {
    Unheard,
    /// Heard once. Not enough, because some kernels use a new id for each message.
    Once(String),
    Known(String),
    /// This kernel has no stable session id.
    None,
}

impl KernelIdentity {
    /// Creates an identity that has heard no message yet; `ours` is our session id.
    pub(crate) fn new(ours: &str) -> KernelIdentity {
        KernelIdentity { ours: ours.to_owned(), theirs: Theirs::Unheard }
    }

    /// Learns from a message that is known to come from the kernel.
    pub(crate) fn learn(&mut self, message: &Message) {
        let name = &message.header.session;
        self.theirs = match std::mem::replace(&mut self.theirs, Theirs::None) {
            _ if name.is_empty() || *name == self.ours => Theirs::None,
            Theirs::Unheard => Theirs::Once(name.clone()),
            Theirs::Once(known) | Theirs::Known(known) if known == *name => Theirs::Known(known),
            _ => Theirs::None,
        };
    }

    /// Returns `true` if another process has sent this message. For kernels without a stable
    /// session id, returns `false`.
    pub(crate) fn is_another(&self, message: &Message) -> bool {
        let name = &message.header.session;
        let is_name = !name.is_empty() && *name != self.ours;
        matches!(&self.theirs, Theirs::Known(known) if is_name && known != name)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    fn from(session: &str) -> Message {
        let header = json!({"msg_id": "a", "msg_type": "status", "session": session});
        let empty = Bytes::from_static(b"{}");
        Message::from_parts(&Bytes::from(header.to_string()), &empty, &empty).unwrap()
    }

    fn identity(heard: &[&str]) -> KernelIdentity {
        let mut identity = KernelIdentity::new("me");
        for session in heard {
            identity.learn(&from(session));
        }
        identity
    }

    #[test]
    fn a_process_is_known_by_its_name() {
        let known = identity(&["first", "first", "first"]);
        assert!(!known.is_another(&from("first")));
        assert!(known.is_another(&from("second")));
        // Without a sender's id, a message may come from any process.
        assert!(!known.is_another(&from("")) && !known.is_another(&from("me")));
    }

    /// Some kernels repeat the client's session id, or invent one for each message.
    #[test]
    fn kernels_without_a_name_are_never_another() {
        for heard in [&[][..], &["first"], &["first", "second", "second"], &["me", "me"], &["", ""]]
        {
            assert!(!identity(heard).is_another(&from("other")), "{heard:?}");
        }
        assert!(!identity(&["first", "first", "me"]).is_another(&from("other")));
    }
}
