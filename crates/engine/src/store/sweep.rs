//! Makes room: removes artifacts that are old or exceed the limits, and remnants of a crash.
//!
//! Owns the order of removal: the oldest first, and never one that is being written. It must not know how artifacts are
//! read or written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags};

use super::entry::{Entry, Removal};
use super::error::ArtifactError;
use super::folder::{Folder, IfAbsent};
use super::id::{ArtifactId, ArtifactSession};
use super::record::ArtifactInfo;
use super::{Artifacts, Scope};

/// Time between two searches for old artifacts.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);
/// A file in the state folder whose time stamp is that of the last search.
const SWEPT: &str = "artifacts-swept";

/// The reason for a removal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemovedFor {
    /// It was too old.
    Age,
    /// Its session had no more room.
    SessionQuota,
    /// The whole store had no more room.
    TotalQuota,
    /// A caller requested the removal.
    Asked,
}

/// An artifact that was removed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RemovedArtifact {
    /// The artifact as it was before its removal.
    pub info: ArtifactInfo,
    /// The reason for its removal.
    pub why: RemovedFor,
}

/// The outcome of a removal of several artifacts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SweepResult {
    /// The artifacts, in the order of removal.
    pub artifacts: Vec<RemovedArtifact>,
    /// Bytes that the removal freed.
    pub bytes: u64,
    /// Number of remnants of killed writers that were removed as well.
    pub remnants: u64,
    /// Artifacts that stayed only because a process is writing them.
    pub busy: Vec<ArtifactId>,
}

/// An artifact that could be removed.
struct Candidate {
    entry: Entry,
    info: ArtifactInfo,
    size: u64,
    /// Index of its folder in the survey.
    shelf: usize,
    is_gone: bool,
}

/// The whole store, as of a moment ago.
struct Survey {
    folders: Vec<Folder>,
    candidates: Vec<Candidate>,
    /// Artifacts with missing files, each with the index of its folder.
    remnants: Vec<(usize, Entry)>,
    removed: SweepResult,
}

impl Survey {
    /// Examines the content of all folders.
    fn of(folders: Vec<Folder>) -> Result<Survey, ArtifactError> {
        let (mut candidates, mut remnants) = (Vec::new(), Vec::new());
        for (shelf, folder) in folders.iter().enumerate() {
            for entry in Entry::list(folder)? {
                match entry.open(folder) {
                    Ok(Some((info, _))) => {
                        let size = entry.size(folder);
                        candidates.push(Candidate { entry, info, size, shelf, is_gone: false });
                    }
                    Ok(None) => remnants.push((shelf, entry)),
                    // Leave an artifact that cannot be examined for another time.
                    Err(_) => {}
                }
            }
        }
        candidates.sort_by(|one, other| {
            (one.info.aged_from(), &one.info.id).cmp(&(other.info.aged_from(), &other.info.id))
        });
        Ok(Survey { folders, candidates, remnants, removed: SweepResult::default() })
    }

    /// Removes remnants that no writer is about to complete.
    fn sweep(&mut self) {
        for (shelf, entry) in self.remnants.drain(..) {
            // A remnant that cannot be removed now is tried again next time.
            if matches!(entry.remove_remnant(&self.folders[shelf]), Ok(Removal::Done)) {
                self.removed.remnants += 1;
            }
        }
    }

    /// Removes one artifact, unless a process is writing it. Returns the bytes freed.
    fn remove_at(&mut self, at: usize, why: RemovedFor) -> Result<u64, ArtifactError> {
        let candidate = &mut self.candidates[at];
        let folder = &self.folders[candidate.shelf];
        let removal = candidate.entry.remove(folder);
        match removal.map_err(ArtifactError::io(folder.path(), "remove an artifact"))? {
            Removal::Busy => {
                if !self.removed.busy.contains(&candidate.entry.id) {
                    self.removed.busy.push(candidate.entry.id.clone());
                }
                Ok(0)
            }
            Removal::Done => {
                candidate.is_gone = true;
                self.removed.bytes += candidate.size;
                let info = candidate.info.clone();
                self.removed.artifacts.push(RemovedArtifact { info, why });
                Ok(candidate.size)
            }
        }
    }

    /// Removes the artifacts that `goes` picks, the oldest first.
    fn remove(
        &mut self,
        why: RemovedFor,
        goes: impl Fn(&ArtifactInfo) -> bool,
    ) -> Result<(), ArtifactError> {
        for at in 0..self.candidates.len() {
            if goes(&self.candidates[at].info) {
                self.remove_at(at, why)?;
            }
        }
        Ok(())
    }

    fn used(&self, shelf: Option<usize>) -> u64 {
        let counts = |candidate: &&Candidate| {
            !candidate.is_gone && shelf.is_none_or(|shelf| candidate.shelf == shelf)
        };
        self.candidates.iter().filter(counts).map(|candidate| candidate.size).sum()
    }

    /// Removes artifacts until one shelf, or all together, use at most `limit`.
    fn shrink(
        &mut self,
        shelf: Option<usize>,
        limit: u64,
        why: RemovedFor,
    ) -> Result<(), ArtifactError> {
        let mut excess = self.used(shelf).saturating_sub(limit);
        for at in 0..self.candidates.len() {
            let candidate = &self.candidates[at];
            if excess == 0 {
                break;
            }
            if !candidate.is_gone && shelf.is_none_or(|shelf| candidate.shelf == shelf) {
                excess = excess.saturating_sub(self.remove_at(at, why)?);
            }
        }
        Ok(())
    }
}

impl Artifacts {
    /// Removes old artifacts now and then while others are written, without any request. It runs once an hour for all
    /// processes together; the time stamp of a file records the last run.
    pub(super) fn clean_up_if_due(&self) {
        let now = (self.config.now)();
        if matches!(self.note_clean_up(now), Ok(true)) {
            // An artifact that cannot be removed now goes next time.
            let _ = self.gc(now);
        }
    }

    /// Returns true if a clean-up is due, and records that it is done.
    fn note_clean_up(&self, now: SystemTime) -> io::Result<bool> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = self.config.state_dir.join(SWEPT);
        let file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?);
        let found = file.metadata()?;
        // A new file is empty; one with a recorded run is not. A time in the future means that the clock was set back,
        // and must not stop clean-ups for good.
        let age = now.duration_since(found.modified()?).unwrap_or(Duration::MAX);
        if found.len() > 0 && age < SWEEP_EVERY {
            return Ok(false);
        }
        file.write_all_at(b"\n", 0)?;
        file.set_modified(now)?;
        Ok(true)
    }

    /// Removes artifacts that are too old or exceed the limits, and remnants of killed writers.
    pub fn gc(&self, now: SystemTime) -> Result<SweepResult, ArtifactError> {
        let Some(root) = self.root(IfAbsent::Leave)? else { return Ok(SweepResult::default()) };
        let mut survey = Survey::of(root.sessions()?)?;
        survey.sweep();
        let limits = self.config.limits;
        survey.remove(RemovedFor::Age, |info| {
            now.duration_since(info.aged_from()).is_ok_and(|age| age > limits.max_age)
        })?;
        for shelf in 0..survey.folders.len() {
            survey.shrink(Some(shelf), limits.session_bytes, RemovedFor::SessionQuota)?;
        }
        survey.shrink(None, limits.total_bytes, RemovedFor::TotalQuota)?;
        for folder in &survey.folders {
            // A session without artifacts may be about to store one, and its kernel knows the folder.
            let changed = folder.changed().and_then(|changed| now.duration_since(changed).ok());
            if changed.is_some_and(|age| age > limits.max_age) {
                root.remove_if_empty(folder);
            }
        }
        Ok(survey.removed)
    }

    /// Removes one artifact. One that is being written is left alone, which is an error.
    pub fn remove(&self, id: &ArtifactId, scope: Scope<'_>) -> Result<ArtifactInfo, ArtifactError> {
        for folder in self.folders(scope)? {
            let io = ArtifactError::io(folder.path(), "remove an artifact");
            let Some(entry) = Entry::find(&folder, id).map_err(&io)? else { continue };
            let Some((info, _)) = entry.open(&folder).map_err(&io)? else { continue };
            return match entry.remove(&folder).map_err(&io)? {
                Removal::Done => Ok(info),
                Removal::Busy => Err(ArtifactError::Busy { id: id.clone() }),
            };
        }
        Err(self.unknown(id, scope))
    }

    /// Removes the artifacts that `goes` picks, except those being written.
    pub fn remove_all(
        &self,
        goes: impl Fn(&ArtifactInfo) -> bool,
    ) -> Result<SweepResult, ArtifactError> {
        let Some(root) = self.root(IfAbsent::Leave)? else { return Ok(SweepResult::default()) };
        let mut survey = Survey::of(self.seen(&root)?)?;
        survey.sweep();
        survey.remove(RemovedFor::Asked, goes)?;
        for folder in &survey.folders {
            root.remove_if_empty(folder);
        }
        Ok(survey.removed)
    }

    /// Removes all artifacts of a session, except those being written.
    pub fn remove_session(&self, session: &ArtifactSession) -> Result<SweepResult, ArtifactError> {
        let Some(root) = self.root(IfAbsent::Leave)? else { return Ok(SweepResult::default()) };
        let Some(folder) = self.session_folder(&self.owned(session), IfAbsent::Leave)? else {
            return Ok(SweepResult::default());
        };
        let mut survey = Survey::of(vec![folder])?;
        survey.sweep();
        survey.remove(RemovedFor::Asked, |_| true)?;
        for folder in &survey.folders {
            root.remove_if_empty(folder);
        }
        Ok(survey.removed)
    }

    /// Removes the oldest artifacts, of a session or of all, until at most `limit` is used.
    pub(super) fn make_room(
        &self,
        root: &Folder,
        session: Option<&ArtifactSession>,
        limit: u64,
    ) -> Result<(), ArtifactError> {
        let (folders, why) = match session {
            Some(session) => {
                let folder = root.below(session.folder(), IfAbsent::Leave)?;
                (folder.into_iter().collect(), RemovedFor::SessionQuota)
            }
            None => (root.sessions()?, RemovedFor::TotalQuota),
        };
        Survey::of(folders)?.shrink(None, limit, why)
    }
}
