//! Content of the versions that callers have seen: for each cell its id and two digests.
//!
//! Owns the files in the state folder that hold this, 64 versions a notebook. They show later what has changed since.
//! Losing them only means that old versions are unknown.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use inkcell_kernel::replace_file;
use inkcell_notebook::{CellId, CellKind, Notebook, TextBase};
use rustix::fs::{Dir, Mode, OFlags};

use crate::error::elapsed;
use crate::files::lock::{file_key, private_folder};
use crate::types::{Suggestion, Version};

/// Versions kept of one file.
const MAX_VERSIONS: usize = 64;

/// Files with any kept versions.
const MAX_FILES: usize = 2000;

/// Bytes of all versions of one file together; a notebook of 100,000 cells keeps fewer versions.
const MAX_BYTES: u64 = 16 << 20;

/// A cell of a recorded version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RecordedCell {
    pub(crate) id: Option<String>,
    text: u64,
    /// Metadata and attachments. Outputs and counts do not count: a run is not an edit.
    rest: u64,
}

impl RecordedCell {
    /// Returns true if at most outputs and count differ.
    pub(crate) fn is_same(&self, other: &RecordedCell) -> bool {
        self.text == other.text && self.rest == other.rest
    }

    /// Returns true if neither kind nor source differ.
    pub(crate) fn has_text_of(&self, other: &RecordedCell) -> bool {
        self.text == other.text
    }

    pub(crate) fn digest(&self) -> (u64, u64) {
        (self.text, self.rest)
    }
}

/// The cells of one version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) version: Version,
    /// Digest of the notebook's own metadata.
    pub(crate) metadata: u64,
    pub(crate) cells: Vec<RecordedCell>,
}

fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}

fn text_digest(kind: &str, source: &str) -> u64 {
    // Line endings do not count: an editor may have saved the text with others.
    if source.contains('\r') {
        return digest([kind.as_bytes(), source.replace("\r\n", "\n").as_bytes()]);
    }
    digest([kind.as_bytes(), source.as_bytes()])
}

impl Record {
    pub(crate) fn of(notebook: &Notebook, version: Version) -> Record {
        let cells = notebook
            .cells()
            .map(|cell| RecordedCell {
                // An invalid id cannot be carried over; such a cell is found by its position.
                id: cell.id().and_then(|id| CellId::parse(&id)).map(|id| id.to_string()),
                text: text_digest(&cell.kind_name(), &cell.source().text),
                rest: digest(cell.properties()),
            })
            .collect();
        Record { version, metadata: digest([notebook.metadata_json()]), cells }
    }

    fn to_text(&self) -> String {
        let line = |cell: &RecordedCell| {
            let id = cell.id.as_deref().unwrap_or_default();
            format!("{:016x} {:016x} {id}\n", cell.text, cell.rest)
        };
        let cells: String = self.cells.iter().map(line).collect();
        format!("{:016x}\n{cells}", self.metadata)
    }

    /// Returns `None` for a damaged file; the version is then unknown.
    fn from_text(version: Version, text: &str) -> Option<Record> {
        let cell = |line: &str| {
            let (text, rest) = line.split_at_checked(16)?;
            let (rest, id) = rest.strip_prefix(' ')?.split_at_checked(16)?;
            let id = id.strip_prefix(' ')?;
            Some(RecordedCell {
                id: (!id.is_empty()).then(|| id.to_owned()),
                text: u64::from_str_radix(text, 16).ok()?,
                rest: u64::from_str_radix(rest, 16).ok()?,
            })
        };
        let complete = text.ends_with('\n');
        let mut lines = text.lines();
        let metadata = u64::from_str_radix(lines.next()?, 16).ok()?;
        let cells = lines.map(cell).collect::<Option<Vec<_>>>()?;
        complete.then_some(Record { version, metadata, cells })
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = Option<&str>> {
        self.cells.iter().map(|cell| cell.id.as_deref())
    }
}

impl TextBase for Record {
    fn count(&self) -> usize {
        self.cells.len()
    }

    fn id(&self, index: usize) -> Option<&str> {
        self.cells.get(index)?.id.as_deref()
    }

    fn is_same(&self, index: usize, kind: CellKind, source: &str) -> bool {
        self.cells[index].text == text_digest(kind.name(), source)
    }
}

/// The recorded versions of one file.
pub(crate) struct Records {
    state: PathBuf,
    key: String,
    folder: PathBuf,
}

impl Records {
    pub(crate) fn of(path: &Path, state: &Path) -> Records {
        let (state, key) = (state.to_owned(), file_key(path));
        let folder = state.join("versions").join(&key);
        Records { state, key, folder }
    }

    fn file(&self, version: Version) -> PathBuf {
        self.folder.join(version.to_string())
    }

    pub(crate) fn find(&self, version: Version) -> Option<Record> {
        let text = std::fs::read_to_string(self.file(version)).ok()?;
        Record::from_text(version, &text)
    }

    /// The known versions that a caller may have meant, except the current one.
    pub(crate) fn near(&self, yours: Version, current: Version) -> Vec<Suggestion> {
        let mut seen: Vec<(SystemTime, Version)> = list(&self.folder)
            .into_iter()
            .filter_map(|path| {
                let version = Version::parse(path.file_name()?.to_str()?)?;
                Some((std::fs::metadata(&path).ok()?.modified().ok()?, version))
            })
            .filter(|(_, version)| *version != current)
            .collect();
        seen.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        let described = |(time, version): (SystemTime, Version)| {
            let what = format!("seen {}", elapsed(time.elapsed().unwrap_or_default()));
            Suggestion { id: version.to_string(), what }
        };
        let seen: Vec<Suggestion> = seen.into_iter().map(described).collect();
        Suggestion::choose(&seen, &yours.to_string())
    }

    /// Keeps a record. If the state folder cannot be written, the record is lost and the caller's work goes on.
    pub(crate) fn keep(&self, version: Version, record: impl FnOnce() -> Record) {
        let file = self.file(version);
        if file.exists() {
            return;
        }
        if self.make_folder().is_err() {
            return;
        }
        let _ = replace_file(&file, record().to_text().as_bytes(), 0o600);
        self.prune();
    }

    /// Creates the folder for this file's versions. If there are too many such folders, the least recently used ones
    /// are removed.
    fn make_folder(&self) -> io::Result<()> {
        if !self.folder.is_dir() {
            let mut folders: Vec<_> = list(&self.state.join("versions"))
                .into_iter()
                .filter_map(|path| {
                    let found = std::fs::symlink_metadata(&path).ok()?;
                    Some((found.is_dir().then(|| found.modified().ok())??, path))
                })
                .collect();
            folders.sort_by(|one, other| other.cmp(one));
            for (_, folder) in folders.iter().skip(MAX_FILES - 1) {
                list(folder).iter().for_each(|file| drop(std::fs::remove_file(file)));
                let _ = std::fs::remove_dir(folder);
            }
        }
        private_folder(&self.state, &Path::new("versions").join(&self.key)).map(drop)
    }

    fn part(&self, text: &[&[u8]]) -> PathBuf {
        self.folder.join(format!("part-{}", Version::of_chunks(text.iter().copied())))
    }

    /// Records that a text, given in pieces, was only a part of the file.
    pub(crate) fn keep_part(&self, text: &[&[u8]]) {
        if self.make_folder().is_ok() && std::fs::write(self.part(text), "").is_ok() {
            self.prune();
        }
    }

    /// Returns true if this text was shown as a part.
    pub(crate) fn is_part(&self, text: &[u8]) -> bool {
        self.part(&[text]).exists()
    }

    /// Removes the oldest versions beyond the limits.
    fn prune(&self) {
        let mut files: Vec<_> = list(&self.folder)
            .into_iter()
            .filter_map(|path| {
                let found =
                    std::fs::symlink_metadata(&path).ok().filter(|found| found.is_file())?;
                Some((found.modified().ok()?, found.len(), path))
            })
            .collect();
        files.sort_by(|one, other| other.cmp(one));
        let mut total = 0;
        for (at, (_, size, path)) in files.iter().enumerate() {
            total += size;
            if at >= MAX_VERSIONS || total > MAX_BYTES && at > 0 {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

/// The entries of a folder; empty if it cannot be listed. The standard library panics if it cannot close the handle of
/// a listed folder, and keeping records must never fail a save.
fn list(folder: &Path) -> Vec<PathBuf> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(entries) = rustix::fs::open(folder, flags, Mode::empty()).and_then(Dir::read_from)
    else {
        return Vec::new();
    };
    let name = |entry: rustix::fs::DirEntry| {
        let name = entry.file_name().to_bytes();
        (name != b"." && name != b"..").then(|| folder.join(OsStr::from_bytes(name)))
    };
    entries.flatten().filter_map(name).collect()
}
