//! Which kernel a session gets: the interpreter, the environment, what it begins with, and who makes it.
//!
//! Owns the way from a working folder to a [`KernelSpec`]. Starting and running are for the session.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

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
}

/// A kernel that can be launched, and how it was chosen.
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
}

impl Kernels {
    pub(crate) fn new(config: KernelsConfig, backend: Arc<dyn Backend>) -> Kernels {
        let finder = Finder::with_cache_dir(config.state_dir.clone());
        Kernels { config, finder, backend }
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
        interpreter: Option<&Path>,
    ) -> Result<Chosen, EngineError> {
        check_cwd(cwd)?;
        let config = &self.config;
        let search = Search {
            setting: interpreter
                .map(|path| path.display().to_string())
                .or_else(|| config.interpreter.clone()),
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
            preload: config.preload.clone(),
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
