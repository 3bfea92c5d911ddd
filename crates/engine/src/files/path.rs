//! From a given path to a place on disk. Links are followed once and the folder is opened, so that the checked path is
//! the one used.
//!
//! Owns resolution and confinement. Decisions use resolved components, never text.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::error::EngineError;

/// Returns true if the extension is `.ipynb`, in any case.
pub fn is_notebook_path(path: &str) -> bool {
    let extension = Path::new(path).extension();
    extension.is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

/// The folders where relative paths and `~` start.
#[derive(Clone, Debug)]
pub struct PathBase {
    /// Working folder of the caller.
    pub cwd: PathBuf,
    /// The folder that `~` stands for.
    pub home: Option<PathBuf>,
}

/// Folders that paths must stay in.
#[derive(Clone, Debug)]
pub enum Roots {
    /// Every path is allowed, as far as the system allows it.
    Anywhere,
    /// Inside one of these.
    Only(Vec<PathBuf>),
    /// Allowed by the inner roots, and also inside one of the folders. It can only take permissions away.
    Narrowed(Box<Roots>, Vec<PathBuf>),
}

impl Roots {
    /// Also confines paths to these folders.
    pub(crate) fn narrowed(self, to: &[PathBuf]) -> Roots {
        Roots::Narrowed(Box::new(self), to.to_vec())
    }

    /// The folders that forbid this resolved path.
    fn forbidding(&self, path: &Path) -> Option<&[PathBuf]> {
        let inside =
            |root: &PathBuf| std::fs::canonicalize(root).is_ok_and(|root| path.starts_with(root));
        match self {
            Roots::Anywhere => None,
            Roots::Only(allowed) => (!allowed.iter().any(inside)).then_some(allowed),
            Roots::Narrowed(outer, allowed) => {
                outer.forbidding(path).or_else(|| (!allowed.iter().any(inside)).then_some(allowed))
            }
        }
    }
}

/// A file that may or may not exist, as an open folder and a name in it.
#[derive(Debug)]
pub(crate) struct Target {
    dir: OwnedFd,
    /// True if the folder is open for reading, which syncing it needs.
    dir_is_readable: bool,
    pub(crate) name: OsString,
    pub(crate) path: PathBuf,
    /// The path as the caller gave it.
    pub(crate) shown: String,
}

impl PathBase {
    /// Makes the path absolute, without looking at the disk.
    pub fn absolute(&self, given: &str) -> PathBuf {
        let expanded = match (&self.home, given.strip_prefix('~')) {
            (Some(home), Some("")) => home.clone(),
            (Some(home), Some(rest)) if rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => PathBuf::from(given),
        };
        self.cwd.join(expanded)
    }
}

impl Target {
    /// Follows links, checks the roots, and opens the folder without following any link again.
    pub(crate) fn resolve(
        given: &str,
        base: &PathBase,
        roots: &Roots,
    ) -> Result<Target, EngineError> {
        let io = |what: &'static str| {
            let shown = given.to_owned();
            move |source: io::Error| EngineError::Io { path: shown, what, source }
        };
        let absolute = base.absolute(given);
        let path = real_path(&absolute).map_err(io("find the folder"))?;
        if let Some(roots) = roots.forbidding(&path) {
            let (path, roots) = (given.to_owned(), roots.to_vec());
            return Err(EngineError::OutsideRoots { path, roots });
        }
        if leads_through_devices(&absolute) {
            return Err(EngineError::NotAFile { path: given.to_owned(), what: "a device" });
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(EngineError::NotAFile { path: given.to_owned(), what: "a folder" });
        };
        let (dir, dir_is_readable) = open_folder(folder).map_err(io("open the folder"))?;
        Ok(Target { dir, dir_is_readable, name: name.to_owned(), shown: given.to_owned(), path })
    }

    /// A file in the same folder.
    pub(crate) fn sibling(&self, name: OsString) -> io::Result<Target> {
        let path = self.path.with_file_name(&name);
        let shown = Path::new(&self.shown).with_file_name(&name).to_string_lossy().into_owned();
        let dir = self.dir.try_clone()?;
        Ok(Target { dir, dir_is_readable: self.dir_is_readable, name, path, shown })
    }

    pub(crate) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// The folder handle for syncing, if it is open for reading.
    pub(crate) fn readable_dir(&self) -> Option<BorrowedFd<'_>> {
        self.dir_is_readable.then(|| self.dir.as_fd())
    }

    pub(crate) fn io(&self, what: &'static str) -> impl FnOnce(io::Error) -> EngineError + use<> {
        let path = self.shown.clone();
        move |source| EngineError::Io { path, what, source }
    }
}

/// Creates the missing folders above a file, inside the roots. Only names may be missing: what `..` means behind them
/// is unknown.
pub(crate) fn make_folder_of(
    given: &str,
    base: &PathBase,
    roots: &Roots,
) -> Result<(), EngineError> {
    let absolute = base.absolute(given);
    let Some(folder) = absolute.parent().filter(|folder| !folder.exists()) else { return Ok(()) };
    let io = |source| EngineError::Io { path: given.to_owned(), what: "make the folder", source };
    let known = folder.ancestors().find(|above| above.exists()).unwrap_or(Path::new("/"));
    let missing = folder.strip_prefix(known).unwrap_or(folder);
    if !missing.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io(io::ErrorKind::NotFound.into()));
    }
    let wanted = std::fs::canonicalize(known).map_err(io)?.join(missing);
    if let Some(roots) = roots.forbidding(&wanted) {
        let (path, roots) = (given.to_owned(), roots.to_vec());
        return Err(EngineError::OutsideRoots { path, roots });
    }
    std::fs::create_dir_all(&wanted).map_err(io)
}

/// Returns true if the path lies among the devices of the system, directly or through links. An entry there may link to
/// any file, as `/dev/stdout` does, and the caller did not name that file.
fn leads_through_devices(path: &Path) -> bool {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let Ok(folder) = std::fs::canonicalize(folder) else { return false };
        let is_memory = folder.starts_with("/dev/shm");
        if folder.starts_with("/proc") || folder.starts_with("/dev") && !is_memory {
            return true;
        }
        match std::fs::read_link(folder.join(name)) {
            Ok(link) => path = folder.join(link),
            Err(_) => return false,
        }
    }
    false
}

/// The same number of links in a row that the system follows.
const MAX_LINKS: usize = 40;

/// Follows every link; the last component need not exist. A dangling link leads to the file it names, which a write
/// then creates there.
fn real_path(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match std::fs::canonicalize(&path) {
            Ok(found) => return Ok(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => std::fs::canonicalize(folder)?,
            _ => return Err(io::ErrorKind::NotFound.into()),
        };
        let Some(Component::Normal(name)) = path.components().next_back() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let here = folder.join(name);
        match std::fs::read_link(&here) {
            Ok(link) => path = folder.join(link),
            Err(_) => return Ok(here),
        }
    }
    Err(io::Error::from_raw_os_error(rustix::io::Errno::LOOP.raw_os_error()))
}

/// Opens a resolved folder one component at a time, refusing links. If another program has put a link there since the
/// path was resolved, the open fails instead of leading elsewhere.
fn open_folder(folder: &Path) -> io::Result<(OwnedFd, bool)> {
    let common = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let step = |dir: BorrowedFd<'_>, name: &OsStr, access: OFlags| {
        rustix::fs::openat(dir, name, common | access, Mode::empty())
    };
    let mut dir = rustix::fs::open("/", common | PASS, Mode::empty())?;
    let names: Vec<&OsStr> = folder
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            _ => None,
        })
        .collect();
    for (at, name) in names.iter().enumerate() {
        let is_last = at + 1 == names.len();
        dir = match step(dir.as_fd(), name, if is_last { OFlags::RDONLY } else { PASS }) {
            Err(rustix::io::Errno::ACCESS) if is_last => {
                return Ok((step(dir.as_fd(), name, PASS)?, false));
            }
            opened => opened?,
        };
    }
    if names.is_empty() {
        dir = rustix::fs::open("/", common | OFlags::RDONLY, Mode::empty())?;
    }
    Ok((dir, true))
}

/// Enough to pass through a folder that may be entered but not listed.
#[cfg(target_os = "linux")]
const PASS: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASS: OFlags = OFlags::RDONLY;

#[cfg(test)]
mod tests {
    use super::is_notebook_path;

    /// B:V-01
    #[test]
    fn a_notebook_is_known_by_its_extension() {
        for path in ["nb.ipynb", "dir.x/NB.IPYNB", "/a/b.IpYnB", "-.ipynb", "a b.ipynb"] {
            assert!(is_notebook_path(path), "{path}");
        }
        for path in ["nb.json", "nb.ipynb.bak", "ipynb", ".ipynb", "nb.ipynb/x", "nb", ""] {
            assert!(!is_notebook_path(path), "{path}");
        }
    }
}
