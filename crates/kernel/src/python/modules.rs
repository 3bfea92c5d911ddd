//! Finds the extension modules of the user and the project that a kernel loads at its start.
//!
//! Owns their folders, and which of two with the same name counts. It looks at names and types of files
//! and reads none of them; the kernel loads them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// The user's folder below the home folder; the one in the state folder precedes it.
const USER: &str = ".omp/agent/modules";

/// The project's folders below the working folder, in this order.
const PROJECT: &[&str] = &[".inkcell/modules", ".omp/modules", ".pi/modules"];

/// Whether a kernel loads modules of the project (`python.project_modules`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProjectModules {
    /// Modules of the user and of the project.
    #[default]
    On,
    /// Only modules of the user.
    Off,
}

/// The folders to search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModuleSearch {
    /// The state folder of inkcell.
    pub state: Option<PathBuf>,
    /// The home folder of the user.
    pub home: Option<PathBuf>,
    /// The working folder of the kernel, absolute.
    pub cwd: PathBuf,
    /// Whether to search the working folder.
    pub project: ProjectModules,
}

/// A file or folder that cannot be read. A kernel does not start without a module that it should load.
#[derive(Debug, thiserror::Error)]
#[error("Failed to read Python module {}: {source}", .path.display())]
#[non_exhaustive]
pub struct ModuleError {
    /// The file or folder.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// Lists the modules to load by name and path, in the order of their names.
///
/// A module is a regular file that ends in `.py`, or a link to one. Hidden files are skipped, because
/// editors and file systems leave such files behind. The first of a name counts, among the user's and
/// among the project's modules, and the project's replaces the user's.
pub fn find_modules(search: &ModuleSearch) -> Result<Vec<(String, PathBuf)>, ModuleError> {
    let state = search.state.iter().map(|state| state.join("modules"));
    let home = search.home.iter().map(|home| home.join(USER));
    let mut found = first_of_each(state.chain(home))?;
    if search.project == ProjectModules::On {
        let project = PROJECT.iter().map(|below| search.cwd.join(below));
        found.extend(first_of_each(project)?);
    }
    Ok(found.into_iter().collect())
}

fn first_of_each(
    folders: impl Iterator<Item = PathBuf>,
) -> Result<BTreeMap<String, PathBuf>, ModuleError> {
    let mut found = BTreeMap::new();
    for folder in folders {
        for (name, path) in modules_in(&folder)? {
            found.entry(name).or_insert(path);
        }
    }
    Ok(found)
}

/// The modules of one folder; none if the folder does not exist.
fn modules_in(folder: &Path) -> Result<Vec<(String, PathBuf)>, ModuleError> {
    let failed = |source| ModuleError { path: folder.to_owned(), source };
    let listed = match fs::read_dir(folder) {
        Err(error) if is_absence(&error) => return Ok(Vec::new()),
        listed => listed.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in listed {
        let path = entry.map_err(failed)?.path();
        let ends_right = path.extension().is_some_and(|extension| extension == "py");
        let Some(stem) = path.file_stem().filter(|_| ends_right) else { continue };
        if stem.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        match fs::metadata(&path) {
            // A dangling link does not count as a file.
            Err(error) if is_absence(&error) => continue,
            Err(source) => return Err(ModuleError { path, source }),
            Ok(kind) if !kind.is_file() => continue,
            Ok(_) => {}
        }
        // The kernel receives name and path as text.
        match (stem.to_str(), path.to_str()) {
            (Some(name), Some(_)) => found.push((name.to_owned(), path)),
            _ => {
                let source =
                    io::Error::new(io::ErrorKind::InvalidFilename, "its name is not UTF-8");
                return Err(ModuleError { path, source });
            }
        }
    }
    Ok(found)
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
