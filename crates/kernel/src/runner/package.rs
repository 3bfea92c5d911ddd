//! The runner's Python files, carried in the binary and laid out where an interpreter can import them.
//!
//! Owns one folder below the state folder, named after the content, so that Python's own cache of
//! compiled files serves every later start and two versions never meet.

use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/runner_files.rs"));

/// The folder to import the runner from; made when it is not there yet.
pub(crate) fn install(state: &Path) -> io::Result<PathBuf> {
    let folder = state.join("runner").join(format!("{:016x}", content_hash()));
    if folder.join("complete").exists() {
        return Ok(folder);
    }
    let fresh =
        state.join("runner").join(format!(".new-{}-{}", std::process::id(), thread_number()));
    remove(&fresh)?;
    for (name, text) in FILES {
        let path = fresh.join(name);
        if let Some(parent) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        fs::write(&path, text)?;
    }
    fs::write(fresh.join("complete"), "")?;
    match fs::rename(&fresh, &folder) {
        Ok(()) => Ok(folder),
        // Somebody else was quicker, or an earlier attempt was cut off.
        Err(_) if folder.join("complete").exists() => {
            remove(&fresh)?;
            Ok(folder)
        }
        Err(_) => {
            remove(&folder)?;
            fs::rename(&fresh, &folder)?;
            Ok(folder)
        }
    }
}

/// Two threads of one process may lay the files out at once.
fn thread_number() -> u64 {
    let mut hasher = DefaultHasher::new();
    std::thread::current().id().hash(&mut hasher);
    hasher.finish()
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn content_hash() -> u64 {
    let mut hasher = DefaultHasher::new();
    FILES.hash(&mut hasher);
    hasher.finish()
}
