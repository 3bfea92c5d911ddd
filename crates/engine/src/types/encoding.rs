//! JSON forms for types that JSON lacks: bytes, paths, durations.
//!
//! Owns these forms, for `#[serde(with)]`. Each form reads back the value that was written: durations to the
//! nanosecond, up to weeks, not years. It must not know the messages that use the forms.

pub(crate) use inkcell_kernel::encoding::base64;
/// A path as a string if it is UTF-8, else as an object with its bytes in base64.
pub(crate) use inkcell_kernel::encoding::os_text as path;

/// A duration as a number of seconds, which may have a fraction.
pub(crate) mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_secs_f64())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(from)?;
        let wrong = |_| format!("{seconds} is not a number of seconds, 0 or more");
        Duration::try_from_secs_f64(seconds).map_err(wrong).map_err(D::Error::custom)
    }
}

/// Makes the form of a value that may be missing: the form of the value, or null.
macro_rules! optional {
    ($name:ident, $form:ident, $path:literal, $value:ty) => {
        pub(crate) mod $name {
            use serde::{Deserialize, Deserializer, Serializer};

            #[derive(Deserialize)]
            struct Field(#[serde(with = $path)] $value);

            pub(crate) fn serialize<S: Serializer>(
                value: &Option<$value>,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                match value {
                    Some(value) => super::$form::serialize(value, to),
                    None => to.serialize_none(),
                }
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<Option<$value>, D::Error> {
                Ok(Option::<Field>::deserialize(from)?.map(|field| field.0))
            }
        }
    };
}

optional!(base64_option, base64, "super::base64", bytes::Bytes);
optional!(path_option, path, "super::path", std::path::PathBuf);
optional!(seconds_option, seconds, "super::seconds", std::time::Duration);

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
