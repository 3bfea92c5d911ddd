//! Probes the candidates and chooses the first that works.
//!
//! Owns the choice. It must not know the order of the candidates, or how to probe one.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::cache::{Cache, CachedAnswer, Evidence, Keep};
use super::candidate::{PythonCandidate, Search, candidates, venv_of};
use super::files::UnrunPython;
use super::interpreter::{Interpreter, SkipReason, SkippedCandidate};
use super::probe::{DEFAULT_PROBE_TIMEOUT, PythonFacts, lacking, probe};
use super::shim;
use super::workspace::Workspace;
use crate::environ::names_a_secret;

/// Variables for a probe, besides those of version managers: the ones that finding and loading a program
/// needs, and none that changes which Python it is.
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

/// Why the search found no interpreter.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// Candidates exist, but none works.
    #[error("No working Python interpreter found. Tried: {}", SkippedList(.tried))]
    NoneWorks {
        /// The candidates, each with its problem.
        tried: Vec<SkippedCandidate>,
    },
    /// The search found no candidate.
    #[error("Python executable not found on PATH")]
    NoneFound,
}

struct SkippedList<'a>(&'a [SkippedCandidate]);

impl fmt::Display for SkippedList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, skipped) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{skipped}")?;
        }
        Ok(())
    }
}

/// Finds interpreters and caches which ones work. Keep one for the life of the program.
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
    /// Makes a finder that also caches in a file in this folder, which it creates when needed.
    pub fn with_cache_dir(folder: PathBuf) -> Finder {
        Finder { cache: Cache::new(Some(folder)), limit: DEFAULT_PROBE_TIMEOUT }
    }

    /// Sets the time in which each candidate must answer; the default is [`DEFAULT_PROBE_TIMEOUT`].
    pub fn probe_timeout(self, limit: Duration) -> Finder {
        Finder { limit, ..self }
    }

    /// Returns the first candidate that works.
    pub async fn find(&self, search: &Search) -> Result<Interpreter, FindError> {
        let found = candidates(search);
        let mut skipped = found.empty.clone();
        for candidate in &found.list {
            match self.ask(candidate, search).await {
                Ok(known) => {
                    skipped.extend(found.passed_over_for(candidate, search));
                    return Ok(chosen(candidate, known, skipped, found.own_folders));
                }
                Err(why) => skipped.push(passed_over(candidate, why)),
            }
        }
        Err(none(search, skipped))
    }

    /// Returns the first candidate that seems to work, and runs no program of the workspace. It judges a program by
    /// files if it lies there, or if a version manager could pick it by files there (S-026).
    pub async fn find_unasked(
        &self,
        search: &Search,
        workspace: &Workspace,
    ) -> Result<FoundInterpreter, FindError> {
        let found = candidates(search);
        let mut skipped = found.empty.clone();
        for candidate in &found.list {
            let program = &candidate.path;
            let is_shim = !workspace.is_empty() && shim::is_shim(program);
            let looked = if is_shim || workspace.holds(program) {
                self.recall(candidate, search, is_shim)
            } else {
                self.ask(candidate, search).await.map(CandidateAnswer::Answer)
            };
            if looked.is_ok() {
                skipped.extend(found.passed_over_for(candidate, search));
            }
            match looked {
                Ok(CandidateAnswer::Answer(known)) => {
                    let chosen = chosen(candidate, known, skipped, found.own_folders);
                    return Ok(FoundInterpreter::Asked(chosen));
                }
                Ok(CandidateAnswer::Files(unasked)) => {
                    return Ok(FoundInterpreter::Unasked(UnrunPython { skipped, ..unasked }));
                }
                Err(why) => skipped.push(passed_over(candidate, why)),
            }
        }
        Err(none(search, skipped))
    }

    /// The modules among these top-level ones that an interpreter lacks. It runs the interpreter, unless files alone
    /// chose it. If the answer is unknown, no module counts as lacking.
    pub async fn lacking<'a>(
        &self,
        sighted: &FoundInterpreter,
        modules: &[&'a str],
        search: &Search,
    ) -> Vec<&'a str> {
        let python = match sighted {
            FoundInterpreter::Unasked(unasked) => return unasked.lacking(modules, search),
            FoundInterpreter::Asked(python) => python,
        };
        let env = probe_environment(search);
        let path = search.python_path();
        let lacking = lacking(&python.path, &env, &path, modules, self.limit).await;
        let lacking = lacking.unwrap_or_default();
        modules.iter().copied().filter(|module| lacking.iter().any(|name| name == module)).collect()
    }

    /// The answer for a candidate that must not run: an earlier one, or what its files show.
    fn recall(
        &self,
        candidate: &PythonCandidate,
        search: &Search,
        is_shim: bool,
    ) -> Result<CandidateAnswer, SkipReason> {
        match self.standing(candidate, search)?.known {
            Some(known) => Ok(CandidateAnswer::Answer(known)),
            None => UnrunPython::read(candidate, is_shim).map(CandidateAnswer::Files),
        }
    }

    /// Looks up an earlier answer of a candidate, before any probe.
    fn standing(
        &self,
        candidate: &PythonCandidate,
        search: &Search,
    ) -> Result<Standing, SkipReason> {
        let program = &candidate.path;
        let is_shim = shim::is_shim(program);
        let circumstances = is_shim.then(|| shim::circumstances(search));
        let evidence = Evidence::now(program, candidate.venv.as_deref(), circumstances)
            .ok_or_else(|| SkipReason::CannotStart { problem: missing(program) })?;
        let known = self.cache.get(&search.cwd, program, &evidence);
        Ok(Standing { is_shim, evidence, known })
    }

    /// The answer of a candidate, from the cache or from a new probe.
    async fn ask(
        &self,
        candidate: &PythonCandidate,
        search: &Search,
    ) -> Result<CachedAnswer, SkipReason> {
        let program = &candidate.path;
        let Standing { is_shim, evidence, known } = self.standing(candidate, search)?;
        if let Some(known) = known {
            return Ok(known);
        }
        let env = probe_environment(search);
        // A missing working folder has an error of its own, and must not look like a fault of the interpreter.
        let cwd = if search.cwd.is_dir() { &search.cwd } else { Path::new("/") };
        let probed = probe(program, cwd, &env, self.limit).await?;
        let is_itself = same_file(&probed.executable, program);
        let start = if is_shim && !is_itself && shim::adds_nothing(&probed.changed_env) {
            self.behind_shim(&probed, cwd, &env).await.unwrap_or_else(|| program.clone())
        } else {
            program.clone()
        };
        let known = CachedAnswer::new(probed, start, evidence);
        // We do not know what an unknown wrapper decides by, so its answer ends with the process.
        let keep = if is_itself || is_shim { Keep::OnDisk } else { Keep::InMemory };
        self.cache.put(&search.cwd, program, &known, keep);
        Ok(known)
    }

    /// The program that a shim leads to, if it is the same Python when started directly.
    async fn behind_shim(
        &self,
        through: &PythonFacts,
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

/// An interpreter that a search would choose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FoundInterpreter {
    /// The interpreter answered a probe, now or earlier.
    Asked(Interpreter),
    /// No program ran; files show that it should work.
    Unasked(UnrunPython),
}

impl FoundInterpreter {
    /// Path of the interpreter.
    pub fn path(&self) -> &Path {
        match self {
            FoundInterpreter::Asked(python) => &python.path,
            FoundInterpreter::Unasked(unasked) => &unasked.path,
        }
    }

    /// Its `sys.prefix`, if known.
    pub fn prefix(&self) -> Option<&Path> {
        match self {
            FoundInterpreter::Asked(python) => Some(&python.prefix),
            FoundInterpreter::Unasked(unasked) => unasked.prefix.as_deref(),
        }
    }

    /// The virtual environment that it belongs to.
    pub fn venv(&self) -> Option<&Path> {
        match self {
            FoundInterpreter::Asked(python) => python.venv.as_deref(),
            FoundInterpreter::Unasked(unasked) => unasked.venv.as_deref(),
        }
    }
}

/// The result of inspecting one candidate.
enum CandidateAnswer {
    Answer(CachedAnswer),
    Files(UnrunPython),
}

/// A candidate before the probe.
struct Standing {
    is_shim: bool,
    evidence: Evidence,
    known: Option<CachedAnswer>,
}

fn passed_over(candidate: &PythonCandidate, why: SkipReason) -> SkippedCandidate {
    SkippedCandidate { path: candidate.path.clone(), reason: candidate.reason, why }
}

fn none(search: &Search, skipped: Vec<SkippedCandidate>) -> FindError {
    let nothing_was_tried = candidates(search).list.is_empty() && search.setting.is_none();
    if nothing_was_tried || skipped.is_empty() {
        return FindError::NoneFound;
    }
    FindError::NoneWorks { tried: skipped }
}

fn chosen(
    candidate: &PythonCandidate,
    known: CachedAnswer,
    skipped: Vec<SkippedCandidate>,
    own_folders: Vec<PathBuf>,
) -> Interpreter {
    let CachedAnswer { probed, start, .. } = known;
    // Trust the interpreter's answer; use `pyvenv.cfg` for interpreters that do not report a base.
    let venv = if probed.prefix == probed.base_prefix {
        venv_of(&start).filter(|venv| same_file(venv, &probed.prefix))
    } else {
        Some(probed.prefix.clone())
    };
    let real_path = std::fs::canonicalize(&start).unwrap_or_else(|_| start.clone());
    Interpreter {
        path: start,
        found_at: candidate.path.clone(),
        real_path,
        version: probed.version,
        implementation: probed.implementation,
        prefix: probed.prefix,
        venv,
        reason: candidate.reason,
        skipped,
        own_folders,
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
        Ok(target) => format!("it is a link to {}, which does not exist", target.display()),
        Err(_) => "no such file".to_owned(),
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    one == other || real(one).is_some_and(|one| Some(one) == real(other))
}
