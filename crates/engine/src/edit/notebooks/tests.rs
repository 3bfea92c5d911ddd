//! Notebooks that another program is saving in place.

use std::cell::RefCell;
use std::time::SystemTime;

use inkcell_testkit::notebooks::small;

use super::*;
use crate::types::system_random;

thread_local! {
    /// The file that the other program saves, and the number of reads until then.
    static SAVING: RefCell<(PathBuf, u32)> = RefCell::default();
}

/// Stands for the time between two reads, in which the other program goes on.
fn save_meanwhile(_: Duration) {
    SAVING.with_borrow_mut(|(path, looks)| {
        *looks = looks.saturating_sub(1);
        if *looks == 0 {
            std::fs::write(path, small()).expect("written");
        }
    });
}

/// An empty file that was touched just now and is saved after this number of reads. Its time stamp lies in the future,
/// so that it stays recent on a slow machine.
fn empty_file(folder: &Path, looks: u32) -> Notebooks {
    let path = folder.join("nb.ipynb");
    let file = std::fs::File::create(&path).expect("a file");
    file.set_modified(SystemTime::now() + Duration::from_secs(3600)).expect("a time");
    SAVING.set((path, looks));
    let config = FilesConfig {
        state_dir: folder.join("state"),
        path_base: PathBase { cwd: folder.to_owned(), home: None },
        roots: Roots::Anywhere,
        max_bytes: 1 << 20,
        lock_wait: Duration::from_secs(20),
        random: system_random,
    };
    Notebooks { pause: save_meanwhile, ..Notebooks::new(config) }
}

/// F-064: a program that saves in place leaves the file empty for a moment. Reads and edits wait until it is complete.
#[test]
fn a_file_that_is_being_saved_is_read_when_it_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    for looks in [1, Patience::MAX_WAITS] {
        let notebooks = empty_file(folder.path(), looks);
        let opened = notebooks.read("nb.ipynb").expect("it is whole");
        assert!(opened.notebook.cells().count() > 0);
        let notebooks = empty_file(folder.path(), looks);
        let unchanged = notebooks.change("nb.ipynb", &SaveOptions::in_place(), |_, _| Ok(()));
        unchanged.expect("it is whole");
        let notebooks = empty_file(folder.path(), looks);
        let target = notebooks.target("nb.ipynb").expect("a path");
        let (notebook, _) = notebooks.read_again(&target).expect("it is whole");
        assert!(notebook.cells().count() > 0);
    }
}

#[test]
fn a_file_that_stays_empty_is_not_waited_for_long() {
    let folder = tempfile::tempdir().expect("a folder");
    let notebooks = empty_file(folder.path(), Patience::MAX_WAITS + 1);
    assert!(notebooks.read("nb.ipynb").is_err());
}
