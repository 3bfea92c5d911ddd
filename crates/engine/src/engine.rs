//! The engine: requests in, reports out.
//!
//! Owns the sessions, the calls and the artifacts of one host. It must not know terminals, protocols or
//! arguments.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use inkcell_kernel::{Backend, withheld_hint_for};

use crate::api::{
    CellReport, CellSource, EndReport, ExecutionId, KernelMode, PythonReport, PythonRequest, State,
};
use crate::artifact::{ArtifactSession, Artifacts, ArtifactsConfig};
use crate::call::Call;
use crate::error::{EngineError, SessionError};
use crate::executions::{CallEvent, Executions, Record};
use crate::journal::{Seq, Watch};
use crate::kernels::{Chosen, Kernels, KernelsConfig};
use crate::output::{ModelOutput, OutputLimits};
use crate::registry::{Limits, Listed, OwnerId, Registry, SessionKey, SessionName};
use crate::session::{CloseReason, Policy, ResetEnd, Session};

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
}

struct Shared {
    config: EngineConfig,
    kernels: Kernels,
    registry: Registry,
    executions: Executions,
    artifacts: Artifacts,
}

impl Engine {
    /// An engine whose kernels this backend makes.
    pub fn new(config: EngineConfig, backend: Arc<dyn Backend>) -> Engine {
        let shared = Shared {
            kernels: Kernels::new(config.kernels.clone(), backend),
            registry: Registry::new(config.limits),
            executions: Executions::new(config.keep_results, config.random),
            artifacts: Artifacts::new(config.artifacts.clone()),
            config,
        };
        Engine { shared: Arc::new(shared) }
    }

    /// Runs code. The answer comes when the call is over or the caller has waited long enough; then the
    /// call goes on, and can be asked for by its id.
    pub async fn python(
        &self,
        request: PythonRequest,
        owner: OwnerId,
    ) -> Result<PythonReport, EngineError> {
        let wait = request.wait;
        let started = self.start(request, owner).await?;
        let mut report = started.record.settled(wait).await;
        self.add_hint(&mut report, &started.chosen);
        Ok(report)
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

    /// What happens in a call, from this point on.
    pub fn watch(&self, id: &ExecutionId, from: Seq) -> Result<Watch<CallEvent>, EngineError> {
        Ok(self.record(id)?.journal.watch(from))
    }

    /// All sessions.
    pub fn sessions(&self) -> Vec<Listed> {
        self.shared.registry.list()
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

    /// Somebody who used sessions is gone.
    pub async fn detach(&self, owner: OwnerId) {
        self.shared.registry.detach(owner).await;
    }

    /// Ends everything; when it returns no kernel is left.
    pub async fn shutdown(&self) {
        self.shared.registry.shutdown().await;
    }

    fn record(&self, id: &ExecutionId) -> Result<Arc<Record>, EngineError> {
        let unknown = || {
            let known = self.shared.executions.ids().into_iter().map(|id| id.0).collect();
            SessionError::NoExecution { id: id.clone(), known }.into()
        };
        self.shared.executions.find(id).ok_or_else(unknown)
    }

    fn session(&self, key: &SessionKey) -> Result<Session, EngineError> {
        let unknown = || {
            let known = self.sessions().into_iter().map(|listed| listed.key.name.0).collect();
            SessionError::NoSession { name: key.name.clone(), known }.into()
        };
        self.shared.registry.find(key).ok_or_else(unknown)
    }

    /// The key of the session a request means.
    pub fn key(
        &self,
        session: Option<&SessionName>,
        cwd: &Path,
        interpreter: Option<&Path>,
    ) -> SessionKey {
        // A folder that is not there is told by the launch.
        let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
        SessionKey {
            name: session.cloned().unwrap_or_else(|| SessionName("default".to_owned())),
            cwd,
            interpreter: interpreter.map(Path::to_owned),
            backend: self.shared.kernels.kind(),
        }
    }

    async fn start(&self, request: PythonRequest, owner: OwnerId) -> Result<Started, EngineError> {
        let shared = &self.shared;
        let chosen = shared.kernels.choose(&request.cwd, request.interpreter.as_deref()).await?;
        let key = self.key(request.session.as_ref(), &request.cwd, request.interpreter.as_deref());
        let id = shared.executions.new_id();
        let record = Arc::new(Record::new(PythonReport {
            execution: id.clone(),
            session: key.name.clone(),
            state: State::Queued,
            cells: request.cells.iter().map(unrun).collect(),
            kernel: None,
            withheld_hint: None,
        }));
        shared.executions.add(id, Arc::clone(&record));
        let owner_of_artifacts = ArtifactSession::from(&key);
        let call = Call {
            record: Arc::clone(&record),
            cells: request.cells,
            timeout: request.timeout,
            env: self.managed(&owner_of_artifacts),
            limits: shared.config.output,
            budget_bytes: shared.config.call_bytes,
            artifacts: shared.artifacts.clone(),
            owner: owner_of_artifacts,
        };
        match request.mode {
            KernelMode::Session => {
                let session = self.attach(&key, owner, &chosen, request.wait).await?;
                tokio::spawn(async move { call.run(&session).await });
            }
            KernelMode::PerCall => {
                let spec = chosen.spec.clone();
                let session =
                    Session::start(shared.kernels.backend(), spec, shared.config.policy, None);
                tokio::spawn(async move {
                    call.run(&session).await;
                    session.close(CloseReason::Asked).await;
                });
            }
        }
        Ok(Started { record, chosen })
    }

    async fn attach(
        &self,
        key: &SessionKey,
        owner: OwnerId,
        chosen: &Chosen,
        wait: Option<Duration>,
    ) -> Result<Session, EngineError> {
        let shared = &self.shared;
        let make = |loss| {
            let spec = chosen.spec.clone();
            Session::start(shared.kernels.backend(), spec, shared.config.policy, loss)
        };
        let patience = wait.unwrap_or(Duration::from_secs(30));
        let attached = shared.registry.attach(key, owner, patience, make).await;
        Ok(attached.map_err(SessionError::from)?)
    }

    /// The variables that are set anew before every cell.
    fn managed(&self, owner: &ArtifactSession) -> Vec<(String, Option<String>)> {
        // Without a folder the prelude says itself that there are no artifacts.
        let folder =
            self.shared.artifacts.folder(owner).ok().map(|path| path.display().to_string());
        vec![
            ("PI_ARTIFACTS_DIR".to_owned(), folder.clone()),
            ("ARTIFACTS".to_owned(), folder),
            ("PI_SESSION_FILE".to_owned(), None),
            ("PI_TOOL_BRIDGE_URL".to_owned(), None),
            ("PI_TOOL_BRIDGE_TOKEN".to_owned(), None),
            ("PI_TOOL_BRIDGE_SESSION".to_owned(), None),
        ]
    }

    fn add_hint(&self, report: &mut PythonReport, chosen: &Chosen) {
        let last = report.cells.iter().rev().find_map(|cell| cell.end.as_ref());
        if let Some(EndReport::Exception(error)) = last {
            report.withheld_hint = withheld_hint_for(&chosen.env.withheld, error);
        }
    }
}

/// A call that is under way.
struct Started {
    record: Arc<Record>,
    chosen: Chosen,
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
    }
}
