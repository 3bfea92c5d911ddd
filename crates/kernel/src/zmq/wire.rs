//! Messages as they travel over ZeroMQ: identities, a delimiter, a signature, four parts, buffers.
//!
//! Owns that layout, and that every message is signed. Other modules read the contents.

use bytes::Bytes;

use crate::jupyter::message::{HeaderError, Message, Parts};
use crate::zmq::sign::{Checker, SignatureError, Signer};

/// Separates the routing identities from the message.
const DELIMITER: &[u8] = b"<IDS|MSG>";

/// Reason why frames are not a valid message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("a message without its delimiter")]
    NoDelimiter,
    #[error("a message of {found} parts")]
    TooShort { found: usize },
    #[error("a message was refused: {0}")]
    Signature(#[from] SignatureError),
    #[error("{0}")]
    Header(#[from] HeaderError),
}

/// Encodes and signs a message.
pub(crate) fn encode(parts: Parts, signer: &Signer) -> Vec<Bytes> {
    let signature = Bytes::from(signer.sign(parts.each_ref().map(|part| &part[..])));
    let mut frames = Vec::with_capacity(2 + parts.len());
    frames.extend([Bytes::from_static(DELIMITER), signature]);
    frames.extend(parts);
    frames
}

/// Decodes frames and checks their signature.
pub(crate) fn decode(frames: &[Bytes], checker: &mut Checker) -> Result<Message, WireError> {
    let at = frames.iter().position(|frame| frame == DELIMITER);
    let rest = &frames[at.ok_or(WireError::NoDelimiter)? + 1..];
    let [signature, header, parent, metadata, content, buffers @ ..] = rest else {
        return Err(WireError::TooShort { found: rest.len() });
    };
    checker.check(signature, [header, parent, metadata, content])?;
    let message = Message::from_parts(header, parent, content)?;
    Ok(Message { buffers: buffers.to_vec(), ..message })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::jupyter::message::Author;

    fn signer() -> Signer {
        Signer::new("key")
    }

    /// Returns the frames of a request with this content.
    fn request(content: &Value) -> Vec<Bytes> {
        encode(Author::new("me".to_owned()).request("a", content).parts, &signer())
    }

    /// B:Z-05
    #[test]
    fn what_is_sent_can_be_received() {
        let mut frames = vec![Bytes::from_static(b"who"), Bytes::from_static(b"else")];
        frames.extend(request(&json!({"code": "1"})));
        frames.push(Bytes::from_static(b"a buffer"));
        let read = decode(&frames, &mut Checker::new(signer())).unwrap();
        assert_eq!((read.header.msg_id.as_str(), read.header.msg_type.as_str()), ("me_0", "a"));
        assert_eq!(read.content, r#"{"code":"1"}"#);
        assert_eq!(read.buffers, [Bytes::from_static(b"a buffer")]);
    }

    /// B:Z-05
    #[test]
    fn what_is_no_message_is_refused() {
        let mut checker = Checker::new(signer());
        let whole = request(&json!({}));
        let mut refused = |frames: &[Bytes]| decode(frames, &mut checker).unwrap_err();
        assert!(matches!(refused(&[]), WireError::NoDelimiter));
        assert!(matches!(refused(&whole[1..]), WireError::NoDelimiter));
        assert!(matches!(refused(&whole[..5]), WireError::TooShort { found: 4 }));
        let mut forged = whole.clone();
        forged[5] = Bytes::from_static(b"{\"a\":1}");
        assert!(matches!(refused(&forged), WireError::Signature(SignatureError::Wrong)));
        let mut unsigned = whole.clone();
        unsigned[1] = Bytes::new();
        assert!(matches!(refused(&unsigned), WireError::Signature(SignatureError::Missing)));
        let parts: [&[u8]; 4] = [b"nonsense", b"{}", b"{}", b"{}"];
        let odd = encode(parts.map(Bytes::from_static), &signer());
        assert!(matches!(refused(&odd), WireError::Header(_)));
        assert!(decode(&whole, &mut checker).is_ok());
    }

    proptest! {
        /// B:Z-05: frames of any number and content do no harm; a message that we send can always
        /// be read back.
        #[test]
        fn any_frames_are_read_or_refused(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..10),
            text in any::<String>(),
        ) {
            let mut checker = Checker::new(signer());
            let mut frames: Vec<Bytes> = frames.into_iter().map(Bytes::from).collect();
            prop_assert!(decode(&frames, &mut checker).is_err());
            frames.retain(|frame| frame != DELIMITER);
            frames.extend(request(&json!({"text": text})));
            let read = decode(&frames, &mut checker);
            prop_assert!(read.is_ok());
            let content: Value = serde_json::from_slice(&read.unwrap().content).unwrap();
            prop_assert_eq!(content["text"].as_str(), Some(text.as_str()));
        }
    }
}
