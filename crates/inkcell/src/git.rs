//! A file as a commit has it.
//!
//! Owns the question to git. It must not know what a file means.

use std::path::Path;
use std::process::Command;

use crate::words;

/// The name of the last commit.
pub(crate) const LAST: &str = "HEAD";

/// Returns true for the last commit or one of its ancestors, such as `HEAD~2`.
pub(crate) fn is_commit(name: &str) -> bool {
    let is_step = |c: char| matches!(c, '~' | '^') || c.is_ascii_digit();
    name.strip_prefix(LAST).is_some_and(|steps| steps.chars().all(is_step))
}

/// The bytes of a file in a commit, or the reason why there are none. `shown` is the path for people.
pub(crate) fn committed(commit: &str, shown: &str, path: &Path) -> Result<Vec<u8>, String> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(words::file::has_no_folder(shown));
    };
    let said = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["show", "--end-of-options", &format!("{commit}:./{}", name.to_string_lossy())])
        .output()
        .map_err(|error| words::file::git_failed(&error))?;
    if said.status.success() {
        return Ok(said.stdout);
    }
    let reason = String::from_utf8_lossy(&said.stderr).trim().to_owned();
    Err(match commit {
        LAST => words::file::in_no_commit(shown, &reason),
        commit => words::file::not_in_commit(shown, commit, &reason),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_head_and_its_ancestors_are_commits() {
        for name in ["HEAD", "HEAD~2", "HEAD^", "HEAD^2~1"] {
            assert!(is_commit(name), "{name}");
        }
        for name in ["", "head", "HEAD.ipynb", "HEAD:x", "HEADS", "main", "a.ipynb", "--all"] {
            assert!(!is_commit(name), "{name}");
        }
    }
}
