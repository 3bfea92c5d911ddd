//! Names of artifacts and of their sessions.
//!
//! Owns the form of an id and of a session's folder name. An [`ArtifactId`] always holds sixteen harmless characters,
//! so file names contain nothing else. It must not know files.

use std::fmt;

use super::error::ArtifactError;
use crate::types::SessionKey;

const LEN: usize = 16;
pub(super) const SCHEME: &str = "artifact://";
/// Separates owner and session in a folder name.
const OWNER_END: char = '-';
const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The id of an artifact: sixteen characters of `a` to `z` and `0` to `9` (B:O-09).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ArtifactId(String);

impl ArtifactId {
    /// Parses an id. Nothing else is accepted: no folder, scheme, capital or blank.
    pub fn parse(text: &str) -> Result<ArtifactId, ArtifactError> {
        let is_id = text.len() == LEN && text.bytes().all(|byte| LETTERS.contains(&byte));
        if is_id { Ok(ArtifactId(text.to_owned())) } else { Err(ArtifactError::bad_id(text)) }
    }

    /// Parses `artifact://<id>`, or an id alone.
    pub fn from_reference(text: &str) -> Result<ArtifactId, ArtifactError> {
        ArtifactId::parse(text.strip_prefix(SCHEME).unwrap_or(text))
            .map_err(|_| ArtifactError::bad_id(text))
    }

    /// Makes an id from random numbers. Each number supplies only eight characters, so that the remainder of its range
    /// does not favor any character.
    pub(super) fn random(random: fn() -> u64) -> ArtifactId {
        let mut text = String::with_capacity(LEN);
        for _ in 0..2 {
            let mut number = random();
            for _ in 0..LEN / 2 {
                text.push(char::from(LETTERS[(number % 36) as usize]));
                number /= 36;
            }
        }
        ArtifactId(text)
    }

    /// The id without `artifact://`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The reference that readers receive: `artifact://<id>`.
    pub fn reference(&self) -> String {
        format!("{SCHEME}{self}")
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The session of an artifact: a name for people, and a folder of its own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ArtifactSession {
    name: String,
    folder: String,
}

impl ArtifactSession {
    /// A session with a name for people. `identity` distinguishes it from all others, including those of the same name.
    pub fn new(name: &str, identity: &[&[u8]]) -> ArtifactSession {
        let mut hasher = blake3::Hasher::new();
        for part in std::iter::once(&name.as_bytes()).chain(identity) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let folder = hasher.finalize().to_hex()[..LEN].to_owned();
        ArtifactSession { name: name.to_owned(), folder }
    }

    /// The name of the session, as its user knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// This session among those of an owner.
    pub(super) fn of(&self, owner: &ArtifactOwner) -> ArtifactSession {
        let folder = format!("{}{}", owner.beginning(), self.folder);
        ArtifactSession { name: self.name.clone(), folder }
    }

    /// Name of its folder. The name for people may not be a valid file name, so this is a digest.
    pub(super) fn folder(&self) -> &str {
        &self.folder
    }
}

impl From<&SessionKey> for ArtifactSession {
    fn from(key: &SessionKey) -> ArtifactSession {
        let cwd = key.cwd.as_os_str().as_encoded_bytes();
        let interpreter = key.interpreter.as_ref().map(|path| path.as_os_str().as_encoded_bytes());
        let backend = format!("{:?}", key.backend);
        let identity = [cwd, interpreter.unwrap_or_default(), backend.as_bytes()];
        ArtifactSession::new(&key.name.0, &identity)
    }
}

/// An owner whose artifacts other owners of the same store do not see. A caller without an owner sees all artifacts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ArtifactOwner(String);

impl ArtifactOwner {
    /// `identity` distinguishes this owner from others. No name reveals it.
    pub fn new(identity: &[u8]) -> ArtifactOwner {
        let mut hasher = blake3::Hasher::new_derive_key("inkcell 2026 owner of artifacts");
        hasher.update(identity);
        ArtifactOwner(hasher.finalize().to_hex()[..LEN].to_owned())
    }

    /// The prefix of this owner's session folders.
    fn beginning(&self) -> String {
        format!("{}{OWNER_END}", self.0)
    }

    /// Returns true if a folder of this name belongs to this owner.
    pub(super) fn has_folder(&self, name: &str) -> bool {
        name.strip_prefix(&*self.0).is_some_and(|rest| rest.starts_with(OWNER_END))
    }
}

/// Returns true if [`ArtifactSession`] can have made this folder name.
pub(super) fn is_folder_name(name: &str) -> bool {
    let is_digest = |part: &str| {
        part.len() == LEN && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    name.split_once(OWNER_END)
        .map_or_else(|| is_digest(name), |(owner, session)| is_digest(owner) && is_digest(session))
}
