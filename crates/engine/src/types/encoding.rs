//! JSON forms for types that JSON lacks: bytes, paths, durations.
//!
//! Owns these forms, for `#[serde(with)]`. Each form reads back the value that was written: durations to the
//! nanosecond, up to weeks, not years. It must not know the messages that use the forms.

/// Bytes as a base64 string, in the standard alphabet.
pub(crate) mod base64 {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(
        bytes: &impl AsRef<[u8]>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, B: From<Vec<u8>>>(
        from: D,
    ) -> Result<B, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map(B::from).map_err(D::Error::custom)
    }
}

/// Bytes that may be missing: a base64 string or null.
pub(crate) mod base64_option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Base64<B: AsRef<[u8]> + From<Vec<u8>>>(#[serde(with = "super::base64")] B);

    pub(crate) fn serialize<S: Serializer>(
        bytes: &Option<bytes::Bytes>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.clone().map(Base64).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<bytes::Bytes>, D::Error> {
        let read = Option::<Base64<bytes::Bytes>>::deserialize(from)?;
        Ok(read.map(|bytes| bytes.0))
    }
}

/// A duration as a number of seconds, which may have a fraction.
pub(crate) mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_secs_f64())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(from)?;
        let wrong = |_| format!("{seconds} is no time in seconds; it can be 0 or more");
        Duration::try_from_secs_f64(seconds).map_err(wrong).map_err(D::Error::custom)
    }
}

/// A duration that may be missing: a number of seconds or null.
pub(crate) mod seconds_option {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Seconds(#[serde(with = "super::seconds")] Duration);

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(Seconds).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Seconds>::deserialize(from)?.map(|seconds| seconds.0))
    }
}

/// A path as a string if it is UTF-8, else as an object with its bytes in base64.
pub(crate) mod path {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Bytes {
            #[serde(with = "super::base64")]
            base64: Vec<u8>,
        },
    }

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => to.serialize_str(text),
            None => Form::Bytes { base64: path.as_os_str().as_bytes().to_vec() }.serialize(to),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(match Form::deserialize(from)? {
            Form::Text(text) => text.into(),
            Form::Bytes { base64 } => OsString::from_vec(base64).into(),
        })
    }
}

/// A path that may be missing: the form of `path`, or null.
pub(crate) mod path_option {
    use std::path::PathBuf;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct PathField(#[serde(with = "super::path")] PathBuf);

    pub(crate) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        path.clone().map(PathField).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<PathField>::deserialize(from)?.map(|path| path.0))
    }
}

/// The kind of a cell that may be unknown, as notebooks spell it.
pub(crate) mod kind_option {
    use inkcell_notebook::CellKind;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        kind: &Option<CellKind>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        kind.map(CellKind::name).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<CellKind>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.and_then(|kind| CellKind::from_name(&kind)))
    }
}
