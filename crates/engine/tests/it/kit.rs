//! A private folder with a state folder beside it, and short names for the requests of tests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use inkcell_engine::notebook::{CellKind, CellPlace, CellRef, EditOp, OutputsAfter, SourceShape};
use inkcell_engine::{FilesConfig, Notebooks, PathBase, Roots, SaveOptions, system_random};
use inkcell_testkit::wait::until;
use tempfile::TempDir;

/// A folder with notebooks in it.
pub(crate) struct Desk {
    pub(crate) root: TempDir,
    pub(crate) notebooks: Notebooks,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk::with(|_, _| {})
    }

    /// A desk with a changed configuration; `change` receives the working folder.
    pub(crate) fn with(change: impl FnOnce(&mut FilesConfig, &Path)) -> Desk {
        let root = tempfile::Builder::new().prefix("inkcell-test-").tempdir().expect("a folder");
        let work = root.path().canonicalize().expect("the folder is there").join("work");
        std::fs::create_dir(&work).expect("a working folder");
        let mut config = FilesConfig {
            state_dir: root.path().join("state"),
            path_base: PathBase { cwd: work.clone(), home: Some(work.clone()) },
            roots: Roots::Anywhere,
            max_bytes: 1 << 30,
            lock_wait: Duration::from_secs(20),
            random: system_random,
        };
        change(&mut config, &work);
        Desk { root, notebooks: Notebooks::new(config) }
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.root.path().canonicalize().expect("the folder is there").join("work")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.root.path().join("state")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir().join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // Make the file look old, so that no program seems to be writing it.
        let past = std::time::SystemTime::now() - Duration::from_secs(60);
        let file = std::fs::File::options().write(true).open(&path).expect("the file is there");
        file.set_modified(past).expect("a time");
        path
    }

    pub(crate) fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("the file can be read")
    }

    pub(crate) fn names(&self) -> Vec<String> {
        inkcell_testkit::env::names_in(&self.dir())
    }
}

pub(crate) fn options() -> SaveOptions {
    SaveOptions::in_place()
}

pub(crate) fn at(index: i64) -> CellRef {
    CellRef::Index(index)
}

pub(crate) fn replace(cell: CellRef, source: &str) -> EditOp {
    EditOp::Replace {
        cell,
        source: source.to_owned(),
        kind: None,
        outputs: OutputsAfter::ClearIfChanged,
        shape: SourceShape::Keep,
    }
}

pub(crate) fn insert(at: CellPlace, source: &str) -> EditOp {
    EditOp::Insert { at, kind: CellKind::Code, source: source.to_owned() }
}

/// A notebook of nbformat 4.4, whose cells have no ids.
pub(crate) fn without_ids(sources: &[&str]) -> String {
    let cell =
        |source: &&str| serde_json::json!({"cell_type": "raw", "metadata": {}, "source": source});
    let cells: Vec<_> = sources.iter().map(cell).collect();
    inkcell_testkit::notebooks::pretty(
        &serde_json::json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}),
    )
}

/// Overwrites bytes of a file in place: same size, same file, and the modification time set back, so that only the
/// content differs.
pub(crate) fn overwrite_in_place(path: &Path, old: &str, new: &str) {
    assert_eq!(old.len(), new.len(), "the size must not tell");
    let before = std::fs::metadata(path).expect("the file is there");
    let text = std::fs::read_to_string(path).expect("text");
    assert!(text.contains(old), "{old:?} is not in the file");
    let file = std::fs::OpenOptions::new().write(true).open(path).expect("a writable file");
    std::os::unix::fs::FileExt::write_all_at(&file, text.replace(old, new).as_bytes(), 0)
        .expect("written");
    file.set_modified(before.modified().expect("a time")).expect("the time is set back");
}

/// Waits until a file's times are so old that a change must move them.
pub(crate) fn let_age(path: &Path) {
    use std::os::unix::fs::MetadataExt;
    until("the clock to move", || {
        let found = std::fs::metadata(path).expect("the file is there");
        let changed = Duration::new(found.ctime() as u64, found.ctime_nsec() as u32);
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
        now.checked_sub(changed).is_some_and(|age| age > Duration::from_millis(100))
    });
}
