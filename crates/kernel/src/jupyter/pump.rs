//! The life of a Jupyter kernel after its start, in one loop, until the kernel is gone.
//!
//! Owns the order of requests, and turns messages into events. The loop may wait for a reader of
//! its events; the kernel's output is drained all the same. The link owns the transport and the end
//! of the kernel.

mod fence;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::event::{Death, ExecEvent, KernelEvent};
use crate::jupyter::ask::{self, Asking};
use crate::jupyter::fold::{Effect, Fold, Unread};
use crate::jupyter::guest::{self, Guest};
use crate::jupyter::handshake::StartPhase;
use crate::jupyter::kernel::{Control, Intent, JupyterKernel, Post};
use crate::jupyter::message::{Channel, Message, Speak};
use crate::jupyter::pieces::in_pieces;
use crate::kernel::{
    CodeRequest, History, InputMode, KernelEvents, KernelInfo, LaunchedKernel, StopSignal,
};
use crate::question::Answer;
use crate::trace::KernelTrace;
use crate::turn::{Interrupt, Turn};
use fence::Fence;
pub(crate) use fence::Why;

/// Number of malformed messages that are reported; the others are dropped.
const NOTICES: u8 = 5;

/// Number of events that may wait for the session.
const EVENT_QUEUE: usize = 64;

/// A connection to one kernel: its transport, its other events, and its end.
pub(crate) trait Link: Sized + Send + 'static {
    /// Direct actions of the handle of such a kernel.
    type Control: Control;

    /// Events other than messages, such as the end of a process.
    type Event: Send;

    /// Reason why no more messages will come.
    type End: Send;

    /// `true` if the control sends interrupts; otherwise the pump does.
    const CONTROL_INTERRUPTS: bool;

    /// `true` if replies may overtake output. The pump then sends a probe to a kernel that is late
    /// to be idle.
    const REPLIES_OVERTAKE: bool;

    /// Returns the sender of messages.
    fn speaker(&self) -> &impl Speak;

    /// Returns the next incident. Cancel-safe.
    fn next(&mut self) -> impl Future<Output = Incident<Self::Event>> + Send;

    /// Handles an event of the link.
    fn react(
        pump: &mut Pump<Self>,
        event: Self::Event,
    ) -> impl Future<Output = Option<Self::End>> + Send;

    /// Waits for the end of the kernel, and passes on output from before it. Returns the reason,
    /// which that may have changed.
    fn drain(pump: &mut Pump<Self>, end: Self::End) -> impl Future<Output = Self::End> + Send;

    /// Says if the ended kernel had read all requests.
    fn unread(&self) -> Unread {
        Unread::Nothing
    }

    /// Removes all that is left of the kernel. Returns its death.
    fn bury(&mut self, end: Self::End, intent: &Intent) -> impl Future<Output = Death> + Send;

    /// Returns the process id of the kernel, if it is visible.
    fn pid(&self) -> Option<u32>;

    /// Returns the end of the loop for a kernel without a listener, or `None` if the process ends
    /// first.
    fn abandoned(&self) -> Option<Self::End>;

    /// Decides if a message counts.
    fn judge(&mut self, _: Channel, _: &Message) -> Verdict<Self::End> {
        Verdict::Take
    }

    /// Returns `true` if a request may be sent now.
    fn is_free(&self) -> bool {
        true
    }

    /// Called before a cell is sent.
    fn begin_cell(&mut self) {}

    /// Called when a cell has ended.
    fn end_cell(&mut self, intent: &Intent);

    /// Sends an interrupt. Returns `true` if it is already sent, so that a fence can follow it.
    fn interrupt(&mut self) -> bool;

    /// Ends a kernel that ignores interrupts, if the control has left that to the pump.
    fn force(&mut self, _: StopSignal) -> Option<Self::End> {
        None
    }

    /// Returns a notice to report before an event.
    fn remark(&self, _: &KernelEvent) -> Option<&'static str> {
        None
    }

    /// Returns the number of reads of output so far: a part of a long message is a sign of life,
    /// too.
    fn reads(&self) -> u64 {
        0
    }

    /// Called when the session takes no more events.
    fn lose_reader(&self) {}
}

/// Next item of a link.
#[allow(clippy::large_enum_variant, reason = "each is taken apart where it arrives")]
pub(crate) enum Incident<E> {
    Message(Channel, Message),
    /// A malformed message; the text explains it.
    Malformed(String),
    Event(E),
}

/// Decision about a message.
pub(crate) enum Verdict<E> {
    Take,
    Ignore,
    /// The message reports that the kernel is gone.
    End(E),
}

/// A kernel that is ready for its first cell.
pub(crate) struct Opening {
    pub(crate) guest: Guest,
    /// Allows sending the variables and the folder of a request along.
    pub(crate) takes_settings: bool,
    pub(crate) start_phase: StartPhase,
    pub(crate) trace: Option<Arc<dyn KernelTrace>>,
}

pub(crate) struct Pump<L: Link> {
    pub(crate) link: L,
    guest: Guest,
    takes_settings: bool,
    pub(crate) fold: Fold,
    queue: VecDeque<Post>,
    turn: Arc<Turn>,
    pub(crate) asking: Option<Asking>,
    pub(crate) fence: Option<Fence>,
    /// Request whose published status follows all earlier output.
    pub(crate) probe: Option<String>,
    /// Deadline for the last message about a lost reply, and the explanation if none comes.
    lost: Option<(Instant, String)>,
    /// Time at which the wait for the end of an execution stops, unless the number of reads has
    /// changed by then.
    deadline: Option<(Instant, u64)>,
    notices_left: u8,
    pub(crate) events: mpsc::Sender<KernelEvent>,
    pub(crate) intent: Intent,
    pub(crate) posts: mpsc::UnboundedReceiver<Box<Post>>,
    trace: Option<Arc<dyn KernelTrace>>,
}

/// Starts the loop of a ready kernel. Returns its handle and its events.
pub(crate) fn launch<L: Link>(
    info: KernelInfo,
    link: L,
    control: L::Control,
    opening: Opening,
) -> LaunchedKernel {
    let (events, receiver) = KernelEvents::channel(EVENT_QUEUE);
    let (died, death) = watch::channel(None);
    let (posts, posted) = mpsc::unbounded_channel();
    let intent = Intent::default();
    let turn = Arc::<Turn>::default();
    let Opening { guest, takes_settings, start_phase, trace } = opening;
    let session = link.speaker().author().session().to_owned();
    let pump = Pump {
        link,
        guest,
        takes_settings,
        fold: Fold::new(session, start_phase),
        queue: VecDeque::new(),
        turn: Arc::clone(&turn),
        asking: None,
        fence: None,
        probe: None,
        lost: None,
        deadline: None,
        notices_left: NOTICES,
        events,
        intent: intent.clone(),
        posts: posted,
        trace,
    };
    tokio::spawn(pump.run(died));
    let kernel = JupyterKernel { info, control, posts, death, intent, turn };
    LaunchedKernel { kernel: Box::new(kernel), events: receiver }
}

impl<L: Link> Pump<L> {
    /// Runs until the kernel is gone, then reports the cause.
    async fn run(mut self, died: watch::Sender<Option<Death>>) {
        let end = self.pump().await;
        let pid = self.link.pid();
        let end = L::drain(&mut self, end).await;
        let effects = self.fold.died(self.link.unread());
        self.apply(effects).await;
        let death = self.link.bury(end, &self.intent).await;
        if let Some(trace) = &self.trace {
            trace.died(pid, &death);
        }
        died.send_replace(Some(death.clone()));
        self.send(KernelEvent::Died(death)).await;
    }

    async fn pump(&mut self) -> L::End {
        loop {
            self.advance().await;
            let deadline = self.deadline.map(|(at, _)| at);
            let may_leave = self.link.abandoned().is_some();
            let end = tokio::select! {
                Some(post) = self.posts.recv() => self.post(*post).await,
                incident = self.link.next() => self.take(incident).await,
                () = at(deadline) => {
                    self.late().await;
                    None
                }
                () = self.intent.stop.cancelled(), if may_leave => self.link.abandoned(),
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// Handles an incident of the link.
    pub(crate) async fn take(&mut self, incident: Incident<L::Event>) -> Option<L::End> {
        match incident {
            Incident::Message(channel, message) => self.hear(channel, &message).await,
            Incident::Malformed(problem) => {
                if self.notices_left > 0 {
                    self.notices_left -= 1;
                    self.notice(problem).await;
                }
                None
            }
            Incident::Event(event) => L::react(self, event).await,
        }
    }

    /// Carries out a command, or queues it.
    pub(crate) async fn post(&mut self, post: Post) -> Option<L::End> {
        match post {
            Post::Execute(_) => self.queue.push_back(post),
            Post::Ask(id, _) => {
                let is_cell = |post: &Post| matches!(post, Post::Execute(_));
                if self.fold.is_running() || self.queue.iter().any(is_cell) {
                    self.send(KernelEvent::Answer { id, answer: Answer::Busy }).await;
                } else {
                    self.queue.push_back(post);
                }
            }
            Post::Input(exec, reply) => {
                let effect = self.fold.reply_input(exec, reply);
                self.apply(effect.into_iter().collect()).await;
            }
            Post::Interrupt(_) if L::CONTROL_INTERRUPTS => self.raise_fence(Why::Interrupt),
            Post::Interrupt(moment) => self.interrupt(moment),
            Post::Force(force) => return self.link.force(force),
        }
        None
    }

    /// Sends no interrupt to an idle kernel, because some kernels cannot handle one. A posted cell
    /// that has not begun is interrupted when it begins.
    fn interrupt(&mut self, moment: Interrupt) {
        let is_open = self.fold.is_running() || self.asking.is_some() || !self.queue.is_empty();
        if is_open && moment == Interrupt::SendNow {
            self.send_interrupt();
        }
    }

    /// Notes that the kernel has begun the cell, or may have. Sends an interrupt that waited for
    /// that.
    pub(crate) fn begin_cell(&mut self) {
        if self.turn.begin_cell() == Interrupt::SendNow {
            self.send_interrupt();
        }
    }

    fn send_interrupt(&mut self) {
        if self.link.interrupt() {
            self.raise_fence(Why::Interrupt);
        }
    }

    /// Sends the next request when none is open. A request after an interrupt waits for it, so that
    /// the interrupt cannot hit the wrong one.
    async fn advance(&mut self) {
        while !self.fold.is_running() && self.asking.is_none() && self.link.is_free() {
            match self.queue.pop_front() {
                Some(Post::Execute(request)) => self.execute(&request),
                Some(Post::Ask(id, question)) => {
                    let asking = ask::ask(self.link.speaker(), self.guest, id, &question);
                    match asking {
                        Ok(asking) => self.asking = Some(asking),
                        Err(answer) => self.send(KernelEvent::Answer { id, answer }).await,
                    }
                }
                Some(Post::Input(..) | Post::Interrupt(_) | Post::Force(_)) => {}
                None => {
                    // A command posted just now is in the channel; the loop reads it next.
                    if self.posts.is_empty() {
                        self.intent.busy.store(false, Ordering::SeqCst);
                    }
                    return;
                }
            }
        }
    }

    /// Sends a cell. The kernel must not stop on its error: one request is sent at a time, so an
    /// error has nothing to stop, and some kernels refuse the request after it.
    fn execute(&mut self, request: &CodeRequest) {
        let is_silent = request.history == History::Silent;
        let content = json!({"code": request.code, "silent": is_silent,
            "store_history": !is_silent, "user_expressions": {}, "allow_stdin": request.input == InputMode::Ask,
            "stop_on_error": false});
        // Settings are addresses and secrets of this machine, so not every kernel gets them.
        let metadata = match self.guest {
            Guest::Present => guest::metadata(request, self.takes_settings),
            Guest::Absent => json!({}),
        };
        let (channel, kind) = (Channel::Shell, "execute_request");
        let sent = self.link.speaker().request_with(channel, kind, &metadata, &content);
        self.probe = None;
        self.link.begin_cell();
        self.fold.begin(request, sent);
    }

    /// Handles a message of the kernel.
    pub(crate) async fn hear(&mut self, channel: Channel, message: &Message) -> Option<L::End> {
        match self.link.judge(channel, message) {
            Verdict::Take => {}
            Verdict::Ignore => return None,
            Verdict::End(end) => return Some(end),
        }
        if channel == Channel::Shell {
            if let Some(asking) = &self.asking
                && let Some(answer) = asking.answer(message)
            {
                let id = asking.id;
                self.asking = None;
                self.send(KernelEvent::Answer { id, answer }).await;
            }
            self.pass_fence(message).await;
        }
        let effects = self.fold.heard(channel, message);
        // Do this before reporting events, which may wait for a reader.
        if self.fold.takes_up_cell(self.guest) {
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

    async fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Event(event) => self.report(event).await,
                Effect::Line { parent, line } => {
                    let line = json!({"value": line, "status": "ok"});
                    self.link.speaker().reply(Channel::Stdin, "input_reply", parent, &line);
                }
                Effect::Comm { kind, content } => {
                    self.request(kind, &content);
                }
            }
        }
    }

    fn request(&self, kind: &str, content: &Value) -> String {
        self.link.speaker().request(Channel::Shell, kind, content)
    }

    async fn report(&mut self, event: KernelEvent) {
        if let KernelEvent::Exec { event: ExecEvent::Finished(_), .. } = &event {
            // The receiver of this event may send a command at once.
            self.intent.busy.store(false, Ordering::SeqCst);
            self.turn.end_cell();
            self.link.end_cell(&self.intent);
        }
        if let Some(notice) = self.link.remark(&event) {
            self.notice(notice.to_owned()).await;
        }
        self.send(event).await;
    }

    /// Reports an event, long text in pieces.
    async fn send(&mut self, event: KernelEvent) {
        if let KernelEvent::Answer { .. } = event {
            self.turn.end_question();
        }
        for event in in_pieces(event) {
            self.send_whole(event).await;
        }
    }

    /// Waits for room in the queue, unless the session has stopped listening.
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
                    self.link.lose_reader();
                }
            }
            () = self.intent.stop.cancelled() => {}
        }
    }
}

/// Waits until the deadline; without one, waits for ever.
async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
