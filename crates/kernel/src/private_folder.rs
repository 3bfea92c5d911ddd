//! Folders for this user alone.
//!
//! Owns how such a folder is made. It must not know what is kept there, and does not judge a folder that exists.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::AtFlags;
use rustix::io::Errno;

/// The mode of a private folder.
const PRIVATE: u32 = 0o700;

/// Makes a folder and the missing ones above it. Whatever the umask is, the new ones have the mode 0700: a umask may
/// also take bits that the owner needs. A folder that exists stays as it is.
///
/// # Errors
///
/// A folder cannot be made, or something else has its name.
pub fn make_private_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    match make(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(parent) = folder.parent() else { return Err(error) };
            make_private_folder(parent)?;
            make(folder)
        }
        made => made,
    }
}

fn make(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(PRIVATE).create(folder) {
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(PRIVATE)),
        // Another process may have been faster.
        Err(_) if folder.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a folder inside an open one, as [`make_private_folder`] does. No link is followed on the way.
///
/// # Errors
///
/// [`Errno::EXIST`] if something has this name, a folder included.
pub fn make_private_folder_in(parent: impl AsFd, name: &str) -> Result<(), Errno> {
    rustix::fs::mkdirat(&parent, name, PRIVATE.into())?;
    rustix::fs::chmodat(&parent, name, PRIVATE.into(), AtFlags::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(folder: &Path) -> u32 {
        fs::metadata(folder).expect("a folder").permissions().mode() & 0o7777
    }

    #[test]
    fn missing_folders_become_private() {
        let temp = tempfile::tempdir().expect("a folder");
        let (above, below) = (temp.path().join("above"), temp.path().join("above/below"));
        make_private_folder(&below).expect("made");
        assert_eq!([mode(&above), mode(&below)], [PRIVATE; 2]);
    }

    #[test]
    fn an_existing_folder_keeps_its_mode() {
        let temp = tempfile::tempdir().expect("a folder");
        let open = temp.path().join("open");
        fs::create_dir(&open).expect("made");
        fs::set_permissions(&open, Permissions::from_mode(0o755)).expect("a mode");
        make_private_folder(&open).expect("it exists");
        make_private_folder(&open.join("new")).expect("made");
        assert_eq!([mode(&open), mode(&open.join("new"))], [0o755, PRIVATE]);
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let temp = tempfile::tempdir().expect("a folder");
        let file = temp.path().join("file");
        fs::write(&file, "").expect("written");
        let kind = |folder: &Path| make_private_folder(folder).expect_err("no folder").kind();
        assert_eq!(kind(&file), io::ErrorKind::AlreadyExists);
        assert_eq!(kind(&file.join("below")), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn an_empty_path_is_the_working_folder() {
        make_private_folder(Path::new("")).expect("it exists");
    }
}
