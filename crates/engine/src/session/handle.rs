//! The handle of a session: cloned freely, it asks and waits.
//!
//! Owns the numbers of calls and runs. A call is a [`Turn`]; dropped, it is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inkcell_kernel::{
    AskId, Backend, CodeRequest, Death, ExecId, History, InputMode, InputReply, KernelEvent,
    KernelSpec, NamesWanted, NoCopies, Question,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::actor::{self, Command, Job, LastWords, Parts, Ran};
use super::end::{Loss, NotRun};
use super::machine::{AskEnd, AskRequest, CloseReason, Machine, Policy, ResetEnd, Ticket};
use super::state::SessionState;

/// A session, by one of its handles.
#[derive(Clone)]
pub struct Session {
    commands: mpsc::UnboundedSender<Command>,
    state: watch::Receiver<SessionState>,
    numbers: Arc<AtomicU64>,
}

/// A cell to run.
#[derive(Clone)]
pub struct CellRequest {
    /// The code.
    pub code: String,
    /// Whether it counts and is remembered.
    pub history: History,
    /// Managed variables to set or remove first.
    pub env: Vec<(String, Option<String>)>,
    /// How long it may take, from when the kernel gets it.
    pub timeout: Option<Duration>,
    /// How long its kernel may take to come, where it has to be started first.
    pub patience: Option<Duration>,
    /// Whether it may ask for lines of input.
    pub input: InputMode,
    /// Whether its names are wanted.
    pub names: NamesWanted,
}

/// Of variables only the names: their values are secrets.
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
    /// A session whose kernel is started by its first run. It lives in a task of its own until it is closed
    /// or its last handle is dropped.
    pub fn start(
        backend: Arc<dyn Backend>,
        spec: KernelSpec,
        policy: Policy,
        loss: Option<Loss>,
    ) -> Session {
        Session::start_holding(backend, spec, policy, loss, ())
    }

    /// The same, with something that goes with the session. It is dropped before anybody can see that the
    /// session is over, so that the next one of the same name finds its place free.
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

    /// Waits for this call's turn. Dropped before, the call gives its place up.
    pub async fn turn(&self) -> Result<Turn, NotRun> {
        self.enter().granted().await
    }

    /// Takes a place in the queue, at once.
    pub fn enter(&self) -> Waiting {
        let ticket = Ticket(self.next());
        let (reply, answer) = oneshot::channel();
        // A session that is over drops the question, which is an answer.
        let _ = self.commands.send(Command::Enter(ticket, reply));
        Waiting { turn: Turn { session: self.clone(), ticket }, answer }
    }

    /// Ends the kernel, and what runs in it; the next run starts another.
    pub async fn reset(&self) -> ResetEnd {
        self.reset_by(None).await
    }

    /// Asks the kernel something about the user's names. It waits for no run: a kernel that cannot look while
    /// it runs something is busy. It starts no kernel and leaves no trace in one.
    pub async fn ask(&self, question: Question, limit: Duration) -> AskEnd {
        let request = AskRequest { id: AskId(self.next()), limit };
        let (reply, answer) = oneshot::channel();
        if self.commands.send(Command::Ask(request, question, reply)).is_err() {
            return AskEnd::Closed;
        }
        answer.await.unwrap_or(AskEnd::Closed)
    }

    /// What makes copies of its kernel, which must be idle and runs nothing any more from then on.
    pub async fn copies(&self) -> Result<Arc<dyn Backend>, NoCopies> {
        let over = || NoCopies { reason: "the session is over".to_owned() };
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Copies(reply)).map_err(|_| over())?;
        answer.await.unwrap_or_else(|_| Err(over()))
    }

    /// Interrupts what runs, and no more.
    pub fn interrupt(&self) {
        // A session that is over has nothing to interrupt.
        let _ = self.commands.send(Command::Interrupt);
    }

    /// Ends the session; returns when its kernel is gone.
    pub async fn close(&self, reason: CloseReason) {
        let _ = self.commands.send(Command::Close(reason));
        self.over().await;
    }

    /// Returns when it has ended.
    async fn over(&self) {
        let mut state = self.state.clone();
        // An error says that its loop is gone, which is the same.
        let _ = state.wait_for(|state| state.is_over).await;
    }

    /// Ends the session and returns the end of its kernel, if it had one. What the code left to be done at
    /// exit is done, and what it says then goes to `listener`.
    pub async fn close_heard(&self, listener: mpsc::Sender<KernelEvent>) -> Option<Death> {
        let (reply, answer) = oneshot::channel();
        let words = LastWords { listener, reply };
        let _ = self.commands.send(Command::CloseHeard(words));
        let death = answer.await.unwrap_or(None);
        self.over().await;
        death
    }

    /// Lets go of everything at once: a kernel that is still there is killed.
    pub async fn abandon(&self) {
        let _ = self.commands.send(Command::Abandon);
        self.over().await;
    }

    /// Ends the session unless somebody has or waits for a turn, and says whether it has.
    pub async fn close_if_idle(&self, reason: CloseReason) -> Closing {
        let (reply, answer) = oneshot::channel();
        let asked = self.commands.send(Command::CloseIfIdle(reason, reply));
        // A session that is over already is closed enough.
        if asked.is_ok() && answer.await == Ok(false) {
            return Closing::Busy;
        }
        self.over().await;
        Closing::Closed
    }

    /// Returns when what was asked of it before is done, as far as it can be at once, and can be seen.
    pub async fn settled(&self) {
        let (reply, answer) = oneshot::channel();
        let _ = self.commands.send(Command::Settle(reply));
        let _ = answer.await;
    }

    /// What can be seen of it now.
    pub fn state(&self) -> SessionState {
        self.state.borrow().clone()
    }

    /// To be told when what can be seen changes.
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
pub enum Closing {
    /// It is over.
    Closed,
    /// Somebody uses it.
    Busy,
}

/// A call that has a place in the queue. Dropped, it gives its place up.
pub struct Waiting {
    turn: Turn,
    answer: oneshot::Receiver<Result<(), NotRun>>,
}

impl Waiting {
    /// Waits for its turn.
    pub async fn granted(self) -> Result<Turn, NotRun> {
        self.answer.await.map_err(|_| NotRun::Closed)??;
        Ok(self.turn)
    }
}

/// A call that has its turn: nobody else's cells run until it is dropped.
pub struct Turn {
    session: Session,
    ticket: Ticket,
}

impl Turn {
    /// Runs a cell to its end, whatever that is. Every event goes to `listener`, apart from the end and the
    /// death; a listener without room holds the code up, as a full pipe would.
    pub async fn run(&mut self, cell: CellRequest, listener: mpsc::Sender<KernelEvent>) -> Ran {
        self.run_telling(cell, listener, CancellationToken::new()).await
    }

    /// Has a kernel started by running nothing in it; how that ended, and what the kernel said meanwhile.
    pub async fn start(&mut self) -> (Ran, Vec<String>) {
        let nothing = CellRequest {
            code: String::new(),
            history: History::Silent,
            env: Vec::new(),
            timeout: None,
            patience: None,
            input: InputMode::Refuse,
            names: NamesWanted::No,
        };
        let (listener, mut events) = mpsc::channel(16);
        let mut said = Vec::new();
        // Everything is taken, also what nobody is told: a listener that takes nothing holds the kernel up.
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

    /// The same as [`Turn::run`], and `stopping` is set as soon as the code is made to stop: by whoever took it back, by the end
    /// of its time, or because its kernel is taken away. Code that ends by itself does not set it.
    pub async fn run_telling(
        &mut self,
        cell: CellRequest,
        listener: mpsc::Sender<KernelEvent>,
        stopping: CancellationToken,
    ) -> Ran {
        let exec = ExecId(self.session.next());
        let CellRequest { code, history, env, timeout, patience, input, names } = cell;
        let code = CodeRequest { exec, code, history, env, cwd: None, input, names };
        let (reply, answer) = oneshot::channel();
        let job = Job { code, timeout, patience, listener, reply, stopping };
        if self.session.commands.send(Command::Run(self.ticket, job)).is_err() {
            return Ran::closed();
        }
        answer.await.unwrap_or_else(|_| Ran::closed())
    }

    /// What takes this call back from elsewhere.
    pub fn canceller(&self) -> Canceller {
        Canceller { commands: self.session.commands.clone(), ticket: self.ticket }
    }

    /// What answers this call's cells from elsewhere.
    pub fn replier(&self) -> Replier {
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

/// Takes a call back.
#[derive(Clone)]
pub struct Canceller {
    commands: mpsc::UnboundedSender<Command>,
    ticket: Ticket,
}

impl Canceller {
    /// Stops what the call runs; the second time, by force.
    pub fn cancel(&self) {
        let _ = self.commands.send(Command::Cancel(self.ticket));
    }
}

/// Answers a call's cells that ask for lines.
#[derive(Clone)]
pub struct Replier {
    commands: mpsc::UnboundedSender<Command>,
    ticket: Ticket,
}

impl Replier {
    /// Gives this to the cell that asked; where none waits for a line it is for nobody.
    pub fn reply(&self, reply: InputReply) {
        let _ = self.commands.send(Command::Reply(self.ticket, reply));
    }
}
