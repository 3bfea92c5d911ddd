//! The folders that artifacts lie in, and their files by name: what is opened is ours or refused.
//!
//! Owns every system call on names. Each folder is opened once, without following a link, and everything
//! below it is done through that handle. It must not know what is in the files.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::error::ArtifactError;
use super::id::is_folder_name;

/// The folder below the state folder.
const ROOT: &str = "artifacts";

/// How often a folder is made that somebody else removes.
const TRIES: usize = 10;

/// What to do where a folder is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IfAbsent {
    Make,
    Leave,
}

/// An open folder of ours.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// The folder of all artifacts; none when it is not there and shall not be made.
    pub(super) fn root(state: &Path, absent: IfAbsent) -> Result<Option<Folder>, ArtifactError> {
        if absent == IfAbsent::Make {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(state);
            made.map_err(ArtifactError::io(state, "make the state folder"))?;
        }
        // The way to the state folder is the user's own choice and may lead over links.
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let fd = match rustix::fs::open(state, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) if absent == IfAbsent::Leave => return Ok(None),
            Err(error) => {
                return Err(ArtifactError::io(state, "use the state folder")(error.into()));
            }
        };
        let state = Folder { fd, path: state.to_owned() };
        state.must_be_ours()?;
        state.below(ROOT, absent)
    }

    /// A folder in this one.
    pub(super) fn below(
        &self,
        name: &str,
        absent: IfAbsent,
    ) -> Result<Option<Folder>, ArtifactError> {
        let path = self.path.join(name);
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let open = || rustix::fs::openat(&self.fd, name, flags, Mode::empty());
        let mut opened = open();
        for _ in 0..TRIES {
            if opened.as_ref().err() != Some(&Errno::NOENT) {
                break;
            }
            if absent == IfAbsent::Leave {
                return Ok(None);
            }
            opened = match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(0o700)) {
                // Somebody else, one of us most likely, may have been faster, or have removed it again
                // because it was empty.
                Ok(()) | Err(Errno::EXIST) => open(),
                Err(error) => Err(error),
            };
        }
        let refused = |problem| ArtifactError::Refused { path: path.clone(), problem };
        let fd = match opened {
            Ok(fd) => fd,
            Err(Errno::LOOP) => return Err(refused("a link is where a folder of ours should be")),
            Err(Errno::NOTDIR) => {
                return Err(refused("a link or a file is where a folder of ours should be"));
            }
            Err(error) => {
                return Err(ArtifactError::io(&path, "use the artifact folder")(error.into()));
            }
        };
        let folder = Folder { fd, path };
        let stat = folder.must_be_ours()?;
        if stat.st_mode & 0o077 != 0 {
            // It is ours, so it may be closed to others; where that does not work it is still ours.
            let _ = rustix::fs::fchmod(&folder.fd, Mode::from_raw_mode(0o700));
        }
        Ok(Some(folder))
    }

    fn must_be_ours(&self) -> Result<Stat, ArtifactError> {
        let refused = |problem| ArtifactError::Refused { path: self.path.clone(), problem };
        let stat = rustix::fs::fstat(&self.fd)
            .map_err(|error| ArtifactError::io(&self.path, "look at the folder")(error.into()))?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(refused("the folder belongs to another user"));
        }
        if stat.st_mode & 0o022 != 0 {
            return Err(refused("others may write into the folder"));
        }
        Ok(stat)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The names in it that are text; others are none of ours.
    pub(super) fn names(&self) -> Result<Vec<String>, ArtifactError> {
        let failed =
            |error: Errno| ArtifactError::io(&self.path, "list the artifact folder")(error.into());
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd).map_err(failed)? {
            match entry.map_err(failed)?.file_name().to_str() {
                Ok("." | "..") | Err(_) => {}
                Ok(name) => names.push(name.to_owned()),
            }
        }
        names.sort();
        Ok(names)
    }

    /// The folders of sessions in it.
    pub(super) fn sessions(&self) -> Result<Vec<Folder>, ArtifactError> {
        let mut found = Vec::new();
        for name in self.names()?.iter().filter(|name| is_folder_name(name)) {
            match self.below(name, IfAbsent::Leave) {
                Ok(folder) => found.extend(folder),
                // Somebody else's folder among ours is left alone and hides nothing.
                Err(ArtifactError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Makes a file that is not there yet, for us alone.
    pub(super) fn create(&self, name: &str) -> Result<File, Errno> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o600)).map(File::from)
    }

    /// Opens a file to read it; none when it is not there or is not a file of ours.
    pub(super) fn open(&self, name: &str) -> io::Result<Option<File>> {
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        // Looked at before it is opened: opening a device can already do something.
        if self.size(name)?.is_none() {
            return Ok(None);
        }
        let file = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let found = file.metadata()?;
        let is_ours = found.is_file() && found.uid() == rustix::process::geteuid().as_raw();
        Ok(is_ours.then_some(file))
    }

    /// The size of a file; none when it is not there or is no plain file.
    pub(super) fn size(&self, name: &str) -> io::Result<Option<u64>> {
        Ok(self.stat(name)?.map(|stat| stat.st_size as u64))
    }

    /// Whether this name still stands for this open file.
    pub(super) fn names_file(&self, name: &str, file: &File) -> io::Result<bool> {
        let found = rustix::fs::fstat(file)?;
        let stat = self.stat(name)?;
        Ok(stat.is_some_and(|stat| (stat.st_dev, stat.st_ino) == (found.st_dev, found.st_ino)))
    }

    fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                Ok(Some(stat))
            }
            Ok(_) | Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a file; that it is gone already is as good.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the folder still has a name.
    pub(super) fn is_there(&self) -> bool {
        let stat = rustix::fs::fstat(&self.fd);
        let by_name = rustix::fs::statat(rustix::fs::CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW);
        matches!((stat, by_name), (Ok(one), Ok(other))
            if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
    }

    /// When something was last made or removed in it.
    pub(super) fn changed(&self) -> Option<SystemTime> {
        let stat = rustix::fs::fstat(&self.fd).ok()?;
        let since = Duration::from_secs(u64::try_from(stat.st_mtime).ok()?);
        UNIX_EPOCH.checked_add(since)
    }

    /// Removes a folder in this one if nothing is in it.
    pub(super) fn remove_if_empty(&self, folder: &Folder) {
        if let Some(name) = folder.path.file_name() {
            // Not empty, or gone already: both are fine.
            let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR);
        }
    }
}
