//! The content of versions that callers have seen, so that a reader can ask what changed since.
//!
//! Owns how much of it stays in memory: the versions that were seen longest ago go first. It is never written to a
//! disk: the state folder holds digests only.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use inkcell_notebook::Notebook;

use super::{Notebooks, OpenNotebook};
use crate::error::{EngineError, elapsed, not_a_notebook};
use crate::files::Record;
use crate::types::{Suggestion, Version};

/// The content of seen versions, the latest last.
pub(super) struct SeenVersions {
    max_bytes: usize,
    list: Mutex<VecDeque<SeenVersion>>,
}

struct SeenVersion {
    path: PathBuf,
    version: Version,
    bytes: Arc<Vec<u8>>,
    seen: Instant,
}

impl fmt::Debug for SeenVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeenVersions").field("max_bytes", &self.max_bytes).finish_non_exhaustive()
    }
}

impl SeenVersions {
    fn lock(&self) -> MutexGuard<'_, VecDeque<SeenVersion>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, path: &Path, version: Version) -> Option<Arc<Vec<u8>>> {
        let mut list = self.lock();
        let at = list.iter().position(|one| one.version == version && one.path == path)?;
        list.remove(at).map(|one| one.bytes)
    }

    /// Keeps a version, unless it alone is larger than `max_bytes`.
    fn keep(&self, path: &Path, version: Version, bytes: impl FnOnce() -> Arc<Vec<u8>>) {
        // Not under the lock: to copy a large notebook takes a while.
        let bytes = self.take(path, version).unwrap_or_else(bytes);
        if bytes.len() > self.max_bytes {
            return;
        }
        let mut list = self.lock();
        list.push_back(SeenVersion { path: path.to_owned(), version, bytes, seen: Instant::now() });
        let mut total: usize = list.iter().map(|one| one.bytes.len()).sum();
        while total > self.max_bytes {
            total -= list.pop_front().map_or(total, |oldest| oldest.bytes.len());
        }
    }
}

impl Notebooks {
    /// Also keeps the content of versions that callers see, up to this many bytes in memory. Clones share it.
    pub fn keeping_versions(&self, max_bytes: usize) -> Notebooks {
        let seen = SeenVersions { max_bytes, list: Mutex::default() };
        Notebooks { seen: Some(Arc::new(seen)), ..self.clone() }
    }

    /// Records a version that the caller is about to see: digests of its cells, for edits that were made for it, and
    /// its content.
    pub(super) fn note_version(
        &self,
        path: &Path,
        version: Version,
        notebook: &Notebook,
        bytes: impl FnOnce() -> Arc<Vec<u8>>,
    ) {
        self.records(path).keep(version, || Record::of(notebook, version));
        self.note_content(path, version, bytes);
    }

    /// Keeps the content of a version that the caller is about to see.
    pub(super) fn note_content(
        &self,
        path: &Path,
        version: Version,
        bytes: impl FnOnce() -> Arc<Vec<u8>>,
    ) {
        if let Some(seen) = &self.seen {
            seen.keep(path, version, bytes);
        }
    }

    /// The notebook as it was in a version that a caller saw; `None` if its content is not kept.
    pub fn seen_version(
        &self,
        opened: &OpenNotebook,
        version: Version,
    ) -> Result<Option<Notebook>, EngineError> {
        if version == opened.version {
            return Ok(Some(opened.notebook.clone()));
        }
        let Some(seen) = &self.seen else { return Ok(None) };
        let is_it = |one: &&SeenVersion| one.version == version && one.path == opened.path;
        let bytes = seen.lock().iter().find(is_it).map(|one| Arc::clone(&one.bytes));
        let parsed = bytes.map(Notebook::parse_shared).transpose();
        parsed.map_err(|error| not_a_notebook(&opened.shown, error))
    }

    /// The older versions of a notebook that are kept: those with digests near `wanted` first, then the latest.
    pub fn seen_versions(&self, opened: &OpenNotebook, wanted: Version) -> Vec<Suggestion> {
        let Some(seen) = &self.seen else { return Vec::new() };
        let list = seen.lock();
        let older = list
            .iter()
            .rev()
            .filter(|one| one.path == opened.path && one.version != opened.version);
        let older: Vec<Suggestion> = older
            .map(|one| Suggestion {
                id: one.version.to_string(),
                what: format!("seen {}", elapsed(one.seen.elapsed())),
            })
            .collect();
        Suggestion::choose(&older, &wanted.to_string())
    }
}
