//! The save: write beside, sync, check that the file is unchanged, rename, sync the folder.
//!
//! Owns the order of these steps. At every instant the file is the old one or the new one. After success the new one is
//! on disk.

use std::fs::File;
use std::io::{self, Write};
use std::time::Duration;

use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, OFlags, Uid, XattrFlags};
use rustix::io::Errno;

use crate::error::EngineError;
use crate::files::lock::temp_name;
use crate::files::open::Still;
use crate::files::{Lock, Metadata, Target};

/// Says if a write may lose properties of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Force {
    /// Refuse the write rather than lose an owner, an access list or an attribute.
    No,
    /// Write, and report the loss.
    Yes,
}

/// The condition for a replacement.
pub(crate) enum Expect<'a> {
    /// The file is the one that was read, with these bytes.
    Read(&'a Metadata, &'a [u8]),
    Nothing,
    /// Any state; the file is overwritten, keeping its properties where possible.
    Anything(Option<&'a Metadata>),
}

/// New content for a file.
pub(crate) struct Replacement<'a> {
    pub(crate) chunks: &'a [&'a [u8]],
    pub(crate) expect: Expect<'a>,
    pub(crate) force: Force,
    /// Random part of the temporary file's name; an argument so that tests can fix it.
    pub(crate) random: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Replaced(Vec<FileNote>),
    /// The file has changed since the read; nothing was written.
    Moved,
}

/// A fact about the file that the caller should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileNote {
    /// The file had this number of names; the other names still have the old content.
    HardLinks(u64),
    /// With `Force::Yes`: this property was lost.
    NotKept(String),
    /// Outputs of this many cells were restored first; an interrupted run had not saved them.
    Recovered(usize),
}

/// Linux keeps an access list in this attribute.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// The lock of a folder, released on drop.
struct Turn<'a>(BorrowedFd<'a>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Closing the descriptor soon after would release it as well.
        let _ = rustix::fs::flock(self.0, FlockOperation::Unlock);
    }
}

impl Target {
    /// Replaces the file, all or nothing.
    pub(crate) fn replace(
        &self,
        lock: &mut Lock,
        new: &Replacement<'_>,
    ) -> Result<Outcome, EngineError> {
        let old = match new.expect {
            Expect::Read(metadata, _) | Expect::Anything(Some(metadata)) => Some(metadata),
            Expect::Nothing | Expect::Anything(None) => None,
        };
        if let Some(old) = old {
            self.must_be_writable(old, new.force)?;
        }
        let temp = temp_name(new.random);
        lock.note(&temp).map_err(self.io("note the temporary file"))?;
        let outcome = self.write_and_rename(&temp, old, new);
        if matches!(outcome, Ok(Outcome::Replaced(_))) {
            // The new content is in place, so report success. If the note stays, it names a file that is gone, and the
            // next writer notices.
            let _ = lock.forget();
        } else {
            // After a rename the temporary file is gone; otherwise it is useless now. If it cannot be removed, the note
            // stays and the next writer tries again.
            match rustix::fs::unlinkat(self.dir(), &temp, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(_) => return outcome,
            }
            lock.forget().map_err(self.io("note the temporary file"))?;
        }
        outcome
    }

    /// Refuses to replace a read-only file, except by force.
    pub(crate) fn must_be_writable(&self, old: &Metadata, force: Force) -> Result<(), EngineError> {
        if old.mode & 0o222 != 0 || force == Force::Yes {
            return Ok(());
        }
        Err(EngineError::ReadOnlyFile { path: self.shown.clone(), mode: old.mode })
    }

    fn write_and_rename(
        &self,
        temp: &str,
        old: Option<&Metadata>,
        new: &Replacement<'_>,
    ) -> Result<Outcome, EngineError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A new file gets the mode that the caller's umask leaves. A replacement stays private until it has the mode of
        // the old file.
        let mode =
            if old.is_some() { Mode::from_raw_mode(0o600) } else { Mode::from_raw_mode(0o666) };
        let file = rustix::fs::openat(self.dir(), temp, flags, mode)
            .map_err(|error| self.io("make a temporary file beside it")(error.into()))?;
        let mut file = File::from(file);
        let mut notes = Vec::new();
        for chunk in new.chunks {
            file.write_all(chunk).map_err(self.io("write the new content"))?;
        }
        if let Some(old) = old {
            self.keep_attributes(&file, old, new.force, &mut notes)?;
            if old.links > 1 {
                notes.push(FileNote::HardLinks(old.links));
            }
        }
        file.sync_all().map_err(self.io("write the new content to disk"))?;
        // Processes with different state folders have different locks, but share the notebook's folder. Its lock is
        // held only for the check and the rename.
        let turn = self.take_turn()?;
        if !self.is_as_expected(&new.expect)? {
            return Ok(Outcome::Moved);
        }
        match self.rename(temp, &new.expect) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(Outcome::Moved),
            Err(error) => return Err(self.io("put the new content in its place")(error.into())),
        }
        // Release before the sync, so that parallel saves in one folder wait for the disk together.
        drop(turn);
        self.sync_folder(&file).map_err(
            self.io("make sure that the new content survives a power cut (it is in place)"),
        )?;
        Ok(Outcome::Replaced(notes))
    }

    /// Waits for the folder's own lock. If the file system has no locks, the lock in the state folder must do.
    fn take_turn(&self) -> Result<Option<Turn<'_>>, EngineError> {
        const TRIES: u32 = 2000;
        let Some(dir) = self.readable_dir() else { return Ok(None) };
        // The holder usually needs less than a millisecond.
        let mut pause = Duration::from_micros(100);
        for _ in 0..TRIES {
            match rustix::fs::flock(dir, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Turn(dir))),
                Err(Errno::WOULDBLOCK | Errno::INTR) => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(5));
                }
                Err(_) => return Ok(None),
            }
        }
        Err(EngineError::Locked { path: self.shown.clone(), waited_seconds: 10 })
    }

    fn rename(&self, temp: &str, expect: &Expect<'_>) -> Result<(), Errno> {
        if let Expect::Nothing = expect {
            // If the file system cannot rename without replacing, a link does the same check.
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(self.dir(), temp, self.dir(), &self.name, flags) {
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    let empty = AtFlags::empty();
                    rustix::fs::linkat(self.dir(), temp, self.dir(), &self.name, empty)?;
                    return rustix::fs::unlinkat(self.dir(), temp, empty);
                }
                done => return done,
            }
        }
        rustix::fs::renameat(self.dir(), temp, self.dir(), &self.name)
    }

    fn is_as_expected(&self, expect: &Expect<'_>) -> Result<bool, EngineError> {
        let Expect::Read(metadata, bytes) = expect else { return Ok(true) };
        match self.still(metadata).map_err(self.io("look at it again"))? {
            Some(Still::Same) => Ok(true),
            None => Ok(false),
            Some(Still::Unsure) => self.holds(bytes).map_err(self.io("look at it again")),
        }
    }

    /// Gives the new file the owner, mode, access list and attributes of the old one.
    fn keep_attributes(
        &self,
        file: &File,
        old: &Metadata,
        force: Force,
        notes: &mut Vec<FileNote>,
    ) -> Result<(), EngineError> {
        let mut lost = |what: &str, error: Errno| {
            if force == Force::Yes {
                notes.push(FileNote::NotKept(what.to_owned()));
                return Ok(());
            }
            let (path, what) = (self.shown.clone(), what.to_owned());
            Err(EngineError::CannotKeep { path, what, source: error.into() })
        };
        let fail = |error: Errno| self.io("look at the temporary file")(error.into());
        let made = rustix::fs::fstat(file).map_err(fail)?;
        if (made.st_uid, made.st_gid) != (old.uid, old.gid) {
            let owner = (Uid::from_raw(old.uid), Gid::from_raw(old.gid));
            if let Err(error) = rustix::fs::fchown(file, Some(owner.0), Some(owner.1)) {
                lost(&format!("the owner {}:{}", old.uid, old.gid), error)?;
            }
        }
        rustix::fs::fchmod(file, Mode::from_raw_mode(old.mode as _))
            .map_err(|error| self.io("set the mode of the new content")(error.into()))?;
        let names = attribute_names(&old.file);
        // A folder can give new files an access list that the old one did not have.
        let has_list = |names: &[String]| names.iter().any(|name| name == ACCESS_LIST);
        if !has_list(&names)
            && has_list(&attribute_names(file))
            && let Err(error) = rustix::fs::fremovexattr(file, ACCESS_LIST)
        {
            lost("that no access list exists", error)?;
        }
        for name in names {
            let copied = copy_attribute(&old.file, file, &name);
            match copied {
                Ok(()) => {}
                // Labels of a security module follow from the folder and the process.
                Err(_) if name.starts_with("security.") => {}
                Err(error) if name == ACCESS_LIST => lost("the access list", error)?,
                Err(error) => lost(&format!("the attribute {name}"), error)?,
            }
        }
        Ok(())
    }

    /// Makes the rename itself durable. Some file systems cannot sync a folder.
    fn sync_folder(&self, file: &File) -> io::Result<()> {
        let Some(dir) = self.readable_dir() else {
            return Ok(rustix::fs::syncfs(file)?);
        };
        match rustix::fs::fsync(dir) {
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The names of a file's extended attributes; empty if the file system has none.
fn attribute_names(file: &File) -> Vec<String> {
    let mut list = vec![0u8; 1024];
    loop {
        match rustix::fs::flistxattr(file, &mut list[..]) {
            Ok(size) => {
                list.truncate(size);
                break;
            }
            Err(Errno::RANGE) if list.len() < 1 << 20 => list.resize(list.len() * 4, 0),
            Err(_) => return Vec::new(),
        }
    }
    let names = list.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

fn copy_attribute(from: &File, to: &File, name: &str) -> Result<(), Errno> {
    let mut value = vec![0u8; 1 << 16];
    let size = rustix::fs::fgetxattr(from, name, &mut value[..])?;
    rustix::fs::fsetxattr(to, name, &value[..size], XattrFlags::empty())
}

#[cfg(test)]
#[path = "replace/tests.rs"]
mod tests;
