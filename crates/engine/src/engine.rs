//! The engine: requests in, reports out.
//!
//! Owns the sessions, the calls and the artifacts of one host. It must not know terminals, protocols or
//! arguments.

mod held_text;
mod inspect;
mod resolve;
mod results;
mod session_file;
mod submit;
mod verbs;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inkcell_kernel::{Backend, BackendKind, Kernelspecs, Origin};
use inkcell_notebook::visible_line;
use tokio_util::task::TaskTracker;

use crate::api::KernelWishes;
use crate::call::{CallHandle, Executions, RunningRun};
use crate::engine::resolve::unknown_session;
use crate::engine::verbs::title_of;
use crate::error::{EngineError, SessionError};
use crate::kernels::{Backends, Kernels, KernelsConfig, ResolvedKernel};
use crate::output::{OutputLimits, PictureFitter};
use crate::session::feeds::Feeds;
use crate::session::registry::{Limits, Registry, SessionEntry};
use crate::session::{Policy, Session};
use crate::store::{ArtifactOwner, Artifacts, ArtifactsConfig};
use crate::types::{ExecutionId, Generation, Keep, OwnerId, SessionKey, SessionName, Suggestion};

pub use held_text::part_of_text;
pub use resolve::Resolution;
pub use submit::{Assignment, CallOptions, Request};

/// The configuration of an engine. It has no defaults.
#[derive(Clone)]
pub struct EngineConfig {
    /// How kernels are chosen for sessions.
    pub kernels: KernelsConfig,
    /// The choices for running code: reruns, the interrupt grace, and restarts.
    pub policy: Policy,
    /// How many sessions may exist, and for how long.
    pub limits: Limits,
    /// The limits of stored output.
    pub artifacts: ArtifactsConfig,
    /// The limits of one output in a report.
    pub output: OutputLimits,
    /// The limit of all outputs of a call together, in bytes.
    pub call_bytes: usize,
    /// How long a finished call can still be asked for.
    pub keep_results: Duration,
    /// A source of unpredictable numbers, for ids.
    pub random: fn() -> u64,
}

/// The engine of one host. Clones share it.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    kernels: Arc<Kernels>,
}

struct Shared {
    config: EngineConfig,
    registry: Registry,
    feeds: Feeds,
    executions: Arc<Executions>,
    artifacts: Artifacts,
    pictures: PictureFitter,
    /// The calls that are under way.
    tasks: TaskTracker,
    /// A random number in the names of session files, which makes them this engine's own.
    salt: u64,
}

impl Engine {
    /// An engine that gets its kernels from these backends.
    pub fn new(config: EngineConfig, backends: Backends) -> Engine {
        let artifacts = Artifacts::new(config.artifacts.clone());
        Engine::storing_in(artifacts, config, backends)
    }

    /// An engine for one of several owners on the same machine, who must not see each other's sessions, calls and
    /// artifacts. Each owner has an engine; the engines share the supply of kernels and the store.
    pub fn of_owner(config: EngineConfig, backends: Backends, owner: ArtifactOwner) -> Engine {
        let artifacts = Artifacts::new(config.artifacts.clone()).of(owner);
        Engine::storing_in(artifacts, config, backends)
    }

    fn storing_in(artifacts: Artifacts, config: EngineConfig, backends: Backends) -> Engine {
        let kernels = Arc::new(Kernels::new(config.kernels.clone(), backends));
        let shared = Shared {
            feeds: Feeds::default(),
            registry: Registry::new(config.limits),
            executions: Arc::new(Executions::new(config.keep_results, config.random)),
            artifacts,
            pictures: PictureFitter::new(config.output.rich.images),
            tasks: TaskTracker::new(),
            salt: (config.random)(),
            config,
        };
        Engine { shared: Arc::new(shared), kernels }
    }

    /// The same engine for a caller with another environment and other settings: these decide which kernels its
    /// sessions get.
    pub fn decided_by(&self, config: KernelsConfig) -> Engine {
        let kernels = Arc::new(self.kernels.decided_by(config));
        Engine { shared: Arc::clone(&self.shared), kernels }
    }

    /// Chooses the kernel for code in this folder.
    pub async fn choose(
        &self,
        cwd: &Path,
        wanted: &KernelWishes,
    ) -> Result<ResolvedKernel, EngineError> {
        self.kernels.choose(cwd, wanted).await
    }

    /// The Jupyter kernels for this folder: those of this machine, or of the gateway if `backend` says so.
    pub async fn installed_kernels(
        &self,
        cwd: &Path,
        interpreter: Option<&str>,
        backend: Option<BackendKind>,
    ) -> Result<Kernelspecs, EngineError> {
        self.kernels.installed(cwd, interpreter, backend).await
    }

    /// The same choice with copies of this session's kernel: they have run what it has run. The session stays until it
    /// is closed, and runs no more code.
    pub async fn copying(
        &self,
        chosen: ResolvedKernel,
        name: &SessionName,
    ) -> Result<ResolvedKernel, EngineError> {
        Ok(ResolvedKernel { backend: self.copies(name).await?, ..chosen })
    }

    /// Checks whether the kernel of this session can be copied. The session runs no more code then. No other session is
    /// considered.
    pub async fn must_be_copyable(&self, name: &SessionName) -> Result<(), EngineError> {
        self.copies(name).await.map(drop)
    }

    async fn copies(&self, name: &SessionName) -> Result<Arc<dyn Backend>, EngineError> {
        let sessions = self.sessions();
        let listed = sessions.into_iter().find(|listed| listed.key.name == *name);
        let no_session = || SessionError::NoSession { name: name.clone(), known: Vec::new() };
        let key = listed.ok_or_else(no_session)?.key;
        self.shared.registry.keep(&key, Keep::Always);
        Ok(self.session(&key)?.copies().await.map_err(SessionError::NoCopies)?)
    }

    /// Finds a call that is remembered.
    pub fn find_call(&self, id: &ExecutionId) -> Result<CallHandle, EngineError> {
        let executions = &self.shared.executions;
        let unknown = || match executions.was_let_go(id) {
            true => SessionError::LetGo { id: id.clone() },
            false => {
                let known: Vec<Suggestion> =
                    executions.latest().iter().filter_map(|id| self.described(id)).collect();
                let known = Suggestion::choose(&known, &id.0);
                SessionError::NoExecution { id: id.clone(), known }
            }
        };
        Ok(CallHandle::new(executions.find(id).ok_or_else(unknown)?))
    }

    /// A remembered call with its state and what it runs.
    fn described(&self, id: &ExecutionId) -> Option<Suggestion> {
        let what = self.shared.executions.find(id)?.read_report(|report| {
            let source = report.cells.first().map(|cell| &cell.source);
            let title = source.map(|it| it.title.clone().unwrap_or_else(|| title_of(&it.code)));
            format!("{}: {}", report.state.name(), visible_line(&title.unwrap_or_default()))
        });
        Some(Suggestion { id: id.0.clone(), what })
    }

    /// The run of this notebook that is under way here, if there is one.
    pub fn run_of(&self, notebook: &Path) -> Option<RunningRun> {
        self.executions().run_in(&SessionName(notebook.display().to_string()))
    }

    /// The kernels that this notebook's own sessions have here now.
    pub fn kernels_of(&self, notebook: &Path) -> Vec<Generation> {
        let own = notebook.display().to_string();
        let sessions = self.sessions().into_iter().filter(|listed| listed.key.name.0 == own);
        sessions.filter_map(|listed| listed.state.generation).collect()
    }

    /// Lists the sessions that exist now, also those without a kernel, sorted by name and folder.
    pub fn sessions(&self) -> Vec<SessionEntry> {
        self.shared.registry.list()
    }

    pub(crate) fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.shared.registry
    }

    /// The journals of session events, for watchers.
    pub fn feeds(&self) -> &Feeds {
        &self.shared.feeds
    }

    pub(crate) fn executions(&self) -> &Executions {
        &self.shared.executions
    }

    /// The approximate memory in bytes for finished calls and for events of sessions. It has a bound, however many
    /// calls there were.
    pub fn remembered_bytes(&self) -> usize {
        self.shared.executions.size_bytes() + self.shared.feeds.size_bytes()
    }

    /// The store for outputs.
    pub fn artifacts(&self) -> &Artifacts {
        &self.shared.artifacts
    }

    /// Makes pictures fit into answers, within the limits of this engine.
    pub fn pictures(&self) -> &PictureFitter {
        &self.shared.pictures
    }

    /// Removes an owner and leaves its sessions to the limits.
    pub fn release(&self, owner: OwnerId) {
        self.shared.registry.release(owner);
    }

    /// Removes an owner. Its sessions without another user are closed, unless they are kept.
    pub async fn detach(&self, owner: OwnerId) {
        self.shared.registry.detach(owner).await;
    }

    /// Ends all calls and sessions. When it returns, no kernel is left.
    pub async fn shutdown(&self) {
        let shared = &self.shared;
        shared.executions.cancel_all();
        self.kernels.close().await;
        shared.registry.shutdown().await;
        // Kernels that belong to one call end with it.
        shared.tasks.close();
        shared.tasks.wait().await;
        // Last, because the fork server reports how its copies ended.
        self.kernels.end().await;
    }

    /// Refuses a kernel that another program started: it cannot be restarted.
    fn must_be_ours(&self, key: &SessionKey) -> Result<(), EngineError> {
        let kernel = self.shared.registry.find(key).and_then(|session| session.state().kernel);
        match kernel.map(|kernel| kernel.origin) {
            Some(Origin::Joined { .. }) => Err(SessionError::NotOurs(key.name.clone()).into()),
            _ => Ok(()),
        }
    }

    fn session(&self, key: &SessionKey) -> Result<Session, EngineError> {
        let found = self.shared.registry.find(key);
        found.ok_or_else(|| unknown_session(key, &self.sessions()))
    }

    /// Submits a request. When this returns, the request has its place: a call or a question in the queue of its
    /// session, unless the question waits for no call; and a verb, which waits for none, has reached its session.
    pub async fn submit<R: Request>(
        &self,
        request: R,
        options: CallOptions,
    ) -> Result<R::Handle, EngineError> {
        request.begin(self, options).await
    }
}
