//! The engine: requests in, reports out.
//!
//! Owns the sessions, the calls and the artifacts of one host. It must not know terminals, protocols or
//! arguments.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use inkcell_kernel::{Backend, BackendKind, InputMode, InputReply, Kernelspecs, MANAGED, Origin};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use crate::api::{
    CellKernel, CellReport, CellSource, ExecutionId, KernelMode, PythonReport, PythonRequest,
    State, Wanted,
};
use crate::artifact::{ArtifactOwner, ArtifactSession, Artifacts, ArtifactsConfig};
use crate::backends::Backends;
use crate::call::{Beside, Call};
use crate::error::{EngineError, SessionError};
use crate::executions::{CallEvent, Executions, Record};
use crate::feeds::Feeds;
use crate::journal::{Seq, Watch};
use crate::kernels::{Chosen, Kernels, KernelsConfig};
use crate::lent::Lent;
use crate::output::{ModelOutput, OutputLimits};
use crate::registry::{
    AttachError, Attached, Keep, Limits, Listed, OwnerId, Registry, SessionKey, SessionName,
};
use crate::run::PreparedRun;
use crate::session::{Loss, Policy, ResetEnd, Session};
use crate::session_file::SessionFile;
use crate::tap::{Tap, Tapped};
use crate::verbs::unknown_session;

/// Everything an engine must be told; there are no defaults.
#[derive(Clone)]
pub struct EngineConfig {
    /// Which kernels sessions get.
    pub kernels: KernelsConfig,
    /// How sessions run code.
    pub policy: Policy,
    /// How many sessions there are, and for how long.
    pub limits: Limits,
    /// How much is stored.
    pub artifacts: ArtifactsConfig,
    /// How much of one output a reader gets.
    pub output: OutputLimits,
    /// How much of all outputs of a call together, in bytes.
    pub call_bytes: usize,
    /// How long a call that is over can still be asked for.
    pub keep_results: Duration,
    /// Numbers nobody can guess, for ids.
    pub random: fn() -> u64,
}

/// Clones are the same engine.
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
    /// The calls that are under way.
    tasks: TaskTracker,
    /// What makes the names of session files this engine's own.
    salt: u64,
}

impl Engine {
    /// An engine whose kernels these make.
    pub fn new(config: EngineConfig, backends: Backends) -> Engine {
        let artifacts = Artifacts::new(config.artifacts.clone());
        Engine::storing_in(artifacts, config, backends)
    }

    /// An engine for one of several who use the same machine and must not see each other's sessions, calls and
    /// artifacts: each has an engine of its own, and they share kernels' supply and the store.
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
            tasks: TaskTracker::new(),
            salt: (config.random)(),
            config,
        };
        Engine { shared: Arc::new(shared), kernels }
    }

    /// The same engine for somebody with another environment and other settings: these decide which kernels its
    /// sessions get.
    pub fn decided_by(&self, config: KernelsConfig) -> Engine {
        let kernels = Arc::new(self.kernels.decided_by(config));
        Engine { shared: Arc::clone(&self.shared), kernels }
    }

    /// The kernel that code in this folder gets which wants this.
    pub async fn choose(&self, cwd: &Path, wanted: &Wanted) -> Result<Chosen, EngineError> {
        self.kernels.choose(cwd, wanted).await
    }

    /// The Jupyter kernels that can be had in this folder: of this machine, or of the gateway where that is wanted.
    pub async fn installed_kernels(
        &self,
        cwd: &Path,
        interpreter: Option<&str>,
        backend: Option<BackendKind>,
    ) -> Result<Kernelspecs, EngineError> {
        self.kernels.installed(cwd, interpreter, backend).await
    }

    /// The same choice, whose kernels are copies of the one of this session: they have run what it has. The session stays
    /// until it is closed, and runs nothing any more.
    pub async fn copying(&self, chosen: Chosen, name: &SessionName) -> Result<Chosen, EngineError> {
        Ok(Chosen { backend: self.copies(name).await?, ..chosen })
    }

    /// Whether the kernel of this session can be copied; it runs nothing any more then. No other one is looked for.
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

    /// Runs code. The answer comes when the call is over or the caller has waited long enough; then the
    /// call goes on, and can be asked for by its id.
    pub async fn python(
        &self,
        request: PythonRequest,
        owner: OwnerId,
    ) -> Result<PythonReport, EngineError> {
        let (began, wait) = (tokio::time::Instant::now(), request.wait);
        let session = request.session.as_ref();
        let (_, chosen) = self.place(session, &request.cwd, &request.wanted).await?;
        let id = self.start(request, &chosen, owner, None).await?;
        // Waiting for a place is waiting, too.
        let left = wait.map(|wait| wait.saturating_sub(began.elapsed()));
        Ok(self.record(&id)?.settled(left).await)
    }

    /// Waits until a call is over, however long that takes.
    pub async fn settled(&self, id: &ExecutionId) -> Result<PythonReport, EngineError> {
        Ok(self.record(id)?.settled(None).await)
    }

    /// What has become of a call, after waiting for its end for so long.
    pub async fn result(
        &self,
        id: &ExecutionId,
        wait: Duration,
    ) -> Result<PythonReport, EngineError> {
        Ok(self.record(id)?.settled(Some(wait)).await)
    }

    /// Takes a call back; the second time by force.
    pub fn cancel(&self, id: &ExecutionId) -> Result<(), EngineError> {
        self.record(id)?.cancel();
        Ok(())
    }

    /// Answers a cell of a call that asked for a line of input.
    pub fn reply_input(&self, id: &ExecutionId, reply: InputReply) -> Result<(), EngineError> {
        if self.record(id)?.reply(reply) {
            return Ok(());
        }
        Err(SessionError::NothingAsked(id.clone()).into())
    }

    /// What happens in a call, from this point on.
    pub fn watch(&self, id: &ExecutionId, from: Seq) -> Result<Watch<CallEvent>, EngineError> {
        Ok(self.record(id)?.journal.watch(from))
    }

    /// All sessions.
    pub fn sessions(&self) -> Vec<Listed> {
        self.shared.registry.list()
    }

    pub(crate) fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.shared.registry
    }

    /// What happens in sessions, for whoever watches.
    pub fn feeds(&self) -> &Feeds {
        &self.shared.feeds
    }

    pub(crate) fn executions(&self) -> &Executions {
        &self.shared.executions
    }

    /// About how many bytes the engine remembers of calls that are over and of events in sessions. This has a bound,
    /// however many calls there were.
    pub fn remembered_bytes(&self) -> usize {
        self.shared.executions.size_bytes() + self.shared.feeds.size_bytes()
    }

    /// Where outputs are stored.
    pub fn artifacts(&self) -> &Artifacts {
        &self.shared.artifacts
    }

    /// Interrupts what runs in a session.
    pub fn interrupt(&self, key: &SessionKey) -> Result<(), EngineError> {
        self.session(key)?.interrupt();
        Ok(())
    }

    /// Gives a session a new kernel.
    pub async fn restart(&self, key: &SessionKey) -> Result<(), EngineError> {
        self.must_be_ours(key)?;
        match self.session(key)?.reset().await {
            ResetEnd::Done => Ok(()),
            ResetEnd::Refused => Err(SessionError::ResetInProgress(key.name.clone()).into()),
        }
    }

    /// Ends a session.
    pub async fn close(&self, key: &SessionKey) -> Result<(), EngineError> {
        self.session(key)?;
        self.shared.registry.close(key).await;
        Ok(())
    }

    /// Somebody who used sessions is gone, and they stay for as long as sessions do that nobody uses.
    pub fn release(&self, owner: OwnerId) {
        self.shared.registry.release(owner);
    }

    /// Somebody who used sessions is gone.
    pub async fn detach(&self, owner: OwnerId) {
        self.shared.registry.detach(owner).await;
    }

    /// Ends everything; when it returns no kernel is left.
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

    fn record(&self, id: &ExecutionId) -> Result<Arc<Record>, EngineError> {
        let executions = &self.shared.executions;
        let unknown = || match executions.was_let_go(id) {
            true => SessionError::LetGo { id: id.clone() },
            false => {
                let known = executions.latest().into_iter().map(|id| id.0).collect();
                SessionError::NoExecution { id: id.clone(), known }
            }
        };
        executions.find(id).ok_or_else(|| unknown().into())
    }

    /// A kernel that somebody else has started cannot be made new.
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

    /// Begins a call in the kernel that was chosen for it. Everything its cells say goes to `tap`, if there
    /// is one; it may hold them up.
    pub async fn start(
        &self,
        request: PythonRequest,
        chosen: &Chosen,
        owner: OwnerId,
        tap: Option<mpsc::Sender<Tapped>>,
    ) -> Result<ExecutionId, EngineError> {
        self.start_with(request, chosen, owner, tap, Lent::default()).await
    }

    /// The same, with what the caller lends to its code.
    pub async fn start_with(
        &self,
        request: PythonRequest,
        chosen: &Chosen,
        owner: OwnerId,
        tap: Option<mpsc::Sender<Tapped>>,
        lent: Lent,
    ) -> Result<ExecutionId, EngineError> {
        let beside = Beside { tap: tap.map(Tap::new), notebook: None };
        self.begin(request, chosen, owner, beside, lent).await
    }

    /// Begins to run cells of a notebook, in the kernel that was chosen for it.
    pub async fn start_run(
        &self,
        prepared: PreparedRun,
        chosen: &Chosen,
        owner: OwnerId,
        tap: Option<mpsc::Sender<Tapped>>,
        lent: Lent,
    ) -> Result<ExecutionId, EngineError> {
        let PreparedRun { request, run } = prepared;
        let beside = Beside { tap: tap.map(Tap::new), notebook: Some(run) };
        self.begin(request, chosen, owner, beside, lent).await
    }

    async fn begin(
        &self,
        request: PythonRequest,
        chosen: &Chosen,
        owner: OwnerId,
        mut beside: Beside,
        lent: Lent,
    ) -> Result<ExecutionId, EngineError> {
        let shared = &self.shared;
        let key = self.key(request.session.as_ref(), &request.cwd, Some(&chosen.kernel));
        if request.cells.iter().any(|cell| cell.kernel == CellKernel::Fresh) {
            self.must_be_ours(&key)?;
        }
        let id = shared.executions.new_id();
        let shares = (request.mode == KernelMode::Session).then(|| key.clone());
        let mut report = PythonReport {
            execution: id.clone(),
            session: key.name.clone(),
            state: State::Queued,
            cells: request.cells.iter().map(unrun).collect(),
            kernel: None,
            withheld_hint: None,
            death: None,
            after: ModelOutput::default(),
            undelivered_bytes: 0,
            notebook: None,
        };
        if let Some(run) = &beside.notebook {
            run.announce(&mut report);
        }
        let record = Arc::new(Record::new(shares, report));
        let owner_of_artifacts = ArtifactSession::from(&key);
        let file = match request.mode {
            KernelMode::Session => self.session_file(&key),
            KernelMode::PerCall => {
                SessionFile::place(&shared.config.kernels.state_dir, (shared.config.random)())
            }
        };
        let call = Call {
            record: Arc::clone(&record),
            cells: request.cells,
            timeout: request.timeout,
            env: self.managed(&owner_of_artifacts, &file, &lent),
            stopping: lent.stopping.clone(),
            withheld: chosen.env.withheld.clone(),
            reading: request.reading,
            // Where nobody takes what is asked, nobody answers.
            input: if beside.tap.is_some() { request.input } else { InputMode::Refuse },
            limits: shared.config.output,
            budget_bytes: shared.config.call_bytes,
            artifacts: shared.artifacts.clone(),
            owner: owner_of_artifacts,
            feed: (request.mode == KernelMode::Session)
                .then(|| shared.feeds.of(&key.name, &key.cwd)),
        };
        // It has its place in the queue before anybody can find the session idle and close it.
        let enter = |session: &Session| (session.clone(), session.enter());
        let (session, waiting) = match request.mode {
            KernelMode::Session => {
                let attached = self.attach_with(&key, owner, chosen, request.wait, enter).await?;
                record.change(|report| {
                    if let Some(first) = report.cells.first_mut() {
                        first.notes.extend(attached.notes);
                    }
                });
                attached.taken
            }
            KernelMode::PerCall if shared.registry.is_ending() => {
                return Err(SessionError::Attach(AttachError::Ending).into());
            }
            KernelMode::PerCall => enter(&self.session_with_file(&key, owner, chosen, None, &file)),
        };
        shared.executions.add(id.clone(), record);
        let executions = Arc::clone(&shared.executions);
        shared.tasks.spawn(async move {
            let state = call.run(&session, waiting, &mut beside).await;
            drop(lent);
            if let Some(run) = &mut beside.notebook {
                run.close(state, &call.record).await;
            }
            if request.mode == KernelMode::PerCall {
                call.close(&session, &mut beside.tap).await;
            }
            call.finish(state, beside.tap);
            executions.ended(&call.record.execution);
        });
        Ok(id)
    }

    pub(crate) async fn attach(
        &self,
        key: &SessionKey,
        owner: OwnerId,
        chosen: &Chosen,
        wait: Option<Duration>,
    ) -> Result<Attached<Session>, EngineError> {
        self.attach_with(key, owner, chosen, wait, Session::clone).await
    }

    async fn attach_with<T>(
        &self,
        key: &SessionKey,
        owner: OwnerId,
        chosen: &Chosen,
        wait: Option<Duration>,
        take: impl Fn(&Session) -> T,
    ) -> Result<Attached<T>, EngineError> {
        let shared = &self.shared;
        let file = self.session_file(key);
        let make = |loss| self.session_with_file(key, owner, chosen, loss, &file);
        let patience = wait.unwrap_or(Duration::from_secs(30));
        let attached = shared.registry.attach_with(key, owner, patience, make, take).await;
        Ok(attached.map_err(SessionError::from)?)
    }

    /// Where the file of a session that outlives its calls is.
    fn session_file(&self, key: &SessionKey) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (self.shared.salt, key).hash(&mut hasher);
        SessionFile::place(&self.shared.config.kernels.state_dir, hasher.finish())
    }

    /// A new session, and its file for as long as it is there.
    fn session_with_file(
        &self,
        key: &SessionKey,
        owner: OwnerId,
        chosen: &Chosen,
        loss: Option<Loss>,
        file: &Path,
    ) -> Session {
        let shared = &self.shared;
        let backend = shared.registry.sparing(Arc::clone(&chosen.backend), owner);
        let artifacts = shared.artifacts.folder(&ArtifactSession::from(key)).ok();
        let written = SessionFile::write(file.to_owned(), key, chosen, artifacts.as_deref());
        // Code runs without it where it cannot be written.
        let held = written.ok();
        Session::start_holding(backend, chosen.spec.clone(), shared.config.policy, loss, held)
    }

    /// The variables that are set anew before every cell.
    fn managed(
        &self,
        owner: &ArtifactSession,
        file: &Path,
        lent: &Lent,
    ) -> Vec<(String, Option<String>)> {
        // Without a folder the prelude says itself that there are no artifacts.
        let folder =
            self.shared.artifacts.folder(owner).ok().map(|path| path.display().to_string());
        let file = file.display().to_string();
        let value = |name: &str| match name {
            "PI_ARTIFACTS_DIR" | "ARTIFACTS" => folder.clone(),
            "PI_SESSION_FILE" => Some(file.clone()),
            _ => lent.value(name).map(str::to_owned),
        };
        // What nobody gives a value is removed: it would be that of an earlier call.
        MANAGED.iter().map(|name| ((*name).to_owned(), value(name))).collect()
    }
}

fn unrun(source: &CellSource) -> CellReport {
    CellReport {
        source: source.clone(),
        state: State::Queued,
        count: None,
        duration: Duration::ZERO,
        output: ModelOutput::default(),
        end: None,
        notes: Vec::new(),
        notebook: None,
    }
}
