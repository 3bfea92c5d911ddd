//! Identifiers: calls, sessions, their owners, kernels, and versions of files.
//!
//! Owns the names, and the random numbers from which some of them are made.

use std::fmt;
use std::path::PathBuf;

use compact_str::{CompactString, format_compact};
use inkcell_kernel::BackendKind;
use serde::{Deserialize, Serialize};

/// The id of one call, as long as the call is remembered.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ExecutionId(pub String);

/// The name of a session, for example `default`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct SessionName(pub String);

impl SessionName {
    /// The session of calls that name none.
    pub const DEFAULT: &str = "default";
}

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key that tells two sessions apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SessionKey {
    /// The name that callers give; the same name in another folder is another session.
    pub name: SessionName,
    /// The working folder, with links resolved.
    pub cwd: PathBuf,
    /// The interpreter, if the caller named one.
    pub interpreter: Option<PathBuf>,
    /// The backend that starts the session's kernels.
    pub backend: BackendKind,
    /// The backend's kernel, if the caller named one.
    pub kernel: Option<KernelName>,
}

/// A user of sessions that may go away: a client, or a job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OwnerId(pub u64);

/// The name of an installed kernel, or the connection file of a kernel that already runs.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct KernelName(pub String);

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The identity of one kernel among all kernels that ever ran.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Generation(pub CompactString);

impl Generation {
    /// A random generation that no other kernel has.
    pub(crate) fn random() -> Generation {
        Generation(format_compact!("{:016x}", system_random()))
    }
}

/// A hash of a file's content: 8 bytes, written as 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version([u8; 8]);

impl Version {
    /// The version of a file with these bytes.
    pub fn of(bytes: &[u8]) -> Version {
        Version::of_hash(&blake3::hash(bytes))
    }

    /// The version of a file whose bytes come in pieces.
    pub fn of_chunks<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Version {
        let mut hasher = blake3::Hasher::new();
        for chunk in chunks {
            hasher.update(chunk);
        }
        Version::of_hash(&hasher.finalize())
    }

    fn of_hash(hash: &blake3::Hash) -> Version {
        let mut first = [0; 8];
        first.copy_from_slice(&hash.as_bytes()[..8]);
        Version(first)
    }

    /// Parses a version from its 16 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Version> {
        if text.len() != 16 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        u64::from_str_radix(text, 16).ok().map(|number| Version(number.to_be_bytes()))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The system's randomness, for a [`FilesConfig`](crate::FilesConfig) without a source of its own.
pub fn system_random() -> u64 {
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_err() {
        // Without the system's randomness, a number that differs from run to run is enough: files
        // are created exclusively and ids are checked.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = now.map_or(0, |now| now.as_nanos() as u64);
        return nanos ^ (u64::from(std::process::id()) << 32);
    }
    u64::from_le_bytes(bytes)
}
