//! Artifacts: output that is too large for an answer, kept in files and read in parts.
//!
//! Owns the store: where artifacts are, how they are found, how long they stay. It must not know kernels, the meaning
//! of an output, or the caller.
//!
//! An artifact is a file `<id>.md` (or `.png` and so on) in a folder of its session, with a record `<id>.json` beside
//! it. The record is a small file of its own instead of a line in a shared index. So several processes write at once
//! without waiting for each other, a crash can only spoil the record of one artifact, and removing an artifact is
//! removing its files. While an artifact is written its file is locked. The lock ends with the process, so inkcell need
//! not guess by process ids whether a writer is alive. A record that says "writing" without a lock belongs to a writer
//! that died. The data file is created and locked before the record, and the record is removed before the data. So a
//! crash leaves an artifact that says it is incomplete, or files that [`Artifacts::gc`] removes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use inkcell_notebook::Form;

mod clean;
mod entry;
mod error;
mod folder;
mod grep;
mod id;
mod id_suggestions;
mod json;
mod json_path;
mod json_shape;
mod lines;
mod pass;
mod quota;
mod read;
mod record;
mod sweep;
mod writer;

use entry::Entry;
use folder::{Folder, IfAbsent};

pub use clean::CleanArtifact;
pub use error::ArtifactError;
pub use grep::{GrepHit, GrepLimits, GrepRead, SearchPattern};
pub use id::{ArtifactId, ArtifactOwner, ArtifactSession};
pub use json_path::{JsonFound, JsonKind, JsonPath, JsonRead};
pub use quota::StoreUsage;
pub use read::{Artifact, BytesRead, CutLine, LinesRead, Piece};
pub use record::{ArtifactInfo, ArtifactState, Cause, Incomplete, is_text_kind};
pub use sweep::{RemovedArtifact, RemovedFor, SweepResult};
pub use writer::{ArtifactWriter, WriteResult};

/// Limits for size and age of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArtifactLimits {
    /// Bytes of one session.
    pub session_bytes: u64,
    /// Bytes of all sessions together.
    pub total_bytes: u64,
    /// Older ones are removed by [`Artifacts::gc`].
    pub max_age: Duration,
}

impl ArtifactLimits {
    /// 2 GiB a session, 10 GiB in all, two weeks.
    pub const STANDARD: ArtifactLimits = ArtifactLimits {
        session_bytes: 2 << 30,
        total_bytes: 10 << 30,
        max_age: Duration::from_secs(14 * 24 * 60 * 60),
    };
}

/// Settings of the store. The caller sets all of them; none has a default.
#[derive(Clone, Debug)]
pub struct ArtifactsConfig {
    /// The state folder, which holds the folder `artifacts`.
    pub state_dir: PathBuf,
    /// Limits for size and age.
    pub limits: ArtifactLimits,
    /// Unpredictable numbers, for ids.
    pub random: fn() -> u64,
    /// The clock for the start and end of artifacts.
    pub now: fn() -> SystemTime,
}

/// Description of a new artifact.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArtifactSpec {
    /// The session to whose folder and quota it belongs.
    pub session: ArtifactSession,
    /// The ending of the file name, such as `md` or `png`.
    pub kind: String,
    /// The title for people.
    pub title: String,
}

/// The artifacts to consider.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope<'a> {
    /// Those of one session.
    Session(&'a ArtifactSession),
    /// The artifacts of all sessions; with an owner, of all sessions of that owner.
    All,
}

/// The artifacts of a state folder. Any number of these values, in any number of processes, may use the same folder.
#[derive(Clone, Debug)]
pub struct Artifacts {
    config: Arc<ArtifactsConfig>,
    account: Arc<quota::Account>,
    /// The owner whose artifacts are stored and visible; `None` shows those of all owners.
    owner: Option<ArtifactOwner>,
}

impl Artifacts {
    /// A store with this configuration. It creates no files until the first write.
    pub fn new(config: ArtifactsConfig) -> Artifacts {
        Artifacts { config: Arc::new(config), account: Arc::default(), owner: None }
    }

    /// The store as one owner sees it: new artifacts belong to the owner, and only the owner's are visible. Limits
    /// still apply to all owners together.
    pub fn of(&self, owner: ArtifactOwner) -> Artifacts {
        Artifacts { owner: Some(owner), ..self.clone() }
    }

    /// The session as its folder and quota identify it.
    fn owned(&self, session: &ArtifactSession) -> ArtifactSession {
        match &self.owner {
            Some(owner) => session.of(owner),
            None => session.clone(),
        }
    }

    /// The folder of a session's artifacts (`PI_ARTIFACTS_DIR`), created if missing.
    pub fn folder(&self, session: &ArtifactSession) -> Result<PathBuf, ArtifactError> {
        self.session_folder(&self.owned(session), IfAbsent::Make)?
            .map(|folder| folder.path().to_owned())
            .ok_or_else(|| self.vanished())
    }

    /// Begins an artifact. Its file exists when this returns, and its id can be given to readers.
    pub fn create(&self, spec: &ArtifactSpec) -> Result<ArtifactWriter, ArtifactError> {
        let session = self.owned(&spec.session);
        ArtifactWriter::create(self, &ArtifactSpec { session, ..spec.clone() })
    }

    /// Stores all bytes at once. If they do not fit, the result says how many were stored and why.
    pub fn store(&self, spec: &ArtifactSpec, bytes: &[u8]) -> Result<WriteResult, ArtifactError> {
        let mut writer = self.create(spec)?;
        writer.append(bytes);
        Ok(writer.finish())
    }

    /// Stores bytes, unless the session already has them under this title. Returns `None` if they do not fit.
    pub fn store_once(
        &self,
        spec: &ArtifactSpec,
        bytes: &[u8],
    ) -> Result<Option<ArtifactInfo>, ArtifactError> {
        let session = Scope::Session(&spec.session);
        let facts = (&spec.kind, &spec.title, bytes.len() as u64, &ArtifactState::Complete);
        for info in self.list(session)? {
            if (&info.kind, &info.title, info.bytes, &info.state) == facts
                && let Ok(found) = self.find(&info.id, session)
                && found.bytes(0, bytes.len(), Form::Raw).is_ok_and(|read| read.bytes == bytes)
            {
                return Ok(Some(info));
            }
        }
        let WriteResult { info, incomplete } = self.store(spec, bytes)?;
        // An artifact that is cut short is not named.
        Ok(info.filter(|_| incomplete.is_none()))
    }

    /// Finds an artifact and opens it. While it is written, the bytes so far can be read.
    pub fn find(&self, id: &ArtifactId, scope: Scope<'_>) -> Result<Artifact, ArtifactError> {
        for folder in self.folders(scope)? {
            let io = ArtifactError::io(folder.path(), "look for an artifact");
            let Some(entry) = Entry::find(&folder, id).map_err(&io)? else { continue };
            if let Some((info, file)) = entry.open(&folder).map_err(&io)? {
                return Ok(Artifact::new(info, file, &folder));
            }
        }
        Err(self.unknown(id, scope))
    }

    /// Finds an artifact by `artifact://<id>`, or by the id alone.
    pub fn find_reference(
        &self,
        reference: &str,
        scope: Scope<'_>,
    ) -> Result<Artifact, ArtifactError> {
        let id = self.id_of(reference, scope)?;
        self.find(&id, scope)
    }

    /// Lists the artifacts, the oldest first.
    pub fn list(&self, scope: Scope<'_>) -> Result<Vec<ArtifactInfo>, ArtifactError> {
        let mut found = Vec::new();
        for folder in self.folders(scope)? {
            for entry in Entry::list(&folder)? {
                // Skip one that vanishes or cannot be read meanwhile.
                if let Ok(Some((info, _))) = entry.open(&folder) {
                    found.push(info);
                }
            }
        }
        found.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        Ok(found)
    }

    fn root(&self, absent: IfAbsent) -> Result<Option<Folder>, ArtifactError> {
        Folder::root(&self.config.state_dir, absent)
    }

    /// The folder of a session that [`Artifacts::owned`] has named.
    fn session_folder(
        &self,
        session: &ArtifactSession,
        absent: IfAbsent,
    ) -> Result<Option<Folder>, ArtifactError> {
        match self.root(absent)? {
            Some(root) => root.below(session.folder(), absent),
            None => Ok(None),
        }
    }

    fn folders(&self, scope: Scope<'_>) -> Result<Vec<Folder>, ArtifactError> {
        let Some(root) = self.root(IfAbsent::Leave)? else { return Ok(Vec::new()) };
        match scope {
            Scope::All => self.seen(&root),
            Scope::Session(session) => {
                let session = self.owned(session);
                Ok(root.below(session.folder(), IfAbsent::Leave)?.into_iter().collect())
            }
        }
    }

    /// The folders of the visible sessions.
    fn seen(&self, root: &Folder) -> Result<Vec<Folder>, ArtifactError> {
        let mut all = root.sessions()?;
        if let Some(owner) = &self.owner {
            all.retain(|folder| {
                let name = folder.path().file_name().and_then(|name| name.to_str());
                name.is_some_and(|name| owner.has_folder(name))
            });
        }
        Ok(all)
    }

    fn vanished(&self) -> ArtifactError {
        let source = std::io::ErrorKind::NotFound.into();
        ArtifactError::io(&self.config.state_dir, "keep the artifact folder")(source)
    }
}

#[cfg(test)]
mod tests;
