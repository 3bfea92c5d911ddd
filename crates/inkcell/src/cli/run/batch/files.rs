//! The files of a batch: the record, the reports, and the free memory.
//!
//! Owns everything a batch asks of the file system and of the machine, apart from finding the notebooks and running
//! them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use inkcell_engine::Kind;
use inkcell_engine::kernel::{make_private_folder, replace_file};

use crate::batch::{Past, Record, RowKey};
use crate::exit::Failure;
use crate::words;

/// The folder for records of batches, in the state folder.
const FOLDER: &str = "batches";

/// The record of a batch, locked by this process.
pub(super) struct RecordFile {
    file: File,
}

impl RecordFile {
    /// Opens the record of this batch, and locks it.
    pub(super) fn open(state_dir: &Path, record: &Record) -> Result<RecordFile, Failure> {
        let failed = |error| Failure::Io(words::failure::KEEP_RECORD, error);
        let folder = state_dir.join(FOLDER);
        make_private_folder(&folder).map_err(failed)?;
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let file = options.open(folder.join(record.name())).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(RecordFile { file }),
            Err(TryLockError::Error(error)) => Err(failed(error)),
            Err(TryLockError::WouldBlock) => Err(Failure::new(
                Kind::Busy,
                words::batch::RUNS_ALREADY,
                Some(words::run::TRY_WHEN_DONE.to_owned()),
            )),
        }
    }

    /// The results of an earlier run of the batch. A record that cannot be read holds none.
    pub(super) fn past(&mut self) -> Past {
        let mut text = Vec::new();
        let _ = self.file.seek(SeekFrom::Start(0));
        let _ = self.file.read_to_end(&mut text);
        let _ = self.file.seek(SeekFrom::End(0));
        if !text.is_empty() && text.last() != Some(&b'\n') {
            // Without this, a line that was cut off would swallow the next one.
            let _ = self.file.write_all(b"\n");
        }
        Past::parse(&String::from_utf8_lossy(&text))
    }

    pub(super) fn clear(&mut self) {
        let _ = self.file.set_len(0);
        let _ = self.file.seek(SeekFrom::Start(0));
    }

    /// Records that a row ended well. Without the record it would only be run again.
    pub(super) fn note(&mut self, row: &RowKey, source: &str) {
        let _ = self.file.write_all(Record::line(row, source).as_bytes());
    }
}

/// The files of the requested reports.
#[derive(Default)]
pub(in crate::cli) struct Reports {
    pub(in crate::cli) junit: Option<PathBuf>,
    pub(in crate::cli) json: Option<PathBuf>,
}

impl Reports {
    /// Refuses, before anything runs, reports that cannot be written or would replace another file. `taken` are the
    /// notebooks and outputs of the batch.
    pub(in crate::cli) fn must_be_writable(&self, taken: &[PathBuf]) -> Result<(), Failure> {
        for (argument, file) in [("--junit", &self.junit), ("--report", &self.json)] {
            let Some(file) = file else { continue };
            if let Some(problem) = refusal(file, taken) {
                return Err(Failure::argument(argument, problem));
            }
        }
        match (&self.junit, &self.json) {
            (Some(junit), Some(json)) if target(junit) == target(json) => {
                Err(Failure::argument("--report", words::batch::junit_file(&json.display())))
            }
            _ => Ok(()),
        }
    }
}

fn refusal(file: &Path, taken: &[PathBuf]) -> Option<String> {
    let real = target(file);
    let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty());
    let shown = file.display();
    match folder {
        Some(folder) if !folder.is_dir() => Some(words::batch::no_report_folder(&folder.display())),
        _ if real.is_dir() => Some(words::batch::is_folder(&shown)),
        _ if taken.contains(&real) => Some(words::batch::is_notebook(&shown)),
        _ => None,
    }
}

/// The file that a name leads to, also if the last link leads to nothing yet.
fn target(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // More links than that form a cycle.
    for _ in 0..40 {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        match (fs::read_link(&path), path.parent()) {
            (Ok(next), Some(folder)) => path = folder.join(next),
            _ => break,
        }
    }
    match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// Writes a report: a file whole or not at all, the target of a link and not the link, and directly into anything
/// that is not a plain file, such as `/dev/stdout`.
pub(in crate::cli) fn write_report(path: &Path, text: &str) -> std::io::Result<()> {
    // A stream of ours may lead to a plain file that other programs write as well.
    let streams = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"];
    let is_stream = streams.iter().any(|stream| path.starts_with(stream));
    let is_plain = fs::metadata(path).map_or(true, |metadata| metadata.is_file());
    if is_stream || !is_plain {
        let mut file = OpenOptions::new().append(true).open(path)?;
        return file.write_all(text.as_bytes());
    }
    replace_file(&target(path), text.as_bytes(), 0o666)
}

/// The free memory in bytes: of the machine, or of our group of processes if that has less.
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

    /// A link stays a link, a device is written to, and a plain file is whole or unchanged.
    #[test]
    fn reports_go_where_their_names_lead() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("old"), "before").unwrap();
        for (link, to) in [("link", "old"), ("dangling", "new")] {
            std::os::unix::fs::symlink(to, at(link)).unwrap();
            write_report(&at(link), "text").unwrap();
            assert!(at(link).is_symlink());
            assert_eq!(fs::read_to_string(at(to)).unwrap(), "text");
        }
        write_report(Path::new("/dev/null"), "text").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn reports_that_would_take_the_place_of_something_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::create_dir(at("deep")).unwrap();
        fs::write(at("a.ipynb"), "{}").unwrap();
        std::os::unix::fs::symlink("a.ipynb", at("link")).unwrap();
        let told = |junit: Option<&str>, json: Option<&str>| {
            let reports = Reports { junit: junit.map(at), json: json.map(at) };
            let taken = [at("a.ipynb"), at("out.ipynb")];
            match reports.must_be_writable(&taken) {
                Ok(()) => String::new(),
                Err(Failure::Engine(error)) => error.to_string(),
                Err(other) => panic!("{other:?}"),
            }
        };
        assert_eq!(told(Some("j.xml"), Some("r.json")), "");
        for (junit, json, wanted) in [
            (Some("no/j.xml"), None, "does not exist"),
            (None, Some("deep"), "is a folder; name a file"),
            (None, Some("link"), "is a notebook of the batch"),
            (Some("out.ipynb"), None, "is a notebook of the batch"),
            (Some("x"), Some("deep/../x"), "--junit writes to"),
        ] {
            let told = told(junit, json);
            assert!(told.contains(wanted), "{told}");
        }
    }

    #[test]
    fn a_record_belongs_to_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::of(Path::new("/w"), ["a"]);
        let key = RowKey::of(Path::new("a"), Path::new("b"), &[]);
        let mut first = RecordFile::open(folder.path(), &record).unwrap_or_else(|_| panic!());
        assert!(matches!(
            RecordFile::open(folder.path(), &record),
            Err(Failure::Told { kind: Kind::Busy, .. })
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
