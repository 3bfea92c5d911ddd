//! The possible interpreters for a kernel, in order, each with its reason.
//!
//! Owns the places to search. It looks at names in folders and starts nothing; it must not know whether
//! a candidate works.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::interpreter::{Reason, SkipReason, SkippedCandidate, bin_folder};
use super::own::own_folders;
use crate::environ::ParentEnv;

/// The places to search, and the wish of the user.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Search {
    /// `python.interpreter`, as written in the settings: an interpreter or the folder of an environment.
    pub setting: Option<String>,
    /// The working folder of the kernel, absolute.
    pub cwd: PathBuf,
    /// The folder that `~` stands for.
    pub home: Option<PathBuf>,
    /// The state directory, in which `inkcell env setup` creates `python-env`.
    pub state: Option<PathBuf>,
    /// The environment inkcell was started with, unfiltered.
    pub env: ParentEnv,
    /// inkcell's own executable. A Python on `PATH` that was installed only to hold it comes last.
    pub program: Option<PathBuf>,
}

impl Search {
    /// The folders of `PYTHONPATH`, seen from the working folder of the kernel.
    pub(super) fn python_path(&self) -> Vec<PathBuf> {
        let path = self.env.get("PYTHONPATH").unwrap_or_default().split(':');
        path.filter(|part| !part.is_empty()).map(|part| self.cwd.join(part)).collect()
    }
}

/// A possible interpreter for a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PythonCandidate {
    /// Path of the program, perhaps a link or a shim.
    pub path: PathBuf,
    /// The virtual environment of the program: the folder above the program's own, if it has a `pyvenv.cfg`.
    pub venv: Option<PathBuf>,
    /// Why it is a candidate.
    pub reason: Reason,
}

/// The candidates of one search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Candidates {
    /// The interpreters, best first, each real program once.
    pub list: Vec<PythonCandidate>,
    /// Environments without an interpreter that the user named or the search found.
    pub empty: Vec<SkippedCandidate>,
    /// The folders on `PATH` of environments that were made for inkcell alone.
    pub own_folders: Vec<PathBuf>,
}

impl Candidates {
    /// The interpreters of inkcell's own environment that come before this one on `PATH`, but after it in the list.
    pub(super) fn passed_over_for(
        &self,
        chosen: &PythonCandidate,
        search: &Search,
    ) -> Vec<SkippedCandidate> {
        if !is_on_path(chosen.reason) || self.is_own(&chosen.path) {
            return Vec::new();
        }
        let place =
            |path: &Path| path_folders(search).position(|folder| Some(&*folder) == path.parent());
        let end = place(&chosen.path);
        let is_before = |other: &&PythonCandidate| {
            is_on_path(other.reason) && self.is_own(&other.path) && place(&other.path) < end
        };
        let skipped = |PythonCandidate { path, reason, .. }: &PythonCandidate| SkippedCandidate {
            path: path.clone(),
            reason: *reason,
            why: SkipReason::OwnEnvironment,
        };
        self.list.iter().filter(is_before).map(skipped).collect()
    }

    fn is_own(&self, program: &Path) -> bool {
        self.own_folders.iter().any(|own| Some(&**own) == program.parent())
    }
}

fn is_on_path(reason: Reason) -> bool {
    matches!(reason, Reason::PythonOnPath | Reason::Python3OnPath)
}

/// Lists the candidates of a search. If the setting is set, it is the only one.
pub fn candidates(search: &Search) -> Candidates {
    let mut found = CandidateCollector::default();
    found.candidates.own_folders = own_folders(search);
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
    let on_path = |name| -> (Vec<PathBuf>, Vec<PathBuf>) {
        on_path(name, search).into_iter().partition(|path| found.candidates.is_own(path))
    };
    let (own_pythons, pythons) = on_path("python");
    let (own_python3s, python3s) = on_path("python3");
    // The first of each name comes before all others, so that a broken `python` does not hide `python3`.
    let firsts = pythons.iter().take(1).map(|path| (path, Reason::PythonOnPath));
    let firsts = firsts.chain(python3s.iter().take(1).map(|path| (path, Reason::Python3OnPath)));
    let others = pythons.iter().skip(1).map(|path| (path, Reason::PythonOnPath));
    let others = others.chain(python3s.iter().skip(1).map(|path| (path, Reason::Python3OnPath)));
    let own = own_pythons.iter().map(|path| (path, Reason::PythonOnPath));
    let own = own.chain(own_python3s.iter().map(|path| (path, Reason::Python3OnPath)));
    for (path, reason) in firsts.chain(others).chain(own) {
        found.program(path.clone(), reason);
    }
    found.candidates
}

#[derive(Default)]
struct CandidateCollector {
    candidates: Candidates,
    seen: HashSet<Identity>,
}

impl CandidateCollector {
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
        // A bare name such as `python3.12` without such a file here is searched on `PATH`, as in a shell.
        let is_name = expanded.components().count() == 1 && !setting.contains(['/', '~']);
        let elsewhere = if is_name && !is_there(&path) { on_path(setting, search) } else { vec![] };
        let of_user = elsewhere.iter().find(|path| !self.candidates.is_own(path));
        let found = of_user.or(elsewhere.first()).cloned();
        self.program(found.unwrap_or(path), Reason::Setting);
    }

    /// Adds the interpreter of an environment. An environment without one goes to the empty ones, if the user
    /// named it or its folder exists.
    fn environment(&mut self, folder: &Path, reason: Reason) {
        let bin = bin_folder(folder);
        let names =
            if cfg!(windows) { ["python.exe", "python3.exe"] } else { ["python", "python3"] };
        // A dangling link counts: the user should learn that its Python has disappeared.
        match names.iter().map(|name| bin.join(name)).find(|path| is_there(path)) {
            Some(path) => self.program(path, reason),
            None => {
                let asked =
                    matches!(reason, Reason::Setting | Reason::VirtualEnv | Reason::CondaPrefix);
                if asked || folder.is_dir() {
                    let path = folder.to_owned();
                    self.candidates.empty.push(SkippedCandidate {
                        path,
                        reason,
                        why: SkipReason::NoInterpreter,
                    });
                }
            }
        }
    }

    fn program(&mut self, path: PathBuf, reason: Reason) {
        let venv = venv_of(&path);
        if self.seen.insert(Identity::of(&path, venv.as_deref())) {
            self.candidates.list.push(PythonCandidate { path, venv, reason });
        }
    }
}

/// Two candidates with the same identity are the same interpreter.
#[derive(PartialEq, Eq, Hash)]
struct Identity {
    real: PathBuf,
    /// The interpreter of an environment is a link to another one, but started by its own name it differs.
    venv: Option<PathBuf>,
    /// A version manager links every name to one program, which decides by the name it was called with.
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

/// The virtual environment that contains a program.
pub(super) fn venv_of(program: &Path) -> Option<PathBuf> {
    let environment = program.parent()?.parent()?;
    environment.join("pyvenv.cfg").is_file().then(|| environment.to_owned())
}

/// Finds every program of this name on `PATH`. Skips entries that are not absolute: they would depend on
/// the current folder.
pub(super) fn on_path(name: &str, search: &Search) -> Vec<PathBuf> {
    path_folders(search).map(|folder| folder.join(name)).filter(|path| is_program(path)).collect()
}

/// The absolute folders of `PATH`.
pub(super) fn path_folders(search: &Search) -> impl Iterator<Item = PathBuf> {
    let folders = std::env::split_paths(search.env.get("PATH").unwrap_or_default());
    folders.filter(|folder| folder.is_absolute())
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
