//! The kernel that a request asks for.
//!
//! Owns the request. `kernels` decides how it is met, and which kernel is the default.

use std::path::PathBuf;

use inkcell_kernel::BackendKind;
use serde::{Deserialize, Serialize};

use crate::types::KernelName;

/// A caller's wishes for its kernel. A field that is not given is chosen by inkcell.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelWishes {
    /// The interpreter: a path, the folder of an environment, or a name.
    #[serde(default)]
    pub interpreter: Option<String>,
    /// The backend that starts the kernel.
    #[serde(default)]
    pub backend: Option<BackendKind>,
    /// The kernel among those of the backend.
    #[serde(default)]
    pub kernel: Option<KernelChoice>,
    /// The helper functions that the kernel starts with.
    #[serde(default)]
    pub helpers: Helpers,
}

/// The helper functions that a kernel starts with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Helpers {
    /// The helpers that the settings choose.
    #[default]
    AsSet,
    /// No helpers, as in Jupyter: a notebook must not pass here and fail there.
    None,
}

impl KernelWishes {
    /// A kernel of this interpreter, or of any if it is `None`.
    pub fn interpreter(interpreter: Option<String>) -> KernelWishes {
        KernelWishes { interpreter, ..KernelWishes::default() }
    }
}

/// A kernel other than the usual one, as a caller or a notebook asks for it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelChoice {
    /// The installed kernel of this name.
    Named(KernelName),
    /// A kernel that already runs, by its connection file.
    Existing(#[serde(with = "crate::types::encoding::path")] PathBuf),
    /// The kernel that a notebook's metadata ask for.
    OfNotebook {
        /// The name of its kernelspec.
        name: Option<KernelName>,
        /// The language of its code, which decides if the name is not installed here.
        language: Option<String>,
    },
}
