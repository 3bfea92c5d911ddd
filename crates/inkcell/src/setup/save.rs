//! The file of a configuration: read once, and replaced whole or not at all.
//!
//! Owns the order of the steps: the new content is written beside it, gets its mode and owner, and takes its place
//! only if the file still holds what was read. It must not know what the content means.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use inkcell_engine::kernel::NewFile;

use crate::words;

/// The most bytes of a configuration. A larger file is something else.
const MAX_BYTES: u64 = 64 << 20;

/// The reason why a file was not read or not replaced. The file is unchanged.
#[derive(Debug)]
pub(crate) enum SaveError {
    /// An error of the system.
    Io { step: &'static str, path: PathBuf, error: io::Error },
    /// It is a folder or a device, is too long, or is not UTF-8 text.
    NotText(PathBuf),
    /// A link leads to a file that does not exist.
    LostLink(PathBuf),
    /// Its permissions forbid writing.
    ReadOnly(PathBuf),
    /// Another program wrote it after it was read.
    Moved(PathBuf),
}

#[derive(Debug)]
pub(crate) struct SetupFile {
    /// The file itself, with links followed.
    target: PathBuf,
    /// Its content; none if the file does not exist.
    pub(crate) text: Option<String>,
}

/// The permissions of a new file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Readers {
    /// Only its owner may read it: clients put secrets into the same file.
    Owner,
    /// Every user that the umask allows may read it.
    Usual,
}

fn io_at<'a>(step: &'static str, path: &'a Path) -> impl Fn(io::Error) -> SaveError + 'a {
    move |error| SaveError::Io { step, path: path.to_owned(), error }
}

pub(crate) fn read(path: &Path) -> Result<SetupFile, SaveError> {
    let failed = io_at("read", path);
    let target = match path.canonicalize() {
        Ok(target) => target,
        Err(error) if is_absence(&error) => {
            if std::fs::symlink_metadata(path).is_ok() {
                return Err(SaveError::LostLink(path.to_owned()));
            }
            return Ok(SetupFile { target: path.to_owned(), text: None });
        }
        Err(error) => return Err(failed(error)),
    };
    let found = std::fs::metadata(&target).map_err(&failed)?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return Err(SaveError::NotText(path.to_owned()));
    }
    let bytes = std::fs::read(&target).map_err(&failed)?;
    let text = String::from_utf8(bytes).map_err(|_| SaveError::NotText(path.to_owned()))?;
    Ok(SetupFile { target, text: Some(text) })
}

fn is_absence(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Replaces the content that was read by a new one.
pub(crate) fn replace(read: &SetupFile, new: &str, readers: Readers) -> Result<(), SaveError> {
    let SetupFile { target, text } = read;
    let folder = target.parent().unwrap_or(Path::new("/"));
    let old = match text {
        Some(_) => Some(std::fs::metadata(target).map_err(io_at("look at", target))?),
        None => {
            std::fs::create_dir_all(folder).map_err(io_at("make the folder", folder))?;
            None
        }
    };
    if old.as_ref().is_some_and(|old| old.mode() & 0o222 == 0) {
        return Err(SaveError::ReadOnly(target.clone()));
    }
    // A file that replaces another is private until it gets the other's mode.
    let mode = if old.is_some() || readers == Readers::Owner { 0o600 } else { 0o666 };
    let beside = NewFile::beside(target, mode);
    let mut beside = beside.map_err(io_at("write a file in", folder))?;
    fill(beside.file(), target, old.as_ref(), new)?;
    if !is_as_read(read) {
        return Err(SaveError::Moved(target.clone()));
    }
    beside.put().map_err(io_at("replace", target))?;
    // The new content is in place even if this fails: some file systems cannot sync a folder.
    drop(File::open(folder).and_then(|folder| folder.sync_all()));
    Ok(())
}

fn fill(
    file: &mut File,
    target: &Path,
    old: Option<&std::fs::Metadata>,
    new: &str,
) -> Result<(), SaveError> {
    let failed = io_at("write", target);
    file.write_all(new.as_bytes()).map_err(&failed)?;
    if let Some(old) = old {
        let made = file.metadata().map_err(&failed)?;
        if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
            std::os::unix::fs::fchown(&*file, Some(old.uid()), Some(old.gid()))
                .map_err(io_at(words::failure::KEEP_OWNER, target))?;
        }
        file.set_permissions(Permissions::from_mode(old.mode() & 0o7777)).map_err(&failed)?;
    }
    file.sync_all().map_err(&failed)
}

fn is_as_read(read: &SetupFile) -> bool {
    match (&read.text, std::fs::read(&read.target)) {
        (Some(text), Ok(now)) => now == text.as_bytes(),
        (None, Err(error)) => is_absence(&error),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn mode_and_links_are_kept() {
        let temp = tempfile::tempdir().unwrap();
        let (real, link) = (temp.path().join("real.json"), temp.path().join("link.json"));
        std::fs::write(&real, "old").unwrap();
        std::fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        let found = read(&link).unwrap();
        assert_eq!(found.text.as_deref(), Some("old"));
        replace(&found, "new", Readers::Owner).unwrap();
        assert_eq!(std::fs::read_to_string(&real).unwrap(), "new");
        assert_eq!(std::fs::metadata(&real).unwrap().mode() & 0o7777, 0o640);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(names(temp.path()), ["link.json", "real.json"]);
    }

    #[test]
    fn a_new_file_gets_its_folders() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/b/c.toml");
        replace(&read(&path).unwrap(), "x = 1\n", Readers::Owner).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "x = 1\n");
        assert_eq!(names(path.parent().unwrap()), ["c.toml"]);
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
        let path = temp.path().join("shared.toml");
        replace(&read(&path).unwrap(), "x = 1\n", Readers::Usual).unwrap();
        assert_ne!(std::fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
    }

    /// A file changed after it was read is not overwritten, and no temporary file is left behind.
    #[test]
    fn what_somebody_else_wrote_stays() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("c.json");
        let absent = read(&path).unwrap();
        std::fs::write(&path, "theirs").unwrap();
        assert!(matches!(replace(&absent, "ours", Readers::Owner), Err(SaveError::Moved(_))));
        let found = read(&path).unwrap();
        std::fs::write(&path, "theirs again").unwrap();
        assert!(matches!(replace(&found, "ours", Readers::Owner), Err(SaveError::Moved(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "theirs again");
        assert_eq!(names(temp.path()), ["c.json"]);
    }

    #[test]
    fn what_is_no_file_of_text_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        std::fs::create_dir(at("folder")).unwrap();
        std::fs::write(at("bytes"), [0xff, 0xfe]).unwrap();
        std::os::unix::fs::symlink("nowhere", at("lost")).unwrap();
        std::fs::write(at("closed"), "x").unwrap();
        std::fs::set_permissions(at("closed"), Permissions::from_mode(0o444)).unwrap();
        assert!(matches!(read(&at("folder")), Err(SaveError::NotText(_))));
        assert!(matches!(read(&at("bytes")), Err(SaveError::NotText(_))));
        assert!(matches!(read(&at("lost")), Err(SaveError::LostLink(_))));
        let closed = read(&at("closed")).unwrap();
        assert!(matches!(replace(&closed, "y", Readers::Owner), Err(SaveError::ReadOnly(_))));
        assert_eq!(names(temp.path()), ["bytes", "closed", "folder", "lost"]);
    }
}
