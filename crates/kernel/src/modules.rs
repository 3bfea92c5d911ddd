//! Which files of the user's and the project's own a kernel loads when it starts.
//!
//! Owns where they lie and which of two with the same name counts. It looks at names and kinds of files
//! and reads none of them; loading is the kernel's business.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Below the home folder, after the state folder's own.
const USER: &str = ".omp/agent/modules";

/// Below the working folder, in this order.
const PROJECT: &[&str] = &[".inkcell/modules", ".omp/modules", ".pi/modules"];

/// Whether files of the project are loaded (`python.project_modules`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProjectModules {
    /// They are.
    #[default]
    On,
    /// Only the user's own are.
    Off,
}

/// Where to look.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModuleSearch {
    /// The state folder.
    pub state: Option<PathBuf>,
    /// The home folder.
    pub home: Option<PathBuf>,
    /// The working folder of the kernel, absolute.
    pub cwd: PathBuf,
    /// Whether it is looked into.
    pub project: ProjectModules,
}

/// A file or folder that cannot be read. A kernel does not start without what it should have loaded.
#[derive(Debug, thiserror::Error)]
#[error("Failed to read Python module {}: {source}", .path.display())]
pub struct ModuleError {
    /// Which one.
    pub path: PathBuf,
    /// What is wrong with it.
    pub source: io::Error,
}

/// The modules to load, by name and path, in the order of their names.
///
/// Each is a regular file, or a link to one, that ends in `.py`; hidden ones are left out, since what
/// editors and file systems leave there is nobody's module. The first of a name counts, once among the
/// user's and once among the project's, and the project's takes the place of the user's.
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

/// The modules of one folder; one that is not there has none.
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
            // A link that leads nowhere is no file.
            Err(error) if is_absence(&error) => continue,
            Err(source) => return Err(ModuleError { path, source }),
            Ok(kind) if !kind.is_file() => continue,
            Ok(_) => {}
        }
        // The kernel is told by text where it lies.
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
