//! Which process speaks: one that takes the place of another is heard on the same connection.
//!
//! Owns how they are told apart, by the name that a kernel's process gives itself in what it sends. What follows from
//! that is for others.

use crate::jupyter::message::Message;

/// A kernel's name for itself, as far as it has one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Voice {
    /// Ours, which some kernels send back as if it were theirs.
    ours: String,
    theirs: Theirs,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Theirs {
    Unheard,
    /// Once is not enough: it may be another each time.
    Once(String),
    Known(String),
    /// This kernel has none.
    None,
}

impl Voice {
    /// Nothing was heard yet by the one of this name.
    pub(crate) fn new(ours: &str) -> Voice {
        Voice { ours: ours.to_owned(), theirs: Theirs::Unheard }
    }

    /// Takes note of a message that the kernel is known to have sent.
    pub(crate) fn learn(&mut self, message: &Message) {
        let name = &message.header.session;
        self.theirs = match std::mem::replace(&mut self.theirs, Theirs::None) {
            _ if name.is_empty() || *name == self.ours => Theirs::None,
            Theirs::Unheard => Theirs::Once(name.clone()),
            Theirs::Once(known) | Theirs::Known(known) if known == *name => Theirs::Known(known),
            _ => Theirs::None,
        };
    }

    /// Whether another one has sent this. Of kernels that have no name for themselves nobody can say.
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

    fn voice(heard: &[&str]) -> Voice {
        let mut voice = Voice::new("me");
        for session in heard {
            voice.learn(&from(session));
        }
        voice
    }

    #[test]
    fn a_process_is_known_by_its_name() {
        let known = voice(&["first", "first", "first"]);
        assert!(!known.is_another(&from("first")));
        assert!(known.is_another(&from("second")));
        // Nobody said who they are.
        assert!(!known.is_another(&from("")) && !known.is_another(&from("me")));
    }

    /// Some kernels repeat whoever asked, or invent a name for each message.
    #[test]
    fn kernels_without_a_name_are_never_another() {
        for heard in [&[][..], &["first"], &["first", "second", "second"], &["me", "me"], &["", ""]]
        {
            assert!(!voice(heard).is_another(&from("other")), "{heard:?}");
        }
        assert!(!voice(&["first", "first", "me"]).is_another(&from("other")));
    }
}
