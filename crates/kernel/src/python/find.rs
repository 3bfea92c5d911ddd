//! Tries the candidates and takes the first that works.
//!
//! Owns the choice. It must not know the order of the candidates or how one is asked.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cache::{Cache, Evidence, Keep, Known};
use super::candidate::{Candidate, Search, candidates, venv_of};
use super::files::Unasked;
use super::interpreter::{Interpreter, Skipped, Why};
use super::probe::{DEFAULT_PROBE_TIMEOUT, Probed, lacking, probe};
use super::shim;
use super::workspace::Workspace;
use crate::environ::names_a_secret;

/// Variables a candidate gets when it is asked, beside those of version managers: what it needs to be
/// found and loaded, and nothing that changes which Python it is.
const PROBE_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
];

/// Why there is no interpreter.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FindError {
    /// There are some, but none works.
    #[error("No working Python interpreter found. Tried: {}", Listed(.tried))]
    NoneWorks {
        /// Each with what is wrong with it.
        tried: Vec<Skipped>,
    },
    /// There is none at all.
    #[error("Python executable not found on PATH")]
    NoneFound,
}

struct Listed<'a>(&'a [Skipped]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, skipped) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{skipped}")?;
        }
        Ok(())
    }
}

/// Finds interpreters and remembers which ones work. Keep one for the life of the program.
#[derive(Debug)]
pub struct Finder {
    cache: Cache,
    limit: Duration,
}

impl Default for Finder {
    fn default() -> Finder {
        Finder { cache: Cache::default(), limit: DEFAULT_PROBE_TIMEOUT }
    }
}

impl Finder {
    /// One that also remembers in a file in this folder, which it makes when needed.
    pub fn with_cache_dir(folder: PathBuf) -> Finder {
        Finder { cache: Cache::new(Some(folder)), limit: DEFAULT_PROBE_TIMEOUT }
    }

    /// The same with another time for each candidate to answer.
    pub fn probe_timeout(self, limit: Duration) -> Finder {
        Finder { limit, ..self }
    }

    /// The first candidate that works.
    pub async fn find(&self, search: &Search) -> Result<Interpreter, FindError> {
        let found = candidates(search);
        let mut skipped = found.empty;
        for candidate in found.list {
            match self.ask(&candidate, search).await {
                Ok(known) => return Ok(chosen(candidate, known, skipped)),
                Err(why) => skipped.push(passed_over(candidate, why)),
            }
        }
        Err(none(search, skipped))
    }

    /// The first candidate that seems to work. Nothing from the workspace is run: a program in it, or one that a
    /// version manager would pick by files in it, is judged by its files (S-026).
    pub async fn look(&self, search: &Search, workspace: &Workspace) -> Result<Sighted, FindError> {
        let found = candidates(search);
        let mut skipped = found.empty;
        for candidate in found.list {
            let program = &candidate.path;
            let is_shim = !workspace.is_empty() && shim::is_shim(program);
            let looked = if is_shim || workspace.holds(program) {
                self.recall(&candidate, search, is_shim)
            } else {
                self.ask(&candidate, search).await.map(Looked::Answer)
            };
            match looked {
                Ok(Looked::Answer(known)) => {
                    return Ok(Sighted::Asked(chosen(candidate, known, skipped)));
                }
                Ok(Looked::Files(unasked)) => {
                    return Ok(Sighted::Unasked(Unasked { skipped, ..unasked }));
                }
                Err(why) => skipped.push(passed_over(candidate, why)),
            }
        }
        Err(none(search, skipped))
    }

    /// Which of these top-level modules an interpreter lacks. An interpreter that may be run is asked. If nobody can
    /// tell, no module counts as lacking.
    pub async fn lacking<'a>(
        &self,
        sighted: &Sighted,
        modules: &[&'a str],
        search: &Search,
    ) -> Vec<&'a str> {
        let python = match sighted {
            Sighted::Unasked(unasked) => return unasked.lacking(modules, search),
            Sighted::Asked(python) => python,
        };
        let env = probe_environment(search);
        let path = search.python_path();
        let lacking = lacking(&python.path, &env, &path, modules, self.limit).await;
        let lacking = lacking.unwrap_or_default();
        modules.iter().copied().filter(|module| lacking.iter().any(|name| name == module)).collect()
    }

    /// The answer for a candidate that is not run: an earlier one, or what its files say.
    fn recall(&self, candidate: &Candidate, search: &Search, is_shim: bool) -> Result<Looked, Why> {
        match self.standing(candidate, search)?.known {
            Some(known) => Ok(Looked::Answer(known)),
            None => Unasked::read(candidate, is_shim).map(Looked::Files),
        }
    }

    /// Looks up an earlier answer of a candidate, before it is asked.
    fn standing(&self, candidate: &Candidate, search: &Search) -> Result<Standing, Why> {
        let program = &candidate.path;
        let is_shim = shim::is_shim(program);
        let circumstances = is_shim.then(|| shim::circumstances(search));
        let evidence = Evidence::now(program, candidate.venv.as_deref(), circumstances)
            .ok_or_else(|| Why::CannotStart { problem: missing(program) })?;
        let known = self.cache.get(&search.cwd, program, &evidence);
        Ok(Standing { is_shim, evidence, known })
    }

    /// The candidate's answer, remembered or new.
    async fn ask(&self, candidate: &Candidate, search: &Search) -> Result<Known, Why> {
        let program = &candidate.path;
        let Standing { is_shim, evidence, known } = self.standing(candidate, search)?;
        if let Some(known) = known {
            return Ok(known);
        }
        let env = probe_environment(search);
        // A working folder that is gone is told by the check of it, not as a fault of the interpreter.
        let cwd = if search.cwd.is_dir() { &search.cwd } else { Path::new("/") };
        let probed = probe(program, cwd, &env, self.limit).await?;
        let is_itself = same_file(&probed.executable, program);
        let start = if is_shim && !is_itself && shim::adds_nothing(&probed.changed_env) {
            self.behind_shim(&probed, cwd, &env).await.unwrap_or_else(|| program.clone())
        } else {
            program.clone()
        };
        let known = Known::new(probed, start, evidence);
        // What an unknown wrapper decides by is unknown as well, so its answer ends with the process.
        let keep = if is_itself || is_shim { Keep::OnDisk } else { Keep::InMemory };
        self.cache.put(&search.cwd, program, &known, keep);
        Ok(known)
    }

    /// The program a shim leads to, when started by itself it is the same Python.
    async fn behind_shim(
        &self,
        through: &Probed,
        cwd: &Path,
        env: &BTreeMap<String, String>,
    ) -> Option<PathBuf> {
        let program = &through.executable;
        if !program.is_absolute() {
            return None;
        }
        let direct = probe(program, cwd, env, self.limit).await.ok()?;
        let same = direct.version == through.version && direct.prefix == through.prefix;
        same.then(|| program.clone())
    }
}

/// An interpreter that would be chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sighted {
    /// It has answered, now or before.
    Asked(Interpreter),
    /// It was not run.
    Unasked(Unasked),
}

impl Sighted {
    /// The path of the interpreter.
    pub fn path(&self) -> &Path {
        match self {
            Sighted::Asked(python) => &python.path,
            Sighted::Unasked(unasked) => &unasked.path,
        }
    }

    /// Its `sys.prefix`, if that is known.
    pub fn prefix(&self) -> Option<&Path> {
        match self {
            Sighted::Asked(python) => Some(&python.prefix),
            Sighted::Unasked(unasked) => unasked.prefix.as_deref(),
        }
    }

    /// The virtual environment it belongs to.
    pub fn venv(&self) -> Option<&Path> {
        match self {
            Sighted::Asked(python) => python.venv.as_deref(),
            Sighted::Unasked(unasked) => unasked.venv.as_deref(),
        }
    }
}

/// The result of a look at one candidate.
enum Looked {
    Answer(Known),
    Files(Unasked),
}

/// A candidate before it is asked.
struct Standing {
    is_shim: bool,
    evidence: Evidence,
    known: Option<Known>,
}

fn passed_over(candidate: Candidate, why: Why) -> Skipped {
    let Candidate { path, reason, .. } = candidate;
    Skipped { path, reason, why }
}

fn none(search: &Search, skipped: Vec<Skipped>) -> FindError {
    let nothing_was_tried = candidates(search).list.is_empty() && search.setting.is_none();
    if nothing_was_tried || skipped.is_empty() {
        return FindError::NoneFound;
    }
    FindError::NoneWorks { tried: skipped }
}

fn chosen(candidate: Candidate, known: Known, skipped: Vec<Skipped>) -> Interpreter {
    let Known { probed, start, .. } = known;
    // The interpreter's own word counts; `pyvenv.cfg` is asked for those that do not know of a base.
    let venv = if probed.prefix == probed.base_prefix {
        venv_of(&start).filter(|venv| same_file(venv, &probed.prefix))
    } else {
        Some(probed.prefix.clone())
    };
    let real_path = std::fs::canonicalize(&start).unwrap_or_else(|_| start.clone());
    Interpreter {
        path: start,
        found_at: candidate.path,
        real_path,
        version: probed.version,
        implementation: probed.implementation,
        prefix: probed.prefix,
        venv,
        reason: candidate.reason,
        skipped,
    }
}

fn probe_environment(search: &Search) -> BTreeMap<String, String> {
    let wanted = |name: &str| {
        PROBE_VARIABLES.contains(&name)
            || (shim::is_manager_variable(name) && !names_a_secret(name))
    };
    let vars = search.env.iter().filter(|(name, _)| wanted(name));
    vars.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn missing(program: &Path) -> String {
    match std::fs::read_link(program) {
        Ok(target) => format!("it is a link to {}, which is not there", target.display()),
        Err(_) => "no such file".to_owned(),
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    one == other || real(one).is_some_and(|one| Some(one) == real(other))
}
