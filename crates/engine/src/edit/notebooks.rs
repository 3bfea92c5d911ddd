//! Notebooks on disk: reads, changes and creates them.
//!
//! Owns the path of an edit: lock, read, parse, change, check, replace, record. It must not know the caller or the
//! presentation of results. No kernel type appears here: editing is not executing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use inkcell_notebook::{MarkerIds, Notebook, NotebookError, Oddity};

use crate::edit::change::{
    Backup, Base, Draft, FileEffect, IfMissing, Mode, SaveOptions, SavedChange,
};
use crate::error::{EngineError, not_a_notebook, text_error};
use crate::files::{
    Expect, FileNote, Force, Lock, Metadata, Outcome, PathBase, Record, Records, Replacement,
    Roots, Target, is_notebook_path, make_folder_of,
};
use crate::session::feeds::{EditAsked, Elsewhere, FailedEdit, Feeds, edits};
use crate::types::Version;

mod fresh;
mod pick;
mod plain;
mod running;
mod versions;

pub use fresh::{KernelDefaults, KernelMetadata};
pub use plain::SavedBytes;
use running::Recover;
use versions::SeenVersions;

/// Settings for work on files. The caller sets all of them; none has a default.
#[derive(Clone, Debug)]
pub struct FilesConfig {
    /// Folder for locks and records.
    pub state_dir: PathBuf,
    /// Folder where relative paths start.
    pub path_base: PathBase,
    /// Folders that paths must stay in.
    pub roots: Roots,
    /// Size limit for files that are read.
    pub max_bytes: u64,
    /// How long to wait for another inkcell that edits the same file.
    pub lock_wait: Duration,
    /// Unpredictable numbers, for names of temporary files and for cell ids.
    pub random: fn() -> u64,
}

/// Access to notebooks on disk.
#[derive(Clone, Debug)]
pub struct Notebooks {
    config: FilesConfig,
    /// Watchers in this process that hear of changes.
    feeds: Option<Feeds>,
    elsewhere: Option<Arc<dyn Elsewhere>>,
    /// Chooses the kernel of new notebooks.
    kernel_defaults: Option<Arc<dyn KernelDefaults>>,
    /// The content of versions that callers have seen, for those who ask what changed.
    seen: Option<Arc<SeenVersions>>,
    recover: Recover,
    /// Sleeps between attempts to read a file that another program is saving.
    pause: fn(Duration),
}

/// A notebook that was read.
pub struct OpenNotebook {
    /// The document, with outputs that were recovered from an interrupted run.
    pub notebook: Notebook,
    /// Version of the bytes.
    pub version: Version,
    /// The resolved path, without links.
    pub path: PathBuf,
    /// The path as the caller gave it.
    pub shown: String,
    /// Number of cells whose outputs were restored because an interrupted run had not saved them.
    pub recovered: Option<usize>,
}

/// Says if a written version is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keep {
    /// A caller will have seen it.
    Record,
    /// One of many intermediate versions, which would crowd out those that callers have seen.
    Nothing,
}

impl OpenNotebook {
    /// Renders some cells as virtual text, with the markers they have in the whole.
    pub fn cells_to_text(&self, cells: &[usize], ids: MarkerIds) -> Result<String, EngineError> {
        self.notebook.cells_to_text(cells, ids).map_err(|error| text_error(&self.shown, error))
    }
}

/// Attempts to apply an edit to a file that keeps changing.
const MAX_ATTEMPTS: usize = 50;

/// Below this size, a second thread costs more than it saves.
const PARALLEL_BYTES: usize = 4 << 20;

impl Notebooks {
    /// Notebooks with this configuration. `recover` restores outputs that runs left behind.
    pub(crate) fn with_recovery(config: FilesConfig, recover: Recover) -> Notebooks {
        let (feeds, elsewhere, kernel_defaults, seen) = (None, None, None, None);
        let pause = std::thread::sleep;
        Notebooks { config, feeds, elsewhere, kernel_defaults, seen, recover, pause }
    }

    /// Also reports changes to watchers of a notebook's session.
    pub fn telling(&self, feeds: &Feeds) -> Notebooks {
        Notebooks { feeds: Some(feeds.clone()), ..self.clone() }
    }

    /// Also reports changes to sessions in other processes.
    pub fn telling_elsewhere(&self, elsewhere: Arc<dyn Elsewhere>) -> Notebooks {
        Notebooks { elsewhere: Some(elsewhere), ..self.clone() }
    }

    pub(crate) fn target(&self, path: &str) -> Result<Target, EngineError> {
        Target::resolve(path, &self.config.path_base, &self.config.roots)
    }

    /// Creates the folder of a file that is about to be written, if it is missing. Blocks on disks.
    pub fn make_folder_of(&self, path: &str) -> Result<(), EngineError> {
        make_folder_of(path, &self.config.path_base, &self.config.roots)
    }

    fn records(&self, path: &Path) -> Records {
        Records::of(path, &self.config.state_dir)
    }

    /// Reads a notebook and records the content of this version.
    pub fn read(&self, path: &str) -> Result<OpenNotebook, EngineError> {
        let missing = || EngineError::NotFound { what: "File", path: path.to_owned() };
        let target = self.target(path).map_err(|error| absent(error, missing()))?;
        let recovered = self.recovered(&target, path);
        let mut patience = Patience::new(self.pause);
        let (notebook, version, bytes) = loop {
            let content = target.read(self.config.max_bytes)?.ok_or_else(missing)?;
            let bytes = Arc::new(content.bytes);
            match parse_and_hash(&bytes) {
                (Ok(notebook), version) => break (notebook, version, bytes),
                (Err(error), _) if patience.waits_for(&error, &content.metadata) => {}
                (Err(error), _) => return Err(not_a_notebook(path, error)),
            }
        };
        self.note_version(&target.path, version, &notebook, || bytes);
        Ok(OpenNotebook { notebook, version, path: target.path, shown: target.shown, recovered })
    }

    /// Reads the bytes of any file.
    pub fn read_bytes(&self, path: &str) -> Result<(Vec<u8>, Version), EngineError> {
        let missing = || EngineError::NotFound { what: "File", path: path.to_owned() };
        let target = self.target(path).map_err(|error| absent(error, missing()))?;
        let content = target.read(self.config.max_bytes)?.ok_or_else(missing)?;
        let version = Version::of(&content.bytes);
        if is_notebook_path(path) {
            self.note_content(&target.path, version, || Arc::new(content.bytes.clone()));
        }
        Ok((content.bytes, version))
    }

    /// Records that a text, given in pieces, shows only a part of a notebook, so that it cannot replace the whole.
    pub fn note_part(&self, opened: &OpenNotebook, text: &[&[u8]]) {
        self.records(&opened.path).keep_part(text);
    }

    /// Returns true if something exists at this path inside the roots.
    pub fn exists(&self, path: &str) -> bool {
        self.target(path).is_ok_and(|target| target.exists())
    }

    /// Changes a notebook. `change` receives the notebook as it is on disk. If another program changes the file
    /// meanwhile, `change` runs again with the new content and the base of the edit.
    pub fn change<T>(
        &self,
        path: &str,
        options: &SaveOptions,
        change: impl FnMut(&mut Notebook, &Base) -> Result<T, EngineError>,
    ) -> Result<SavedChange<T>, EngineError> {
        self.change_as_asked(path, options, EditAsked::default(), change)
    }

    /// [`Notebooks::change`] with a description of the edit, which watchers receive if it fails.
    pub(crate) fn change_as_asked<T>(
        &self,
        path: &str,
        options: &SaveOptions,
        asked: EditAsked,
        change: impl FnMut(&mut Notebook, &Base) -> Result<T, EngineError>,
    ) -> Result<SavedChange<T>, EngineError> {
        let recovered = match (options.mode, self.target(path)) {
            (Mode::Write, Ok(target)) => self.recovered(&target, path),
            _ => None,
        };
        let mut saved = match self.change_keeping(path, options, Keep::Record, change) {
            Ok(saved) => saved,
            Err(error) => {
                if options.mode == Mode::Write {
                    self.tell_failure(options.output.as_deref().unwrap_or(path), asked, &error);
                }
                return Err(error);
            }
        };
        saved.notes.extend(recovered.map(FileNote::Recovered));
        if saved.effect == FileEffect::Written {
            self.tell(options.output.as_deref().unwrap_or(path), &saved);
        }
        Ok(saved)
    }

    /// Reports a saved change to watchers.
    fn tell<T>(&self, path: &str, saved: &SavedChange<T>) {
        let is_wanted = self.feeds.is_some() || self.elsewhere.is_some();
        let Some(written) = is_wanted.then(|| self.target(path).ok()).flatten() else { return };
        let made = || edits(&written.path, saved.before.as_ref(), &saved.after);
        if let Some(feeds) = &self.feeds {
            made().iter().for_each(|edit| feeds.edited(edit));
        }
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.edited(&mut || made());
        }
    }

    /// Reports a failed change to watchers, with the reason.
    fn tell_failure(&self, path: &str, asked: EditAsked, error: &EngineError) {
        let is_wanted = self.feeds.is_some() || self.elsewhere.is_some();
        let Some(meant) = is_wanted.then(|| self.target(path).ok()).flatten() else { return };
        let failure = FailedEdit { path: meant.path, asked, error: error.to_string() };
        if let Some(feeds) = &self.feeds {
            feeds.edit_failed(&failure);
        }
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.failed(&failure);
        }
    }

    /// Changes a notebook without restoring outputs that a run left. `keep` says if the new version is recorded.
    pub(crate) fn change_keeping<T>(
        &self,
        path: &str,
        options: &SaveOptions,
        keep: Keep,
        mut change: impl FnMut(&mut Notebook, &Base) -> Result<T, EngineError>,
    ) -> Result<SavedChange<T>, EngineError> {
        let missing = || EngineError::NotFound { what: "Notebook", path: path.to_owned() };
        let target = match self.target(path) {
            Err(error) if options.if_missing == IfMissing::Fail => {
                return Err(absent(error, missing()));
            }
            found => found?,
        };
        let elsewhere = match &options.output {
            None => None,
            Some(output) => Some(self.target(output)?),
        };
        if let Some(output) = elsewhere.as_ref().filter(|output| output.path == target.path) {
            return Err(EngineError::OntoItself { path: output.shown.clone() });
        }
        // Reading does not lock: a dry run must work on read-only file systems.
        let mut lock = match options.mode {
            Mode::Write => {
                Some(Lock::take(&target, &self.config.state_dir, self.config.lock_wait)?)
            }
            Mode::DryRun => None,
        };
        let mut first_read: Option<Record> = None;
        let mut patience = Patience::new(self.pause);
        let mut attempts = 0;
        while attempts < MAX_ATTEMPTS {
            let content = target.read(self.config.max_bytes)?;
            match options.if_missing {
                _ if content.is_some() => {}
                IfMissing::Fail => return Err(missing()),
                IfMissing::CreateNotebook => must_be_notebook_path(path)?,
            }
            let (bytes, metadata) = match content {
                Some(content) => (Some(Arc::new(content.bytes)), Some(content.metadata)),
                None => (None, None),
            };
            let draft =
                self.draft(&target, bytes.as_ref(), options, first_read.as_ref(), &mut change);
            if let (Err(EngineError::NotJson { error, .. }), Some(metadata)) = (&draft, &metadata)
                && patience.waits_for(error, metadata)
            {
                continue;
            }
            let draft = draft?;
            attempts += 1;
            let saved = match &mut lock {
                None => Some(draft.unwritten(path)),
                Some(lock) => {
                    let place = (&target, elsewhere.as_ref(), keep);
                    self.save(place, lock, draft, metadata.as_ref(), options, &mut first_read)?
                }
            };
            if let Some(saved) = saved {
                return Ok(saved);
            }
        }
        Err(EngineError::KeepsChanging { path: path.to_owned() })
    }

    /// Applies the change to the content that was read, without writing.
    fn draft<T>(
        &self,
        target: &Target,
        bytes: Option<&Arc<Vec<u8>>>,
        options: &SaveOptions,
        first_read: Option<&Record>,
        change: &mut impl FnMut(&mut Notebook, &Base) -> Result<T, EngineError>,
    ) -> Result<Draft<T>, EngineError> {
        let before = match bytes {
            None => None,
            Some(bytes) => Some(
                Notebook::parse_shared(Arc::clone(bytes))
                    .map_err(|error| not_a_notebook(&target.shown, error))?,
            ),
        };
        let mut after = match &before {
            Some(before) => before.clone(),
            None => self.fresh(&target.path, &target.shown, None)?,
        };
        let base = self.base(target, before.as_ref(), options.base, first_read)?;
        let value = change(&mut after, &base)?;
        let merged = base.known.map(|record| record.version);
        Ok(Draft { value, before, after, merged })
    }

    fn base(
        &self,
        target: &Target,
        before: Option<&Notebook>,
        yours: Option<Version>,
        first_read: Option<&Record>,
    ) -> Result<Base, EngineError> {
        let path = target.shown.clone();
        let records = self.records(&target.path);
        let version = || before.map(|before| Version::of(before.original_bytes()));
        let (known, version) = match (yours, first_read) {
            (None, None) => (None, None),
            (None, Some(known)) => (Some(known.clone()), version().or(Some(known.version))),
            (Some(yours), _) => match version() {
                None => return Err(EngineError::NotFound { what: "Notebook", path }),
                Some(current) if current == yours => (None, None),
                Some(current) => match records.find(yours) {
                    Some(known) => (Some(known), Some(current)),
                    None => {
                        let known = records.near(yours, current);
                        return Err(EngineError::UnknownVersion { path, yours, current, known });
                    }
                },
            },
        };
        let current = before.zip(version).map(|(before, version)| Record::of(before, version));
        let seed = (self.config.random)();
        Ok(Base { known, current, path, is_new: before.is_none(), records, seed })
    }

    /// Writes the draft to the notebook or another path. Returns `None` if the file changed meanwhile and needs a new
    /// draft.
    fn save<T>(
        &self,
        (target, elsewhere, keep): (&Target, Option<&Target>, Keep),
        lock: &mut Lock,
        draft: Draft<T>,
        metadata: Option<&Metadata>,
        options: &SaveOptions,
        first_read: &mut Option<Record>,
    ) -> Result<Option<SavedChange<T>>, EngineError> {
        let shown = elsewhere.unwrap_or(target).shown.clone();
        if elsewhere.is_none() && draft.is_unchanged() {
            let saved = draft.unwritten(&shown);
            if keep == Keep::Record {
                let bytes = || Arc::new(saved.after.original_bytes().to_vec());
                self.note_version(&target.path, saved.version, &saved.after, bytes);
            }
            return Ok(Some(saved));
        }
        let old = draft.before.as_ref().map(Notebook::original_bytes).unwrap_or_default();
        let backup = match (options.backup, metadata) {
            (Backup::Yes, Some(metadata)) if elsewhere.is_none() => {
                Some(self.back_up(target, lock, old, metadata)?)
            }
            _ => None,
        };
        let chunks = draft.after.chunks();
        let chunks: Vec<&[u8]> = chunks.iter().map(|chunk| &**chunk).collect();
        let size: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        // Compute the new version while the disk is busy.
        let (outcome, version) = beside(
            size >= PARALLEL_BYTES,
            || match elsewhere {
                Some(output) => self.overwrite(output, &chunks, options.force),
                None => {
                    let expect = match metadata {
                        Some(metadata) => Expect::Read(metadata, old),
                        None => Expect::Nothing,
                    };
                    let force = options.force;
                    let new = Replacement {
                        chunks: &chunks,
                        expect,
                        force,
                        random: (self.config.random)(),
                    };
                    target.replace(lock, &new)
                }
            },
            || Version::of_chunks(chunks.iter().copied()),
        );
        let path = elsewhere.unwrap_or(target).path.clone();
        match outcome? {
            Outcome::Moved => {
                if let (None, Some(before)) = (&first_read, &draft.before) {
                    *first_read = Some(Record::of(before, Version::of(before.original_bytes())));
                }
                Ok(None)
            }
            Outcome::Replaced(notes) => {
                if keep == Keep::Record {
                    let bytes = || Arc::new(chunks.concat());
                    self.note_version(&path, version, &draft.after, bytes);
                }
                let saved = draft.finish(&shown, version, FileEffect::Written);
                Ok(Some(SavedChange { notes, backup, ..saved }))
            }
        }
    }

    /// Writes content over whatever is at the path.
    fn overwrite(
        &self,
        target: &Target,
        chunks: &[&[u8]],
        force: Force,
    ) -> Result<Outcome, EngineError> {
        let mut lock = Lock::take(target, &self.config.state_dir, self.config.lock_wait)?;
        let old = target.examine()?;
        let expect = Expect::Anything(old.as_ref());
        target.replace(
            &mut lock,
            &Replacement { chunks, expect, force, random: (self.config.random)() },
        )
    }

    /// Writes something derived from a notebook to a file of its own.
    pub fn export(&self, path: &str, from: &OpenNotebook, bytes: &[u8]) -> Result<(), EngineError> {
        let target = self.target(path)?;
        if target.path == from.path {
            return Err(EngineError::OntoItself { path: path.to_owned() });
        }
        self.overwrite(&target, &[bytes], Force::No).map(drop)
    }

    fn back_up(
        &self,
        target: &Target,
        lock: &mut Lock,
        bytes: &[u8],
        metadata: &Metadata,
    ) -> Result<PathBuf, EngineError> {
        let mut name = target.name.clone();
        name.push(".bak");
        let backup = target.sibling(name).map_err(target.io("make a backup"))?;
        // The notebook's own lock notes the temporary file of the backup. So the next edit of the notebook removes it,
        // with or without a backup of its own.
        let _busy = Lock::take(&backup, &self.config.state_dir, self.config.lock_wait)?;
        let new = Replacement {
            chunks: &[bytes],
            expect: Expect::Anything(Some(metadata)),
            force: Force::Yes,
            random: (self.config.random)(),
        };
        backup.replace(lock, &new)?;
        Ok(backup.path)
    }

    /// Creates an empty notebook for the kernel of this name, or for the default kernel. The file must not exist.
    pub fn create(&self, path: &str, kernel: Option<&str>) -> Result<Version, EngineError> {
        let target = self.target(path)?;
        let mut lock = Lock::take(&target, &self.config.state_dir, self.config.lock_wait)?;
        let exists = || EngineError::Exists { path: path.to_owned() };
        if target.examine()?.is_some() {
            return Err(exists());
        }
        must_be_notebook_path(path)?;
        let notebook = &self.fresh(&target.path, path, kernel)?;
        let bytes = notebook.to_bytes();
        let new = Replacement {
            chunks: &[&bytes],
            expect: Expect::Nothing,
            force: Force::No,
            random: (self.config.random)(),
        };
        match target.replace(&mut lock, &new)? {
            Outcome::Moved => Err(exists()),
            Outcome::Replaced(_) => {
                let version = Version::of(&bytes);
                self.note_version(&target.path, version, notebook, || Arc::new(bytes));
                Ok(version)
            }
        }
    }
}

/// Parses a notebook without a file of its own, such as piped input; `shown` names it in errors.
pub fn parse_notebook(shown: &str, bytes: Vec<u8>) -> Result<Notebook, EngineError> {
    Notebook::parse(bytes).map_err(|error| not_a_notebook(shown, error))
}

fn must_be_notebook_path(path: &str) -> Result<(), EngineError> {
    if is_notebook_path(path) {
        return Ok(());
    }
    Err(EngineError::NotANotebookPath { path: path.to_owned() })
}

/// If the folder does not exist, the file does not exist either.
fn absent(error: EngineError, missing: EngineError) -> EngineError {
    match error {
        EngineError::Io { ref source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            missing
        }
        other => other,
    }
}

fn parse_and_hash(bytes: &Arc<Vec<u8>>) -> (Result<Notebook, NotebookError>, Version) {
    beside(
        bytes.len() >= PARALLEL_BYTES,
        || Notebook::parse_shared(Arc::clone(bytes)),
        || Version::of(bytes),
    )
}

/// Runs both closures. If `parallel` is set, `there` runs on a thread of its own meanwhile.
pub(crate) fn beside<A, B: Send>(
    parallel: bool,
    here: impl FnOnce() -> A,
    there: impl FnOnce() -> B + Send,
) -> (A, B) {
    if !parallel {
        return (here(), there());
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(there);
        let one = here();
        match other.join() {
            Ok(two) => (one, two),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Waiting time for a file that another program seems to be saving in place.
struct Patience {
    waits: u32,
    pause: fn(Duration),
}

impl Patience {
    const PAUSE: Duration = Duration::from_millis(20);
    const MAX_WAITS: u32 = 25;

    fn new(pause: fn(Duration)) -> Patience {
        Patience { waits: 0, pause }
    }

    /// Waits a moment and returns true if the file is empty or truncated and has just changed. The number of waits is
    /// limited, for a program that never stops rewriting and for a clock that runs ahead.
    fn waits_for(&mut self, error: &NotebookError, metadata: &Metadata) -> bool {
        let NotebookError::Syntax { oddity: Some(Oddity::Empty | Oddity::CutOff), .. } = error
        else {
            return false;
        };
        if self.waits == Self::MAX_WAITS || !metadata.is_young() {
            return false;
        }
        self.waits += 1;
        (self.pause)(Self::PAUSE);
        true
    }
}

#[cfg(test)]
mod tests;
