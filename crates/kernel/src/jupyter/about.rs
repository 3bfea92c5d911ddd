//! What a kernel says about itself when it is asked who it is.

use serde::Deserialize;

/// What a kernel says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
pub(crate) struct About {
    #[serde(default)]
    pub(crate) language_info: Language,
}

/// Its language.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
pub(crate) struct Language {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) version: String,
}
