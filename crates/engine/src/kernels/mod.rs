//! The choice of a session's kernel: the interpreter, the environment, the startup, and the backend.
//!
//! Owns the way from a working folder and a request to a [`KernelSpec`] and its backend. The session starts and
//! runs the kernel.

mod backends;
mod preflight;
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

use crate::api::{Helpers, KernelChoice, KernelWishes, RunNote};
use crate::error::EngineError;
use crate::kernels::backends::MadeGateway;
use crate::types::KernelName;
use program::{KernelPick, Program, names_a_kernel, pick};

pub use backends::{Backends, GatewayChoice};
pub use preflight::{BackendNeeds, Check, Preflight};
pub(crate) use program::is_python;

/// The settings that decide about kernels. They have no defaults.
#[derive(Clone, Debug)]
pub struct KernelsConfig {
    /// The folder for the runner's files and for records about notebooks.
    pub state_dir: PathBuf,
    /// The user's home folder, if there is one.
    pub home: Option<PathBuf>,
    /// The interpreter that the settings name.
    pub interpreter: Option<String>,
    /// The environment in which inkcell was started.
    pub parent_env: ParentEnv,
    /// inkcell's own executable, if it is known. A Python that was installed only to hold it is chosen last.
    pub program: Option<PathBuf>,
    /// The part of that environment that kernels get.
    pub env_rules: EnvRules,
    /// How long a kernel may take to be ready.
    pub start_timeout: Duration,
    /// The rules that cells follow, such as which magics exist.
    pub shell: Shell,
    /// The helper functions that kernels start with.
    pub prelude: Prelude,
    /// Modules to import at the start of a kernel.
    pub preload: Vec<String>,
    /// The setting for loading a project's modules.
    pub project_modules: ProjectModules,
    /// The project's own settings for kernels.
    pub project: Option<ProjectKernels>,
}

/// A project's settings for kernels that work inside of it, and for no others (B:C-08).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProjectKernels {
    /// The project's folder; a kernel that works in it or below belongs to the project.
    pub folder: PathBuf,
    /// Its Python, as the settings name it; `None` keeps the general setting.
    pub interpreter: Option<String>,
    /// Modules to import at the start of a kernel; `None` keeps the general setting.
    pub preload: Option<Vec<String>>,
}

impl ProjectKernels {
    /// Whether a folder belongs to the project, with links resolved.
    fn holds(&self, folder: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real(folder).starts_with(real(&self.folder))
    }
}

/// A kernel that can be launched, and how it was chosen.
#[derive(Clone)]
pub struct ResolvedKernel {
    /// The specification for the launch.
    pub spec: KernelSpec,
    /// The interpreter with the reason for its choice; `None` if no Python was found and the kernel needs none.
    pub interpreter: Option<Interpreter>,
    /// The kernel's environment, with the variables that were withheld from it.
    pub env: ChildEnv,
    /// The identity of the kernel.
    pub kernel: ChosenKernel,
    /// Facts about the choice that the caller of a notebook run must know.
    pub notes: Vec<RunNote>,
    pub(crate) backend: Arc<dyn Backend>,
    /// The files of the server on which the kernel runs, if that server is external: a notebook may be open there.
    pub(crate) documents: Option<ServerContents>,
}

/// The traits that tell a kernel from others, for sessions and for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChosenKernel {
    /// The backend that launches the kernel.
    pub backend: BackendKind,
    /// The installed kernel, or the connection file of a kernel that already runs.
    pub name: Option<KernelName>,
    /// Its name for people, if it has one.
    pub display_name: Option<String>,
    /// The kernel's language; empty if it is unknown before the kernel has answered.
    pub(crate) language: String,
    /// The interpreter, if the caller named one.
    pub(crate) interpreter: Option<PathBuf>,
    /// How far an existing session of the same name may differ.
    pub(crate) insists: Insists,
}

/// The demands of a caller on an existing session of the name that it gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Insists {
    /// Any kernel will do.
    Nothing,
    /// The kernel must run this language.
    Language(String),
    /// The kernel must be exactly the one in the request.
    Kernel,
}

pub(crate) struct Kernels {
    config: KernelsConfig,
    finder: Arc<Finder>,
    backends: Backends,
    /// Recent choices, by folder and request.
    recent: Mutex<HashMap<Place, (Instant, ResolvedKernel)>>,
}

type Place = (PathBuf, KernelWishes);

/// How long a choice is reused. A check of the candidates costs more than running a small cell, and calls follow
/// each other more quickly than a user installs a Python.
const RECENT: Duration = Duration::from_secs(1);

impl Kernels {
    pub(crate) fn new(config: KernelsConfig, backends: Backends) -> Kernels {
        let finder = Arc::new(Finder::with_cache_dir(config.state_dir.clone()));
        Kernels { config, finder, backends, recent: Mutex::default() }
    }

    /// The same backends, for a caller with another environment and other settings.
    pub(crate) fn decided_by(&self, config: KernelsConfig) -> Kernels {
        let (finder, backends) = (Arc::clone(&self.finder), self.backends.clone());
        Kernels { config, finder, backends, recent: Mutex::default() }
    }

    /// Ends kernels that no session uses yet.
    pub(crate) async fn close(&self) {
        self.backends.close().await;
    }

    /// Ends the processes that start kernels, once no kernel is left.
    pub(crate) async fn end(&self) {
        self.backends.runner().close().await;
    }

    /// The backend for requests that name none.
    pub(crate) fn usual(&self) -> BackendKind {
        self.backends.usual()
    }

    /// Chooses the kernel for this folder, or returns a recent choice.
    pub(crate) async fn choose(
        &self,
        cwd: &Path,
        wanted: &KernelWishes,
    ) -> Result<ResolvedKernel, EngineError> {
        check_cwd(cwd)?;
        let place = (cwd.to_owned(), wanted.clone());
        if let Some(chosen) = self.recent(&place) {
            return Ok(chosen);
        }
        let chosen = self.look_up(cwd, wanted).await?;
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.insert(place, (Instant::now(), chosen.clone()));
        Ok(chosen)
    }

    fn recent(&self, place: &Place) -> Option<ResolvedKernel> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|_, (at, _)| at.elapsed() < RECENT);
        recent.get(place).map(|(_, chosen)| chosen.clone())
    }

    /// The installed kernels, as Jupyter finds them from this folder, or those of an external gateway. The shared
    /// gateway of this machine has the kernels that are installed here.
    pub(crate) async fn installed(
        &self,
        cwd: &Path,
        interpreter: Option<&str>,
        backend: Option<BackendKind>,
    ) -> Result<Kernelspecs, EngineError> {
        check_cwd(cwd)?;
        let wanted = KernelWishes {
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
        let found = self.finder.find_unasked(&search, &Workspace::around(cwd)).await.ok();
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
            program: config.program.clone(),
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

    async fn look_up(
        &self,
        cwd: &Path,
        wanted: &KernelWishes,
    ) -> Result<ResolvedKernel, EngineError> {
        match self.gateway(wanted)? {
            Some(gateway) => self.look_there(cwd, wanted, &gateway).await,
            None => self.look_here(cwd, wanted).await,
        }
    }

    async fn look_here(
        &self,
        cwd: &Path,
        wanted: &KernelWishes,
    ) -> Result<ResolvedKernel, EngineError> {
        let search = self.search(cwd, wanted.interpreter.as_deref());
        let found = self.finder.find(&search).await;
        let prefix =
            found.as_ref().ok().map(|found| prefix_of(&found.prefix, found.venv.as_deref()));
        let specs = || self.kernelspecs(prefix).find();
        let KernelPick { program, note } = pick(wanted, self.backends.usual(), specs)?;
        // Kernels of other languages need no Python from here.
        let interpreter = match program {
            Program::Python(_) => Some(found?),
            Program::Spec(_) | Program::Existing(_) => found.ok(),
        };
        let (spec, env) = self.spec(&search, interpreter.as_ref(), wanted)?;
        let kernel = identity(&program, BackendKind::Zmq, interpreter.as_ref(), wanted);
        let backend = self.backend(program)?;
        let notes = Vec::from_iter(note);
        Ok(ResolvedKernel { spec, interpreter, env, kernel, notes, backend, documents: None })
    }

    async fn look_there(
        &self,
        cwd: &Path,
        wanted: &KernelWishes,
        gateway: &MadeGateway,
    ) -> Result<ResolvedKernel, EngineError> {
        let search = self.search(cwd, wanted.interpreter.as_deref());
        // For an external gateway, no Python of this machine is considered.
        let interpreter = match gateway {
            MadeGateway::External(_) => None,
            MadeGateway::Local(_) => Some(self.finder.find(&search).await?),
        };
        let (spec, env) = self.spec(&search, interpreter.as_ref(), wanted)?;
        // The gateway is asked only if the request names a kernel.
        let there = if names_a_kernel(wanted) {
            gateway.kernelspecs(&spec).await?
        } else {
            Kernelspecs::default()
        };
        let picked = pick(wanted, BackendKind::Gateway, || there);
        let KernelPick { program, note } = picked.map_err(|problem| gateway.of_it(problem))?;
        let kernel = identity(&program, BackendKind::Gateway, interpreter.as_ref(), wanted);
        let backend = gateway.running(kernel.name.clone().map(|name| name.0));
        let (notes, documents) = (Vec::from_iter(note), gateway.documents());
        Ok(ResolvedKernel { spec, interpreter, env, kernel, notes, backend, documents })
    }

    /// The gateway for a request, if the request is for one.
    fn gateway(&self, wanted: &KernelWishes) -> Result<Option<MadeGateway>, EngineError> {
        let is_existing = matches!(wanted.kernel, Some(KernelChoice::Existing(_)));
        let usual = self.backends.usual();
        // The only backend of an engine counts as its runner, whatever its kind.
        if wanted.backend.unwrap_or(usual) != BackendKind::Gateway
            || is_existing
            || self.backends.runner().kind() == BackendKind::Gateway
        {
            return Ok(None);
        }
        let gateway = self.backends.gateway()?;
        if wanted.interpreter.is_some() && !gateway.is_local() {
            let problem = "the gateway at gateway.url has its own interpreters; remove this option, or name \
                 one of its kernels";
            let (argument, problem) = ("python".to_owned(), problem.to_owned());
            return Err(EngineError::Argument { argument, problem });
        }
        Ok(Some(gateway))
    }

    /// The specification and the environment of a kernel for this folder and interpreter.
    fn spec(
        &self,
        search: &Search,
        interpreter: Option<&Interpreter>,
        wanted: &KernelWishes,
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
            // The only backend of an engine counts as its runner, whatever its kind.
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

/// The identity of a kernel. `jupyter` is the backend of the kernels that are not inkcell's own.
fn identity(
    program: &Program,
    jupyter: BackendKind,
    interpreter: Option<&Interpreter>,
    wanted: &KernelWishes,
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
