//! Recognises the environment that an installer made for inkcell alone. `uvx`, `uv tool` and pipx put inkcell's executable
//! into such an environment, and `uvx` puts its programs first on `PATH`, before the user's Python.
//!
//! Owns the rule. It reads names in folders and starts nothing.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::candidate::{Search, path_folders};
use super::files::packages_below;

/// inkcell, and the distributions that installers put into every environment.
const ALWAYS_THERE: [&str; 4] = ["inkcell", "pip", "setuptools", "wheel"];

/// The folders on `PATH` whose programs belong to an environment that was made for inkcell alone.
///
/// Another distribution in it means that the user wants to use its Python: `uvx --with pandas inkcell`, or an
/// environment that the user made and that happens to hold inkcell. An installation outside of environments, such as
/// `/usr/local/bin` of a container, is never inkcell's own.
pub(super) fn own_folders(search: &Search) -> Vec<PathBuf> {
    let Some(program) = search.program.as_deref().and_then(|file| file.canonicalize().ok()) else {
        return Vec::new();
    };
    let Some(name) = program.file_name() else { return Vec::new() };
    let holds_it = |folder: &PathBuf| {
        folder.parent().is_some_and(|root| root.join("pyvenv.cfg").is_file())
            // uv may link the executable into the environment.
            && folder.join(name).canonicalize().is_ok_and(|file| file == program)
    };
    path_folders(search)
        .filter(holds_it)
        .filter(|folder| folder.parent().is_some_and(has_nothing_else))
        .collect()
}

/// Whether an environment has no distribution besides those that are always there.
fn has_nothing_else(environment: &Path) -> bool {
    let folders = packages_below(environment);
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    entries
        .filter_map(|entry| distribution(&entry.file_name()))
        .all(|name| ALWAYS_THERE.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

/// The name of a distribution, from the name of the folder with its metadata.
fn distribution(entry: &OsStr) -> Option<String> {
    let entry = entry.to_string_lossy();
    let (stem, _) =
        entry.rsplit_once('.').filter(|(_, end)| matches!(*end, "dist-info" | "egg-info"))?;
    Some(stem.split('-').next().unwrap_or(stem).to_owned())
}
