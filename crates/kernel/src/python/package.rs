//! Installs the runner's Python files from the binary into a folder from which an interpreter can import them.
//!
//! Owns one folder below the state folder. Its name depends on the content, so Python's cache of
//! compiled files serves every later start, and two versions never mix.

mod files;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;

pub(crate) use files::FILES;

use crate::error::LaunchError;
use crate::private_folder::make_private_folder;

/// How long to wait while another process lays the folder out, which takes a few milliseconds.
const TURN: Duration = Duration::from_secs(2);

/// The folder to import the runner from. Creates it if it is missing or incomplete.
///
/// Its code runs as this user, so every folder on the way must belong to this user.
pub(crate) fn install(state: &Path) -> io::Result<PathBuf> {
    let home = state.join("runner");
    let folder = home.join(format!("{:016x}", content_hash()));
    let is_scarce = |error: &io::Error| {
        matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
    };
    match lay_out(state, &home, &folder) {
        Ok(()) => Ok(folder),
        // The folder is fine. The caller must learn what ran out, because it may be able to free some.
        Err(error) if is_scarce(&error) => Err(error),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", folder.display()))),
    }
}

fn lay_out(state: &Path, home: &Path, folder: &Path) -> io::Result<()> {
    make_private_folder(home)?;
    // Another user who may write to one of these folders could replace our code.
    check_own(state)?;
    check_own(home)?;
    if is_whole(folder) {
        return check_own(folder);
    }
    let _turn = take_turn(home)?;
    if is_whole(folder) {
        return check_own(folder);
    }
    let fresh = home.join(format!(".new-{}-{}", std::process::id(), thread_number()));
    remove(&fresh)?;
    for (name, text) in FILES {
        let path = fresh.join(name);
        if let Some(parent) = path.parent() {
            make_private_folder(parent)?;
        }
        // Only the owner may write, whatever the umask is.
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(text.as_bytes())?;
    }
    make_room_for_compiled(&fresh)?;
    match fs::rename(&fresh, folder) {
        Ok(()) => Ok(()),
        // Another process was faster.
        Err(_) if is_whole(folder) => {
            remove(&fresh)?;
            check_own(folder)
        }
        // An earlier write was cut off, or a cleanup removed a part.
        Err(_) => {
            remove(folder)?;
            fs::rename(&fresh, folder)
        }
    }
}

/// Waits until no other process lays the folder out, but not for one that is stopped.
fn take_turn(home: &Path) -> io::Result<File> {
    let turn = File::open(home)?;
    let until = Instant::now() + TURN;
    while turn.try_lock().is_err() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(turn)
}

/// Compares every file with its bytes. A power failure may leave a file of the right length with other bytes. So each
/// check reads the bytes, and a write need not force the files to the disk.
fn is_whole(folder: &Path) -> bool {
    let is_there = |(name, text): &(&str, &str)| {
        let path = folder.join(name);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        is_file && fs::read(&path).is_ok_and(|found| found == text.as_bytes())
    };
    FILES.iter().all(is_there)
}

/// Removes the files that Python compiled in this folder. Python trusts the bytes after a valid header, and a power
/// failure may leave wrong bytes there.
pub(crate) fn remove_compiled(folder: &Path) -> io::Result<()> {
    compiled(folder).iter().try_for_each(|place| remove(place))?;
    make_room_for_compiled(folder)
}

/// Removes the compiled files if a damaged one stopped the start of a Jupyter kernel. True if another start makes
/// sense.
pub(crate) fn repair(state_dir: &Path, error: &LaunchError) -> bool {
    // Python reports this with one of several exceptions, which share these words.
    let is_damaged =
        matches!(error, LaunchError::Startup { reason } if reason.contains("marshal data"));
    is_damaged && install(state_dir).and_then(|root| remove_compiled(&root)).is_ok()
}

/// Creates the folders for compiled files. Python would make them writable for others, if the umask allows that.
fn make_room_for_compiled(folder: &Path) -> io::Result<()> {
    compiled(folder).iter().try_for_each(|place| make_private_folder(place))
}

/// The folders in which Python puts compiled files.
fn compiled(folder: &Path) -> BTreeSet<PathBuf> {
    let parents = FILES.iter().filter_map(|(name, _)| Path::new(name).parent());
    parents.map(|parent| folder.join(parent).join("__pycache__")).collect()
}

/// Refuses a folder that another user owns or may write to: it could hold any code.
fn check_own(folder: &Path) -> io::Result<()> {
    let found = fs::metadata(folder)?;
    let problem = if !found.is_dir() {
        "is not a folder"
    } else if found.uid() != rustix::process::geteuid().as_raw() {
        "belongs to another user"
    } else if found.mode() & 0o022 != 0 {
        "can be written to by other users (fix it with `chmod go-w`)"
    } else {
        return Ok(());
    };
    let sentence = format!(
        "{} {problem}, so its code is not run; choose another state folder (INKCELL_STATE_DIR)",
        folder.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, sentence))
}

/// Distinguishes threads: two of one process may install the files at once.
fn thread_number() -> u64 {
    let mut hasher = DefaultHasher::new();
    std::thread::current().id().hash(&mut hasher);
    hasher.finish()
}

/// Removes a folder, or a file in its place.
fn remove(folder: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(folder),
        Ok(_) => fs::remove_file(folder),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn content_hash() -> u64 {
    let mut hasher = DefaultHasher::new();
    FILES.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn every_file_of_the_runner_is_carried() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
        let (mut found, mut folders) = (Vec::new(), vec![root.join("inkcell_runner")]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "py") {
                    let name = path.strip_prefix(&root).expect("below it");
                    found.push(name.to_str().expect("a name").to_owned());
                }
            }
        }
        found.sort();
        let mut carried: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        carried.sort_unstable();
        assert_eq!(found, carried, "name every file in python/package/files.rs");
    }

    /// F-028 Issue 21, 27: an incomplete folder, or one with a file that was cut or has other bytes, is replaced.
    #[test]
    fn a_damaged_folder_is_repaired() {
        let state = tempfile::TempDir::new().expect("a folder");
        let folder = install(state.path()).expect("a runner");
        let lost = folder.join("inkcell_runner/session.py");
        fs::remove_file(&lost).expect("removed");
        assert_eq!(install(state.path()).expect("a runner"), folder);
        assert!(lost.is_file());
        fs::write(&lost, "cut").expect("written");
        install(state.path()).expect("a runner");
        let whole = fs::read(&lost).expect("bytes");
        assert!(whole.len() > 100);
        // The length alone proves nothing.
        fs::write(&lost, vec![0; whole.len()]).expect("written");
        install(state.path()).expect("a runner");
        assert_eq!(fs::read(&lost).expect("bytes"), whole);
    }

    /// Issue 21, 27: kernels that start together repair the folder once, and none fails.
    #[test]
    fn a_damaged_folder_is_repaired_by_one_of_many() {
        let state = tempfile::TempDir::new().expect("a folder");
        let folder = install(state.path()).expect("a runner");
        for _ in 0..20 {
            fs::write(folder.join("inkcell_runner/session.py"), "cut").expect("written");
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| install(state.path()).expect("a runner"));
                }
            });
            assert!(is_whole(&folder));
        }
    }

    /// F-028: a file in the place of the folder is replaced too.
    #[test]
    fn a_file_in_the_way_is_replaced() {
        let state = tempfile::TempDir::new().expect("a folder");
        let folder = install(state.path()).expect("a runner");
        fs::remove_dir_all(&folder).expect("removed");
        fs::write(&folder, "in the way").expect("written");
        assert_eq!(install(state.path()).expect("a runner"), folder);
        assert!(is_whole(&folder));
    }

    /// Issue 21, 26: other users can write to none of our folders, including those that Python would create.
    #[test]
    fn compiled_files_have_a_folder_of_ours() {
        let state = tempfile::TempDir::new().expect("a folder");
        let folder = install(state.path()).expect("a runner");
        for place in compiled(&folder) {
            let mode = fs::metadata(&place).expect("a folder").mode();
            assert_eq!(mode & 0o777, 0o700, "{}", place.display());
        }
        remove_compiled(&folder).expect("removed");
        assert!(compiled(&folder).iter().all(|place| place.is_dir()));
    }

    /// S-021: code from a folder that others can write to does not run.
    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let state = tempfile::TempDir::new().expect("a folder");
        install(state.path()).expect("a runner");
        for place in [state.path().to_owned(), state.path().join("runner")] {
            for mode in [0o777, 0o770, 0o702] {
                fs::set_permissions(&place, fs::Permissions::from_mode(mode)).expect("changed");
                let refused = install(state.path()).expect_err("it is refused");
                assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{refused}");
                assert!(refused.to_string().contains("chmod go-w"), "{refused}");
            }
            fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).expect("changed");
        }
    }
}
