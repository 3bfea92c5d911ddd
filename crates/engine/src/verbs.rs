//! Every request by its name, and the kernel verbs: list, start, status, interrupt, restart, stop, keep.
//!
//! Owns which session a request means and how sessions are reported. How a session runs code, and when one
//! is let go of, are decided elsewhere.

use std::time::Duration;

use crate::api::{
    CellReport, EndReport, InterruptFate, KernelReport, KernelRequest, Request, Response,
    RunningReport, SessionPhase, SessionRef, SessionReport, Wanted,
};
use crate::engine::Engine;
use crate::error::{EngineError, SessionError};
use crate::feeds::{KernelChange, SessionEvent, SessionWatch};
use crate::journal::Seq;
use crate::registry::{Listed, OwnerId, SessionKey};
use crate::session::{CellEnd, KernelFate, NotRun, Note, Session, SessionState};

/// How much of a cell's first line is shown where something runs.
const TITLE_CHARS: usize = 80;

/// A session that was asked for and is there.
pub(crate) struct Found {
    pub(crate) key: SessionKey,
    pub(crate) session: Session,
}

impl Engine {
    /// Carries any request out, for `owner`.
    pub async fn call(&self, request: Request, owner: OwnerId) -> Result<Response, EngineError> {
        Ok(match request {
            Request::Python(request) => {
                Response::Python(Box::new(self.python(request, owner).await?))
            }
            Request::Inspect(request) => Response::Inspect(self.inspect(request).await?),
            Request::Kernel(request) => Response::Kernel(self.kernel(request, owner).await?),
            Request::Result(request) => Response::Result(self.stored(request).await?),
            Request::Cancel(id) => {
                self.cancel(&id)?;
                Response::Cancelled(id)
            }
        })
    }

    /// Carries a kernel verb out, for `owner`.
    pub async fn kernel(
        &self,
        request: KernelRequest,
        owner: OwnerId,
    ) -> Result<KernelReport, EngineError> {
        Ok(match request {
            KernelRequest::List => KernelReport::Sessions(
                self.sessions().iter().map(|listed| self.report(listed)).collect(),
            ),
            KernelRequest::Start(session) => self.start_kernel(&session, owner).await?,
            KernelRequest::Status(session) => {
                let found = self.found(&session).await?;
                KernelReport::Session(Box::new(self.report_of(&found.key)?))
            }
            KernelRequest::Interrupt(session) => {
                let found = self.found(&session).await?;
                // Told before, so that what was interrupted is in it.
                let mut session = Box::new(self.report_of(&found.key)?);
                let (fate, next) = self.see_interrupted(&found).await;
                session.running = session.running.or(next);
                KernelReport::Interrupted { session, fate }
            }
            KernelRequest::Restart(session) => {
                let found = self.found(&session).await?;
                self.restart(&found.key).await?;
                self.tell(&found.key, KernelChange::Restarted);
                let notes = ready(&found.session).await?;
                let session = Box::new(self.report_of(&found.key)?);
                KernelReport::Started { session, notes }
            }
            KernelRequest::Stop(session) => {
                let found = self.found(&session).await?;
                let report = self.report_of(&found.key)?;
                self.close(&found.key).await?;
                self.tell(&found.key, KernelChange::Stopped);
                KernelReport::Stopped(Box::new(report))
            }
            KernelRequest::Keep { session, keep } => {
                let found = self.found(&session).await?;
                self.registry().keep(&found.key, keep);
                KernelReport::Session(Box::new(self.report_of(&found.key)?))
            }
        })
    }

    /// Interrupts the code that runs, or that is about to run, and reports the outcome, with the code in the second case.
    async fn see_interrupted(&self, found: &Found) -> (InterruptFate, Option<RunningReport>) {
        let Found { key, session } = found;
        // Empty code only has a kernel started.
        let running = session.state().running.filter(|running| !running.code.is_empty());
        let cell = match &running {
            Some(running) => self.executions().cell_in(key, &running.code),
            None => self.executions().next_in(key),
        };
        session.interrupt();
        self.tell(key, KernelChange::Interrupted);
        if running.is_none() && cell.is_none() {
            return (InterruptFate::NothingRan, None);
        }
        let next = cell.as_ref().and_then(|(record, index)| {
            let source = record.cell(*index)?.source;
            let title = source.title.unwrap_or_else(|| title_of(&source.code));
            let execution = Some(record.execution.clone());
            Some(RunningReport { execution, title, elapsed: Duration::ZERO })
        });
        let over = async {
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
        let fate = match tokio::time::timeout(InterruptFate::WAIT, over).await {
            Ok(Some(cell)) if !is_interrupted(&cell) => InterruptFate::Ended(cell.state),
            Ok(_) => InterruptFate::Interrupted,
            Err(_) => InterruptFate::StillRunning,
        };
        (fate, next)
    }

    /// What happens in the session that is meant, from this point on, or from its beginning as far as that is
    /// remembered. While it is watched, it is not closed to make room for another.
    pub async fn watch_session(
        &self,
        session: &SessionRef,
        from: Option<Seq>,
    ) -> Result<SessionWatch, EngineError> {
        let found = self.found(session).await?;
        let (name, cwd) = (&found.key.name, &found.key.cwd);
        let watching = self.registry().watching(name, cwd);
        let watch = self.feeds().of(name, cwd).watch(from.unwrap_or(Seq(0)));
        Ok(SessionWatch::new(watch, watching))
    }

    fn tell(&self, key: &SessionKey, change: KernelChange) {
        self.feeds().of(&key.name, &key.cwd).publish(SessionEvent::Kernel(change));
    }

    async fn start_kernel(
        &self,
        session: &SessionRef,
        owner: OwnerId,
    ) -> Result<KernelReport, EngineError> {
        let name = session.session.as_ref();
        let (key, chosen) = self.place(name, &session.cwd, &session.wanted).await?;
        let attached = self.attach(&key, owner, &chosen, None).await?;
        let notes = [attached.notes, ready(&attached.taken).await?].concat();
        let session = Box::new(self.report_of(&key)?);
        Ok(KernelReport::Started { session, notes })
    }

    /// The session that is meant. One that was made with a kernel of its own is found without it as long as no
    /// other has the name.
    pub(crate) async fn found(&self, wanted: &SessionRef) -> Result<Found, EngineError> {
        let chosen = match &wanted.wanted {
            nothing if *nothing == Wanted::default() => None,
            something => Some(self.choose(&wanted.cwd, something).await?.kernel),
        };
        let key = self.key(wanted.session.as_ref(), &wanted.cwd, chosen.as_ref());
        let all = self.sessions();
        let session = self.registry().find(&key);
        let found = session.map(|session| Found { key: key.clone(), session });
        let Some(found) = found else {
            return Err(match self.registry().closed(&key) {
                Some((reason, ago)) => SessionError::Closed { name: key.name, reason, ago }.into(),
                None => unknown_session(&key, &all),
            });
        };
        Ok(found)
    }

    fn report_of(&self, key: &SessionKey) -> Result<SessionReport, EngineError> {
        let all = self.sessions();
        let listed = all.iter().find(|listed| listed.key == *key);
        listed.map(|listed| self.report(listed)).ok_or_else(|| unknown_session(key, &all))
    }

    fn report(&self, listed: &Listed) -> SessionReport {
        let Listed { key, state, since, owners, keep } = listed;
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
            running: self.running(key, state),
            waiting: state.waiting,
            idle: (!state.is_busy).then(|| now.saturating_duration_since(state.used)),
            age: now.saturating_duration_since(*since),
            owners: *owners,
            keep: *keep,
            lost: state.loss.clone(),
        }
    }

    /// What runs in a session, by the words of the call that runs it.
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

/// Has a kernel ready in a session, and tells what its users must know then. A session that has one, or gets
/// one for somebody else, is not waited for any longer than that.
async fn ready(session: &Session) -> Result<Vec<Note>, EngineError> {
    // A restart by another caller takes this start back, and makes way for the next kernel.
    loop {
        match started(session).await {
            Err(NotRun::Cancelled) if !session.state().is_over => {}
            ended => return ended.map_err(not_started),
        }
    }
}

async fn started(session: &Session) -> Result<Vec<Note>, NotRun> {
    let mut state = session.watch();
    let seen = async {
        // What is borrowed of it must not be held while something is waited for.
        drop(state.wait_for(|state| state.kernel.is_some() || state.is_over).await);
    };
    let turn = tokio::select! {
        turn = session.turn() => Some(turn?),
        () = seen => None,
    };
    let Some(mut turn) = turn.filter(|_| session.state().kernel.is_none()) else {
        // A status that a caller asks for now must not show the place in the queue that was given up here.
        session.settled().await;
        return Ok(Vec::new());
    };
    let (ran, said) = turn.start().await;
    let said = said.into_iter().map(Note::Kernel).collect();
    drop(turn);
    session.settled().await;
    match ran.end.end {
        CellEnd::NotRun(why) => Err(why),
        CellEnd::Cancelled { fate: KernelFate::TakenAway, .. } => Err(NotRun::Cancelled),
        _ => Ok([ran.end.notes, said].concat()),
    }
}

/// The first line of some code, or its beginning.
fn title_of(code: &str) -> String {
    let first = code.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    first.trim().chars().take(TITLE_CHARS).collect()
}

/// Whether an interrupt ended a cell. Each language names it differently; code that awaits is cancelled.
fn is_interrupted(cell: &CellReport) -> bool {
    match &cell.end {
        Some(EndReport::Exception(error)) => {
            let is_named = error.name.contains("Interrupt") || error.name == "CancelledError";
            // Python's word for a call of the system that a signal cut short.
            is_named && error.name != "InterruptedError"
        }
        _ => false,
    }
}

fn not_started(why: NotRun) -> EngineError {
    match why {
        NotRun::Launch(error) => error.into(),
        _ => SessionError::Attach(crate::registry::AttachError::Ending).into(),
    }
}

/// That there is no such session, with those there are: by name, and by folder where the name is the same.
pub(crate) fn unknown_session(wanted: &SessionKey, all: &[Listed]) -> EngineError {
    let known = all.iter().map(|listed| match &listed.key {
        key if key.cwd == wanted.cwd => key.name.0.clone(),
        key => format!("{} in {}", key.name, key.cwd.display()),
    });
    SessionError::NoSession { name: wanted.name.clone(), known: known.collect() }.into()
}
