//! The temporary file of a save: its name, its mode, and names that are already taken.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::files::{PathBase, Roots};
use crate::types::Kind;

const OLD: &[u8] = b"old content";
const TEMP: &str = ".inkcell-0000000000000007.tmp";

fn target(folder: &Path) -> Target {
    let base = PathBase { cwd: folder.to_owned(), home: None };
    Target::resolve("nb.ipynb", &base, &Roots::Anywhere).unwrap()
}

fn replaced(folder: &Path, chunks: &[&[u8]]) -> Result<Outcome, EngineError> {
    let target = target(folder);
    let mut lock = Lock::take(&target, &folder.join("state"), Duration::from_secs(5)).unwrap();
    let old = target.examine().unwrap();
    let expect = match &old {
        Some(metadata) => Expect::Read(metadata, OLD),
        None => Expect::Nothing,
    };
    target.replace(&mut lock, &Replacement { chunks, expect, force: Force::No, random: 7 })
}

/// S-043: an existing file under the temporary name is not opened, followed or overwritten.
#[test]
fn a_name_that_is_taken_is_not_used() {
    type Plant = dyn Fn(&Path, &Path);
    let planted: [&Plant; 3] = [
        &|temp, victim| symlink(victim, temp).unwrap(),
        &|temp, victim| std::fs::hard_link(victim, temp).unwrap(),
        &|temp, _| std::fs::create_dir(temp).unwrap(),
    ];
    for plant in planted {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("nb.ipynb"), OLD).unwrap();
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        plant(&folder.path().join(TEMP), &victim);
        let error = replaced(folder.path(), &[b"new"]).unwrap_err();
        assert!(error.to_string().contains("cannot make a temporary file beside it"), "{error}");
        assert_ne!(error.kind(), Kind::Conflict);
        assert_eq!(std::fs::read(folder.path().join("nb.ipynb")).unwrap(), OLD);
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
    }
}

/// S-043: temporary names cannot be guessed, and only files with such names are removed.
#[test]
fn names_are_made_from_randomness() {
    assert_eq!(temp_name(7), TEMP);
    let mut names: Vec<String> =
        (0..1000).map(|_| temp_name(crate::types::system_random())).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 1000);
}

/// S-043: the new file has the mode of the old one from the moment it is in place.
#[test]
fn the_new_file_is_as_private_as_the_old_one() {
    for mode in [0o600, 0o640, 0o666] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nb.ipynb");
        std::fs::write(&path, OLD).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(
            replaced(folder.path(), &[b"new", b"er"]).unwrap(),
            Outcome::Replaced(Vec::new())
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"newer");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o7777, mode);
        assert!(!folder.path().join(TEMP).exists());
    }
}

/// F-064: a file with other bytes than expected is not replaced.
#[test]
fn other_bytes_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nb.ipynb");
    // The file differs from the read: `replaced` expects the old content.
    std::fs::write(&path, b"OLD CONTENT").unwrap();
    assert_eq!(replaced(folder.path(), &[b"new"]).unwrap(), Outcome::Moved);
    assert_eq!(std::fs::read(&path).unwrap(), b"OLD CONTENT");
    assert!(!folder.path().join(TEMP).exists());
}

/// A file that appears where none was expected stays.
#[test]
fn a_file_that_appeared_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let target = target(folder.path());
    let state = folder.path().join("state");
    let mut lock = Lock::take(&target, &state, Duration::from_secs(5)).unwrap();
    std::fs::write(folder.path().join("nb.ipynb"), b"appeared").unwrap();
    let new =
        Replacement { chunks: &[b"new"], expect: Expect::Nothing, force: Force::No, random: 7 };
    assert_eq!(target.replace(&mut lock, &new).unwrap(), Outcome::Moved);
    assert_eq!(std::fs::read(folder.path().join("nb.ipynb")).unwrap(), b"appeared");
    assert!(!folder.path().join(TEMP).exists());
}
