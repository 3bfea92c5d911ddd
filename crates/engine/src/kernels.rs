//! Which kernel a session gets: the interpreter, the environment, what it begins with, and who makes it.
//!
//! Owns the way from a working folder to a [`KernelSpec`]. Starting and running are for the session.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use inkcell_kernel::{
    Backend, BackendKind, ChildEnv, EnvRules, Finder, Interpreter, KernelSpec, ModuleSearch,
    ParentEnv, Prelude, ProjectModules, Search, Shell, Startup, check_cwd, child_environment,
    find_modules,
};

use crate::error::EngineError;

/// Everything that decides about kernels; there are no defaults.
#[derive(Clone, Debug)]
pub struct KernelsConfig {
    /// Where state lives.
    pub state_dir: PathBuf,
    /// The user's home, when there is one.
    pub home: Option<PathBuf>,
    /// The interpreter that settings name.
    pub interpreter: Option<String>,
    /// The environment we were started in.
    pub parent_env: ParentEnv,
    /// What of it kernels get.
    pub env_rules: EnvRules,
    /// How long a kernel may take to be ready.
    pub start_timeout: Duration,
    /// Whose rules cells follow.
    pub shell: Shell,
    /// Which helpers kernels start with.
    pub prelude: Prelude,
    /// Modules to have imported.
    pub preload: Vec<String>,
    /// Whether a project's modules are loaded.
    pub project_modules: ProjectModules,
    /// What a project decides for itself.
    pub project: Option<ProjectKernels>,
}

/// What a project decides about kernels that work inside of it, and about no others (B:C-08).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProjectKernels {
    /// The project's folder.
    pub folder: PathBuf,
    /// Its interpreter.
    pub interpreter: Option<String>,
    /// The modules it wants to have imported.
    pub preload: Option<Vec<String>>,
}

impl ProjectKernels {
    /// Whether a folder is one of the project's, wherever links lead.
    fn holds(&self, folder: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real(folder).starts_with(real(&self.folder))
    }
}

/// A kernel that can be launched, and how it was chosen.
#[derive(Clone)]
pub struct Chosen {
    /// What it is to be.
    pub spec: KernelSpec,
    /// Its interpreter, with the reason.
    pub interpreter: Interpreter,
    /// What of the environment it does not get.
    pub env: ChildEnv,
}

/// Chooses kernels.
pub(crate) struct Kernels {
    config: KernelsConfig,
    finder: Finder,
    backend: Arc<dyn Backend>,
    /// What was chosen a moment ago, by folder and interpreter asked for.
    recent: Mutex<HashMap<Place, (Instant, Chosen)>>,
}

type Place = (PathBuf, Option<String>);

/// How long a choice holds. Looking at candidates costs more than running a small cell, and calls follow
/// each other more quickly than anybody installs a Python.
const RECENT: Duration = Duration::from_secs(1);

impl Kernels {
    pub(crate) fn new(config: KernelsConfig, backend: Arc<dyn Backend>) -> Kernels {
        let finder = Finder::with_cache_dir(config.state_dir.clone());
        Kernels { config, finder, backend, recent: Mutex::default() }
    }

    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        Arc::clone(&self.backend)
    }

    pub(crate) fn kind(&self) -> BackendKind {
        self.backend.kind()
    }

    /// The kernel for this folder.
    pub(crate) async fn choose(
        &self,
        cwd: &Path,
        interpreter: Option<&str>,
    ) -> Result<Chosen, EngineError> {
        check_cwd(cwd)?;
        let place = (cwd.to_owned(), interpreter.map(str::to_owned));
        if let Some(chosen) = self.recent(&place) {
            return Ok(chosen);
        }
        let chosen = self.look(cwd, interpreter).await?;
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.insert(place, (Instant::now(), chosen.clone()));
        Ok(chosen)
    }

    fn recent(&self, place: &Place) -> Option<Chosen> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|_, (at, _)| at.elapsed() < RECENT);
        recent.get(place).map(|(_, chosen)| chosen.clone())
    }

    async fn look(&self, cwd: &Path, interpreter: Option<&str>) -> Result<Chosen, EngineError> {
        let config = &self.config;
        let project = config.project.as_ref().filter(|project| project.holds(cwd));
        let named = interpreter.map(str::to_owned);
        let named = named.or_else(|| project.and_then(|project| project.interpreter.clone()));
        let preload = project.and_then(|project| project.preload.clone());
        let search = Search {
            setting: named.or_else(|| config.interpreter.clone()),
            cwd: cwd.to_owned(),
            home: config.home.clone(),
            state: Some(config.state_dir.clone()),
            env: config.parent_env.clone(),
        };
        let interpreter = self.finder.find(&search).await?;
        let mut env = child_environment(&search.env, &config.env_rules, &BTreeMap::new());
        interpreter.apply_to(&mut env.vars);
        let modules = find_modules(&ModuleSearch {
            state: Some(config.state_dir.clone()),
            home: config.home.clone(),
            cwd: cwd.to_owned(),
            project: config.project_modules,
        })?;
        let startup = Startup {
            shell: config.shell,
            prelude: config.prelude,
            modules,
            preload: preload.unwrap_or_else(|| config.preload.clone()),
        };
        let spec = KernelSpec {
            python: interpreter.path.clone(),
            cwd: cwd.to_owned(),
            env: env.vars.clone(),
            start_timeout: config.start_timeout,
            startup,
        };
        Ok(Chosen { spec, interpreter, env })
    }
}
