//! The one loop of a session: it waits, asks the machine, and does what the machine says.
//!
//! Owns the kernel, its events and the callers' answers. It decides nothing.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use inkcell_kernel::{
    AskId, Backend, CodeRequest, Death, ExecEvent, ExecId, InputReply, Kernel, KernelEvent,
    KernelEvents, KernelSpec, LaunchError, Launched, NoCopies, Question,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::end::{CellEnd, NotRun, RunEnd};
use super::machine::{
    AskEnd, AskRequest, CloseReason, Effect, Fact, Input, Machine, ResetEnd, RunRequest, Ticket,
};
use super::orphans::Orphans;
use super::outbox::Outbox;
use super::state::{Seen, SessionState};
use super::waiting::{at, last_event, next_event, now, pending_or, room};
use crate::staleness::Generation;

/// How long a kernel that is shut down may take before it is made to.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// The same when somebody listens to what it says at its end.
const LAST_WORDS_GRACE: Duration = Duration::from_secs(3);

/// What a handle asks of the loop.
pub(super) enum Command {
    Enter(Ticket, oneshot::Sender<Result<(), NotRun>>),
    Run(Ticket, Job),
    Leave(Ticket),
    Cancel(Ticket),
    Reply(Ticket, InputReply),
    Reset(Option<Ticket>, oneshot::Sender<ResetEnd>),
    Ask(AskRequest, Question, oneshot::Sender<AskEnd>),
    /// To say what makes copies of the kernel.
    Copies(oneshot::Sender<Result<Arc<dyn Backend>, NoCopies>>),
    /// To say that this was reached.
    Settle(oneshot::Sender<()>),
    Interrupt,
    Close(CloseReason),
    /// To end, and to tell what the kernel says at its end, and how it ended.
    CloseHeard(LastWords),
    /// To let go of everything; a kernel that is still there is killed.
    Abandon,
    /// To end, unless somebody has or waits for a turn; whether it will.
    CloseIfIdle(CloseReason, oneshot::Sender<bool>),
}

/// Code to run, and who is told.
pub(super) struct Job {
    pub(super) code: CodeRequest,
    pub(super) timeout: Option<Duration>,
    pub(super) patience: Option<Duration>,
    pub(super) listener: mpsc::Sender<KernelEvent>,
    pub(super) reply: oneshot::Sender<Ran>,
    /// Set when the code is made to stop, whoever wants that and however long it takes.
    pub(super) stopping: CancellationToken,
}

/// Who is told about the end of a kernel that is shut down.
pub(super) struct LastWords {
    pub(super) listener: mpsc::Sender<KernelEvent>,
    pub(super) reply: oneshot::Sender<Option<Death>>,
}

/// A run that is over.
#[derive(Debug)]
pub struct Ran {
    /// How it ended and what its reader must know.
    pub end: RunEnd,
    /// Bytes of output that a listener which had stopped listening did not get.
    pub undelivered_bytes: u64,
}

impl Ran {
    /// Nothing was run: the session is over, or does not take it.
    pub(super) fn closed() -> Ran {
        Ran { end: CellEnd::NotRun(NotRun::Closed).into(), undelivered_bytes: 0 }
    }
}

/// What a session is made of.
pub(super) struct Parts {
    pub(super) machine: Machine,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) spec: KernelSpec,
    pub(super) commands: mpsc::UnboundedReceiver<Command>,
    pub(super) state: watch::Sender<SessionState>,
    /// What goes with the session, until it is over.
    pub(super) held: Option<Box<dyn Any + Send>>,
}

struct Actor {
    parts: Parts,
    kernel: Option<(Box<dyn Kernel>, KernelEvents)>,
    /// Which of all kernels the last one is.
    generation: Generation,
    starting: Option<(CancellationToken, BoxFuture<'static, Result<Launched, LaunchError>>)>,
    /// The events are kept until it is gone: a kernel whose events nobody takes is killed.
    ending: Option<(BoxFuture<'static, Death>, Option<KernelEvents>)>,
    turns: HashMap<Ticket, oneshot::Sender<Result<(), NotRun>>>,
    resets: VecDeque<oneshot::Sender<ResetEnd>>,
    asks: HashMap<AskId, (Question, oneshot::Sender<AskEnd>)>,
    job: Option<(Job, Outbox)>,
    last_words: Option<(Outbox, oneshot::Sender<Option<Death>>)>,
    /// Output of no run, for whoever runs next.
    orphans: Orphans,
    wake: Option<Instant>,
    /// Since when the code must stop, or the kernel is on its way out.
    stopping: Option<Instant>,
    is_over: bool,
}

/// What the loop waits for.
enum Woke {
    Command(Option<Command>),
    Event(Option<KernelEvent>),
    LastWord(Option<KernelEvent>),
    Launched(Result<Launched, LaunchError>),
    Ended(Death),
    Time,
    Room,
    Stuck,
}

/// Runs a session until it is closed or its last handle is gone.
pub(super) async fn run(parts: Parts) {
    let actor = Actor {
        parts,
        kernel: None,
        generation: Generation::default(),
        starting: None,
        ending: None,
        turns: HashMap::new(),
        resets: VecDeque::new(),
        asks: HashMap::new(),
        job: None,
        last_words: None,
        orphans: Orphans::default(),
        wake: None,
        stopping: None,
        is_over: false,
    };
    actor.run().await;
}

impl Actor {
    async fn run(mut self) {
        while !self.is_over {
            let woke = self.wait().await;
            if let Some(input) = self.input(woke) {
                self.step(input);
            }
            self.show();
        }
    }

    async fn wait(&mut self) -> Woke {
        let has_room = self.job.as_ref().is_none_or(|(_, outbox)| outbox.has_room());
        let is_stopping = self.parts.machine.is_stopping() || self.ending.is_some();
        self.stopping = is_stopping.then(|| self.stopping.unwrap_or_else(now));
        let stuck = self.stopping.zip(self.job.as_ref());
        let stuck = stuck.and_then(|(since, (_, outbox))| outbox.stuck_at(since));
        let is_heard = match (&self.last_words, &self.job) {
            (Some((outbox, _)), _) => outbox.has_room(),
            (None, Some(_)) => has_room && self.parts.machine.is_running(),
            (None, None) => false,
        };
        let outbox = match (&mut self.job, &mut self.last_words) {
            (Some((_, outbox)), _) => Some(outbox),
            (None, Some((outbox, _))) => Some(outbox),
            (None, None) => None,
        };
        let is_full = outbox.as_ref().is_some_and(|outbox| !outbox.has_room());
        let (ending, last) = match &mut self.ending {
            Some((ending, events)) => (Some(ending), events.as_mut()),
            None => (None, None),
        };
        tokio::select! {
            command = self.parts.commands.recv() => Woke::Command(command),
            event = next_event(self.kernel.as_mut()), if has_room => Woke::Event(event),
            launched = pending_or(self.starting.as_mut().map(|(_, launch)| launch)) => {
                Woke::Launched(launched)
            }
            event = last_event(last), if is_heard => Woke::LastWord(event),
            death = pending_or(ending) => Woke::Ended(death),
            () = room(outbox), if is_full => Woke::Room,
            () = at(self.wake) => Woke::Time,
            () = at(stuck) => Woke::Stuck,
        }
    }

    /// What it means for the machine; what does not concern it is done here.
    fn input(&mut self, woke: Woke) -> Option<Input> {
        match woke {
            Woke::Command(Some(command)) => Some(self.command(command)),
            // Nobody can ask for anything any more.
            Woke::Command(None) => Some(Input::Close(CloseReason::Shutdown)),
            Woke::Launched(Ok(launched)) => {
                self.starting = None;
                self.kernel = Some((launched.kernel, launched.events));
                self.generation = Generation::random();
                Some(Input::Launched)
            }
            Woke::Launched(Err(error)) => {
                self.starting = None;
                Some(Input::LaunchFailed(error))
            }
            Woke::LastWord(event) => {
                match (event, &mut self.ending) {
                    (Some(event), _) => self.hear(event),
                    // Nothing more is to be heard; the end itself is still awaited.
                    (None, Some((_, events))) => *events = None,
                    (None, None) => {}
                }
                None
            }
            Woke::Ended(death) => {
                if let Some(mut events) = self.ending.take().and_then(|(_, events)| events) {
                    while let Some(Some(event)) = events.next().now_or_never() {
                        self.hear(event);
                    }
                }
                if let Some((_, reply)) = self.last_words.take() {
                    let _ = reply.send(Some(death.clone()));
                }
                Some(Input::Kernel(Fact::Died(death)))
            }
            Woke::Event(event) => self.event(event),
            Woke::Time => {
                self.wake = None;
                Some(Input::Deadline)
            }
            Woke::Room => None,
            Woke::Stuck => {
                if let Some((_, outbox)) = &mut self.job {
                    outbox.give_up();
                }
                None
            }
        }
    }

    fn command(&mut self, command: Command) -> Input {
        match command {
            Command::Enter(ticket, reply) => {
                self.turns.insert(ticket, reply);
                Input::Enter(ticket)
            }
            Command::Run(ticket, job) => {
                let Job { timeout, patience, .. } = job;
                let (exec, input) = (job.code.exec, job.code.input);
                let is_empty = job.code.code.is_empty();
                let request = RunRequest { exec, timeout, patience, input, is_empty };
                if let Some(job) = self.take_job(job) {
                    let _ = job.reply.send(Ran::closed());
                    return Input::Deadline;
                }
                Input::Run(ticket, request)
            }
            Command::Leave(ticket) => Input::Leave(ticket),
            Command::Cancel(ticket) => Input::Cancel(ticket),
            Command::Reply(ticket, reply) => Input::Reply(ticket, reply),
            Command::Reset(by, reply) => {
                self.resets.push_back(reply);
                Input::Reset(by)
            }
            Command::Ask(request, question, reply) => {
                self.asks.insert(request.id, (question, reply));
                Input::Ask(request)
            }
            Command::Copies(reply) => {
                self.copies(reply);
                Input::Deadline
            }
            Command::Settle(reply) => {
                // What came before is shown already.
                let _ = reply.send(());
                Input::Deadline
            }
            Command::Interrupt => Input::Interrupt,
            Command::Close(reason) => Input::Close(reason),
            Command::CloseHeard(LastWords { listener, reply }) => {
                self.last_words = Some((Outbox::new(listener), reply));
                Input::Close(CloseReason::Asked)
            }
            Command::Abandon => {
                self.is_over = true;
                Input::Close(CloseReason::Asked)
            }
            Command::CloseIfIdle(reason, reply) => {
                let is_idle = self.parts.machine.is_idle();
                let _ = reply.send(is_idle);
                if is_idle { Input::Close(reason) } else { Input::Deadline }
            }
        }
    }

    /// Keeps a job; gives it back when there is one already.
    fn take_job(&mut self, job: Job) -> Option<Job> {
        if self.job.is_some() {
            return Some(job);
        }
        let outbox = Outbox::new(job.listener.clone());
        self.job = Some((job, outbox));
        None
    }

    fn event(&mut self, event: Option<KernelEvent>) -> Option<Input> {
        let Some(event) = event else {
            self.kernel = None;
            return Some(Input::Kernel(Fact::Died(Death::unknown())));
        };
        let fact = match &event {
            KernelEvent::Died(death) => {
                let death = death.clone();
                self.kernel = None;
                return Some(Input::Kernel(Fact::Died(death)));
            }
            KernelEvent::Exec { exec, event: ExecEvent::Finished(outcome) } => {
                return Some(Input::Kernel(Fact::Finished(*exec, outcome.clone())));
            }
            KernelEvent::Answer { id, answer } => {
                return Some(Input::Kernel(Fact::Answered(*id, answer.clone())));
            }
            KernelEvent::Exec { exec, event: ExecEvent::Started { .. } } => Fact::Started(*exec),
            KernelEvent::Exec { exec, event: ExecEvent::InputRequested { .. } } => {
                Fact::InputRequested(*exec)
            }
            _ => {
                self.deliver(event);
                return None;
            }
        };
        self.deliver(event);
        Some(Input::Kernel(fact))
    }

    /// What a kernel says while it is shut down is for whoever wanted to hear it, or for the run that it is taken
    /// from: what code wrote before it was made to stop is not lost. How the run ended is not the kernel's to say.
    fn hear(&mut self, event: KernelEvent) {
        let is_end = matches!(
            event,
            KernelEvent::Died(_)
                | KernelEvent::Answer { .. }
                | KernelEvent::Exec { event: ExecEvent::Finished(_), .. }
        );
        let is_running = self.parts.machine.is_running();
        match (&mut self.last_words, &mut self.job) {
            (Some((outbox, _)), _) => outbox.put(now(), event),
            (None, Some((_, outbox))) if is_running && !is_end => outbox.put(now(), event),
            _ => {}
        }
    }

    fn deliver(&mut self, event: KernelEvent) {
        match &mut self.job {
            Some((_, outbox)) => outbox.put(now(), event),
            None => self.orphans.keep(event),
        }
    }

    fn step(&mut self, input: Input) {
        for effect in self.parts.machine.step(now(), input) {
            self.obey(effect);
        }
    }

    fn obey(&mut self, effect: Effect) {
        match effect {
            Effect::Grant(ticket) => self.answer_turn(ticket, Ok(())),
            Effect::Refuse(ticket, why) => self.answer_turn(ticket, Err(why)),
            Effect::Launch => self.launch(),
            Effect::AbortLaunch => {
                if let Some((token, _)) = &self.starting {
                    token.cancel();
                }
            }
            Effect::Execute(exec) => self.execute(exec),
            Effect::ReplyInput(exec, reply) => {
                if let Some((kernel, _)) = &mut self.kernel {
                    let _ = kernel.reply_input(exec, reply);
                }
            }
            // A kernel that is gone says so by its last event.
            Effect::Interrupt => {
                self.tell_stopping();
                let _ = self.kernel.as_mut().map(|(kernel, _)| kernel.interrupt());
            }
            Effect::Force(force) => {
                self.tell_stopping();
                let _ = self.kernel.as_mut().map(|(kernel, _)| kernel.force(force));
            }
            Effect::Shutdown => {
                self.tell_stopping();
                if let Some((kernel, events)) = self.kernel.take() {
                    let is_heard = self.last_words.is_some();
                    let grace = if is_heard { LAST_WORDS_GRACE } else { SHUTDOWN_GRACE };
                    self.ending = Some((kernel.shutdown(grace), Some(events)));
                }
            }
            // Also one that is being shut down: its end must not be taken for that of the next.
            Effect::Abandon => (self.kernel, self.ending) = (None, None),
            Effect::Resolve(exec, end) => self.resolve(exec, *end),
            Effect::Ask(id) => self.ask(id),
            Effect::Answer(id, end) => {
                // Whoever asked may have gone.
                let _ = self.asks.remove(&id).map(|(_, reply)| reply.send(*end));
            }
            Effect::ResetDone(ResetEnd::Refused) => {
                let _ = self.resets.pop_back().map(|reply| reply.send(ResetEnd::Refused));
            }
            Effect::ResetDone(ResetEnd::Done) => {
                let _ = self.resets.pop_front().map(|reply| reply.send(ResetEnd::Done));
            }
            Effect::Wake(at) => self.wake = at,
            Effect::Stop => self.is_over = true,
        }
    }

    fn answer_turn(&mut self, ticket: Ticket, answer: Result<(), NotRun>) {
        let Some(reply) = self.turns.remove(&ticket) else { return };
        if reply.send(answer).is_err() {
            // Whoever asked has gone; the turn is the next one's.
            self.step(Input::Leave(ticket));
        }
    }

    fn launch(&mut self) {
        let cancel = CancellationToken::new();
        let (backend, spec) = (Arc::clone(&self.parts.backend), self.parts.spec.clone());
        let token = cancel.clone();
        let launch = async move { backend.launch(&spec, &token).await };
        self.starting = Some((cancel, launch.boxed()));
    }

    fn execute(&mut self, exec: ExecId) {
        let Some((job, _)) = self.job.as_ref().filter(|(job, _)| job.code.exec == exec) else {
            return;
        };
        if let Some((kernel, _)) = &mut self.kernel {
            // A kernel that is gone says so by its last event.
            let _ = kernel.execute(job.code.clone());
        }
        for event in self.orphans.take() {
            self.deliver(event);
        }
    }

    /// Lets go of what waits on behalf of the code that runs. Code that waits for a question's end is none.
    fn tell_stopping(&self) {
        if let Some((job, _)) = self.job.as_ref().filter(|_| self.parts.machine.is_running()) {
            job.stopping.cancel();
        }
    }

    fn ask(&mut self, id: AskId) {
        let Some((question, _)) = self.asks.get(&id) else { return };
        if let Some((kernel, _)) = &mut self.kernel {
            // A kernel that is gone says so by its last event.
            let _ = kernel.ask(id, question.clone());
        }
    }

    /// Asks an idle kernel for copies; whoever wants them waits elsewhere.
    fn copies(&mut self, reply: oneshot::Sender<Result<Arc<dyn Backend>, NoCopies>>) {
        let is_idle = self.parts.machine.is_idle();
        let asked = match self.kernel.as_mut().filter(|_| is_idle) {
            Some((kernel, _)) => kernel.copies(),
            None => {
                let reason = "the session has no kernel, or is busy".to_owned();
                std::future::ready(Err(NoCopies { reason })).boxed()
            }
        };
        tokio::spawn(async move { drop(reply.send(asked.await)) });
    }

    fn resolve(&mut self, exec: ExecId, end: RunEnd) {
        let Some((job, mut outbox)) = self.job.take_if(|(job, _)| job.code.exec == exec) else {
            return;
        };
        outbox.flush();
        let undelivered_bytes = outbox.undelivered_bytes();
        let _ = job.reply.send(Ran { end, undelivered_bytes });
    }

    /// Shows what has changed, which between most events is nothing.
    fn show(&mut self) {
        if self.is_over {
            self.parts.held = None;
        }
        let machine = &self.parts.machine;
        let now_seen = Seen {
            kernel: self.kernel.as_ref().map(|(kernel, _)| (kernel.info(), &self.generation)),
            code: self.job.as_ref().map(|(job, _)| &job.code),
            loss: machine.loss(),
            is_busy: !machine.is_idle(),
            waiting: self.turns.len(),
            is_over: self.is_over,
        };
        self.parts.state.send_if_modified(|shown| now_seen.put_into(shown, now()));
    }
}
