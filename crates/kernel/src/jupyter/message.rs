//! Messages as Jupyter sends them: frames in, frames out.
//!
//! Owns the layout (identities, a delimiter, a signature, four JSON parts, buffers) and the header. The
//! JSON of what a message says stays text: whoever knows the type reads it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::jupyter::lenient;
use crate::jupyter::sign::{Checker, SignatureError, Signer};

/// Between where a message goes and what it is.
const DELIMITER: &[u8] = b"<IDS|MSG>";

/// The protocol that is spoken.
const VERSION: &str = "5.5";

/// One message.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Message {
    /// What it is.
    pub(crate) header: Header,
    /// The same as it was sent, for whoever answers it.
    pub(crate) raw_header: Bytes,
    /// What it belongs to, if anything.
    pub(crate) parent: Option<Header>,
    /// What it says: a JSON object.
    pub(crate) content: Bytes,
    /// Binary data that belongs to the content.
    pub(crate) buffers: Vec<Bytes>,
}

/// What a message is.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct Header {
    pub(crate) msg_id: String,
    /// Absent in the parents of some kernels.
    #[serde(default)]
    pub(crate) msg_type: String,
    /// Who sent it.
    #[serde(default)]
    pub(crate) session: String,
}

/// Why frames are no message that can be believed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MessageError {
    #[error("a message without its delimiter")]
    NoDelimiter,
    #[error("a message of {found} parts")]
    TooShort { found: usize },
    #[error("a message was refused: {0}")]
    Signature(#[from] SignatureError),
    #[error("a message whose header cannot be read: {0}")]
    Header(serde_json::Error),
}

impl Message {
    /// Reads frames whose signature is right.
    pub(crate) fn decode(frames: &[Bytes], checker: &mut Checker) -> Result<Message, MessageError> {
        let at = frames.iter().position(|frame| frame == DELIMITER);
        let rest = &frames[at.ok_or(MessageError::NoDelimiter)? + 1..];
        let [signature, header, parent, metadata, content, buffers @ ..] = rest else {
            return Err(MessageError::TooShort { found: rest.len() });
        };
        checker.check(signature, [header, parent, metadata, content])?;
        let message = Message::from_parts(header, parent, content)?;
        Ok(Message { buffers: buffers.to_vec(), ..message })
    }

    /// Reads the parts of a message whose signature is somebody else's business.
    pub(crate) fn from_parts(
        header: &Bytes,
        parent: &Bytes,
        content: &Bytes,
    ) -> Result<Message, MessageError> {
        let read = |part: &Bytes| -> Result<Header, _> {
            lenient::read(part, |text| serde_json::from_str(text))
        };
        Ok(Message {
            header: read(header).map_err(MessageError::Header)?,
            raw_header: header.clone(),
            // What belongs to nothing has an empty one; one that cannot be read is as good as that.
            parent: read(parent).ok(),
            content: content.clone(),
            buffers: Vec::new(),
        })
    }

    /// Whether it belongs to the request of this name.
    pub(crate) fn is_of(&self, request: &str) -> bool {
        self.parent.as_ref().is_some_and(|parent| parent.msg_id == request)
    }
}

/// One who sends messages: its name, its key, and how many it has sent.
pub(crate) struct Author {
    session: String,
    signer: Signer,
    sent: AtomicU64,
}

/// A message to be sent.
pub(crate) struct Outgoing {
    /// The name by which answers are known.
    pub(crate) id: String,
    pub(crate) frames: Vec<Bytes>,
}

impl Author {
    /// An author whose name nobody else has.
    pub(crate) fn new(session: String, signer: Signer) -> Author {
        Author { session, signer, sent: AtomicU64::new(0) }
    }

    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// A message that belongs to none.
    pub(crate) fn request(&self, kind: &str, content: &impl Serialize) -> Outgoing {
        self.message(kind, Bytes::from_static(b"{}"), &serde_json::Map::new(), content)
    }

    /// The same with metadata.
    pub(crate) fn request_with(
        &self,
        kind: &str,
        metadata: &impl Serialize,
        content: &impl Serialize,
    ) -> Outgoing {
        self.message(kind, Bytes::from_static(b"{}"), metadata, content)
    }

    /// A message that belongs to one with this header.
    pub(crate) fn reply(&self, kind: &str, parent: Bytes, content: &impl Serialize) -> Outgoing {
        self.message(kind, parent, &serde_json::Map::new(), content)
    }

    fn message(
        &self,
        kind: &str,
        parent: Bytes,
        metadata: &impl Serialize,
        content: &impl Serialize,
    ) -> Outgoing {
        let id = format!("{}_{}", self.session, self.sent.fetch_add(1, Ordering::Relaxed));
        let header = serde_json::json!({
            "msg_id": id,
            "msg_type": kind,
            "session": self.session,
            "username": "inkcell",
            "date": timestamp(SystemTime::now()),
            "version": VERSION,
        });
        let header = Bytes::from(header.to_string());
        // What we make ourselves always has a form in JSON.
        let metadata = Bytes::from(serde_json::to_vec(metadata).unwrap_or_default());
        let content = Bytes::from(serde_json::to_vec(content).unwrap_or_default());
        let signature = self.signer.sign([&header, &parent, &metadata, &content]);
        let signature = Bytes::from(signature);
        let delimiter = Bytes::from_static(DELIMITER);
        Outgoing { id, frames: vec![delimiter, signature, header, parent, metadata, content] }
    }
}

/// A moment as ISO 8601 has it, in UTC.
fn timestamp(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // The calendar repeats every 400 years; years begin in March here, so that leap days come last.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let year = era * 400 + year + carry;
    let micros = since.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn author() -> (Author, Checker) {
        let signer = Signer::new("key");
        (Author::new("me".to_owned(), signer.clone()), Checker::new(signer))
    }

    /// B:Z-05 B:Z-06
    #[test]
    fn what_is_sent_can_be_received() {
        let (author, mut checker) = author();
        let sent = author.request("execute_request", &serde_json::json!({"code": "1"}));
        let mut frames = vec![Bytes::from_static(b"who"), Bytes::from_static(b"else")];
        frames.extend(sent.frames);
        frames.push(Bytes::from_static(b"a buffer"));
        let read = Message::decode(&frames, &mut checker).unwrap();
        assert_eq!((read.header.msg_id.as_str(), read.header.session.as_str()), ("me_0", "me"));
        assert_eq!((read.header.msg_type.as_str(), read.parent), ("execute_request", None));
        assert_eq!(read.content, r#"{"code":"1"}"#);
        assert_eq!(read.buffers, [Bytes::from_static(b"a buffer")]);
        let header: serde_json::Value = serde_json::from_slice(&read.raw_header).unwrap();
        let names: Vec<&String> = header.as_object().unwrap().keys().collect();
        assert_eq!(names, ["msg_id", "msg_type", "session", "username", "date", "version"]);

        let reply = author.reply("input_reply", read.raw_header, &serde_json::json!({}));
        assert_eq!(reply.id, "me_1");
        let read = Message::decode(&reply.frames, &mut checker).unwrap();
        assert!(read.is_of("me_0") && !read.is_of("me_1"));
    }

    /// B:Z-05
    #[test]
    fn what_is_no_message_is_refused() {
        let (author, mut checker) = author();
        let whole = author.request("a", &serde_json::json!({})).frames;
        let mut refused = |frames: &[Bytes]| Message::decode(frames, &mut checker).unwrap_err();
        assert!(matches!(refused(&[]), MessageError::NoDelimiter));
        assert!(matches!(refused(&whole[1..]), MessageError::NoDelimiter));
        assert!(matches!(refused(&whole[..5]), MessageError::TooShort { found: 4 }));
        let mut forged = whole.clone();
        forged[5] = Bytes::from_static(b"{\"a\":1}");
        assert!(matches!(refused(&forged), MessageError::Signature(SignatureError::Wrong)));
        let mut unsigned = whole.clone();
        unsigned[1] = Bytes::new();
        assert!(matches!(refused(&unsigned), MessageError::Signature(SignatureError::Missing)));
        let parts: [&[u8]; 4] = [b"nonsense", b"{}", b"{}", b"{}"];
        let signature = Signer::new("key").sign(parts);
        let mut odd = vec![Bytes::from_static(DELIMITER), Bytes::from(signature)];
        odd.extend(parts.map(Bytes::from_static));
        assert!(matches!(refused(&odd), MessageError::Header(_)));
        assert!(Message::decode(&whole, &mut checker).is_ok());
    }

    #[test]
    fn moments_are_written_as_the_calendar_has_them() {
        let check = |seconds: u64, wanted: &str| {
            let moment = UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_micros(5);
            assert_eq!(timestamp(moment), format!("{wanted}.000005Z"));
        };
        check(0, "1970-01-01T00:00:00");
        check(951_782_399, "2000-02-28T23:59:59");
        check(951_868_799, "2000-02-29T23:59:59");
        check(1_709_251_199, "2024-02-29T23:59:59");
        check(1_735_689_600, "2025-01-01T00:00:00");
        check(4_107_542_400, "2100-03-01T00:00:00");
    }

    proptest! {
        /// B:Z-05: no frames, of any number and content, do harm; what we send is always read back.
        #[test]
        fn any_frames_are_read_or_refused(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..10),
            text in any::<String>(),
        ) {
            let (author, mut checker) = author();
            let mut frames: Vec<Bytes> = frames.into_iter().map(Bytes::from).collect();
            prop_assert!(Message::decode(&frames, &mut checker).is_err());
            frames.retain(|frame| frame != DELIMITER);
            frames.extend(author.request("a", &serde_json::json!({"text": text})).frames);
            let read = Message::decode(&frames, &mut checker);
            prop_assert!(read.is_ok());
            let content: serde_json::Value = serde_json::from_slice(&read.unwrap().content).unwrap();
            prop_assert_eq!(content["text"].as_str(), Some(text.as_str()));
        }
    }
}
