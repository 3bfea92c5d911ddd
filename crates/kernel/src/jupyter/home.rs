//! The folder of one kernel, and names that cannot be guessed.
//!
//! Owns the files that must not outlive a kernel. Other modules know their contents.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::private_folder::{make_new_private_folder, make_private_folder};

/// A folder for the files of one kernel, which only this user can enter. Dropping this removes the
/// folder.
#[derive(Debug)]
pub(crate) struct Home {
    folder: PathBuf,
}

impl Home {
    /// Makes a new folder below this one, which is created if it does not exist.
    pub(crate) fn make(below: &Path) -> io::Result<Home> {
        make_private_folder(below)?;
        remove_leavings(below);
        let folder = below.join(format!("k{}-{}", process::id(), random_hex::<4>()?));
        make_new_private_folder(&folder)?;
        Ok(Home { folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // The kernel may have removed a part of the folder by itself.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes the folders of processes that were killed.
fn remove_leavings(below: &Path) {
    let Ok(entries) = fs::read_dir(below) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix('k')?.split_once('-'));
        let process = process.and_then(|(process, _)| Pid::from_raw(process.parse().ok()?));
        if process.is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Returns `BYTES` random bytes as hexadecimal text.
pub(crate) fn random_hex<const BYTES: usize>() -> io::Result<String> {
    let mut bytes = [0u8; BYTES];
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next kernel removes the folder of a killed host; the folder of a living one stays.
    #[test]
    fn leavings_of_the_dead_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let mut ended = process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let dead = temp.path().join(format!("k{}-00", ended.id()));
        let others = [format!("k{}-00", process::id()), "k1-00".to_owned(), "notes".to_owned()];
        for folder in others.iter().map(|name| temp.path().join(name)).chain([dead.clone()]) {
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("kernel.json"), "{}").unwrap();
        }
        let _home = Home::make(temp.path()).unwrap();
        assert!(!dead.exists());
        assert!(others.iter().all(|name| temp.path().join(name).exists()));
    }
}
