//! Shims of version managers: small programs on `PATH`, one for each name, that pick the real program by
//! the folder they are called in.
//!
//! Owns the detection of a shim, the inputs of its decision, and when to start the program behind it
//! instead. It must not know how a program is probed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use super::cache::Stamp;
use super::candidate::Search;

/// Version managers whose shims may be links to the manager itself, such as those of asdf and mise.
const MANAGERS: &[&str] = &["pyenv", "asdf", "mise", "rtx"];

/// Prefixes of variables that managers set for themselves, or decide by.
const MANAGER_VARIABLES: &[&str] = &["PYENV_", "ASDF_", "MISE_", "RTX_"];

/// Variables that a shell, Python or the system sets on the way, without effect for a kernel.
/// `VIRTUAL_ENV` is set again from the chosen interpreter.
const SET_ON_THE_WAY: &[&str] = &[
    "PATH",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "LC_CTYPE",
    "VIRTUAL_ENV",
    "__CF_USER_TEXT_ENCODING",
    "__PYVENV_LAUNCHER__",
];

/// Files in a folder, or above it, by which a manager picks a version.
const LOCAL_FILES: &[&str] =
    &[".python-version", ".tool-versions", "mise.toml", ".mise.toml", "mise.local.toml"];

/// Files in the home folder with the version to use by default.
const HOME_FILES: &[&str] =
    &[".pyenv/version", ".tool-versions", ".asdfrc", ".config/mise/config.toml"];

/// True for a shim of a version manager.
pub(super) fn is_shim(program: &Path) -> bool {
    let folder = program.parent().and_then(Path::file_name);
    let real = std::fs::canonicalize(program).ok();
    let real_name = real.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    folder.is_some_and(|name| name == "shims") || real_name.is_some_and(|n| MANAGERS.contains(&n))
}

/// Whether this variable belongs to a version manager.
pub(super) fn is_manager_variable(name: &str) -> bool {
    // The managers' private variables begin with one or two underscores.
    let name = name.trim_start_matches('_');
    MANAGER_VARIABLES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether the program behind a shim behaves the same without it. A shim that sets other variables, as
/// mise does for the `[env]` of a project, stays in place.
pub(super) fn adds_nothing(changed_env: &[String]) -> bool {
    changed_env
        .iter()
        .all(|name| SET_ON_THE_WAY.contains(&name.as_str()) || is_manager_variable(name))
}

/// A hash of everything that a shim decides by; it changes when the user picks another version.
pub(super) fn circumstances(search: &Search) -> u64 {
    let mut hasher = DefaultHasher::new();
    search.cwd.hash(&mut hasher);
    for (name, value) in search.env.iter().filter(|(name, _)| is_manager_variable(name)) {
        (name, value).hash(&mut hasher);
    }
    for folder in search.cwd.ancestors() {
        for name in LOCAL_FILES {
            Stamp::of(&folder.join(name)).hash(&mut hasher);
        }
    }
    for name in HOME_FILES {
        search.home.as_ref().map(|home| Stamp::of(&home.join(name))).hash(&mut hasher);
    }
    let root = search.env.get("PYENV_ROOT");
    root.map(|root| Stamp::of(&Path::new(root).join("version"))).hash(&mut hasher);
    hasher.finish()
}
