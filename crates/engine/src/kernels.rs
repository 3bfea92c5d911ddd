//! Which kernel a session gets: the interpreter, the environment, what it begins with, and who makes it.
//!
//! Owns the way from a working folder and a wish to a [`KernelSpec`] and its backend. Starting and running are for
//! the session.

mod program;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use inkcell_kernel::{
    self as kernel, Backend, BackendKind, ChildEnv, EnvRules, Finder, Interpreter, KernelInfo,
    KernelSpec, KernelspecSearch, Kernelspecs, ModuleSearch, ParentEnv, PrefixKind, Prelude,
    ProjectModules, PythonPrefix, Search, ServerContents, Shell, Startup, Workspace, check_cwd,
    child_environment, find_modules,
};

use crate::api::{Helpers, KernelChoice, KernelName, RunNote, Wanted};
use crate::backends::{Backends, MadeGateway};
use crate::error::EngineError;
use program::{Picked, Program, names_a_kernel, pick};

pub(crate) use program::is_python;

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
    /// The interpreter, with the reason; none where there is no Python and none is needed.
    pub interpreter: Option<Interpreter>,
    /// What of the environment it does not get.
    pub env: ChildEnv,
    /// Which kernel it is.
    pub kernel: ChosenKernel,
    /// What whoever gave a notebook must know about the choice.
    pub notes: Vec<RunNote>,
    /// What starts it.
    pub(crate) backend: Arc<dyn Backend>,
    /// The files of the server it is on, where that is somebody else's: a notebook may be open there.
    pub(crate) documents: Option<ServerContents>,
}

/// What makes a kernel different from others, for sessions and for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChosenKernel {
    /// What makes it.
    pub backend: BackendKind,
    /// The installed one, or the file of the one that runs already.
    pub name: Option<KernelName>,
    /// Its name for people, where it has one.
    pub display_name: Option<String>,
    /// Its language; empty where nobody knows before it has answered.
    pub(crate) language: String,
    /// The interpreter, when one was asked for.
    pub(crate) interpreter: Option<PathBuf>,
    /// Whether a session of the same name may be taken that has another one.
    pub(crate) insists: Insists,
}

/// What a caller insists on when there is a session of the name that it gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Insists {
    /// Nothing: whatever runs in it.
    Nothing,
    /// That its language is this one.
    Language(String),
    /// That it is exactly what was asked for.
    Kernel,
}

/// Chooses kernels.
pub(crate) struct Kernels {
    config: KernelsConfig,
    finder: Arc<Finder>,
    backends: Backends,
    /// What was chosen a moment ago, by folder and wish.
    recent: Mutex<HashMap<Place, (Instant, Chosen)>>,
}

type Place = (PathBuf, Wanted);

/// How long a choice holds. Looking at candidates costs more than running a small cell, and calls follow
/// each other more quickly than anybody installs a Python.
const RECENT: Duration = Duration::from_secs(1);

impl Kernels {
    pub(crate) fn new(config: KernelsConfig, backends: Backends) -> Kernels {
        let finder = Arc::new(Finder::with_cache_dir(config.state_dir.clone()));
        Kernels { config, finder, backends, recent: Mutex::default() }
    }

    /// The same backends, for somebody with another environment and other settings.
    pub(crate) fn decided_by(&self, config: KernelsConfig) -> Kernels {
        let (finder, backends) = (Arc::clone(&self.finder), self.backends.clone());
        Kernels { config, finder, backends, recent: Mutex::default() }
    }

    /// Ends kernels that nobody uses yet.
    pub(crate) async fn close(&self) {
        self.backends.close().await;
    }

    /// Ends the processes that make kernels, once no kernel is left.
    pub(crate) async fn end(&self) {
        self.backends.runner().close().await;
    }

    /// The backend of those who do not name one.
    pub(crate) fn usual(&self) -> BackendKind {
        self.backends.usual()
    }

    /// The kernel for this folder.
    pub(crate) async fn choose(&self, cwd: &Path, wanted: &Wanted) -> Result<Chosen, EngineError> {
        check_cwd(cwd)?;
        let place = (cwd.to_owned(), wanted.clone());
        if let Some(chosen) = self.recent(&place) {
            return Ok(chosen);
        }
        let chosen = self.look(cwd, wanted).await?;
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.insert(place, (Instant::now(), chosen.clone()));
        Ok(chosen)
    }

    fn recent(&self, place: &Place) -> Option<Chosen> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|_, (at, _)| at.elapsed() < RECENT);
        recent.get(place).map(|(_, chosen)| chosen.clone())
    }

    /// The kernels that are installed, as Jupyter finds them from this folder, or those of a gateway that is there
    /// already. One of this machine has what is installed here.
    pub(crate) async fn installed(
        &self,
        cwd: &Path,
        interpreter: Option<&str>,
        backend: Option<BackendKind>,
    ) -> Result<Kernelspecs, EngineError> {
        check_cwd(cwd)?;
        let wanted = Wanted {
            interpreter: interpreter.map(str::to_owned),
            backend: Some(backend.unwrap_or(self.backends.usual())),
            kernel: None,
            helpers: Helpers::AsSet,
        };
        if let Some(gateway) = self.gateway(&wanted)?.filter(|gateway| !gateway.is_local()) {
            let (spec, _) = self.spec(&self.search(cwd, interpreter), None, &wanted)?;
            return gateway.kernelspecs(&spec).await;
        }
        // Listing kernels runs no interpreter from the workspace.
        let search = self.search(cwd, interpreter);
        let found = self.finder.look(&search, &Workspace::around(cwd)).await.ok();
        let prefix =
            found.as_ref().and_then(|found| Some(prefix_of(found.prefix()?, found.venv())));
        Ok(self.kernelspecs(prefix).find())
    }

    fn project(&self, cwd: &Path) -> Option<&ProjectKernels> {
        self.config.project.as_ref().filter(|project| project.holds(cwd))
    }

    fn search(&self, cwd: &Path, interpreter: Option<&str>) -> Search {
        let config = &self.config;
        let named = interpreter.map(str::to_owned);
        let named =
            named.or_else(|| self.project(cwd).and_then(|project| project.interpreter.clone()));
        Search {
            setting: named.or_else(|| config.interpreter.clone()),
            cwd: cwd.to_owned(),
            home: config.home.clone(),
            state: Some(config.state_dir.clone()),
            env: config.parent_env.clone(),
        }
    }

    fn kernelspecs(&self, prefix: Option<PythonPrefix>) -> KernelspecSearch {
        KernelspecSearch {
            env: self.config.parent_env.clone(),
            home: self.config.home.clone(),
            prefix,
            system: KernelspecSearch::SYSTEM.iter().map(PathBuf::from).collect(),
        }
    }

    async fn look(&self, cwd: &Path, wanted: &Wanted) -> Result<Chosen, EngineError> {
        match self.gateway(wanted)? {
            Some(gateway) => self.look_there(cwd, wanted, &gateway).await,
            None => self.look_here(cwd, wanted).await,
        }
    }

    async fn look_here(&self, cwd: &Path, wanted: &Wanted) -> Result<Chosen, EngineError> {
        let search = self.search(cwd, wanted.interpreter.as_deref());
        let found = self.finder.find(&search).await;
        let prefix =
            found.as_ref().ok().map(|found| prefix_of(&found.prefix, found.venv.as_deref()));
        let specs = || self.kernelspecs(prefix).find();
        let Picked { program, note } = pick(wanted, self.backends.usual(), specs)?;
        // Kernels of other languages need no Python of ours.
        let interpreter = match program {
            Program::Python(_) => Some(found?),
            Program::Spec(_) | Program::Existing(_) => found.ok(),
        };
        let (spec, env) = self.spec(&search, interpreter.as_ref(), wanted)?;
        let kernel = identity(&program, BackendKind::Zmq, interpreter.as_ref(), wanted);
        let backend = self.backend(program)?;
        let notes = Vec::from_iter(note);
        Ok(Chosen { spec, interpreter, env, kernel, notes, backend, documents: None })
    }

    async fn look_there(
        &self,
        cwd: &Path,
        wanted: &Wanted,
        gateway: &MadeGateway,
    ) -> Result<Chosen, EngineError> {
        let search = self.search(cwd, wanted.interpreter.as_deref());
        // Where kernels are elsewhere, no Python of this machine is looked at.
        let interpreter = match gateway {
            MadeGateway::External(_) => None,
            MadeGateway::Local(_) => Some(self.finder.find(&search).await?),
        };
        let (spec, env) = self.spec(&search, interpreter.as_ref(), wanted)?;
        // It is asked only where names matter.
        let there = if names_a_kernel(wanted) {
            gateway.kernelspecs(&spec).await?
        } else {
            Kernelspecs::default()
        };
        let picked = pick(wanted, BackendKind::Gateway, || there);
        let Picked { program, note } = picked.map_err(|problem| gateway.of_it(problem))?;
        let kernel = identity(&program, BackendKind::Gateway, interpreter.as_ref(), wanted);
        let backend = gateway.running(kernel.name.clone().map(|name| name.0));
        let (notes, documents) = (Vec::from_iter(note), gateway.documents());
        Ok(Chosen { spec, interpreter, env, kernel, notes, backend, documents })
    }

    /// The gateway that a wish is for, if it is for one.
    fn gateway(&self, wanted: &Wanted) -> Result<Option<MadeGateway>, EngineError> {
        let is_existing = matches!(wanted.kernel, Some(KernelChoice::Existing(_)));
        let usual = self.backends.usual();
        // Whatever an engine was given as its only backend is its runner.
        if wanted.backend.unwrap_or(usual) != BackendKind::Gateway
            || is_existing
            || self.backends.runner().kind() == BackendKind::Gateway
        {
            return Ok(None);
        }
        let gateway = self.backends.gateway()?;
        if wanted.interpreter.is_some() && !gateway.is_local() {
            let problem = "the gateway of gateway.url has interpreters of its own; leave this out, or name one of its kernels";
            let (argument, problem) = ("python".to_owned(), problem.to_owned());
            return Err(EngineError::Argument { argument, problem });
        }
        Ok(Some(gateway))
    }

    /// What a kernel of this folder and interpreter is to be, and its environment.
    fn spec(
        &self,
        search: &Search,
        interpreter: Option<&Interpreter>,
        wanted: &Wanted,
    ) -> Result<(KernelSpec, ChildEnv), EngineError> {
        let (config, cwd) = (&self.config, &search.cwd);
        let mut env = child_environment(&search.env, &config.env_rules, &BTreeMap::new());
        if let Some(interpreter) = interpreter {
            interpreter.apply_to(&mut env.vars);
        }
        let modules = find_modules(&ModuleSearch {
            state: Some(config.state_dir.clone()),
            home: config.home.clone(),
            cwd: cwd.clone(),
            project: config.project_modules,
        })?;
        let preload = self.project(cwd).and_then(|project| project.preload.clone());
        let startup = Startup {
            shell: config.shell,
            prelude: match wanted.helpers {
                Helpers::AsSet => config.prelude,
                Helpers::None => Prelude::Off,
            },
            modules,
            preload: preload.unwrap_or_else(|| config.preload.clone()),
        };
        let python = interpreter.map(|interpreter| interpreter.path.clone());
        let spec = KernelSpec {
            python: python.unwrap_or_else(|| PathBuf::from("python3")),
            cwd: cwd.clone(),
            env: env.vars.clone(),
            start_timeout: config.start_timeout,
            startup,
        };
        Ok((spec, env))
    }

    fn backend(&self, program: Program) -> Result<Arc<dyn Backend>, EngineError> {
        match program {
            // Whatever an engine was given as its only backend is its runner.
            Program::Python(kind) if kind == self.backends.runner().kind() => {
                Ok(self.backends.runner())
            }
            Program::Python(BackendKind::Zmq) => self.backends.zmq(kernel::Program::Ipykernel),
            Program::Python(backend) => Err(EngineError::NoBackend { backend }),
            Program::Spec(spec) => self.backends.zmq(kernel::Program::Spec(spec)),
            Program::Existing(file) => self.backends.zmq(kernel::Program::Existing(file)),
        }
    }
}

/// The folder below which an interpreter has its kernels.
fn prefix_of(folder: &Path, venv: Option<&Path>) -> PythonPrefix {
    let kind = match venv {
        Some(_) => PrefixKind::Environment,
        None => PrefixKind::Installation,
    };
    PythonPrefix { folder: folder.to_owned(), kind }
}

/// What tells this kernel from others. `jupyter` is what starts those that are not inkcell's own.
fn identity(
    program: &Program,
    jupyter: BackendKind,
    interpreter: Option<&Interpreter>,
    wanted: &Wanted,
) -> ChosenKernel {
    let (backend, name, display_name, language) = match program {
        Program::Python(backend) => (*backend, None, None, KernelInfo::PYTHON),
        Program::Spec(spec) => {
            let name = KernelName(spec.name.clone());
            (jupyter, Some(name), Some(spec.display_name.clone()), &*spec.language)
        }
        Program::Existing(file) => {
            (jupyter, Some(KernelName(file.display().to_string())), None, "")
        }
    };
    let explicit = interpreter.filter(|_| wanted.interpreter.is_some());
    let interpreter = explicit.map(|interpreter| interpreter.real_path.clone());
    let insists = match (&wanted.backend, &wanted.kernel) {
        (None, None) => Insists::Nothing,
        (None, Some(KernelChoice::OfNotebook { .. })) => Insists::Language(language.to_owned()),
        _ => Insists::Kernel,
    };
    let language = language.to_owned();
    ChosenKernel { backend, name, display_name, language, interpreter, insists }
}
