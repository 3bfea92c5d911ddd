//! JSON forms of bytes and of strings of the system, which JSON itself lacks.
//!
//! Owns these forms, for `#[serde(with)]`. Each reads back what it wrote. It must not know who sends the bytes, or
//! where.

/// Bytes as a base64 string, in the standard alphabet.
pub mod base64 {
    use ::base64::Engine as _;
    use ::base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    /// Encodes the bytes, with padding at the end.
    pub fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    /// Decodes the string. An error says where it is not base64.
    pub fn deserialize<'de, D: Deserializer<'de>, B: From<Vec<u8>>>(
        from: D,
    ) -> Result<B, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map(B::from).map_err(D::Error::custom)
    }
}

/// Bytes that are nearly always text.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Other {
        #[serde(with = "base64")]
        base64: Vec<u8>,
    },
}

/// Bytes that are nearly always text: a string if they are UTF-8, else an object with base64.
pub(crate) mod bytes {
    use ::bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Form;

    pub(crate) fn serialize<S: Serializer>(
        bytes: &impl AsRef<[u8]>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes.as_ref()) {
            Ok(text) => to.serialize_str(text),
            Err(_) => Form::Other { base64: bytes.as_ref().to_vec() }.serialize(to),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        Ok(match Form::deserialize(from)? {
            Form::Text(text) => text.into(),
            Form::Other { base64 } => base64.into(),
        })
    }
}

/// A path or another string of the system: a string if it is UTF-8, else an object with base64.
pub mod os_text {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

    use serde::{Deserializer, Serializer};

    /// For paths, and for names and values of variables.
    pub fn serialize<S: Serializer>(text: &impl AsRef<OsStr>, to: S) -> Result<S::Ok, S::Error> {
        super::bytes::serialize(&text.as_ref().as_bytes(), to)
    }

    /// The type of the field decides what the text becomes.
    pub fn deserialize<'de, D: Deserializer<'de>, T: From<OsString>>(
        from: D,
    ) -> Result<T, D::Error> {
        let bytes = super::bytes::deserialize(from)?;
        Ok(OsString::from_vec(bytes.into()).into())
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
