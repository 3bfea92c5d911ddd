//! Temporary folders in the state folder. Each belongs to one command and is removed with it.
//!
//! Owns cleanup: a folder left by a killed command is removed by the next command that makes one. The callers own
//! the contents.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use inkcell_engine::kernel::make_private_folder;
use inkcell_engine::system_random;

/// The file whose lock marks its folder as in use. The folder itself is locked by the command that saves a file in
/// it.
const HELD: &str = ".held";

/// A private folder. Dropping it removes it with its contents.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    /// Held for as long as the folder is in use.
    _lock: File,
}

impl Scratch {
    /// Makes a new folder of this kind, and removes folders of the kind that no command uses any more.
    pub(crate) fn make(state_dir: &Path, kind: &str) -> io::Result<Scratch> {
        let all = state_dir.join(kind);
        make_private_folder(&all)?;
        // Without this lock, a folder that was made but not yet locked would look abandoned.
        let together = File::open(&all)?;
        together.lock()?;
        sweep(&all);
        let folder = all.join(format!("{:016x}", system_random()));
        make_private_folder(&folder)?;
        let lock = File::create(folder.join(HELD))?;
        lock.lock()?;
        Ok(Scratch { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be removed now is unlocked, so the next command tries again.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes every folder that no command has locked. A folder that cannot be inspected stays.
fn sweep(all: &Path) {
    let Ok(entries) = fs::read_dir(all) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
    {
        let folder = entry.path();
        let is_left = match File::open(folder.join(HELD)) {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_left {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder in use stays, a folder left by a killed command goes, and files are not touched.
    #[test]
    fn what_was_left_is_taken_away_by_the_next() {
        let state = tempfile::tempdir().unwrap();
        let first = Scratch::make(state.path(), "kind").unwrap();
        fs::write(first.path().join("a"), "mine").unwrap();
        let left = state.path().join("kind").join("left");
        fs::create_dir_all(left.join("deep")).unwrap();
        fs::write(state.path().join("kind").join("file"), "").unwrap();
        let second = Scratch::make(state.path(), "kind").unwrap();
        assert!(first.path().join("a").exists() && second.path().exists() && !left.exists());
        assert!(state.path().join("kind").join("file").exists());
        let was = first.path().to_owned();
        drop(first);
        assert!(!was.exists() && second.path().exists());
    }
}
