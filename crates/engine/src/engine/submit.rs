//! The one way in: every request takes its place here, and its caller gets a handle.
//!
//! Owns the start of a call: its record, its session, and the variables of its code, in this order. `call/` runs the
//! call; `resolve.rs` has decided which kernel it gets. `inspect.rs` asks questions, `verbs.rs` carries out the verbs.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use inkcell_kernel::{InputMode, MANAGED};
use tokio::sync::mpsc;

use super::Engine;
use super::session_file::SessionFile;
use crate::api::{
    CellKernel, CellReport, CellSource, KernelMode, PythonReport, PythonRequest, Reading,
};
use crate::call::{Call, CallExtras, CallHandle, Conductor, Participants, Record, Tap, TapEvent};
use crate::error::{EngineError, SessionError};
use crate::kernels::ResolvedKernel;
use crate::output::ModelOutput;
use crate::run::PreparedRun;
use crate::session::Session;
use crate::session::registry::{AttachError, Attachment};
use crate::store::ArtifactSession;
use crate::types::{Loss, OwnerId, SessionKey, State};

/// A request that [`Engine::submit`] takes: code or a run of a notebook with its kernel ([`Assignment`]), a question
/// about the names of a session ([`InspectRequest`](crate::api::InspectRequest)), or a kernel verb
/// ([`KernelRequest`](crate::api::KernelRequest)).
pub trait Request {
    /// What the caller gets for it: a [`CallHandle`], or an [`AnswerHandle`](crate::AnswerHandle).
    type Handle;

    /// Takes the place of the request.
    fn begin(
        self,
        engine: &Engine,
        options: CallOptions,
    ) -> impl Future<Output = Result<Self::Handle, EngineError>> + Send;
}

/// Work with the kernel to which it was resolved.
pub struct Assignment<'a, W> {
    work: W,
    chosen: &'a ResolvedKernel,
}

impl PythonRequest {
    /// This code, to be run in this kernel.
    pub fn on(self, chosen: &ResolvedKernel) -> Assignment<'_, PythonRequest> {
        Assignment { work: self, chosen }
    }
}

impl PreparedRun {
    /// These cells of a notebook, to be run in this kernel.
    pub fn on(self, chosen: &ResolvedKernel) -> Assignment<'_, PreparedRun> {
        Assignment { work: self, chosen }
    }
}

impl Request for Assignment<'_, PythonRequest> {
    type Handle = CallHandle;

    async fn begin(self, engine: &Engine, options: CallOptions) -> Result<CallHandle, EngineError> {
        engine.begin_call(self.work, None, self.chosen, options).await
    }
}

impl Request for Assignment<'_, PreparedRun> {
    type Handle = CallHandle;

    async fn begin(self, engine: &Engine, options: CallOptions) -> Result<CallHandle, EngineError> {
        let PreparedRun { request, run } = self.work;
        engine.begin_call(request, Some(Box::new(run)), self.chosen, options).await
    }
}

/// The owner of a request; for code, a listener and extras.
pub struct CallOptions {
    /// The owner that uses the session through this request.
    pub owner: OwnerId,
    /// Receives all events of the cells. A receiver that does not read blocks the cells.
    pub tap: Option<mpsc::Sender<TapEvent>>,
    /// Extras for the code of this call alone.
    pub lent: CallExtras,
}

impl CallOptions {
    /// A request of this owner without a listener and without extras.
    pub fn of(owner: OwnerId) -> CallOptions {
        CallOptions { owner, tap: None, lent: CallExtras::default() }
    }
}

impl Engine {
    /// Begins a call. When this returns, the call has its place in the queue of its session.
    async fn begin_call(
        &self,
        request: PythonRequest,
        notebook: Option<Box<dyn Conductor>>,
        chosen: &ResolvedKernel,
        CallOptions { owner, tap, lent }: CallOptions,
    ) -> Result<CallHandle, EngineError> {
        let shared = &self.shared;
        let mut beside = Participants { tap: tap.map(Tap::new), notebook };
        // A session of this name may have begun since the request was resolved.
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
            cells: request.cells.iter().map(queue_cell).collect(),
            kernel: None,
            missed_variable: None,
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
                SessionFile::path_of(&shared.config.kernels.state_dir, (shared.config.random)())
            }
        };
        let (limits, budget_bytes) = match request.reading {
            Reading::Bounded(excerpt) => {
                let budget = excerpt.max_bytes.unwrap_or(shared.config.call_bytes);
                (shared.config.output.excerpt(excerpt), budget)
            }
            Reading::Elsewhere => (shared.config.output, shared.config.call_bytes),
        };
        let call = Call {
            record: Arc::clone(&record),
            cells: request.cells,
            timeout: request.timeout,
            env: self.managed_variables(&owner_of_artifacts, &file, &lent),
            stopping: lent.stopping.clone(),
            withheld: chosen.env.withheld.clone(),
            reading: request.reading,
            // A call without a listener cannot be asked for input.
            input: if beside.tap.is_some() { request.input } else { InputMode::Refuse },
            limits,
            budget_bytes,
            artifacts: shared.artifacts.clone(),
            owner: owner_of_artifacts,
            feed: (request.mode == KernelMode::Session)
                .then(|| shared.feeds.of(&key.name, &key.cwd)),
        };
        // The call enters the queue before another caller can find the session idle and close it.
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
        let handle = CallHandle::new(Arc::clone(&record));
        shared.executions.add(id, record);
        let executions = Arc::clone(&shared.executions);
        shared.tasks.spawn(async move {
            let ran = caught(call.run(&session, waiting, &mut beside)).await;
            let state = ran.unwrap_or_else(|| call.break_off());
            let closed = caught(async {
                drop(lent);
                if let Some(run) = &mut beside.notebook {
                    run.close(state, &call.record).await;
                }
                if request.mode == KernelMode::PerCall {
                    call.close(&session, &mut beside.tap).await;
                }
            });
            let state = match (ran, closed.await) {
                (Some(_), None) => call.break_off(),
                _ => state,
            };
            call.finish(state, beside.tap);
            executions.ended(&call.record.execution);
        });
        Ok(handle)
    }

    pub(crate) async fn attach(
        &self,
        key: &SessionKey,
        owner: OwnerId,
        chosen: &ResolvedKernel,
        wait: Option<Duration>,
    ) -> Result<Attachment<Session>, EngineError> {
        self.attach_with(key, owner, chosen, wait, Session::clone).await
    }

    async fn attach_with<T>(
        &self,
        key: &SessionKey,
        owner: OwnerId,
        chosen: &ResolvedKernel,
        wait: Option<Duration>,
        take: impl Fn(&Session) -> T,
    ) -> Result<Attachment<T>, EngineError> {
        let shared = &self.shared;
        let file = self.session_file(key);
        let make = |loss| self.session_with_file(key, owner, chosen, loss, &file);
        let patience = wait.unwrap_or(Duration::from_secs(30));
        let attached = shared.registry.attach_with(key, owner, patience, make, take).await;
        Ok(attached.map_err(SessionError::from)?)
    }

    /// The path of the file for a session that outlives its calls.
    fn session_file(&self, key: &SessionKey) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (self.shared.salt, key).hash(&mut hasher);
        SessionFile::path_of(&self.shared.config.kernels.state_dir, hasher.finish())
    }

    /// Creates a session with its file, which is removed at the end of the session.
    fn session_with_file(
        &self,
        key: &SessionKey,
        owner: OwnerId,
        chosen: &ResolvedKernel,
        loss: Option<Loss>,
        file: &Path,
    ) -> Session {
        let shared = &self.shared;
        let backend = shared.registry.sparing(Arc::clone(&chosen.backend), owner);
        let artifacts = shared.artifacts.folder(&ArtifactSession::from(key)).ok();
        let written = SessionFile::write(file.to_owned(), key, chosen, artifacts.as_deref());
        // The code still runs if the file cannot be written.
        let held = written.ok();
        Session::start_holding(backend, chosen.spec.clone(), shared.config.policy, loss, held)
    }

    /// The variables that are set before every cell.
    fn managed_variables(
        &self,
        owner: &ArtifactSession,
        file: &Path,
        lent: &CallExtras,
    ) -> Vec<(String, Option<String>)> {
        // Without a folder, the prelude itself reports that artifacts are unavailable.
        let folder =
            self.shared.artifacts.folder(owner).ok().map(|path| path.display().to_string());
        let file = file.display().to_string();
        let value = |name: &str| match name {
            "PI_ARTIFACTS_DIR" | "ARTIFACTS" => folder.clone(),
            "PI_SESSION_FILE" => Some(file.clone()),
            _ => lent.value(name).map(str::to_owned),
        };
        // A variable without a value is removed: otherwise it would keep the value of an earlier call.
        MANAGED.iter().map(|name| ((*name).to_owned(), value(name))).collect()
    }
}

/// The result of a part of a call, or `None` if it panicked: the caller would wait for ever for a call whose task ended.
async fn caught<T>(part: impl Future<Output = T>) -> Option<T> {
    AssertUnwindSafe(part).catch_unwind().await.ok()
}

fn queue_cell(source: &CellSource) -> CellReport {
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
