//! Everything that happens to a kernel on a gateway after its start, in one loop, until it is gone.
//!
//! Owns what is asked of the kernel and when, what the end of a connection is worth, and the kernel's own end.
//! It may wait for whoever takes its events; the websocket is drained by a task that does not.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::event::{Death, DeathCause, ExecEvent, KernelEvent, StreamName};
use crate::gateway::end::Ending;
use crate::gateway::error::GatewayError;
use crate::gateway::fence::{Fence, Why};
use crate::gateway::guest::Place;
use crate::gateway::handle::{Intent, Post};
use crate::gateway::loss::{self, Judged};
use crate::gateway::near::{Near, is_over};
use crate::gateway::talk::Talk;
use crate::input::InputMode;
use crate::jupyter::ask::{self, Asking};
use crate::jupyter::beginning::Beginning;
use crate::jupyter::fold::{Channel, Effect, Fold, Unread};
use crate::jupyter::guest::{self, Guest};
use crate::jupyter::kernelspec::InterruptMode;
use crate::jupyter::message::Message;
use crate::jupyter::pieces::in_pieces;
use crate::jupyter::speak::Speak as _;
use crate::jupyter::voice::Voice;
use crate::kernel::{CodeRequest, Force, History};
use crate::question::Answer;
use crate::trace::Trace;
use crate::turn::{Interrupt, Turn};

/// How long a process that we see has to end by itself.
const POLITE: Duration = Duration::from_secs(2);

/// Interrupts that come within this time are one.
const TOGETHER: Duration = Duration::from_millis(100);

/// How many messages that make no sense are told of; the others are the same.
const NOTICES: u8 = 5;

pub(crate) struct Pump {
    pub(crate) talk: Talk,
    pub(crate) near: Option<Near>,
    pub(crate) guest: Guest,
    pub(crate) place: Place,
    pub(crate) ending: Ending,
    pub(crate) events: mpsc::Sender<KernelEvent>,
    pub(crate) intent: Intent,
    pub(crate) posts: mpsc::UnboundedReceiver<Post>,
    pub(crate) trace: Option<Arc<dyn Trace>>,
    pub(crate) state: State,
}

/// What the pump is about.
pub(crate) struct State {
    pub(crate) fold: Fold,
    /// That of the process which we have met.
    pub(crate) voice: Voice,
    /// The gateway has said that the kernel is gone; what comes without a request is another's.
    pub(crate) is_gone: bool,
    queue: VecDeque<Post>,
    turn: Turn,
    pub(crate) asking: Option<Asking>,
    pub(crate) fence: Option<Fence>,
    /// A request whose echo comes behind everything that was published before.
    pub(crate) probe: Option<String>,
    /// Interrupts on their way to the gateway.
    interrupts: JoinSet<Result<(), GatewayError>>,
    /// Until when the last word about a lost reply may come, and what is said without one.
    pub(crate) lost: Option<(Instant, String)>,
    /// When the last one was asked for.
    interrupted: Option<Instant>,
    pub(crate) deadline: Option<Instant>,
    odd_left: u8,
    forced: bool,
}

impl State {
    pub(crate) fn new(session: &str, voice: Voice, beginning: Beginning) -> State {
        State {
            fold: Fold::new(session.to_owned(), beginning),
            voice,
            is_gone: false,
            queue: VecDeque::new(),
            turn: Turn::default(),
            asking: None,
            fence: None,
            probe: None,
            interrupts: JoinSet::new(),
            lost: None,
            interrupted: None,
            deadline: None,
            odd_left: NOTICES,
            forced: false,
        }
    }

    /// How it came to an end that was not asked for, or was.
    pub(crate) fn ended(&self, problem: &str) -> DeathCause {
        if self.forced {
            return DeathCause::IgnoredInterrupt;
        }
        DeathCause::Remote { problem: problem.to_owned() }
    }

    /// A process that we see is ended as one of our own; of others the gateway is asked to, and those that take
    /// long are given up: they are written down, and the gateway goes on trying.
    pub(crate) fn force(
        &mut self,
        force: Force,
        near: Option<&Near>,
        ending: &mut Ending,
    ) -> Option<DeathCause> {
        self.forced = true;
        match (force, near) {
            (Force::Terminate, Some(near)) => near.signal(Signal::TERM),
            (Force::Kill, Some(near)) => near.signal(Signal::KILL),
            (Force::Terminate, None) => ending.begin(),
            (Force::Kill, None) => return Some(DeathCause::IgnoredInterrupt),
        }
        None
    }
}

/// What woke the pump.
enum Woke {
    Post(Option<Post>),
    Heard(Channel, Message),
    Odd(String),
    Closed,
    Interrupted(Result<(), GatewayError>),
    Late,
    Exited,
    Stopped,
}

impl Pump {
    /// Runs until the kernel is gone, and says why.
    pub(crate) async fn run(mut self, died: watch::Sender<Option<Death>>) {
        let cause = self.pump().await;
        // Nobody waits for what was sent before the end when nobody listens.
        if !self.intent.stop.is_cancelled() {
            self.rest().await;
        }
        let effects = self.state.fold.died(Unread::Nothing);
        self.apply(effects).await;
        self.ending.begin();
        if let Some(near) = self.near.as_ref().filter(|_| !self.ending.may_live_on()) {
            let _ = tokio::time::timeout(POLITE, is_over(Some(near))).await;
            // What the cell started must not outlive its kernel, and a gateway does not see to that.
            near.signal(Signal::KILL);
        }
        self.ending.wait().await;
        self.reap().await;
        let death = Death { cause, ..Death::unknown() };
        if let Some(trace) = &self.trace {
            trace.died(self.near.as_ref().map(|near| near.pid), &death);
        }
        died.send_replace(Some(death.clone()));
        self.send(KernelEvent::Died(death)).await;
    }

    /// Those that were killed take a moment to end.
    async fn reap(&self) {
        for _ in 0..100 {
            if !self.near.as_ref().is_some_and(Near::reap) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn pump(&mut self) -> DeathCause {
        loop {
            self.advance().await;
            let deadline = self.state.deadline;
            let woke = tokio::select! {
                post = self.posts.recv() => Woke::Post(post),
                read = self.talk.next() => match read {
                    Some(Ok((channel, message))) => Woke::Heard(channel, message),
                    Some(Err(problem)) => Woke::Odd(problem.to_string()),
                    None => Woke::Closed,
                },
                Some(done) = self.state.interrupts.join_next() => {
                    Woke::Interrupted(done.unwrap_or(Ok(())))
                }
                () = at(deadline) => Woke::Late,
                () = is_over(self.near.as_ref()) => Woke::Exited,
                () = self.intent.stop.cancelled() => Woke::Stopped,
            };
            let cause = match woke {
                Woke::Post(Some(post)) => self.post(post).await,
                Woke::Heard(channel, message) => self.heard(channel, &message).await,
                Woke::Odd(problem) => {
                    if self.state.odd_left > 0 {
                        self.state.odd_left -= 1;
                        self.notice(format!("the gateway sent {problem}")).await;
                    }
                    None
                }
                Woke::Closed => self.regain().await,
                Woke::Interrupted(done) => {
                    self.interrupted(done).await;
                    None
                }
                Woke::Late => {
                    self.late().await;
                    None
                }
                Woke::Exited => Some(self.state.ended(loss::EXITED)),
                Woke::Post(None) | Woke::Stopped => Some(DeathCause::Shutdown),
            };
            if let Some(cause) = cause {
                return cause;
            }
        }
    }

    pub(crate) async fn post(&mut self, post: Post) -> Option<DeathCause> {
        match post {
            Post::Execute(_) => {
                self.state.turn.post_cell();
                self.state.queue.push_back(post);
            }
            Post::Ask(id, _) => {
                self.state.turn.post_question();
                let is_cell = |post: &Post| matches!(post, Post::Execute(_));
                if self.state.fold.is_running() || self.state.queue.iter().any(is_cell) {
                    self.send(KernelEvent::Answer { id, answer: Answer::Busy }).await;
                } else {
                    self.state.queue.push_back(post);
                }
            }
            Post::Input(exec, reply) => {
                let effect = self.state.fold.reply_input(exec, reply);
                self.apply(effect.into_iter().collect()).await;
            }
            Post::Interrupt => self.interrupt(),
            Post::Force(force) => {
                let (near, ending) = (self.near.as_ref(), &mut self.ending);
                return self.state.force(force, near, ending);
            }
        }
        None
    }

    /// Sends no interrupt if nothing runs: some kernels do not bear it. A cell that is posted and does not run yet
    /// is interrupted when it does.
    fn interrupt(&mut self) {
        let state = &self.state;
        let is_open = state.fold.is_running() || state.asking.is_some() || !state.queue.is_empty();
        if is_open && state.turn.interrupt() == Interrupt::SendNow {
            self.send_interrupt();
        }
    }

    /// The kernel has taken the cell up, or may have: an interrupt that waited for that is sent.
    pub(crate) fn begin_cell(&mut self) {
        if self.state.turn.begin_cell() == Interrupt::SendNow {
            self.send_interrupt();
        }
    }

    /// Two interrupts that come together are one, as two signals are.
    fn send_interrupt(&mut self) {
        if self.state.interrupted.is_some_and(|at| at.elapsed() <= TOGETHER) {
            return;
        }
        self.state.interrupted = Some(Instant::now());
        if self.signals_interrupts() {
            self.talk.trace.sent_as("signal", "interrupt", None);
            return self.raise_fence(Why::Interrupt);
        }
        let (rest, id) = (Arc::clone(&self.talk.rest), self.talk.id.clone());
        self.talk.trace.sent_as("rest", "interrupt", None);
        self.state.interrupts.spawn(async move { rest.interrupt(&id).await });
    }

    /// A process that we see is interrupted without the gateway, which may be busy passing its output on.
    fn signals_interrupts(&self) -> bool {
        let near = self.near.as_ref().filter(|near| near.interrupts == InterruptMode::Signal);
        near.inspect(|near| near.signal(Signal::INT)).is_some()
    }

    async fn interrupted(&mut self, done: Result<(), GatewayError>) {
        match done {
            Ok(()) => self.raise_fence(Why::Interrupt),
            Err(problem) => {
                self.notice(format!("the gateway did not interrupt the kernel: {problem}")).await;
            }
        }
    }

    /// Sends what is next, when nothing is open. What follows an interrupt waits for it, so that it cannot be
    /// hit by it.
    async fn advance(&mut self) {
        while !self.state.fold.is_running()
            && self.state.asking.is_none()
            && self.state.interrupts.is_empty()
        {
            match self.state.queue.pop_front() {
                Some(Post::Execute(request)) => self.execute(&request),
                Some(Post::Ask(id, question)) => {
                    match ask::ask(&self.talk, self.guest, id, &question) {
                        Ok(asking) => self.state.asking = Some(asking),
                        Err(answer) => self.send(KernelEvent::Answer { id, answer }).await,
                    }
                }
                Some(Post::Input(..) | Post::Interrupt | Post::Force(_)) => {}
                None => {
                    // Whatever was posted in this moment is in the queue, and is looked at next.
                    if self.posts.is_empty() {
                        self.intent.busy.store(false, Ordering::SeqCst);
                    }
                    return;
                }
            }
        }
    }

    fn execute(&mut self, request: &CodeRequest) {
        let is_silent = request.history == History::Silent;
        // One at a time is sent, so there is nothing to stop; told to, a kernel can refuse what comes next.
        let content = json!({"code": request.code, "silent": is_silent,
            "store_history": !is_silent, "user_expressions": {}, "allow_stdin": request.input == InputMode::Ask,
            "stop_on_error": false});
        // What is set first are addresses and secrets of this machine.
        let metadata = match (self.guest, self.place) {
            (Guest::Present, Place::Here) => guest::metadata(request),
            _ => json!({}),
        };
        let (channel, kind) = (Channel::Shell, "execute_request");
        let sent = self.talk.request_with(channel, kind, &metadata, &content);
        self.state.probe = None;
        // What was interrupted before was another one.
        self.state.interrupted = None;
        self.state.fold.begin(request, sent);
    }

    pub(crate) async fn heard(
        &mut self,
        channel: Channel,
        message: &Message,
    ) -> Option<DeathCause> {
        match self.state.judge(channel, message) {
            Judged::OfTheKernel => {}
            Judged::OfAnother => return None,
            Judged::Death(problem) => {
                self.state.is_gone = true;
                return Some(self.state.ended(problem));
            }
        }
        if channel == Channel::Shell {
            if let Some(asking) = &self.state.asking
                && let Some(answer) = asking.answer(message)
            {
                let id = asking.id;
                self.state.asking = None;
                self.send(KernelEvent::Answer { id, answer }).await;
            }
            if self.state.fence.as_ref().is_some_and(|fence| message.is_of(&fence.request)) {
                self.pass_fence().await;
            }
        }
        let effects = self.state.fold.heard(channel, message);
        // At once: nobody may be there to take the events.
        if self.state.fold.takes_up_cell(self.guest) {
            self.begin_cell();
        }
        self.apply(effects).await;
        if channel == Channel::Iopub {
            self.pass_probe(message).await;
        }
        self.settle().await;
        self.rearm();
        None
    }

    pub(crate) async fn notice(&mut self, text: String) {
        self.send(KernelEvent::Notice(text)).await;
    }

    pub(crate) async fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Event(event) => self.event(event).await,
                Effect::Line { parent, line } => {
                    let line = json!({"value": line, "status": "ok"});
                    self.talk.reply(Channel::Stdin, "input_reply", parent, &line);
                }
                Effect::Comm { kind, content } => {
                    self.talk.request(Channel::Shell, kind, &content);
                }
            }
        }
    }

    async fn event(&mut self, event: KernelEvent) {
        if let KernelEvent::Exec { event, .. } | KernelEvent::Orphan(event) = &event {
            match event {
                // Whoever takes this event may command at once.
                ExecEvent::Finished(_) => {
                    self.intent.busy.store(false, Ordering::SeqCst);
                    self.state.turn.end_cell();
                    self.near.as_ref().map(Near::reap);
                }
                ExecEvent::Stream { name: StreamName::Stderr, data } if loss::is_limit(data) => {
                    self.send(KernelEvent::Notice(loss::LIMIT.to_owned())).await;
                }
                _ => {}
            }
        }
        self.send(event).await;
    }

    /// Reports it, much text in pieces.
    pub(crate) async fn send(&mut self, event: KernelEvent) {
        if let KernelEvent::Answer { .. } = event {
            self.state.turn.end_question();
        }
        for event in in_pieces(event) {
            self.send_whole(event).await;
        }
    }

    /// Waits for room, unless nobody listens any more.
    async fn send_whole(&mut self, event: KernelEvent) {
        let event = match self.events.try_send(event) {
            Ok(()) => return,
            Err(TrySendError::Full(event) | TrySendError::Closed(event)) => event,
        };
        tokio::select! {
            biased;
            sent = self.events.send(event) => {
                if sent.is_err() {
                    self.intent.stop.cancel();
                }
            }
            () = self.intent.stop.cancelled() => {}
        }
    }
}

/// Waits for a moment, if there is one.
async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
