//! New content for a file: written beside it, then put in its place by one rename.
//!
//! Owns the name of the file beside, and removes that file if it never gets its place. At every instant the place holds
//! the old file or the whole new one. It must not know the content.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::rand::{GetRandomFlags, getrandom};

/// A file that waits beside the place it is made for. Dropping it removes it.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    beside: BesidePath,
    place: PathBuf,
}

/// A name to remove, unless its file was moved away.
#[derive(Debug)]
struct BesidePath(Option<PathBuf>);

impl Drop for BesidePath {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // A file that stays is useless and does no harm.
            let _ = fs::remove_file(path);
        }
    }
}

impl NewFile {
    /// Makes an empty file in the folder of `place`. The umask applies to its mode.
    ///
    /// # Errors
    ///
    /// The folder does not exist, or a file cannot be made in it.
    pub fn beside(place: &Path, mode: u32) -> io::Result<NewFile> {
        let mut random = [0; 8];
        getrandom(&mut random[..], GetRandomFlags::empty())?;
        let name = format!(".inkcell-{:016x}.tmp", u64::from_ne_bytes(random));
        let beside = place.with_file_name(name);
        // Not even a link that another program has put there is followed.
        let file =
            OpenOptions::new().read(true).append(true).create_new(true).mode(mode).open(&beside)?;
        Ok(NewFile { file, beside: BesidePath(Some(beside)), place: place.to_owned() })
    }

    /// The open file, to fill it.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives the file its place, and replaces a file or a link that is there.
    ///
    /// # Errors
    ///
    /// The place stays as it was.
    pub fn put(mut self) -> io::Result<File> {
        if let Some(beside) = &self.beside.0 {
            fs::rename(beside, &self.place)?;
        }
        self.beside.0 = None;
        Ok(self.file)
    }
}

/// Replaces a file by these bytes, or leaves it as it was. Forces nothing to the disk.
///
/// # Errors
///
/// The new content could not be written or put in its place.
pub fn replace_file(place: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut new = NewFile::beside(place, mode)?;
    new.file.write_all(bytes)?;
    new.put().map(drop)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The place gets the new content and mode; the target of a link in the place stays.
    #[test]
    fn content_replaces_what_was_there() {
        let temp = tempfile::tempdir().unwrap();
        let (file, link) = (temp.path().join("file"), temp.path().join("link"));
        fs::write(&file, "a longer old text").unwrap();
        symlink("file", &link).unwrap();
        replace_file(&link, b"private", 0o600).unwrap();
        assert_eq!(fs::read(&link).unwrap(), b"private");
        assert_eq!(fs::symlink_metadata(&link).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(fs::read(&file).unwrap(), b"a longer old text");
        replace_file(&file, b"new", 0o600).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(names(temp.path()), ["file", "link"]);
    }

    /// Neither a failure nor an abandoned file changes the place or leaves anything beside it.
    #[test]
    fn failed_replacement_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let place = temp.path().join("place");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("old"), "old").unwrap();
        replace_file(&place, b"new", 0o600).unwrap_err();
        let mut abandoned = NewFile::beside(&place, 0o600).unwrap();
        abandoned.file().write_all(b"half").unwrap();
        assert_eq!(names(temp.path()).len(), 2);
        drop(abandoned);
        assert_eq!(names(temp.path()), ["place"]);
        assert_eq!(fs::read(place.join("old")).unwrap(), b"old");
        replace_file(&temp.path().join("absent/file"), b"new", 0o600).unwrap_err();
    }
}
