//! What artifacts and the sessions they belong to are called.
//!
//! Owns the form of an id and of a session's folder name. Whoever holds an [`ArtifactId`] holds sixteen
//! harmless characters, so no file name can be made of anything else. It must not know files.

use std::fmt;

use super::error::ArtifactError;
use crate::registry::SessionKey;

const LEN: usize = 16;
pub(super) const SCHEME: &str = "artifact://";
/// Between an owner and a session in the name of a folder.
const OWNER_END: char = '-';
const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The id of an artifact: sixteen characters of `a` to `z` and `0` to `9` (B:O-09).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ArtifactId(String);

impl ArtifactId {
    /// Reads an id. Nothing else is accepted: no folder, no scheme, no capital, no blank.
    pub fn parse(text: &str) -> Result<ArtifactId, ArtifactError> {
        let is_id = text.len() == LEN && text.bytes().all(|byte| LETTERS.contains(&byte));
        if is_id { Ok(ArtifactId(text.to_owned())) } else { Err(ArtifactError::bad_id(text)) }
    }

    /// Reads `artifact://<id>`, or an id alone.
    pub fn from_reference(text: &str) -> Result<ArtifactId, ArtifactError> {
        ArtifactId::parse(text.strip_prefix(SCHEME).unwrap_or(text))
            .map_err(|_| ArtifactError::bad_id(text))
    }

    /// Makes an id of random numbers. Eight characters are taken of each, so that what is left over at
    /// the end of a number's range does not favour any of them.
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

    /// The sixteen characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id as a reader is given it: `artifact://<id>`.
    pub fn reference(&self) -> String {
        format!("{SCHEME}{self}")
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The session that artifacts belong to: a name for people, and a folder of its own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ArtifactSession {
    name: String,
    folder: String,
}

impl ArtifactSession {
    /// A session with a name for people. `identity` is whatever makes it differ from all others, also
    /// from those of the same name.
    pub fn new(name: &str, identity: &[&[u8]]) -> ArtifactSession {
        let mut hasher = blake3::Hasher::new();
        for part in std::iter::once(&name.as_bytes()).chain(identity) {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let folder = hasher.finalize().to_hex()[..LEN].to_owned();
        ArtifactSession { name: name.to_owned(), folder }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same session among those of an owner.
    pub(super) fn of(&self, owner: &ArtifactOwner) -> ArtifactSession {
        let folder = format!("{}{}", owner.beginning(), self.folder);
        ArtifactSession { name: self.name.clone(), folder }
    }

    /// The name of its folder. A name for people is no file name, so this is a digest.
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

/// Somebody whose artifacts other owners of the same store do not see. Whoever is no owner sees all of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ArtifactOwner(String);

impl ArtifactOwner {
    /// `identity` is whatever makes this owner differ from others. It is not to be found in any name.
    pub fn new(identity: &[u8]) -> ArtifactOwner {
        let mut hasher = blake3::Hasher::new_derive_key("inkcell 2026 owner of artifacts");
        hasher.update(identity);
        ArtifactOwner(hasher.finalize().to_hex()[..LEN].to_owned())
    }

    /// What the folders of this owner's sessions begin with.
    fn beginning(&self) -> String {
        format!("{}{OWNER_END}", self.0)
    }

    /// Whether a folder of this name holds artifacts of this owner.
    pub(super) fn has_folder(&self, name: &str) -> bool {
        name.strip_prefix(&*self.0).is_some_and(|rest| rest.starts_with(OWNER_END))
    }
}

/// Whether a name is one that [`ArtifactSession`] gives to folders.
pub(super) fn is_folder_name(name: &str) -> bool {
    let is_digest = |part: &str| {
        part.len() == LEN && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    name.split_once(OWNER_END)
        .map_or_else(|| is_digest(name), |(owner, session)| is_digest(owner) && is_digest(session))
}
