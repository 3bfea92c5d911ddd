//! Checks the working folder of a kernel before anything starts.
//!
//! Owns the check and its wording. It must not know what starts there.

use std::io;
use std::path::Path;

use crate::error::LaunchError;

/// Checks that a kernel can work in this folder.
pub fn check_cwd(cwd: &Path) -> Result<(), LaunchError> {
    let shown = || cwd.display().to_string();
    match std::fs::metadata(cwd) {
        // A folder that cannot be entered shows it only when a path inside it is looked up.
        Ok(found) if found.is_dir() => match std::fs::metadata(cwd.join(".")) {
            Ok(_) => Ok(()),
            Err(source) => Err(unusable(cwd, &source)),
        },
        Ok(_) => Err(LaunchError::CwdNotAFolder { cwd: shown() }),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Err(LaunchError::NoCwd { cwd: shown() })
        }
        Err(source) => Err(unusable(cwd, &source)),
    }
}

fn unusable(cwd: &Path, source: &io::Error) -> LaunchError {
    let source = io::Error::new(source.kind(), format!("{}: {source}", cwd.display()));
    LaunchError::Resources { what: "work in the working directory", source }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:E-15
    #[test]
    fn only_a_folder_is_taken() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        std::fs::write(&file, "").unwrap();
        let dangling = temp.path().join("dangling");
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        assert!(check_cwd(temp.path()).is_ok());
        let check = |path: &Path, start: &str| {
            let said = check_cwd(path).unwrap_err().to_string();
            assert_eq!(said, format!("{start}: {}", path.display()));
        };
        check(&temp.path().join("no"), "Working directory does not exist");
        check(&file.join("below"), "Working directory does not exist");
        check(&dangling, "Working directory does not exist");
        check(&file, "Working directory is not a directory");
    }
}
