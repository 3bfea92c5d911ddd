//! Folders and files as they are shown: as seen from where a session works (B:T-23).
//!
//! Owns when a path is short. It must not know whether anything is there.

use std::path::{Component, Path};

/// A file, relative where it is inside the session's folder.
pub(crate) fn shown_path(path: &Path, session: &Path) -> String {
    match inside(path, session) {
        Some(inner) if inner != Path::new("") => inner.display().to_string(),
        _ => path.display().to_string(),
    }
}

/// A folder that is worked in; none where it is the session's own.
pub(crate) fn shown_cwd(cwd: &Path, session: &Path) -> Option<String> {
    let is_same = inside(cwd, session).is_some_and(|inner| inner == Path::new(""));
    (!is_same).then(|| shown_path(cwd, session))
}

/// What is left below the folder. A path that goes up again is not inside, whatever it begins with.
fn inside<'a>(path: &'a Path, session: &Path) -> Option<&'a Path> {
    let inner = path.strip_prefix(session).ok()?;
    inner.components().all(|part| matches!(part, Component::Normal(_))).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B:T-23
    #[test]
    fn folders_are_shown_as_seen_from_the_session() {
        let table = [
            ("/w/p", None),
            ("/w/p/", None),
            ("/w/p/a/b", Some("a/b")),
            ("/w/pq", Some("/w/pq")),
            ("/w", Some("/w")),
            ("/w/p/../x", Some("/w/p/../x")),
        ];
        for (cwd, wanted) in table {
            assert_eq!(shown_cwd(Path::new(cwd), Path::new("/w/p")).as_deref(), wanted, "{cwd}");
        }
        assert_eq!(shown_path(Path::new("/w/p/a.ipynb"), Path::new("/w/p")), "a.ipynb");
        assert_eq!(shown_path(Path::new("a.ipynb"), Path::new("/w/p")), "a.ipynb");
        assert_eq!(shown_path(Path::new("/w/p"), Path::new("/w/p")), "/w/p");
    }
}
