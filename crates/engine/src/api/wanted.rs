//! Which kernel a request wants.
//!
//! Owns the wish. What is made of it, and what is taken where nothing is wished, is decided in `kernels`.

use std::fmt;
use std::path::PathBuf;

use inkcell_kernel::BackendKind;
use serde::{Deserialize, Serialize};

/// What a caller wants of its kernel; what is left out is chosen.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The interpreter: a path, the folder of an environment, or a name.
    #[serde(default)]
    pub interpreter: Option<String>,
    /// What makes the kernel.
    #[serde(default)]
    pub backend: Option<BackendKind>,
    /// Which of the kernels it makes.
    #[serde(default)]
    pub kernel: Option<KernelChoice>,
    /// Which helpers it starts with.
    #[serde(default)]
    pub helpers: Helpers,
}

/// Which helper functions a kernel starts with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Helpers {
    /// Those of the settings.
    #[default]
    AsSet,
    /// None, as in Jupyter: a notebook must not pass here and fail there.
    None,
}

impl Wanted {
    /// A kernel of this interpreter, if one is named.
    pub fn interpreter(interpreter: Option<String>) -> Wanted {
        Wanted { interpreter, ..Wanted::default() }
    }
}

/// A Jupyter kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelChoice {
    /// The installed one of this name.
    Named(KernelName),
    /// One that runs already, by its connection file.
    Existing(#[serde(with = "crate::encoding::path")] PathBuf),
    /// What a notebook says about the kernel it is for.
    OfNotebook {
        /// The name of its kernelspec.
        name: Option<KernelName>,
        /// Its language.
        language: Option<String>,
    },
}

/// What an installed kernel is called, or the file of one that runs already.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct KernelName(pub String);

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
