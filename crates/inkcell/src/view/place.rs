//! Folders and files, displayed relative to a session's folder (B:T-23).
//!
//! Owns the choice of the short form. It must not know whether a path exists.

use std::path::{Component, Path};

/// A file's path, relative if it is inside the session's folder.
pub(crate) fn shown_path(path: &Path, session: &Path) -> String {
    match inside(path, session) {
        Some(inner) if inner != Path::new("") => inner.display().to_string(),
        _ => path.display().to_string(),
    }
}

/// A working directory. `None` if it is the session's own folder.
pub(crate) fn shown_cwd(cwd: &Path, session: &Path) -> Option<String> {
    let is_same = inside(cwd, session).is_some_and(|inner| inner == Path::new(""));
    (!is_same).then(|| shown_path(cwd, session))
}

/// The part of the path below the folder. A path with `..` is never inside, even with the right
/// prefix.
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
