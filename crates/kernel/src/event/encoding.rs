//! JSON forms of bytes, which JSON itself lacks.
//!
//! Owns these forms, for `#[serde(with)]`. Each reads back what it wrote. It must not know who sends the bytes, or
//! where.

/// Bytes as a base64 string.
pub(crate) mod base64 {
    use ::base64::Engine as _;
    use ::base64::engine::general_purpose::STANDARD;
    use ::bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(bytes: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map(Bytes::from).map_err(D::Error::custom)
    }
}

/// Bytes that are nearly always text: a string if they are UTF-8, else an object with base64.
pub(crate) mod bytes {
    use ::bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Other {
            #[serde(with = "super::base64")]
            base64: Bytes,
        },
    }

    pub(crate) fn serialize<S: Serializer>(bytes: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => to.serialize_str(text),
            Err(_) => Form::Other { base64: bytes.clone() }.serialize(to),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        Ok(match Form::deserialize(from)? {
            Form::Text(text) => text.into(),
            Form::Other { base64 } => base64,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{ExecEvent, MimeBundle, MimeData, StreamName};

    /// Events survive a round trip through JSON, even with bytes that are not UTF-8.
    #[test]
    fn events_read_back() {
        let stream =
            |data: &'static [u8]| ExecEvent::Stream { name: StreamName::Stderr, data: data.into() };
        let data = MimeBundle {
            data: vec![
                ("image/png".to_owned(), MimeData::Binary(b"\x89PNG\xff".as_slice().into())),
                ("text/plain".to_owned(), MimeData::Text("a\u{1b}[1m".to_owned())),
                ("application/json".to_owned(), MimeData::Json("[1e400]".to_owned())),
            ],
            metadata: "{}".to_owned(),
        };
        let result = ExecEvent::Result { count: 3, id: None, data };
        for event in [stream(b"plain\n"), stream(b"half \xf0\x9f"), result] {
            let text = serde_json::to_string(&event).unwrap();
            assert!(!text.contains('\n'), "one line: {text}");
            assert_eq!(serde_json::from_str::<ExecEvent>(&text).unwrap(), event);
        }
    }
}
