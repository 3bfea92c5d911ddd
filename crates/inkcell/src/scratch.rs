//! Folders in the state folder that belong to one command, and are gone with it.
//!
//! Owns that nothing stays for ever: what a command that was killed has left is taken away by the next one that makes such
//! a folder. What is put in is for others.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use inkcell_engine::system_random;

/// The file whose lock says that its folder is somebody's. The folder itself is locked by whoever saves a file in it.
const HELD: &str = ".held";

/// A folder that nobody else sees. Dropped, it is gone with everything in it.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    /// Held as long as the folder is somebody's.
    _lock: File,
}

impl Scratch {
    /// A new one among those of its kind, and those that are nobody's any more are taken away.
    pub(crate) fn make(state_dir: &Path, kind: &str) -> io::Result<Scratch> {
        let all = state_dir.join(kind);
        DirBuilder::new().recursive(true).mode(0o700).create(&all)?;
        // One that was made and has no lock yet must not look like one that was left.
        let together = File::open(&all)?;
        together.lock()?;
        sweep(&all);
        let folder = all.join(format!("{:016x}", system_random()));
        DirBuilder::new().mode(0o700).create(&folder)?;
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
        // What cannot be removed now is nobody's, and is tried again by the next.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes what nobody has a lock on. What cannot be looked at stays.
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

    /// What somebody has stays, what was left by a command that was killed goes, and files are not touched.
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
