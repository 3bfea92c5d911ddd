//! The handle of a session: it can be cloned freely, sends requests and waits for replies.
//!
//! Owns the numbers of calls and runs. A call is a [`Turn`]; dropping the turn ends the call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inkcell_kernel::{
    AskId, Backend, CodeRequest, Death, ExecId, History, InputMode, InputReply, KernelEvent,
    KernelSpec, NamesWanted, NoCopies, Question,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::actor::{self, Command, Job, LastWords, Parts, RunOutcome};
use super::end::NotRun;
use super::machine::{AskEnd, AskRequest, Machine, Policy, ResetEnd, Ticket};
use super::state::SessionState;
use crate::types::{CloseReason, Loss};

/// A handle of a session. Clones share the session.
#[derive(Clone)]
pub struct Session {
    commands: mpsc::UnboundedSender<Command>,
    state: watch::Receiver<SessionState>,
    numbers: Arc<AtomicU64>,
}

/// A cell to run.
#[derive(Clone)]
pub struct CellRequest {
    /// The code, as the kernel gets it.
    pub code: String,
    /// Whether the cell advances the execution count and enters the kernel's history.
    pub history: History,
    /// Managed variables to set (`Some`) or remove (`None`) before the cell runs.
    pub env: Vec<(String, Option<String>)>,
    /// The time limit of the cell, counted from when the kernel gets it.
    pub timeout: Option<Duration>,
    /// How long the kernel may take to start, if it has to be started first.
    pub patience: Option<Duration>,
    /// The permission to ask for lines of input.
    pub input: InputMode,
    /// Whether the kernel reports the names that the cell uses.
    pub names: NamesWanted,
}

/// Shows only the names of variables: their values are secrets.
impl std::fmt::Debug for CellRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("CellRequest")
            .field("code", &self.code)
            .field("env", &names)
            .field("timeout", &self.timeout)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Starts a session, whose first run starts its kernel. The session lives in its own task until it is closed
    /// or its last handle is dropped.
    pub fn start(
        backend: Arc<dyn Backend>,
        spec: KernelSpec,
        policy: Policy,
        loss: Option<Loss>,
    ) -> Session {
        Session::start_holding(backend, spec, policy, loss, ())
    }

    /// Like [`Session::start`], with a value that lives as long as the session. The value is dropped before the session
    /// shows itself as over, so the next session of the same name finds its place free.
    pub(crate) fn start_holding(
        backend: Arc<dyn Backend>,
        spec: KernelSpec,
        policy: Policy,
        loss: Option<Loss>,
        held: impl Send + 'static,
    ) -> Session {
        let (commands, queue) = mpsc::unbounded_channel();
        let state = SessionState {
            kernel: None,
            generation: None,
            prelude: spec.startup.prelude,
            has_begun: loss.is_some(),
            is_busy: false,
            waiting: 0,
            running: None,
            loss: loss.clone(),
            used: tokio::time::Instant::now().into_std(),
            is_over: false,
        };
        let (sender, state) = watch::channel(state);
        let machine = Machine::new(policy, loss);
        tokio::spawn(actor::run(Parts {
            machine,
            backend,
            spec,
            commands: queue,
            state: sender,
            held: Some(Box::new(held)),
        }));
        Session { commands, state, numbers: Arc::default() }
    }

    /// Waits for this call's turn. Dropping the future gives up the place in the queue.
    pub async fn turn(&self) -> Result<Turn, NotRun> {
        self.enter().granted().await
    }

    /// Takes a place in the queue, at once.
    pub fn enter(&self) -> Waiting {
        let ticket = Ticket(self.next());
        let (reply, answer) = oneshot::channel();
        // A session that is over drops the reply channel, which counts as a refusal.
        let _ = self.commands.send(Command::Enter(ticket, reply));
        Waiting { turn: Turn { session: self.clone(), ticket }, answer }
    }

    /// Ends the kernel and the code that it runs. The next run starts a new kernel.
    pub async fn reset(&self) -> ResetEnd {
        self.reset_by(None).await
    }

    /// Asks the kernel a question about the user's names. It does not wait for a run: a kernel that cannot look
    /// while it runs code counts as busy. It starts no kernel and leaves no trace in one.
    pub async fn ask(&self, question: Question, limit: Duration) -> AskEnd {
        let request = AskRequest { id: AskId(self.next()), limit };
        let (reply, answer) = oneshot::channel();
        if self.commands.send(Command::Ask(request, question, reply)).is_err() {
            return AskEnd::Closed;
        }
        answer.await.unwrap_or(AskEnd::Closed)
    }

    /// Returns a backend whose kernels are copies of this session's kernel. The kernel must be idle and runs no more
    /// code from then on.
    pub async fn copies(&self) -> Result<Arc<dyn Backend>, NoCopies> {
        let over = || NoCopies { reason: "the session is over".to_owned() };
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Copies(reply)).map_err(|_| over())?;
        answer.await.unwrap_or_else(|_| Err(over()))
    }

    /// Interrupts the running code. Nothing else is cancelled.
    pub fn interrupt(&self) {
        // A session that is over has nothing to interrupt.
        let _ = self.commands.send(Command::Interrupt);
    }

    /// Ends the session; returns when its kernel is gone.
    pub async fn close(&self, reason: CloseReason) {
        let _ = self.commands.send(Command::Close(reason));
        self.over().await;
    }

    /// Returns when the session is over.
    async fn over(&self) {
        let mut state = self.state.clone();
        // An error means that the loop is gone, so the session is over too.
        let _ = state.wait_for(|state| state.is_over).await;
    }

    /// Ends the session and returns its kernel's death, if it had a kernel. The code's exit handlers run, and their
    /// output goes to `listener`.
    pub async fn close_heard(&self, listener: mpsc::Sender<KernelEvent>) -> Option<Death> {
        let (reply, answer) = oneshot::channel();
        let words = LastWords { listener, reply };
        let _ = self.commands.send(Command::CloseHeard(words));
        let death = answer.await.unwrap_or(None);
        self.over().await;
        death
    }

    /// Drops everything at once. A kernel that still exists is killed.
    pub(crate) async fn abandon(&self) {
        let _ = self.commands.send(Command::Abandon);
        self.over().await;
    }

    /// Ends the session unless a call has a turn or waits for one.
    pub(crate) async fn close_if_idle(&self, reason: CloseReason) -> Closing {
        let (reply, answer) = oneshot::channel();
        let asked = self.commands.send(Command::CloseIfIdle(reason, reply));
        // A session that is over already counts as closed.
        if asked.is_ok() && answer.await == Ok(false) {
            return Closing::Busy;
        }
        self.over().await;
        Closing::Closed
    }

    /// Returns when earlier requests are done, as far as they can be done at once, and their effect is visible.
    pub async fn settled(&self) {
        let (reply, answer) = oneshot::channel();
        let _ = self.commands.send(Command::Settle(reply));
        let _ = answer.await;
    }

    /// The current state of the session.
    pub fn state(&self) -> SessionState {
        self.state.borrow().clone()
    }

    /// Returns a receiver that is notified when the state changes.
    pub fn watch(&self) -> watch::Receiver<SessionState> {
        self.state.clone()
    }

    async fn reset_by(&self, ticket: Option<Ticket>) -> ResetEnd {
        let (reply, answer) = oneshot::channel();
        if self.commands.send(Command::Reset(ticket, reply)).is_err() {
            return ResetEnd::Refused;
        }
        answer.await.unwrap_or(ResetEnd::Refused)
    }

    fn next(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

/// Whether a session could be closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Closing {
    Closed,
    Busy,
}

/// A call with a place in the queue. Dropping it gives up the place.
pub struct Waiting {
    turn: Turn,
    answer: oneshot::Receiver<Result<(), NotRun>>,
}

impl Waiting {
    /// Waits until it is this call's turn.
    pub async fn granted(self) -> Result<Turn, NotRun> {
        self.answer.await.map_err(|_| NotRun::Closed)??;
        Ok(self.turn)
    }
}

/// A call that has its turn: no other call's cells run until it is dropped.
pub struct Turn {
    session: Session,
    ticket: Ticket,
}

impl Turn {
    /// Runs a cell to its end, whatever that is. `listener` receives every event except the end and the death; a
    /// listener without room blocks the code, as a full pipe would.
    pub async fn run(
        &mut self,
        cell: CellRequest,
        listener: mpsc::Sender<KernelEvent>,
    ) -> RunOutcome {
        self.run_telling(cell, listener, CancellationToken::new()).await
    }

    /// Starts a kernel without running code in it, for as long as `patience`. Returns how that ended, and the kernel's
    /// notices meanwhile.
    pub async fn start(&mut self, patience: Option<Duration>) -> (RunOutcome, Vec<String>) {
        let nothing = CellRequest {
            code: String::new(),
            history: History::Silent,
            env: Vec::new(),
            timeout: None,
            patience,
            input: InputMode::Refuse,
            names: NamesWanted::No,
        };
        let (listener, mut events) = mpsc::channel(16);
        let mut said = Vec::new();
        // Every event is read, also those that are not reported: a listener that does not read blocks the kernel.
        let hear = async {
            while let Some(event) = events.recv().await {
                if let KernelEvent::Notice(text) = event {
                    said.push(text);
                }
            }
        };
        let (ran, ()) = tokio::join!(self.run(nothing, listener), hear);
        (ran, said)
    }

    /// Like [`Turn::run`], but sets `stopping` as soon as the code is made to stop: by a cancel, by its time limit, or
    /// because its kernel is taken away. Code that ends by itself does not set it.
    pub(crate) async fn run_telling(
        &mut self,
        cell: CellRequest,
        listener: mpsc::Sender<KernelEvent>,
        stopping: CancellationToken,
    ) -> RunOutcome {
        let exec = ExecId(self.session.next());
        let CellRequest { code, history, env, timeout, patience, input, names } = cell;
        let code = CodeRequest { exec, code, history, env, cwd: None, input, names };
        let (reply, answer) = oneshot::channel();
        let job = Job { code, timeout, patience, listener, reply, stopping };
        if self.session.commands.send(Command::Run(self.ticket, job)).is_err() {
            return RunOutcome::closed();
        }
        answer.await.unwrap_or_else(|_| RunOutcome::closed())
    }

    /// Returns a handle that cancels this call from elsewhere.
    pub fn canceller(&self) -> Canceller {
        Canceller { commands: self.session.commands.clone(), ticket: self.ticket }
    }

    /// Returns a handle that answers this call's cells from elsewhere.
    pub(crate) fn replier(&self) -> Replier {
        Replier { commands: self.session.commands.clone(), ticket: self.ticket }
    }

    /// Gives the session a new kernel before this call's next run.
    pub async fn reset(&mut self) -> ResetEnd {
        self.session.reset_by(Some(self.ticket)).await
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = self.session.commands.send(Command::Leave(self.ticket));
    }
}

/// Cancels a call from elsewhere, for example when its client goes away.
#[derive(Clone)]
pub struct Canceller {
    commands: mpsc::UnboundedSender<Command>,
    ticket: Ticket,
}

impl Canceller {
    /// Stops the running code of the call. A second cancel stops it by force.
    pub fn cancel(&self) {
        let _ = self.commands.send(Command::Cancel(self.ticket));
    }
}

/// Answers the cells of a call that ask for lines of input.
#[derive(Clone)]
pub(crate) struct Replier {
    commands: mpsc::UnboundedSender<Command>,
    ticket: Ticket,
}

impl Replier {
    /// Passes the line to the cell that asked. The line is dropped if no cell waits for one.
    pub(crate) fn reply(&self, reply: InputReply) {
        let _ = self.commands.send(Command::Reply(self.ticket, reply));
    }
}
