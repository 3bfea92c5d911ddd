//! Notebooks on disk: read one, change one, make one.
//!
//! Owns the path of an edit: lock, read, parse, change, check, replace, record. It must not know who
//! asked or how the answer is shown. No kernel type appears here: editing is not executing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use inkcell_notebook::{
    CellRef, EditError, EditOp, EditReport, IdSource, Notebook, NotebookError, OpError, TextError,
    TextRules,
};
use inkcell_notebook::{lower_text, parse_text};

use crate::error::EngineError;
use crate::files::{
    Expect, Force, Lock, Metadata, Outcome, Place, Record, Records, Replacement, Roots, Target,
    Version,
};
use crate::merge::{CarryError, carry_over};

/// Everything the engine must be told to work on files; there are no defaults.
#[derive(Clone, Debug)]
pub struct FilesConfig {
    /// Where locks and records live.
    pub state_dir: PathBuf,
    /// Where relative paths start.
    pub place: Place,
    /// Where paths may lead.
    pub roots: Roots,
    /// The largest file that is read.
    pub max_bytes: u64,
    /// How long to wait for another inkcell that edits the same file.
    pub lock_wait: Duration,
}

/// The engine's view of notebooks on disk.
#[derive(Clone, Debug)]
pub struct Notebooks {
    config: FilesConfig,
}

/// A notebook that was read.
pub struct Opened {
    /// The notebook.
    pub notebook: Notebook,
    /// The version of its bytes.
    pub version: Version,
    /// The resolved path.
    pub path: PathBuf,
}

/// What to do where there is no file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfMissing {
    /// Fail.
    Fail,
    /// Start from an empty notebook.
    Create,
}

/// Whether the earlier bytes are kept beside the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backup {
    /// No.
    No,
    /// As `<name>.bak`.
    Yes,
}

/// Whether the change is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Written.
    Write,
    /// Only worked out.
    DryRun,
}

/// How a change is to be saved.
#[derive(Clone, Debug)]
pub struct SaveOptions {
    /// The version the caller has seen.
    pub base: Option<Version>,
    /// Where to write instead of in place.
    pub output: Option<String>,
    /// What to do where there is no file.
    pub if_missing: IfMissing,
    /// Whether to keep the earlier bytes.
    pub backup: Backup,
    /// Whether to write where something of the file would be lost.
    pub force: Force,
    /// Whether to write at all.
    pub mode: Mode,
}

/// Against what a change was meant.
pub struct Base {
    known: Option<Record>,
    current: Option<Record>,
    path: String,
}

/// A change that was saved.
pub struct Saved<T> {
    /// What the change itself has to say.
    pub value: T,
    /// The notebook before; none when it was made.
    pub before: Option<Notebook>,
    /// The notebook now.
    pub after: Notebook,
    /// The version now.
    pub version: Version,
    /// The version the change was meant for, when it was carried over to a newer one.
    pub merged: Option<Version>,
    /// Whether anything was written.
    pub written: bool,
    /// The path that was written, as the caller would give it.
    pub path: String,
    /// Where the earlier bytes are.
    pub backup: Option<PathBuf>,
    /// What else there is to say about the file.
    pub notes: Vec<crate::FileNote>,
}

/// How often a file that is changed under an edit is read again.
const MAX_ATTEMPTS: usize = 5;

/// Below this, a second thread costs more than it saves.
const PARALLEL_BYTES: usize = 4 << 20;

impl Notebooks {
    /// Notebooks under this configuration.
    pub fn new(config: FilesConfig) -> Notebooks {
        Notebooks { config }
    }

    fn target(&self, path: &str) -> Result<Target, EngineError> {
        Target::resolve(path, &self.config.place, &self.config.roots)
    }

    fn records(&self, path: &Path) -> Records {
        Records::of(path, &self.config.state_dir)
    }

    /// Reads a notebook and remembers what this version of it held.
    pub fn read(&self, path: &str) -> Result<Opened, EngineError> {
        let missing = || EngineError::NotFound { what: "File", path: path.to_owned() };
        let target = self.target(path).map_err(|error| absent(error, missing()))?;
        let content = target.read(self.config.max_bytes)?.ok_or_else(missing)?;
        let bytes = Arc::new(content.bytes);
        let (notebook, version) = parse_and_hash(&bytes);
        let notebook = notebook.map_err(|error| not_a_notebook(path, error))?;
        self.records(&target.path).keep(version, || Record::of(&notebook, version));
        Ok(Opened { notebook, version, path: target.path })
    }

    /// The bytes of a file, whatever they are.
    pub fn read_bytes(&self, path: &str) -> Result<(Vec<u8>, Version), EngineError> {
        let missing = || EngineError::NotFound { what: "File", path: path.to_owned() };
        let target = self.target(path).map_err(|error| absent(error, missing()))?;
        let content = target.read(self.config.max_bytes)?.ok_or_else(missing)?;
        let version = Version::of(&content.bytes);
        Ok((content.bytes, version))
    }

    /// Remembers that a text shows only a part of a notebook, so that it is not taken for the whole.
    pub fn note_part(&self, opened: &Opened, text: &[u8]) {
        self.records(&opened.path).keep_part(text);
    }

    /// Refuses a text that was shown as a part of the notebook at this path.
    pub fn refuse_part(&self, path: &str, text: &[u8]) -> Result<(), EngineError> {
        let is_part =
            self.target(path).is_ok_and(|target| self.records(&target.path).is_part(text));
        if is_part { Err(EngineError::PartOfText { path: path.to_owned() }) } else { Ok(()) }
    }

    /// Whether something is at this path.
    pub fn exists(&self, path: &str) -> bool {
        self.config.place.absolute(path).exists()
    }

    /// Changes a notebook. `change` is called with the notebook as it is on disk; when the file turns
    /// out to have been changed by someone else meanwhile, it is called again with the new content and
    /// told against what the change was meant.
    pub fn change<T>(
        &self,
        path: &str,
        options: &SaveOptions,
        mut change: impl FnMut(&mut Notebook, &Base) -> Result<T, EngineError>,
    ) -> Result<Saved<T>, EngineError> {
        let missing = || EngineError::NotFound { what: "Notebook", path: path.to_owned() };
        let target = match self.target(path) {
            Err(error) if options.if_missing == IfMissing::Fail => {
                return Err(absent(error, missing()));
            }
            found => found?,
        };
        // Looking does not lock: a dry run must work where nothing can be written.
        let mut lock = match options.mode {
            Mode::Write => {
                Some(Lock::take(&target, &self.config.state_dir, self.config.lock_wait)?)
            }
            Mode::DryRun => None,
        };
        let mut first_read: Option<Record> = None;
        for _ in 0..MAX_ATTEMPTS {
            let content = target.read(self.config.max_bytes)?;
            if content.is_none() && options.if_missing == IfMissing::Fail {
                return Err(missing());
            }
            let (bytes, metadata) = match content {
                Some(content) => (Some(Arc::new(content.bytes)), Some(content.metadata)),
                None => (None, None),
            };
            let draft =
                self.draft(path, bytes.as_ref(), options, first_read.as_ref(), &mut change)?;
            let saved = match &mut lock {
                None => Some(draft.unwritten(path)),
                Some(lock) => {
                    self.save(&target, lock, draft, metadata.as_ref(), options, &mut first_read)?
                }
            };
            if let Some(saved) = saved {
                return Ok(saved);
            }
        }
        Err(EngineError::KeepsChanging { path: path.to_owned() })
    }

    /// Applies the change to what was read, without writing.
    fn draft<T>(
        &self,
        path: &str,
        bytes: Option<&Arc<Vec<u8>>>,
        options: &SaveOptions,
        first_read: Option<&Record>,
        change: &mut impl FnMut(&mut Notebook, &Base) -> Result<T, EngineError>,
    ) -> Result<Draft<T>, EngineError> {
        let before = match bytes {
            None => None,
            Some(bytes) => Some(
                Notebook::parse_shared(Arc::clone(bytes))
                    .map_err(|error| not_a_notebook(path, error))?,
            ),
        };
        let mut after = before.clone().unwrap_or_else(Notebook::empty);
        let base = self.base(path, before.as_ref(), options.base, first_read)?;
        let value = change(&mut after, &base)?;
        let merged = base.known.map(|record| record.version);
        Ok(Draft { value, before, after, merged })
    }

    fn base(
        &self,
        path: &str,
        before: Option<&Notebook>,
        yours: Option<Version>,
        first_read: Option<&Record>,
    ) -> Result<Base, EngineError> {
        let path = path.to_owned();
        let current_version = || before.map(|before| Version::of(before.original_bytes()));
        let current = |version| before.map(|before| Record::of(before, version));
        match (yours, first_read) {
            (None, None) => Ok(Base { known: None, current: None, path }),
            (None, Some(known)) => {
                let version = current_version().unwrap_or(known.version);
                Ok(Base { known: Some(known.clone()), current: current(version), path })
            }
            (Some(yours), _) => {
                let Some(version) = current_version() else {
                    return Err(EngineError::NotFound { what: "Notebook", path });
                };
                if version == yours {
                    return Ok(Base { known: None, current: None, path });
                }
                let target = self.target(&path)?;
                match self.records(&target.path).find(yours) {
                    Some(known) => Ok(Base { known: Some(known), current: current(version), path }),
                    None => Err(EngineError::UnknownVersion { path, yours, current: version }),
                }
            }
        }
    }

    /// Writes the draft where it belongs; `None` when the file moved and it must be drafted again.
    fn save<T>(
        &self,
        target: &Target,
        lock: &mut Lock,
        draft: Draft<T>,
        metadata: Option<&Metadata>,
        options: &SaveOptions,
        first_read: &mut Option<Record>,
    ) -> Result<Option<Saved<T>>, EngineError> {
        let shown = options.output.clone().unwrap_or_else(|| target.shown.clone());
        let elsewhere = match &options.output {
            None => None,
            Some(output) => {
                let output = self.target(output)?;
                (output.path != target.path).then_some(output)
            }
        };
        if elsewhere.is_none() && draft.is_unchanged() {
            return Ok(Some(draft.unwritten(&shown)));
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
        // The new version is worked out while the disk is busy.
        let (outcome, version) = beside(
            size >= PARALLEL_BYTES,
            || match &elsewhere {
                Some(output) => self.overwrite(output, &chunks, options.force),
                None => {
                    let expect = match metadata {
                        Some(metadata) => Expect::Read(metadata, old),
                        None => Expect::Nothing,
                    };
                    let force = options.force;
                    let new = Replacement { chunks: &chunks, expect, force, random: random() };
                    target.replace(lock, &new)
                }
            },
            || Version::of_chunks(chunks.iter().copied()),
        );
        let path = elsewhere.as_ref().map_or(&target.path, |output| &output.path).clone();
        match outcome? {
            Outcome::Moved => {
                if let (None, Some(before)) = (&first_read, &draft.before) {
                    *first_read = Some(Record::of(before, Version::of(before.original_bytes())));
                }
                Ok(None)
            }
            Outcome::Replaced(notes) => {
                self.records(&path).keep(version, || Record::of(&draft.after, version));
                Ok(Some(Saved { written: true, notes, backup, ..draft.finish(&shown, version) }))
            }
        }
    }

    /// Puts content where anything may be already, as `-o` asks.
    fn overwrite(
        &self,
        target: &Target,
        chunks: &[&[u8]],
        force: Force,
    ) -> Result<Outcome, EngineError> {
        let mut lock = Lock::take(target, &self.config.state_dir, self.config.lock_wait)?;
        let old = target.read(u64::MAX - 1)?.map(|content| content.metadata);
        let expect = Expect::Anything(old.as_ref());
        target.replace(&mut lock, &Replacement { chunks, expect, force, random: random() })
    }

    /// Puts something made from a notebook into a file of its own.
    pub fn export(&self, path: &str, from: &Opened, bytes: &[u8]) -> Result<(), EngineError> {
        let target = self.target(path)?;
        if target.path == from.path {
            let problem = format!("{path} is the notebook itself; choose another file");
            return Err(EngineError::Argument { argument: "-o".to_owned(), problem });
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
        // Its temporary file is noted with the notebook's own lock, so that the next edit of the
        // notebook removes it, with a backup or without.
        let _busy = Lock::take(&backup, &self.config.state_dir, self.config.lock_wait)?;
        let new = Replacement {
            chunks: &[bytes],
            expect: Expect::Anything(Some(metadata)),
            force: Force::Yes,
            random: random(),
        };
        backup.replace(lock, &new)?;
        Ok(backup.path)
    }

    /// Makes a notebook where there is none.
    pub fn create(&self, path: &str, notebook: &Notebook) -> Result<Version, EngineError> {
        let target = self.target(path)?;
        let mut lock = Lock::take(&target, &self.config.state_dir, self.config.lock_wait)?;
        let exists = || EngineError::Exists { path: path.to_owned() };
        if target.read(u64::MAX - 1)?.is_some() {
            return Err(exists());
        }
        let bytes = notebook.to_bytes();
        let new = Replacement {
            chunks: &[&bytes],
            expect: Expect::Nothing,
            force: Force::No,
            random: random(),
        };
        match target.replace(&mut lock, &new)? {
            Outcome::Moved => Err(exists()),
            Outcome::Replaced(_) => {
                let version = Version::of(&bytes);
                self.records(&target.path).keep(version, || Record::of(notebook, version));
                Ok(version)
            }
        }
    }
}

struct Draft<T> {
    value: T,
    before: Option<Notebook>,
    after: Notebook,
    merged: Option<Version>,
}

impl<T> Draft<T> {
    /// Whether the bytes would be the ones that were read.
    fn is_unchanged(&self) -> bool {
        let Some(before) = &self.before else { return false };
        let (old, new) = (before.original_bytes(), self.after.original_bytes());
        !self.after.is_changed() && (std::ptr::eq(old, new) || old == new)
    }

    /// A change that is not written.
    fn unwritten(self, path: &str) -> Saved<T> {
        let version = Version::of_chunks(self.after.chunks().iter().map(|chunk| &**chunk));
        self.finish(path, version)
    }

    fn finish(self, path: &str, version: Version) -> Saved<T> {
        let Draft { value, before, after, merged } = self;
        let (path, notes, backup) = (path.to_owned(), Vec::new(), None);
        Saved { value, before, after, version, merged, written: false, path, backup, notes }
    }
}

impl Base {
    /// Whether the notebook is not the one the change was meant for.
    pub fn is_older(&self) -> bool {
        self.known.is_some()
    }

    /// The conflict to report when a change cannot be carried over at all.
    pub fn conflict(&self) -> Option<EngineError> {
        let (known, current) = (self.known.as_ref()?, self.current.as_ref()?);
        let (yours, current, path) = (known.version, current.version, self.path.clone());
        Some(EngineError::ConflictWhole { path, yours, current })
    }

    /// Applies operations, carried over when they were meant for an older version.
    pub fn apply(
        &self,
        notebook: &mut Notebook,
        ops: &[EditOp],
        ids: &mut IdSource,
    ) -> Result<EditReport, EngineError> {
        let batch = ops.len();
        let edit = |error| EngineError::Edit { path: self.path.clone(), error, batch };
        let (Some(known), Some(current)) = (&self.known, &self.current) else {
            return notebook.apply(ops, ids).map_err(edit);
        };
        let carried = self.carried(ops, known, current)?;
        notebook.apply(&carried, ids).map_err(edit)
    }

    /// The position of the cell that a reference means, carried over when it was meant for an older
    /// version.
    pub fn find(&self, notebook: &Notebook, cell: &CellRef) -> Result<usize, EngineError> {
        let mut op = EditOp::Delete { cell: cell.clone() };
        if let (Some(known), Some(current)) = (&self.known, &self.current) {
            op = self.carried(&[op], known, current)?.remove(0);
        }
        let cell = op.names_mut().first().map_or(cell.clone(), |cell| (**cell).clone());
        notebook.find(&cell).map_err(|error| {
            let error = EditError::Op { op: 0, problem: OpError::Ref(error) };
            EngineError::Edit { path: self.path.clone(), error, batch: 1 }
        })
    }

    fn carried(
        &self,
        ops: &[EditOp],
        known: &Record,
        current: &Record,
    ) -> Result<Vec<EditOp>, EngineError> {
        carry_over(ops, known, current).map_err(|error| match error {
            CarryError::Ref(error) => {
                EngineError::Edit { path: self.path.clone(), error, batch: ops.len() }
            }
            CarryError::Conflict(cells) => EngineError::Conflict {
                path: self.path.clone(),
                yours: known.version,
                current: current.version,
                cells,
            },
        })
    }

    /// Applies virtual text, carried over when it was made from an older version.
    pub fn apply_text(
        &self,
        notebook: &mut Notebook,
        text: &str,
        rules: TextRules,
        ids: &mut IdSource,
    ) -> Result<EditReport, EngineError> {
        let ops = match &self.known {
            None => notebook.text_ops(text, rules),
            Some(known) => parse_text(text).and_then(|cells| lower_text(known, &cells, rules)),
        };
        let ops = ops.map_err(|error| text_error(&self.path, error))?;
        self.apply(notebook, &ops, ids)
    }
}

/// The error of a text, with the path and in the wording of its sort.
pub fn text_error(path: &str, error: TextError) -> EngineError {
    let path = path.to_owned();
    match error {
        TextError::FirstLine => EngineError::BadText { path, error },
        TextError::BadCell { index } => EngineError::BadCell { path, index },
        TextError::LeavesOut { .. } => EngineError::LeavesOut { path, error },
        TextError::Edit(error) => EngineError::Edit { path, error, batch: 1 },
    }
}

/// The error of bytes that are no notebook, with the path.
pub fn not_a_notebook(path: &str, error: NotebookError) -> EngineError {
    let path = path.to_owned();
    match error {
        NotebookError::Syntax { .. } => EngineError::NotJson { path, error },
        NotebookError::NotAnObject | NotebookError::NoCells => {
            EngineError::Structure { path, error }
        }
        NotebookError::TooLarge { size_bytes, limit_bytes } => {
            EngineError::TooLarge { path, size_bytes, limit_bytes }
        }
    }
}

/// A folder that does not exist means that the file does not either.
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

/// Does two things, the second on a thread of its own when that is worth it.
fn beside<A, B: Send>(
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

/// A number nobody can guess, for names of temporary files and for cell ids.
pub fn random() -> u64 {
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_err() {
        // Without the system's randomness a number that differs from run to run still serves: names
        // are made exclusively and ids are checked.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = now.map_or(0, |now| now.as_nanos() as u64);
        return nanos ^ (u64::from(std::process::id()) << 32);
    }
    u64::from_le_bytes(bytes)
}
