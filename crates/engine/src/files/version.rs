//! What a version of a file is: the first 16 hexadecimal digits of BLAKE3 of its bytes.
//!
//! Owns the hash. It must not know cells.

use std::fmt;

/// Names the content of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version([u8; 8]);

impl Version {
    /// The version of these bytes.
    pub fn of(bytes: &[u8]) -> Version {
        Version::of_hash(&blake3::hash(bytes))
    }

    /// The version of bytes that come in pieces.
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

    /// Reads a version as it is shown.
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
