//! The files of a batch: patterns expanded, where names lead, the record, the reports.
//!
//! Owns everything a batch asks of the file system and of the machine, apart from running notebooks.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use inkcell_engine::{Kind, system_random};

use super::not_found;
use crate::batch::{Glob, Past, Piece, Record, Row, RowKey, is_glob};
use crate::exit::{Exit, Failure};
use crate::setup::quoted;

/// Where records of batches are, in the state folder.
const FOLDER: &str = "batches";

/// More names than this are not what somebody meant.
const MOST: usize = 100_000;

/// How deep folders are looked through.
const DEEPEST: usize = 64;

/// Files as a batch sees them, from the folder where it was called.
pub(super) struct Files<'a> {
    pub(super) cwd: &'a Path,
}

impl Files<'_> {
    /// The notebooks that were named, patterns expanded, in order.
    pub(super) fn inputs<'a>(
        &self,
        given: impl Iterator<Item = &'a str>,
    ) -> Result<Vec<String>, Failure> {
        let mut found = Vec::new();
        for given in given {
            let path = self.cwd.join(given);
            if path.is_dir() {
                return Err(folder(given));
            }
            // A name that is there is that file, whatever signs it has.
            if path.exists() || !is_glob(given) {
                if !path.exists() {
                    return Err(not_found(format!("there is no notebook {given}"), None));
                }
                found.push(given.to_owned());
                continue;
            }
            let matching = self.matching(&Glob::parse(given));
            let mut notebooks: Vec<String> =
                matching.into_iter().filter(|name| self.cwd.join(name).is_file()).collect();
            // A pattern that names no ending means notebooks.
            if !given.ends_with(".ipynb") {
                notebooks.retain(|name| name.ends_with(".ipynb"));
            }
            if notebooks.is_empty() {
                return Err(not_found(format!("no notebook matches {given}"), None));
            }
            found.extend(notebooks);
        }
        match found.is_empty() {
            true => Err(Failure::argument("PATH", "no notebook is given beside the matrix")),
            false => Ok(found),
        }
    }

    /// The names that a pattern means, in order.
    fn matching(&self, glob: &Glob) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let start = if glob.is_absolute { "/".to_owned() } else { String::new() };
        self.walk(&start, &glob.pieces, &mut found, 0);
        found
    }

    fn walk(&self, before: &str, pieces: &[Piece], found: &mut BTreeSet<String>, depth: usize) {
        if found.len() >= MOST || depth > DEEPEST {
            return;
        }
        let Some((piece, rest)) = pieces.split_first() else {
            found.insert(before.to_owned());
            return;
        };
        let inside = |name: &str| match before {
            "" => name.to_owned(),
            before if before.ends_with('/') => format!("{before}{name}"),
            before => format!("{before}/{name}"),
        };
        if let Piece::Name(name) = piece {
            let path = inside(name);
            if self.cwd.join(&path).exists() {
                self.walk(&path, rest, found, depth + 1);
            }
            return;
        }
        if *piece == Piece::Folders {
            self.walk(before, rest, found, depth + 1);
        }
        // What cannot be listed has nothing that could be meant.
        let Ok(entries) = fs::read_dir(self.cwd.join(before)) else { return };
        let mut entries: Vec<(String, bool)> = entries
            .flatten()
            .filter_map(|entry| {
                // Folders are not followed through links, which may lead round.
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                Some((entry.file_name().into_string().ok()?, is_folder))
            })
            .collect();
        entries.sort();
        for (name, is_folder) in entries.iter().filter(|(name, _)| piece.matches(name)) {
            match piece {
                Piece::Folders if *is_folder => {
                    self.walk(&inside(name), pieces, found, depth + 1);
                }
                Piece::Folders => {}
                _ => self.walk(&inside(name), rest, found, depth + 1),
            }
        }
    }

    /// Where a name leads, links followed as far as there is something.
    pub(super) fn real(&self, name: &str) -> PathBuf {
        let path = self.cwd.join(name);
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        // Of what is not there yet, the folder that is.
        let mut missing = Vec::new();
        let mut known = path.as_path();
        while let (Some(parent), Some(name)) = (known.parent(), known.file_name()) {
            missing.push(name.to_owned());
            if let Ok(real) = parent.canonicalize() {
                return missing.iter().rev().fold(real, |path, name| path.join(name));
            }
            known = parent;
        }
        path
    }

    pub(super) fn key(&self, row: &Row) -> RowKey {
        let input = self.real(&row.input);
        let output = row.output.as_ref().map_or_else(|| input.clone(), |output| self.real(output));
        RowKey::of(&input, &output, &row.values)
    }
}

/// What to write instead of a folder.
fn folder(given: &str) -> Failure {
    let name = given.trim_end_matches('/');
    let name = if name.is_empty() { "/" } else { name };
    let (here, below) = (format!("{name}/*.ipynb"), format!("{name}/**/*.ipynb"));
    Failure::Told {
        exit: Exit::Invalid,
        kind: Kind::Invalid,
        message: format!("{given} is a folder, and not a notebook"),
        hint: Some(format!(
            "run its notebooks with {}, or with {} also those in folders below",
            quoted(&here),
            quoted(&below)
        )),
    }
}

/// What is noted about a batch, while this process has it.
pub(super) struct RecordFile {
    file: File,
}

impl RecordFile {
    /// The record of this batch, which nobody else has from here on.
    pub(super) fn open(state_dir: &Path, record: &Record) -> Result<RecordFile, Failure> {
        let failed = |error| Failure::Io("cannot keep the record of the batch", error);
        let folder = state_dir.join(FOLDER);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let file = options.open(folder.join(record.name())).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(RecordFile { file }),
            Err(TryLockError::Error(error)) => Err(failed(error)),
            Err(TryLockError::WouldBlock) => Err(Failure::Told {
                exit: Exit::Busy,
                kind: Kind::Busy,
                message: "another inkcell runs the same batch".to_owned(),
                hint: Some("try again when it is done".to_owned()),
            }),
        }
    }

    /// What an earlier run of the batch has done. What cannot be read says nothing.
    pub(super) fn past(&mut self) -> Past {
        let mut text = Vec::new();
        let _ = self.file.seek(SeekFrom::Start(0));
        let _ = self.file.read_to_end(&mut text);
        let _ = self.file.seek(SeekFrom::End(0));
        if !text.is_empty() && text.last() != Some(&b'\n') {
            // A line that was cut off must not swallow the next one.
            let _ = self.file.write_all(b"\n");
        }
        Past::parse(&String::from_utf8_lossy(&text))
    }

    /// Begins anew.
    pub(super) fn clear(&mut self) {
        let _ = self.file.set_len(0);
        let _ = self.file.seek(SeekFrom::Start(0));
    }

    /// A row ended well. Without the note it would only be run again.
    pub(super) fn note(&mut self, row: &RowKey, source: &str) {
        let _ = self.file.write_all(Record::line(row, source).as_bytes());
    }
}

/// Writes a report whole or not at all.
pub(super) fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = path.with_file_name(format!(".{name}.{:016x}", system_random()));
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// How many bytes of memory are free: of the machine, or of the group of processes that we are in, where that has less.
pub(super) fn free_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let of_machine = line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? << 10;
    let number = |name: &str| -> Option<u64> {
        let group = fs::read_to_string("/proc/self/cgroup").ok()?;
        let group = group.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let file = Path::new("/sys/fs/cgroup").join(group).join(name);
        fs::read_to_string(file).ok()?.trim().parse().ok()
    };
    let of_group = number("memory.max")
        .zip(number("memory.current"))
        .map(|(max, now)| max.saturating_sub(now));
    Some(of_group.map_or(of_machine, |of_group| of_group.min(of_machine)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        folder
    }

    #[test]
    fn patterns_find_notebooks_in_order() {
        let folder = folder_with(&[
            "nb/b.ipynb",
            "nb/a.ipynb",
            "nb/x.py",
            "nb/deep/er/c.ipynb",
            "nb/.ipynb_checkpoints/a.ipynb",
            "odd[1].ipynb",
        ]);
        let files = Files { cwd: folder.path() };
        let table: [(&[&str], &[&str]); 6] = [
            (&["nb/*.ipynb"], &["nb/a.ipynb", "nb/b.ipynb"]),
            (&["nb/*"], &["nb/a.ipynb", "nb/b.ipynb"]),
            (&["nb/b.ipynb", "nb/[a]*"], &["nb/b.ipynb", "nb/a.ipynb"]),
            (&["nb/**/*.ipynb"], &["nb/a.ipynb", "nb/b.ipynb", "nb/deep/er/c.ipynb"]),
            (&["**/c.ipynb"], &["nb/deep/er/c.ipynb"]),
            (&["odd[1].ipynb"], &["odd[1].ipynb"]),
        ];
        for (given, wanted) in table {
            let found = files.inputs(given.iter().copied());
            assert_eq!(found.ok().unwrap_or_default(), wanted, "{given:?}");
        }
        let absolute = format!("{}/nb/*.ipynb", folder.path().display());
        assert_eq!(files.inputs([absolute.as_str()].into_iter()).ok().unwrap_or_default().len(), 2);
    }

    /// Each is one sentence that says what to write.
    #[test]
    fn what_is_no_notebook_is_told() {
        let folder = folder_with(&["nb/a.ipynb"]);
        let files = Files { cwd: folder.path() };
        let told = |given: &[&str]| match files.inputs(given.iter().copied()) {
            Err(Failure::Told { message, hint, .. }) => (message, hint.unwrap_or_default()),
            other => panic!("{other:?}"),
        };
        assert_eq!(told(&["gone.ipynb"]).0, "there is no notebook gone.ipynb");
        assert_eq!(told(&["nb/*.nb"]).0, "no notebook matches nb/*.nb");
        let (message, hint) = told(&["nb/"]);
        assert_eq!(message, "nb/ is a folder, and not a notebook");
        assert!(hint.contains("nb/*.ipynb") && hint.contains("nb/**/*.ipynb"), "{hint}");
    }

    /// Also of what is not there yet.
    #[test]
    fn names_that_lead_to_one_place_are_the_same() {
        let folder = folder_with(&["nb/a.ipynb"]);
        std::os::unix::fs::symlink(folder.path().join("nb"), folder.path().join("link")).unwrap();
        let files = Files { cwd: folder.path() };
        assert_eq!(files.real("link/a.ipynb"), files.real("nb/../nb/a.ipynb"));
        assert_eq!(files.real("link/new/b.ipynb"), files.real("nb/new/b.ipynb"));
        assert_ne!(files.real("nb/b.ipynb"), files.real("nb/a.ipynb"));
    }

    #[test]
    fn a_record_belongs_to_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::of(Path::new("/w"), ["a"]);
        let key = RowKey::of(Path::new("a"), Path::new("b"), &[]);
        let mut first = RecordFile::open(folder.path(), &record).unwrap_or_else(|_| panic!());
        assert!(matches!(
            RecordFile::open(folder.path(), &record),
            Err(Failure::Told { exit: Exit::Busy, .. })
        ));
        first.note(&key, "source");
        first.file.write_all(b"{\"cut").unwrap();
        drop(first);
        let mut again = RecordFile::open(folder.path(), &record).unwrap_or_else(|_| panic!());
        assert!(again.past().has(&key, "source"));
        again.note(&key, "later");
        assert!(again.past().has(&key, "later"));
        again.clear();
        assert!(again.past().is_empty());
    }
}
