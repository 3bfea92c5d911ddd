//! Version managers put a small program of every name on `PATH` that picks the real one by the folder it
//! is called in.
//!
//! Owns how such a shim is recognised, what it decides by, and when the program behind it may be started
//! in its place. It must not know how a program is asked.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use super::cache::Stamp;
use super::candidate::Search;

/// Programs that shims of asdf and mise are links to.
const MANAGERS: &[&str] = &["pyenv", "asdf", "mise", "rtx"];

/// Beginnings of variables that managers set for themselves, or that are theirs to decide by.
const MANAGER_VARIABLES: &[&str] = &["PYENV_", "ASDF_", "MISE_", "RTX_"];

/// Variables that a shell, Python or the system set on the way and that change nothing for a kernel.
/// `VIRTUAL_ENV` is set again from the interpreter that was chosen.
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

/// Files in a folder or above it by which a manager picks a version.
const LOCAL_FILES: &[&str] =
    &[".python-version", ".tool-versions", "mise.toml", ".mise.toml", "mise.local.toml"];

/// Files in the home folder that hold the version to use where none is picked.
const HOME_FILES: &[&str] =
    &[".pyenv/version", ".tool-versions", ".asdfrc", ".config/mise/config.toml"];

/// Whether this is a shim of a version manager.
pub(super) fn is_shim(program: &Path) -> bool {
    let folder = program.parent().and_then(Path::file_name);
    let real = std::fs::canonicalize(program).ok();
    let real_name = real.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    folder.is_some_and(|name| name == "shims") || real_name.is_some_and(|n| MANAGERS.contains(&n))
}

/// Whether this variable belongs to a version manager.
pub(super) fn is_manager_variable(name: &str) -> bool {
    // Their private ones begin with an underscore or two.
    let name = name.trim_start_matches('_');
    MANAGER_VARIABLES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether the program behind a shim does the same without it. A shim that set a variable, as mise does
/// for the `[env]` of a project, is kept.
pub(super) fn adds_nothing(changed_env: &[String]) -> bool {
    changed_env
        .iter()
        .all(|name| SET_ON_THE_WAY.contains(&name.as_str()) || is_manager_variable(name))
}

/// A number for everything a shim decides by; it is another one when a version was picked since.
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
