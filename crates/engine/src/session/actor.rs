//! The one loop of a session: it waits, asks the machine for decisions, and carries them out.
//!
//! Owns the kernel, its events and the replies to callers. It decides nothing.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use inkcell_kernel::{
    AskId, Backend, CodeRequest, Death, ExecEvent, ExecId, InputReply, Kernel, KernelEvent,
    KernelEvents, KernelSpec, LaunchError, LaunchedKernel, NoCopies, Question,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::end::{CellEnd, NotRun, RunEnd};
use super::machine::{
    AskEnd, AskRequest, ExecRequest, Fact, Input, Machine, MachineEffect, ResetEnd, Ticket,
};
use super::orphans::Orphans;
use super::outbox::Outbox;
use super::state::{SessionState, StateView};
use super::waiting::{at, last_event, next_event, now, pending_or, room};
use crate::types::{CloseReason, Generation};

/// How long a kernel may take to shut down before it is forced to end.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// The same grace when a listener receives the kernel's last output.
const LAST_WORDS_GRACE: Duration = Duration::from_secs(3);

/// A request from a handle to the loop.
pub(super) enum Command {
    Enter(Ticket, oneshot::Sender<Result<(), NotRun>>),
    Run(Ticket, Job),
    Leave(Ticket),
    Cancel(Ticket),
    Reply(Ticket, InputReply),
    Reset(Option<Ticket>, oneshot::Sender<ResetEnd>),
    Ask(AskRequest, Question, oneshot::Sender<AskEnd>),
    /// Returns the backend whose kernels are copies of this session's kernel.
    Copies(oneshot::Sender<Result<Arc<dyn Backend>, NoCopies>>),
    /// Replies when the loop reaches this command: all earlier commands are done by then.
    Settle(oneshot::Sender<()>),
    Interrupt,
    Close(CloseReason),
    /// Ends the session, forwards the kernel's last output, and reports how the kernel ended.
    CloseHeard(LastWords),
    /// Drops everything. A kernel that still exists is killed.
    Abandon,
    /// Ends the session unless a call has a turn or waits for one. The reply says whether it ends.
    CloseIfIdle(CloseReason, oneshot::Sender<bool>),
}

/// Code to run, and the receivers of its events and its end.
pub(super) struct Job {
    pub(super) code: CodeRequest,
    pub(super) timeout: Option<Duration>,
    pub(super) patience: Option<Duration>,
    pub(super) listener: mpsc::Sender<KernelEvent>,
    pub(super) reply: oneshot::Sender<RunOutcome>,
    /// Set when the code is made to stop, whatever the cause and however long stopping takes.
    pub(super) stopping: CancellationToken,
}

/// The receivers of a kernel's last output and of its death, when the kernel is shut down.
pub(super) struct LastWords {
    pub(super) listener: mpsc::Sender<KernelEvent>,
    pub(super) reply: oneshot::Sender<Option<Death>>,
}

/// The end of a run, with output that its listener lost.
#[derive(Debug)]
pub struct RunOutcome {
    /// How the run ended, with the notes for its reader.
    pub end: RunEnd,
    /// Bytes of output that did not reach the listener because it had stopped reading.
    pub undelivered_bytes: u64,
}

impl RunOutcome {
    /// The run never began: the session is over, or refuses it.
    pub(super) fn closed() -> RunOutcome {
        RunOutcome { end: CellEnd::NotRun(NotRun::Closed).into(), undelivered_bytes: 0 }
    }
}

/// The values from which a session's loop is built.
pub(super) struct Parts {
    pub(super) machine: Machine,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) spec: KernelSpec,
    pub(super) commands: mpsc::UnboundedReceiver<Command>,
    pub(super) state: watch::Sender<SessionState>,
    /// A value that lives as long as the session and is dropped at its end.
    pub(super) held: Option<Box<dyn Any + Send>>,
}

struct Actor {
    parts: Parts,
    kernel: Option<(Box<dyn Kernel>, KernelEvents)>,
    /// The generation of the newest kernel.
    generation: Generation,
    starting: Option<(CancellationToken, BoxFuture<'static, Result<LaunchedKernel, LaunchError>>)>,
    /// The events stay until the kernel is gone: a kernel whose events are not read is killed.
    ending: Option<(BoxFuture<'static, Death>, Option<KernelEvents>)>,
    turns: HashMap<Ticket, oneshot::Sender<Result<(), NotRun>>>,
    resets: VecDeque<oneshot::Sender<ResetEnd>>,
    asks: HashMap<AskId, (Question, oneshot::Sender<AskEnd>)>,
    job: Option<(Job, Outbox)>,
    last_words: Option<(Outbox, oneshot::Sender<Option<Death>>)>,
    /// Output that belongs to no run; the next run gets it.
    orphans: Orphans,
    wake: Option<Instant>,
    /// Since when the code must stop, or the kernel is being shut down.
    stopping: Option<Instant>,
    is_over: bool,
}

/// The events that wake the loop.
enum Wakeup {
    Command(Option<Command>),
    Event(Option<KernelEvent>),
    LastWord(Option<KernelEvent>),
    Launched(Result<LaunchedKernel, LaunchError>),
    Ended(Death),
    Time,
    Room,
    Stuck,
}

/// Runs a session until it is closed or its last handle is dropped.
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

    async fn wait(&mut self) -> Wakeup {
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
            command = self.parts.commands.recv() => Wakeup::Command(command),
            event = next_event(self.kernel.as_mut()), if has_room => Wakeup::Event(event),
            launched = pending_or(self.starting.as_mut().map(|(_, launch)| launch)) => {
                Wakeup::Launched(launched)
            }
            event = last_event(last), if is_heard => Wakeup::LastWord(event),
            death = pending_or(ending) => Wakeup::Ended(death),
            () = room(outbox), if is_full => Wakeup::Room,
            () = at(self.wake) => Wakeup::Time,
            () = at(stuck) => Wakeup::Stuck,
        }
    }

    /// Translates a wakeup for the machine. A wakeup that does not concern the machine is handled here.
    fn input(&mut self, woke: Wakeup) -> Option<Input> {
        match woke {
            Wakeup::Command(Some(command)) => Some(self.command(command)),
            // All handles are gone, so no command can come.
            Wakeup::Command(None) => Some(Input::Close(CloseReason::Shutdown)),
            Wakeup::Launched(Ok(launched)) => {
                self.starting = None;
                self.kernel = Some((launched.kernel, launched.events));
                self.generation = Generation::random();
                Some(Input::Launched)
            }
            Wakeup::Launched(Err(error)) => {
                self.starting = None;
                Some(Input::LaunchFailed(error))
            }
            Wakeup::LastWord(event) => {
                match (event, &mut self.ending) {
                    (Some(event), _) => self.hear(event),
                    // The kernel sends no more events; its end is still awaited.
                    (None, Some((_, events))) => *events = None,
                    (None, None) => {}
                }
                None
            }
            Wakeup::Ended(death) => {
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
            Wakeup::Event(event) => self.event(event),
            Wakeup::Time => {
                self.wake = None;
                Some(Input::Deadline)
            }
            Wakeup::Room => None,
            Wakeup::Stuck => {
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
                let request = ExecRequest { exec, timeout, patience, input, is_empty };
                if let Some(job) = self.take_job(job) {
                    let _ = job.reply.send(RunOutcome::closed());
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
                // Commands are handled in order, and the state is published after each.
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

    /// Stores a job. Returns it if the session has a job already.
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

    /// Forwards output of a kernel that is shutting down, to the listener for its last words or to the run that
    /// loses it: output that code wrote before it was stopped is not lost. The machine decides how the run ended,
    /// so the kernel's own report of that is dropped.
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

    fn obey(&mut self, effect: MachineEffect) {
        match effect {
            MachineEffect::Grant(ticket) => self.answer_turn(ticket, Ok(())),
            MachineEffect::Refuse(ticket, why) => self.answer_turn(ticket, Err(why)),
            MachineEffect::Launch => self.launch(),
            MachineEffect::AbortLaunch => {
                if let Some((token, _)) = &self.starting {
                    token.cancel();
                }
            }
            MachineEffect::Execute(exec) => self.execute(exec),
            MachineEffect::ReplyInput(exec, reply) => {
                if let Some((kernel, _)) = &mut self.kernel {
                    let _ = kernel.reply_input(exec, reply);
                }
            }
            // A kernel that is gone reports that with its last event.
            MachineEffect::Interrupt => {
                self.tell_stopping();
                let _ = self.kernel.as_mut().map(|(kernel, _)| kernel.interrupt());
            }
            MachineEffect::Force(force) => {
                self.tell_stopping();
                let _ = self.kernel.as_mut().map(|(kernel, _)| kernel.force(force));
            }
            MachineEffect::Shutdown => {
                self.tell_stopping();
                if let Some((kernel, events)) = self.kernel.take() {
                    let is_heard = self.last_words.is_some();
                    let grace = if is_heard { LAST_WORDS_GRACE } else { SHUTDOWN_GRACE };
                    self.ending = Some((kernel.shutdown(grace), Some(events)));
                }
            }
            // Drop a kernel that is shutting down too: its end must not count as the next kernel's end.
            MachineEffect::Abandon => (self.kernel, self.ending) = (None, None),
            MachineEffect::Resolve(exec, end) => self.resolve(exec, *end),
            MachineEffect::Ask(id) => self.ask(id),
            MachineEffect::Answer(id, end) => {
                // The caller may be gone.
                let _ = self.asks.remove(&id).map(|(_, reply)| reply.send(*end));
            }
            MachineEffect::ResetDone(ResetEnd::Refused) => {
                let _ = self.resets.pop_back().map(|reply| reply.send(ResetEnd::Refused));
            }
            MachineEffect::ResetDone(ResetEnd::Done) => {
                let _ = self.resets.pop_front().map(|reply| reply.send(ResetEnd::Done));
            }
            MachineEffect::Wake(at) => self.wake = at,
            MachineEffect::Stop => self.is_over = true,
        }
    }

    fn answer_turn(&mut self, ticket: Ticket, answer: Result<(), NotRun>) {
        let Some(reply) = self.turns.remove(&ticket) else { return };
        if reply.send(answer).is_err() {
            // The caller is gone; the next call gets the turn.
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
            // A kernel that is gone reports that with its last event.
            let _ = kernel.execute(job.code.clone());
        }
        for event in self.orphans.take() {
            self.deliver(event);
        }
    }

    /// Sets `stopping` of the running code. Code that still waits for a question to end does not run yet.
    fn tell_stopping(&self) {
        if let Some((job, _)) = self.job.as_ref().filter(|_| self.parts.machine.is_running()) {
            job.stopping.cancel();
        }
    }

    fn ask(&mut self, id: AskId) {
        let Some((question, _)) = self.asks.get(&id) else { return };
        if let Some((kernel, _)) = &mut self.kernel {
            // A kernel that is gone reports that with its last event.
            let _ = kernel.ask(id, question.clone());
        }
    }

    /// Asks an idle kernel for copies. A separate task awaits the answer, so the loop goes on.
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
        let _ = job.reply.send(RunOutcome { end, undelivered_bytes });
    }

    /// Publishes the session's state if it changed. Most events change nothing.
    fn show(&mut self) {
        if self.is_over {
            self.parts.held = None;
        }
        let machine = &self.parts.machine;
        let now_seen = StateView {
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
