//! Making room: what is old, what is too much, and what a crash left.
//!
//! Owns the order in which artifacts go: the oldest first, and never one that is being written. It must
//! not know how they are read or written.

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

/// How often old artifacts are looked for while others are written.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);
/// The file in the state folder whose time says when that was last done.
const SWEPT: &str = "artifacts-swept";

/// Why an artifact was removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemovedFor {
    /// It was too old.
    Age,
    /// Its session had no more room.
    SessionQuota,
    /// There was no more room at all.
    TotalQuota,
    /// Somebody asked for it.
    Asked,
}

/// An artifact that was removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemovedArtifact {
    /// What it was.
    pub info: ArtifactInfo,
    /// Why it was removed.
    pub why: RemovedFor,
}

/// What was removed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Removed {
    /// The artifacts, in the order they went.
    pub artifacts: Vec<RemovedArtifact>,
    /// How many bytes that freed.
    pub bytes: u64,
    /// How many leavings of killed writers were removed besides.
    pub remnants: u64,
    /// Those that would have gone but are being written.
    pub busy: Vec<ArtifactId>,
}

/// An artifact that could go.
struct Candidate {
    entry: Entry,
    info: ArtifactInfo,
    size: u64,
    /// Which folder it lies in.
    shelf: usize,
    is_gone: bool,
}

/// Everything that is kept, as it was a moment ago.
struct Survey {
    folders: Vec<Folder>,
    /// The oldest first.
    candidates: Vec<Candidate>,
    /// What is not all there, and in which folder.
    remnants: Vec<(usize, Entry)>,
    removed: Removed,
}

impl Survey {
    /// Looks at all folders.
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
                    // What cannot be looked at is left for another time.
                    Err(_) => {}
                }
            }
        }
        candidates.sort_by(|one, other| {
            (one.info.aged_from(), &one.info.id).cmp(&(other.info.aged_from(), &other.info.id))
        });
        Ok(Survey { folders, candidates, remnants, removed: Removed::default() })
    }

    /// Removes what is not all there and what nobody is about to complete.
    fn sweep(&mut self) {
        for (shelf, entry) in self.remnants.drain(..) {
            // What does not go now is tried again the next time.
            if matches!(entry.remove_remnant(&self.folders[shelf]), Ok(Removal::Done)) {
                self.removed.remnants += 1;
            }
        }
    }

    /// Removes one, if nobody is writing it; says how many bytes that freed.
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

    /// Removes those that `goes` picks, the oldest first.
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

    /// Removes until no more than `limit` is used, on one shelf or on all.
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
    /// Removes what has become too old, now and then, while others are written: nobody has to ask for it.
    /// It is looked once an hour for all processes together; a file's time tells when it was.
    pub(super) fn clean_up_if_due(&self) {
        let now = (self.config.now)();
        if matches!(self.note_clean_up(now), Ok(true)) {
            // What does not go now goes the next time.
            let _ = self.gc(now);
        }
    }

    /// Whether a clean-up is due; then it is noted that it is done.
    fn note_clean_up(&self, now: SystemTime) -> io::Result<bool> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = self.config.state_dir.join(SWEPT);
        let file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?);
        let found = file.metadata()?;
        // A new file is empty; one that has been noted is not. A time in the future is a clock that was
        // set back, and must not keep things for ever.
        let age = now.duration_since(found.modified()?).unwrap_or(Duration::MAX);
        if found.len() > 0 && age < SWEEP_EVERY {
            return Ok(false);
        }
        file.write_all_at(b"\n", 0)?;
        file.set_modified(now)?;
        Ok(true)
    }

    /// Removes what is too old, what is too much, and what killed writers left.
    pub fn gc(&self, now: SystemTime) -> Result<Removed, ArtifactError> {
        let Some(root) = self.root(IfAbsent::Leave)? else { return Ok(Removed::default()) };
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
            // A session that has stored nothing yet may be about to, and its kernel knows the folder.
            let changed = folder.changed().and_then(|changed| now.duration_since(changed).ok());
            if changed.is_some_and(|age| age > limits.max_age) {
                root.remove_if_empty(folder);
            }
        }
        Ok(survey.removed)
    }

    /// Removes one artifact.
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

    /// Removes those that `goes` picks, but for those that are being written.
    pub fn remove_all(
        &self,
        goes: impl Fn(&ArtifactInfo) -> bool,
    ) -> Result<Removed, ArtifactError> {
        let Some(root) = self.root(IfAbsent::Leave)? else { return Ok(Removed::default()) };
        let mut survey = Survey::of(self.seen(&root)?)?;
        survey.sweep();
        survey.remove(RemovedFor::Asked, goes)?;
        for folder in &survey.folders {
            root.remove_if_empty(folder);
        }
        Ok(survey.removed)
    }

    /// Removes all artifacts of a session, but for those that are being written.
    pub fn remove_session(&self, session: &ArtifactSession) -> Result<Removed, ArtifactError> {
        let Some(root) = self.root(IfAbsent::Leave)? else { return Ok(Removed::default()) };
        let Some(folder) = self.session_folder(&self.owned(session), IfAbsent::Leave)? else {
            return Ok(Removed::default());
        };
        let mut survey = Survey::of(vec![folder])?;
        survey.sweep();
        survey.remove(RemovedFor::Asked, |_| true)?;
        for folder in &survey.folders {
            root.remove_if_empty(folder);
        }
        Ok(survey.removed)
    }

    /// Removes the oldest artifacts, of a session or of all, until no more than `limit` is used.
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
