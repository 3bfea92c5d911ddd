//! The kernel verbs: list, start, status, interrupt, restart, stop, keep.
//!
//! Owns how sessions are reported. `resolve.rs` finds the session of a request; other modules decide how a session
//! runs code and when one is closed.

use std::time::Duration;

use crate::api::{
    CellReport, InterruptFate, KernelReport, KernelRequest, RunningReport, SessionPhase,
    SessionRef, SessionReport, State,
};
use crate::call::AnswerHandle;
use crate::engine::resolve::{LiveSession, unknown_session};
use crate::engine::{CallOptions, Engine, Request};
use crate::error::{EngineError, SessionError};
use crate::session::feeds::{KernelChange, SessionEvent, SessionWatch};
use crate::session::journal::Seq;
use crate::session::registry::SessionEntry;
use crate::session::{CellEnd, NotRun, ResetEnd, Session, SessionState};
use crate::types::{CallNote, KernelFate, OwnerId, SessionKey};

/// The length limit of a running cell's first line, in characters.
const TITLE_CHARS: usize = 80;

impl Request for KernelRequest {
    type Handle = AnswerHandle<KernelReport>;

    /// The verb waits for no call. The handle waits for what follows: a kernel that starts, or code that ends.
    async fn begin(
        self,
        engine: &Engine,
        options: CallOptions,
    ) -> Result<Self::Handle, EngineError> {
        let session = match &self {
            KernelRequest::List => {
                let all = engine.session_reports();
                return Ok(AnswerHandle::ready(KernelReport::Sessions(all)));
            }
            KernelRequest::Start(session) => {
                return engine.start_kernel(session, options.owner).await;
            }
            KernelRequest::Status(session)
            | KernelRequest::Interrupt(session)
            | KernelRequest::Restart(session)
            | KernelRequest::Stop(session)
            | KernelRequest::Keep { session, .. } => session,
        };
        let found = engine.find_session(session).await?;
        if let KernelRequest::Keep { keep, .. } = self {
            engine.registry().keep(&found.key, keep);
        }
        // An interrupted or closed session is reported as it was before.
        let report = Box::new(engine.report_of(&found.key)?);
        Ok(match self {
            KernelRequest::Interrupt(_) => engine.interrupt(found, report),
            KernelRequest::Restart(_) => {
                engine.restart(&found).await?;
                engine.when_started(found, Vec::new())
            }
            KernelRequest::Stop(_) => {
                engine.registry().close(&found.key).await;
                engine.publish(&found.key, KernelChange::Stopped);
                AnswerHandle::ready(KernelReport::Stopped(report))
            }
            _ => AnswerHandle::ready(KernelReport::Session(report)),
        })
    }
}

impl Engine {
    /// Takes the kernel of a session away. The next use starts another.
    async fn restart(&self, LiveSession { key, session }: &LiveSession) -> Result<(), EngineError> {
        self.must_be_ours(key)?;
        let ResetEnd::Done = session.reset().await else {
            return Err(SessionError::ResetInProgress(key.name.clone()).into());
        };
        self.publish(key, KernelChange::Restarted);
        Ok(())
    }

    /// Interrupts the code that runs or is about to run; `report` is from before. The answer has the outcome, and in the
    /// second case the code.
    fn interrupt(
        &self,
        LiveSession { key, session }: LiveSession,
        mut report: Box<SessionReport>,
    ) -> AnswerHandle<KernelReport> {
        // A run of empty code only starts a kernel.
        let running = session.state().running.filter(|running| !running.code.is_empty());
        let cell = match &running {
            Some(running) => self.executions().cell_in(&key, &running.code),
            None => self.executions().next_in(&key),
        };
        session.interrupt();
        self.publish(&key, KernelChange::Interrupted);
        if running.is_none() && cell.is_none() {
            let fate = InterruptFate::NothingRan;
            return AnswerHandle::ready(KernelReport::Interrupted { session: report, fate });
        }
        let next = cell.as_ref().and_then(|(record, index)| {
            let source = record.cell(*index)?.source;
            let title = source.title.unwrap_or_else(|| title_of(&source.code));
            let execution = Some(record.execution.clone());
            Some(RunningReport { execution, title, elapsed: Duration::ZERO })
        });
        report.running = report.running.or(next);
        let over = async move {
            if let Some(running) = running {
                let mut state = session.watch();
                let is_over = |state: &SessionState| {
                    state.running.as_ref().is_none_or(|now| now.exec != running.exec)
                };
                // The borrowed state must not be held across the next wait.
                drop(state.wait_for(is_over).await);
            }
            match cell {
                Some((record, index)) => record.ended(index).await,
                None => None,
            }
        };
        AnswerHandle::new(async move {
            let fate = match tokio::time::timeout(InterruptFate::WAIT, over).await {
                Ok(Some(cell)) if !is_interrupted(&cell) => InterruptFate::Ended(cell.state),
                Ok(_) => InterruptFate::Interrupted,
                Err(_) => InterruptFate::StillRunning,
            };
            Ok(KernelReport::Interrupted { session: report, fate })
        })
    }

    /// Watches the events of a session from this entry on, or from the oldest that is remembered. While it is watched,
    /// the session is not closed to make room for another.
    pub async fn watch_session(
        &self,
        session: &SessionRef,
        from: Option<Seq>,
    ) -> Result<SessionWatch, EngineError> {
        let found = self.find_session(session).await?;
        let (name, cwd) = (&found.key.name, &found.key.cwd);
        let watching = self.registry().watching(name, cwd);
        let watch = self.feeds().of(name, cwd).watch(from.unwrap_or(Seq(0)));
        Ok(SessionWatch::new(watch, watching))
    }

    fn publish(&self, key: &SessionKey, change: KernelChange) {
        self.feeds().of(&key.name, &key.cwd).publish(SessionEvent::Kernel(change));
    }

    async fn start_kernel(
        &self,
        session: &SessionRef,
        owner: OwnerId,
    ) -> Result<AnswerHandle<KernelReport>, EngineError> {
        let name = session.session.as_ref();
        let (key, chosen) = self.resolve_session(name, &session.cwd, &session.wanted).await?;
        let attached = self.attach(&key, owner, &chosen, None).await?;
        Ok(self.when_started(LiveSession { key, session: attached.taken }, attached.notes))
    }

    /// The answer of a session once it has a kernel.
    fn when_started(
        &self,
        LiveSession { key, session }: LiveSession,
        notes: Vec<CallNote>,
    ) -> AnswerHandle<KernelReport> {
        let engine = self.clone();
        AnswerHandle::new(async move {
            let notes = [notes, ensure_kernel(&session).await?].concat();
            let session = Box::new(engine.report_of(&key)?);
            Ok(KernelReport::Started { session, notes })
        })
    }

    /// All sessions as they are now, by name and folder.
    pub fn session_reports(&self) -> Vec<SessionReport> {
        self.sessions().iter().map(|listed| self.report(listed)).collect()
    }

    fn report_of(&self, key: &SessionKey) -> Result<SessionReport, EngineError> {
        let all = self.sessions();
        let listed = all.iter().find(|listed| listed.key == *key);
        listed.map(|listed| self.report(listed)).ok_or_else(|| unknown_session(key, &all))
    }

    fn report(&self, listed: &SessionEntry) -> SessionReport {
        let SessionEntry { key, state, since, owners, keep } = listed;
        let now = tokio::time::Instant::now().into_std();
        SessionReport {
            name: key.name.clone(),
            cwd: key.cwd.clone(),
            interpreter: key.interpreter.clone(),
            backend: key.backend,
            kernel_name: key.kernel.clone(),
            state: match (&state.kernel, state.is_busy) {
                (None, false) => SessionPhase::NoKernel,
                (None, true) => SessionPhase::Starting,
                (Some(_), false) => SessionPhase::Idle,
                (Some(_), true) => SessionPhase::Busy,
            },
            kernel: state.kernel.clone(),
            generation: state.generation.clone(),
            running: self.running(key, state),
            waiting: state.waiting,
            idle: (!state.is_busy).then(|| now.saturating_duration_since(state.used)),
            age: now.saturating_duration_since(*since),
            owners: *owners,
            keep: *keep,
            lost: state.loss.clone(),
        }
    }

    /// The running code of a session, with the title that its call gave it.
    pub(crate) fn running(&self, key: &SessionKey, state: &SessionState) -> Option<RunningReport> {
        let running = state.running.as_ref()?;
        let cell = self.executions().running_in(key, &running.code);
        let (execution, title) = cell.map_or((None, None), |(id, title)| (Some(id), title));
        let now = tokio::time::Instant::now().into_std();
        Some(RunningReport {
            execution,
            title: title.unwrap_or_else(|| title_of(&running.code)),
            elapsed: now.saturating_duration_since(running.since),
        })
    }
}

/// Starts a kernel in a session that has none, and returns the notes for its user. It stops waiting as soon as the
/// session has a kernel, even if another caller started that.
async fn ensure_kernel(session: &Session) -> Result<Vec<CallNote>, EngineError> {
    // A restart by another caller cancels this start, so start again in the next kernel.
    loop {
        match start_once(session).await {
            Err(NotRun::Cancelled) if !session.state().is_over => {}
            ended => return ended.map_err(start_error),
        }
    }
}

async fn start_once(session: &Session) -> Result<Vec<CallNote>, NotRun> {
    let mut state = session.watch();
    let seen = async {
        // The borrowed state must not be held across the next wait.
        drop(state.wait_for(|state| state.kernel.is_some() || state.is_over).await);
    };
    let turn = tokio::select! {
        turn = session.turn() => Some(turn?),
        () = seen => None,
    };
    let Some(mut turn) = turn.filter(|_| session.state().kernel.is_none()) else {
        // A status request from the caller must not show the place in the queue that was given up here.
        session.settled().await;
        return Ok(Vec::new());
    };
    let (ran, said) = turn.start(None).await;
    let said = said.into_iter().map(CallNote::Kernel).collect();
    drop(turn);
    session.settled().await;
    match ran.end.end {
        CellEnd::NotRun(why) => Err(why),
        CellEnd::Cancelled { fate: KernelFate::TakenAway, .. } => Err(NotRun::Cancelled),
        _ => Ok([ran.end.notes, said].concat()),
    }
}

/// The first line of some code that is not blank, up to [`TITLE_CHARS`] characters.
pub(super) fn title_of(code: &str) -> String {
    let first = code.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    first.trim().chars().take(TITLE_CHARS).collect()
}

/// Returns whether an interrupt ended a cell, and its kernel lives on.
fn is_interrupted(cell: &CellReport) -> bool {
    cell.state != State::KernelDied && cell.notes.contains(&CallNote::Interrupted)
}

fn start_error(why: NotRun) -> EngineError {
    match why {
        NotRun::Launch(error) => error.into(),
        _ => SessionError::Attach(crate::session::registry::AttachError::Ending).into(),
    }
}
