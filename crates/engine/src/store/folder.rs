//! The folders of artifacts, and their files by name: an entry that is opened belongs to this user or is refused.
//!
//! Owns every system call on names. Each folder is opened once, without following a link, and all work below it uses
//! that handle. It must not know the content of files.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use inkcell_kernel::{make_private_folder, make_private_folder_in};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::error::ArtifactError;
use super::id::is_folder_name;

/// Name of the folder inside the state folder.
const ROOT: &str = "artifacts";

/// Attempts to create a folder that other processes remove.
const TRIES: usize = 10;

/// Behavior if a folder is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum IfAbsent {
    Make,
    Leave,
}

/// An open folder that belongs to this user.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// The folder of all artifacts; `None` if it is missing and must not be created.
    pub(super) fn root(state: &Path, absent: IfAbsent) -> Result<Option<Folder>, ArtifactError> {
        if absent == IfAbsent::Make {
            make_private_folder(state)
                .map_err(ArtifactError::io(state, "make the state folder"))?;
        }
        // The user chooses the path of the state folder, which may contain links.
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

    /// A folder inside this one.
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
            opened = match make_private_folder_in(&self.fd, name) {
                // Another inkcell may have created it first, or removed it again because it was empty.
                Ok(()) | Err(Errno::EXIST) => open(),
                Err(error) => Err(error),
            };
        }
        let refused = |problem| ArtifactError::Refused { path: path.clone(), problem };
        let fd = match opened {
            Ok(fd) => fd,
            Err(Errno::LOOP) => {
                return Err(refused("a link stands where a private folder should be"));
            }
            Err(Errno::NOTDIR) => {
                return Err(refused("a link or a file stands where a private folder should be"));
            }
            Err(error) => {
                return Err(ArtifactError::io(&path, "use the artifact folder")(error.into()));
            }
        };
        let folder = Folder { fd, path };
        let stat = folder.must_be_ours()?;
        if stat.st_mode & 0o077 != 0 {
            // The folder belongs to this user, so it may be closed to others. If that fails, it still belongs to this
            // user.
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

    /// The names in it that are UTF-8; inkcell creates no others.
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

    /// The session folders in it.
    pub(super) fn sessions(&self) -> Result<Vec<Folder>, ArtifactError> {
        let mut found = Vec::new();
        for name in self.names()?.iter().filter(|name| is_folder_name(name)) {
            match self.below(name, IfAbsent::Leave) {
                Ok(folder) => found.extend(folder),
                // Skip a folder of another user, so that it hides no others.
                Err(ArtifactError::Refused { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Creates a new file that only this user may read.
    pub(super) fn create(&self, name: &str) -> Result<File, Errno> {
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o600)).map(File::from)
    }

    /// Opens a file for reading; `None` if it is missing or not a plain file of this user.
    pub(super) fn open(&self, name: &str) -> io::Result<Option<File>> {
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        // Check before opening: opening a device can already have effects.
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

    /// Size of a file; `None` if it is missing or not a plain file.
    pub(super) fn size(&self, name: &str) -> io::Result<Option<u64>> {
        Ok(self.stat(name)?.map(|stat| stat.st_size as u64))
    }

    /// Returns true if this name still stands for this open file.
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

    /// Removes a file. A missing file counts as removed.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns true if the folder still has its name.
    pub(super) fn is_there(&self) -> bool {
        let stat = rustix::fs::fstat(&self.fd);
        let by_name = rustix::fs::statat(rustix::fs::CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW);
        matches!((stat, by_name), (Ok(one), Ok(other))
            if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
    }

    /// The last time that an entry was created or removed.
    pub(super) fn changed(&self) -> Option<SystemTime> {
        let stat = rustix::fs::fstat(&self.fd).ok()?;
        let since = Duration::from_secs(u64::try_from(stat.st_mtime).ok()?);
        UNIX_EPOCH.checked_add(since)
    }

    /// Removes a folder inside this one if it is empty.
    pub(super) fn remove_if_empty(&self, folder: &Folder) {
        if let Some(name) = folder.path.file_name() {
            // Not empty, or gone already: both are fine.
            let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR);
        }
    }
}
