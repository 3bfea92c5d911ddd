//! The folder for sockets and other files that must not outlive their processes.
//!
//! Owns the choice of the folder, and that other users cannot write to it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use inkcell_engine::kernel::make_private_folder;
use rustix::process::getuid;

use super::Settings;

/// The longest path of the folder, in bytes: the path of a socket in it must fit as well.
const LONGEST: usize = 70;

/// The folder for sockets: private to this user, with a short path, on a disk of this machine. It is chosen with
/// the first socket: a command without kernels makes no folder.
#[derive(Clone, Debug)]
pub(crate) struct RuntimeFolder {
    candidates: Vec<PathBuf>,
    otherwise: PathBuf,
}

impl RuntimeFolder {
    pub(crate) fn of(settings: &Settings) -> Self {
        let given = settings.parent_env().get("XDG_RUNTIME_DIR").map(PathBuf::from);
        let given = given.filter(|folder| folder.is_absolute());
        let given = given.map(|folder| folder.join("inkcell"));
        let common = PathBuf::from(format!("/tmp/inkcell-run-{}", getuid().as_raw()));
        let candidates = given.into_iter().chain([common]).collect();
        Self { candidates, otherwise: settings.state_dir.join("run") }
    }

    pub(crate) fn find(&self) -> PathBuf {
        let private = self.candidates.iter().find(|folder| is_private(folder));
        private.unwrap_or(&self.otherwise).clone()
    }

    /// The existing folder, if any; nothing is made.
    pub(crate) fn find_existing(&self) -> Option<PathBuf> {
        let is_short = |folder: &&PathBuf| folder.as_os_str().len() <= LONGEST;
        let mut all = self.candidates.iter().filter(is_short).chain([&self.otherwise]);
        all.find(|folder| is_ours(folder)).cloned()
    }
}

/// Returns whether a folder exists, or can be made, that other users cannot write to.
fn is_private(folder: &Path) -> bool {
    // `XDG_RUNTIME_DIR` itself is the system's to make. An existing folder is checked below.
    if folder.parent().is_some_and(Path::is_dir) {
        let _ = make_private_folder(folder);
    }
    is_ours(folder) && folder.as_os_str().len() <= LONGEST
}

fn is_ours(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| {
        found.is_dir() && found.uid() == getuid().as_raw() && found.mode() & 0o077 == 0
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// A folder that another user could change is not used for the sockets of kernels.
    #[test]
    fn only_a_private_folder_is_used() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        assert!(is_private(&at("new")));
        assert_eq!(fs::metadata(at("new")).unwrap().permissions().mode() & 0o777, 0o700);
        fs::create_dir(at("open")).unwrap();
        fs::set_permissions(at("open"), fs::Permissions::from_mode(0o777)).unwrap();
        symlink(at("new"), at("link")).unwrap();
        fs::write(at("file"), "").unwrap();
        for refused in ["open", "link", "file", "missing/below", &"long".repeat(20)] {
            assert!(!is_private(&at(refused)), "{refused}");
        }
    }
}
