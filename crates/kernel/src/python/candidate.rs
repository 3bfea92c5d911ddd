//! The interpreters that could be meant, in order, each with its reason.
//!
//! Owns where to look. It looks at names in folders and starts nothing; whether a candidate works is not
//! known here.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::interpreter::{Reason, Skipped, Why, bin_folder};
use crate::environ::ParentEnv;

/// Where to look and what was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Search {
    /// `python.interpreter`, as written: an interpreter or the folder of an environment.
    pub setting: Option<String>,
    /// The working folder of the kernel, absolute.
    pub cwd: PathBuf,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// The state directory, in which `inkcell env setup` makes `python-env`.
    pub state: Option<PathBuf>,
    /// The environment inkcell was started with, unfiltered.
    pub env: ParentEnv,
}

impl Search {
    /// The folders of `PYTHONPATH`, as a kernel that works in the folder has them.
    pub(super) fn python_path(&self) -> Vec<PathBuf> {
        let path = self.env.get("PYTHONPATH").unwrap_or_default().split(':');
        path.filter(|part| !part.is_empty()).map(|part| self.cwd.join(part)).collect()
    }
}

/// An interpreter that could be meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The program.
    pub path: PathBuf,
    /// The virtual environment it lies in, by the `pyvenv.cfg` beside its folder.
    pub venv: Option<PathBuf>,
    /// Why it is one.
    pub reason: Reason,
}

/// What there is to try.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Candidates {
    /// In this order, each real program once.
    pub list: Vec<Candidate>,
    /// Environments that were named or found but have no interpreter.
    pub empty: Vec<Skipped>,
}

/// The candidates of a search. A setting is the only one when there is one.
pub fn candidates(search: &Search) -> Candidates {
    let mut found = Found::default();
    if let Some(setting) = search.setting.as_deref().filter(|setting| !setting.trim().is_empty()) {
        found.setting(setting, search);
        return found.candidates;
    }
    let named = |name| search.env.get(name).map(|folder| search.cwd.join(folder));
    let home_env = search.home.as_ref().map(|home| home.join(".omp/python-env"));
    let places = [
        (named("VIRTUAL_ENV"), Reason::VirtualEnv),
        (named("CONDA_PREFIX"), Reason::CondaPrefix),
        (Some(search.cwd.join(".venv")), Reason::DotVenv),
        (Some(search.cwd.join("venv")), Reason::Venv),
        (search.state.as_ref().map(|state| state.join("python-env")), Reason::Managed),
        (home_env, Reason::ManagedByOmp),
    ];
    for (place, reason) in places {
        if let Some(place) = place {
            found.environment(&place, reason);
        }
    }
    // The first of each name comes before all others, so that a broken one hides nothing behind it.
    let pythons = on_path("python", search);
    let python3s = on_path("python3", search);
    let firsts = pythons.iter().take(1).map(|path| (path, Reason::PythonOnPath));
    let firsts = firsts.chain(python3s.iter().take(1).map(|path| (path, Reason::Python3OnPath)));
    let others = pythons.iter().skip(1).map(|path| (path, Reason::PythonOnPath));
    let others = others.chain(python3s.iter().skip(1).map(|path| (path, Reason::Python3OnPath)));
    for (path, reason) in firsts.chain(others) {
        found.program(path.clone(), reason);
    }
    found.candidates
}

#[derive(Default)]
struct Found {
    candidates: Candidates,
    seen: HashSet<Identity>,
}

impl Found {
    fn setting(&mut self, setting: &str, search: &Search) {
        let expanded = match (&search.home, setting.strip_prefix('~')) {
            (Some(home), Some("")) => home.clone(),
            (Some(home), Some(rest)) if rest.starts_with('/') => home.join(rest.trim_matches('/')),
            _ => PathBuf::from(setting),
        };
        let path = search.cwd.join(&expanded);
        if path.is_dir() {
            self.environment(&path, Reason::Setting);
            return;
        }
        // A name such as `python3.12` that is no file here is meant as a shell would mean it.
        let is_name = expanded.components().count() == 1 && !setting.contains(['/', '~']);
        let elsewhere = if is_name && !is_there(&path) { on_path(setting, search) } else { vec![] };
        self.program(elsewhere.into_iter().next().unwrap_or(path), Reason::Setting);
    }

    /// An environment: its interpreter when it has one, else named as empty when it is there or was
    /// asked for.
    fn environment(&mut self, folder: &Path, reason: Reason) {
        let bin = bin_folder(folder);
        let names =
            if cfg!(windows) { ["python.exe", "python3.exe"] } else { ["python", "python3"] };
        // A dangling link counts: that its Python is gone is to be said, not passed over in silence.
        match names.iter().map(|name| bin.join(name)).find(|path| is_there(path)) {
            Some(path) => self.program(path, reason),
            None => {
                let asked =
                    matches!(reason, Reason::Setting | Reason::VirtualEnv | Reason::CondaPrefix);
                if asked || folder.is_dir() {
                    let path = folder.to_owned();
                    self.candidates.empty.push(Skipped { path, reason, why: Why::NoInterpreter });
                }
            }
        }
    }

    fn program(&mut self, path: PathBuf, reason: Reason) {
        let venv = venv_of(&path);
        if self.seen.insert(Identity::of(&path, venv.as_deref())) {
            self.candidates.list.push(Candidate { path, venv, reason });
        }
    }
}

/// What makes two candidates the same one.
#[derive(PartialEq, Eq, Hash)]
struct Identity {
    real: PathBuf,
    /// The interpreter of an environment is a link to another; started by its own name it is different.
    venv: Option<PathBuf>,
    /// A version manager links every name to one program, which looks at the name it was called by.
    called: Option<PathBuf>,
}

impl Identity {
    fn of(path: &Path, venv: Option<&Path>) -> Identity {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = real.file_name().map(|name| name.to_string_lossy().into_owned());
        let is_python =
            name.is_some_and(|name| name.starts_with("python") || name.starts_with("pypy"));
        let called = if is_python { None } else { path.file_name().map(PathBuf::from) };
        let venv = venv.map(|venv| std::fs::canonicalize(venv).unwrap_or_else(|_| venv.to_owned()));
        Identity { real, venv, called }
    }
}

/// The virtual environment a program lies in.
pub(super) fn venv_of(program: &Path) -> Option<PathBuf> {
    let environment = program.parent()?.parent()?;
    environment.join("pyvenv.cfg").is_file().then(|| environment.to_owned())
}

/// Every program of this name on `PATH`. Entries that are not absolute are passed over: they would mean a
/// file of the folder one happens to be in.
pub(super) fn on_path(name: &str, search: &Search) -> Vec<PathBuf> {
    let folders = std::env::split_paths(search.env.get("PATH").unwrap_or_default());
    let folders = folders.filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(name)).filter(|path| is_program(path)).collect()
}

fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| !found.is_dir())
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
