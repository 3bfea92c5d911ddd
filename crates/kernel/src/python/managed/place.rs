//! The location of the managed environment: one link, which leads to the latest finished environment.
//!
//! Owns the folders, the lock, and the moment an environment becomes the managed one. It must not know
//! how one is created.
//!
//! Reasons for a link. The programs of an environment (`pip`, `ipython`, `jupyter`) begin with the full path of its
//! interpreter. If its folder were renamed when complete, they could not start, and `!pip` in a cell would fail.
//! If it were created in its final place, that place would hold half an environment meanwhile, and a replacement
//! would have to remove the good one first. So each is created in a folder that it keeps,
//! `python-envs/<number>`, and `python-env` is a link to the finished one, replaced by a rename: at every moment
//! it leads to a whole environment or does not exist.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::SetupError;
use super::tools::Tools;
use super::{SetupEvent, SetupStep};
use crate::private_folder::make_private_folder;

const LINK: &str = "python-env";
const FOLDERS: &str = "python-envs";
const LOCK: &str = "python-env.lock";

/// The pause between attempts to take a busy lock.
const POLL: Duration = Duration::from_millis(50);

/// How many times to remove a folder into which a dying program still writes.
const REMOVALS: u32 = 5;

/// The locations of the managed environment in a state folder.
pub(super) struct Place {
    state: PathBuf,
}

/// Held while environments are created and removed. Dropping it releases the lock, and so does a crash.
pub(super) struct Lock {
    _file: File,
}

/// A folder for the temporary files of tools. Dropping it removes the folder.
pub(super) struct Scratch {
    folder: PathBuf,
}

/// An incomplete environment. Dropping it removes the folder.
pub(super) struct UnfinishedEnv {
    folder: PathBuf,
}

impl Place {
    /// Uses this state folder, and creates it if it is missing.
    pub(super) fn new(state: &Path) -> Result<Place, SetupError> {
        let folders = state.join(FOLDERS);
        make_private_folder(&folders).map_err(state_error("make the folder", &folders))?;
        // Programs that run in another folder would misread a relative path.
        let state = fs::canonicalize(state).map_err(state_error("find the folder", state))?;
        Ok(Place { state })
    }

    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    /// The link by which kernels find the environment.
    pub(super) fn link(&self) -> PathBuf {
        self.state.join(LINK)
    }

    /// The folder that the link leads to.
    pub(super) fn current(&self) -> Option<PathBuf> {
        fs::canonicalize(self.link()).ok().filter(|folder| folder.is_dir())
    }

    /// Waits until no other setup runs.
    pub(super) async fn lock(&self, tools: &mut Tools<'_>) -> Result<Lock, SetupError> {
        let path = self.state.join(LOCK);
        let failed = state_error("lock", &path);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&path)
            .map_err(&failed)?;
        let try_lock = || match file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        };
        if !try_lock()? {
            tools.report(SetupEvent::Began(SetupStep::Wait));
            let (cancel, limit) = (tools.cancel(), tools.limit());
            let free = async {
                while !try_lock()? {
                    tokio::time::sleep(POLL).await;
                }
                Ok(())
            };
            let waited = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(SetupError::Cancelled),
                free = tokio::time::timeout(limit, free) => {
                    free.unwrap_or(Err(SetupError::Busy { seconds: limit.as_secs() }))
                }
            };
            tools.report(match waited {
                Ok(()) => SetupEvent::Done(SetupStep::Wait),
                Err(_) => SetupEvent::Failed(SetupStep::Wait),
            });
            waited?;
        }
        Ok(Lock { _file: file })
    }

    /// Removes everything the link does not lead to: remains of killed setups, and replaced environments.
    /// The caller must hold the lock.
    pub(super) fn sweep(&self, _held: &Lock) -> Result<(), SetupError> {
        let folders = self.state.join(FOLDERS);
        let current = self.current();
        let listed = fs::read_dir(&folders).map_err(state_error("read", &folders))?;
        for entry in listed {
            let path = entry.map_err(state_error("read", &folders))?.path();
            if Some(&path) != current.as_ref() {
                remove(&path).map_err(state_error("remove", &path))?;
            }
        }
        Ok(())
    }

    /// Creates a folder for temporary files, so that remains of a killed tool go with it.
    pub(super) fn scratch(&self, _held: &Lock) -> Result<Scratch, SetupError> {
        let folder = self.state.join(FOLDERS).join("tmp");
        make_private_folder(&folder).map_err(state_error("make the folder", &folder))?;
        Ok(Scratch { folder })
    }

    /// Chooses a folder for an environment, and does not create it.
    pub(super) fn fresh(&self, _held: &Lock) -> UnfinishedEnv {
        let folders = self.state.join(FOLDERS);
        let free = |folder: &PathBuf| fs::symlink_metadata(folder).is_err();
        let mut names = (1_u64..).map(|number| folders.join(number.to_string()));
        let folder = names.find(free).unwrap_or_else(|| folders.join("0"));
        UnfinishedEnv { folder }
    }

    /// Makes an environment the managed one.
    pub(super) fn finish(&self, made: UnfinishedEnv) -> Result<(), SetupError> {
        let link = self.link();
        let failed = state_error("put the environment in place at", &link);
        let Some(name) = made.folder.file_name() else {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        };
        let beside = self.state.join(FOLDERS).join("link");
        let aside = self.state.join(FOLDERS).join("replaced");
        symlink(Path::new(FOLDERS).join(name), &beside).map_err(&failed)?;
        // A rename cannot replace a real folder that came there by other means, so move it away.
        let was_folder = fs::symlink_metadata(&link).is_ok_and(|found| found.is_dir());
        let put = if was_folder { fs::rename(&link, &aside) } else { Ok(()) }
            .and_then(|()| fs::rename(&beside, &link));
        if let Err(error) = put {
            if was_folder {
                let _was_not_moved = fs::rename(&aside, &link);
            }
            return Err(failed(error));
        }
        std::mem::forget(made);
        Ok(())
    }
}

impl Scratch {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _swept_later = remove(&self.folder);
    }
}

impl UnfinishedEnv {
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the remains of a tool that failed.
    pub(super) fn clear(&self) -> Result<(), SetupError> {
        remove(&self.folder).map_err(state_error("remove", &self.folder))
    }
}

impl Drop for UnfinishedEnv {
    fn drop(&mut self) {
        // A remaining folder does no harm, and the next setup tries again.
        let _left = remove(&self.folder);
    }
}

/// Removes a folder or a link, and accepts that it does not exist.
fn remove(path: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        tries += 1;
        let removed = match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            // A child of a killed tool may have created another file meanwhile.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty && tries < REMOVALS => {}
            done => return done,
        }
    }
}

fn state_error(what: &'static str, path: &Path) -> impl Fn(io::Error) -> SetupError + use<> {
    let path = path.to_owned();
    move |source| SetupError::State { what, path: path.clone(), source }
}
