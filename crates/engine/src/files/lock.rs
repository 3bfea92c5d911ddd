//! One writer at a time for each file: an OS lock on a file in the state folder.
//!
//! Owns the lock files. Each lock file notes the temporary file in flight, so that the next writer can remove what a
//! killed writer left. No file stays beside a notebook for good.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use inkcell_kernel::make_private_folder;
use rustix::fs::AtFlags;

use crate::error::EngineError;
use crate::files::Target;

/// Held while a file is read, changed and replaced. Released on drop, and by the system after a crash.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

/// Time between two attempts to take a busy lock.
const POLL: Duration = Duration::from_millis(5);

impl Lock {
    /// Waits for the lock of a file, and removes the temporary file of its last holder.
    pub(crate) fn take(target: &Target, state: &Path, wait: Duration) -> Result<Lock, EngineError> {
        let folder = private_folder(state, Path::new("locks")).map_err(state_error(state))?;
        let path = folder.join(file_key(&target.path));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
            .open(&path)
            .map_err(state_error(&path))?;
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if start.elapsed() < wait => std::thread::sleep(POLL),
                Err(TryLockError::WouldBlock) => {
                    let (path, waited_seconds) = (target.shown.clone(), wait.as_secs());
                    return Err(EngineError::Locked { path, waited_seconds });
                }
                Err(TryLockError::Error(error)) => return Err(state_error(&path)(error)),
            }
        }
        let mut lock = Lock { file };
        lock.sweep(target).map_err(state_error(&path))?;
        Ok(lock)
    }

    /// Removes the temporary file of a writer that was killed.
    fn sweep(&mut self, target: &Target) -> io::Result<()> {
        let mut noted = String::new();
        // A note that cannot be read does not name a file of ours.
        if (&self.file).take(256).read_to_string(&mut noted).is_err() || noted.is_empty() {
            return Ok(());
        }
        if is_temp_name(noted.trim_end()) {
            match rustix::fs::unlinkat(target.dir(), noted.trim_end(), AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.forget()
    }

    /// Notes the name of the temporary file before it is created.
    pub(crate) fn note(&mut self, temp: &str) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(temp.as_bytes())
    }

    /// Clears the note once the temporary file is gone.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        self.file.set_len(0)
    }
}

fn state_error(path: &Path) -> impl Fn(io::Error) -> EngineError + use<> {
    let path = path.display().to_string();
    move |source| EngineError::Io { path: path.clone(), what: "use the state folder", source }
}

/// Makes a name for a temporary file; files with other names are never removed.
pub(crate) fn temp_name(random: u64) -> String {
    format!(".inkcell-{random:016x}.tmp")
}

fn is_temp_name(name: &str) -> bool {
    name.strip_prefix(".inkcell-")
        .and_then(|rest| rest.strip_suffix(".tmp"))
        .is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// The key of a file in the state folder.
pub(crate) fn file_key(path: &Path) -> String {
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes());
    hash.to_hex()[..32].to_owned()
}

/// A folder inside the state folder, created if missing. A state folder that another user owns or may write is refused:
/// its content decides which files are removed.
pub(crate) fn private_folder(state: &Path, below: &Path) -> io::Result<PathBuf> {
    let mut folder = state.to_owned();
    ensure_private(&folder)?;
    for part in below {
        folder.push(part);
        ensure_private(&folder)?;
    }
    Ok(folder)
}

fn ensure_private(folder: &Path) -> io::Result<()> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    match std::fs::metadata(folder) {
        Ok(found) if !found.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
        Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => {
            refused("the folder belongs to another user")
        }
        Ok(found) if found.mode() & 0o022 != 0 => refused("others may write into the folder"),
        Ok(_) => Ok(()),
        Err(_) => make_private_folder(folder),
    }
}
