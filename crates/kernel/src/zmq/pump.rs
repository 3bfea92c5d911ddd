//! Everything that happens to a Jupyter kernel after its start, in one loop, until it is gone.
//!
//! Owns what is asked of the kernel and when, the folding of what it says, and its end. It may wait for
//! whoever takes its events; the channel of output is drained all the same.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use rustix::process::Signal;
use serde_json::json;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::event::{Death, DeathCause, ExecEvent, KernelEvent};
use crate::input::InputMode;
use crate::jupyter::ask::{self, Asking, Behind};
use crate::jupyter::beginning::Beginning;
use crate::jupyter::fold::{Channel, Effect, Fold, Unread};
use crate::jupyter::guest::{self, Guest};
use crate::jupyter::home::Home;
use crate::jupyter::pieces::in_pieces;
use crate::kernel::{CodeRequest, History};
use crate::process::kill_group;
use crate::question::Answer;
use crate::trace::Trace;
use crate::zmq::handle::{Intent, Post};
use crate::zmq::interrupts::Interrupts;
use crate::zmq::lines::{Lines, Speaker};
use crate::zmq::own::{self, Own};

/// How long output may still come from a process that is gone.
const AFTERMATH: Duration = Duration::from_millis(200);

/// How often a kernel is asked for a sign of life, and how many it may miss.
const BEAT: Duration = Duration::from_secs(5);
const MISSED: u32 = 2;

/// How many messages that make no sense are told of; the others are the same.
const NOTICES: u8 = 5;

pub(crate) struct Pump {
    pub(crate) lines: Lines,
    pub(crate) speaker: Speaker,
    pub(crate) interrupts: Interrupts,
    /// None when the kernel is not ours.
    pub(crate) own: Option<Own>,
    /// A folder for output that waits, where no kernel of ours has one.
    pub(crate) _home: Option<Home>,
    pub(crate) guest: Guest,
    pub(crate) events: mpsc::Sender<KernelEvent>,
    pub(crate) intent: Intent,
    pub(crate) posts: mpsc::UnboundedReceiver<Box<Post>>,
    pub(crate) trace: Option<Arc<dyn Trace>>,
    pub(crate) state: State,
}

/// What the pump is about.
pub(crate) struct State {
    fold: Fold,
    queue: VecDeque<Post>,
    asking: Option<Asking>,
    /// A request behind the one that was interrupted, and that one's name.
    fence: Option<(String, Behind)>,
    /// When the end of an execution is given up, unless more has come by then.
    deadline: Option<(Instant, u64)>,
    missed_beats: u32,
    notices_left: u8,
    unread: Unread,
}

impl State {
    pub(crate) fn new(session: &str, beginning: Beginning) -> State {
        State {
            fold: Fold::new(session.to_owned(), beginning),
            queue: VecDeque::new(),
            asking: None,
            fence: None,
            deadline: None,
            missed_beats: 0,
            notices_left: NOTICES,
            unread: Unread::Nothing,
        }
    }
}

/// Why the loop ended.
enum End {
    /// The process did.
    Exited,
    /// A connection did.
    Closed(io::Error),
    /// Nobody wants a kernel any more that is not ours.
    Left,
}

/// What woke the pump.
enum Woke {
    Post(Box<Post>),
    Heard(Channel, io::Result<Vec<Bytes>>),
    Late,
    Beat,
    BeatAnswered(io::Result<Vec<Bytes>>),
    End(End),
}

impl Pump {
    /// Runs until the kernel is gone, and says why.
    pub(crate) async fn run(mut self, died: watch::Sender<Option<Death>>) {
        let end = self.pump().await;
        let pid = self.own.as_ref().map(|own| own.process.id());
        let death = self.end(end).await;
        if let Some(trace) = &self.trace {
            trace.died(pid, &death);
        }
        died.send_replace(Some(death.clone()));
        self.send(KernelEvent::Died(death)).await;
    }

    async fn pump(&mut self) -> End {
        let mut beats = tokio::time::interval(BEAT);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut has_heartbeat = true;
        loop {
            self.advance().await;
            let deadline = self.state.deadline.map(|(at, _)| at);
            let woke = tokio::select! {
                Some(post) = self.posts.recv() => Woke::Post(post),
                frames = self.lines.output.next() => {
                    let end = || io::Error::from(io::ErrorKind::UnexpectedEof);
                    Woke::Heard(Channel::Iopub, frames.unwrap_or_else(|| Err(end())))
                }
                frames = self.lines.shell.next() => Woke::Heard(Channel::Shell, frames),
                frames = self.lines.stdin.next() => Woke::Heard(Channel::Stdin, frames),
                frames = self.lines.control.next() => Woke::Heard(Channel::Control, frames),
                frames = self.lines.heartbeat.0.next(), if has_heartbeat => Woke::BeatAnswered(frames),
                () = own::is_over(self.own.as_ref()) => Woke::End(End::Exited),
                () = at(deadline) => Woke::Late,
                _ = beats.tick() => Woke::Beat,
                () = self.intent.stop.cancelled(), if self.own.is_none() => Woke::End(End::Left),
            };
            match woke {
                Woke::Post(post) => self.post(*post).await,
                Woke::Heard(channel, Ok(frames)) => self.heard(channel, &frames).await,
                Woke::Heard(channel, Err(error)) => {
                    self.note_reset(channel, &error);
                    return End::Closed(error);
                }
                Woke::Late => self.late().await,
                Woke::Beat => self.beat().await,
                Woke::BeatAnswered(Ok(_)) => self.state.missed_beats = 0,
                Woke::BeatAnswered(Err(_)) => has_heartbeat = false,
                Woke::End(end) => return end,
            }
        }
    }

    async fn post(&mut self, post: Post) {
        match post {
            Post::Execute(_) => self.state.queue.push_back(post),
            Post::Ask(id, _) => {
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
            Post::Interrupted => self.raise_fence(),
        }
    }

    /// An interrupt can hit a kernel in the middle of replying, and then there is no reply. Requests are
    /// answered in order, so one that is sent now is answered when the interrupted one is over.
    fn raise_fence(&mut self) {
        let state = &mut self.state;
        if self.guest == Guest::Present
            && state.fence.is_none()
            && let Some(behind) = Behind::what(&state.fold, state.asking.as_ref())
        {
            let fence = self.speaker.request(Channel::Shell, "kernel_info_request", &json!({}));
            state.fence = Some((fence, behind));
        }
    }

    /// Sends what is next, when nothing is open.
    async fn advance(&mut self) {
        while !self.state.fold.is_running() && self.state.asking.is_none() {
            match self.state.queue.pop_front() {
                Some(Post::Execute(request)) => self.execute(&request),
                Some(Post::Ask(id, question)) => {
                    match ask::ask(&self.speaker, self.guest, id, &question) {
                        Ok(asking) => self.state.asking = Some(asking),
                        Err(answer) => self.send(KernelEvent::Answer { id, answer }).await,
                    }
                }
                Some(Post::Input(..) | Post::Interrupted) => {}
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
        let content = json!({"code": request.code, "silent": is_silent,
            "store_history": !is_silent, "user_expressions": {}, "allow_stdin": request.input == InputMode::Ask,
            "stop_on_error": true});
        let metadata = match self.guest {
            Guest::Present => guest::metadata(request),
            Guest::Absent => json!({}),
        };
        let (channel, kind) = (Channel::Shell, "execute_request");
        let sent = self.speaker.request_with(channel, kind, &metadata, &content);
        self.state.fold.begin(request, sent);
    }

    async fn heard(&mut self, channel: Channel, frames: &[Bytes]) {
        let message = match self.lines.decode(channel, frames) {
            Ok(message) => message,
            Err(problem) => return self.notice(format!("the kernel sent {problem}")).await,
        };
        if channel == Channel::Shell {
            if let Some(asking) = &self.state.asking
                && let Some(answer) = asking.answer(&message)
            {
                let id = asking.id;
                self.state.asking = None;
                self.send(KernelEvent::Answer { id, answer }).await;
            }
            if self.state.fence.as_ref().is_some_and(|(fence, _)| message.is_of(fence)) {
                self.pass_fence().await;
            }
        }
        let effects = self.state.fold.heard(channel, &message);
        // At once: nobody may be there to take the events.
        if self.state.fold.takes_up_cell(self.guest) {
            self.interrupts.begin_cell();
        }
        self.apply(effects).await;
        self.rearm();
    }

    async fn pass_fence(&mut self) {
        let Some((_, behind)) = self.state.fence.take() else { return };
        match behind {
            Behind::Execution(request) if self.state.fold.running() == Some(request.as_str()) => {
                let effects = self.state.fold.passed();
                self.apply(effects).await;
            }
            Behind::Question(id) if self.state.asking.take_if(|it| it.id == id).is_some() => {
                let answer = Asking::interrupted();
                self.send(KernelEvent::Answer { id, answer }).await;
            }
            Behind::Execution(_) | Behind::Question(_) => {}
        }
    }

    /// The time for what is missing begins anew with everything that comes.
    fn rearm(&mut self) {
        let reads = self.lines.output.reads();
        let wait = self.state.fold.awaited();
        self.state.deadline = wait.map(|wait| (Instant::now() + wait.limit(), reads));
    }

    /// The time is up, unless a part of a long message has come meanwhile.
    async fn late(&mut self) {
        let reads = self.lines.output.reads();
        if self.state.deadline.take().is_some_and(|(_, before)| before == reads) {
            let effects = self.state.fold.gave_up();
            self.apply(effects).await;
        }
        self.rearm();
    }

    /// Judged by process and reply alone, a kernel that misses beats is told of and left alone.
    async fn beat(&mut self) {
        if self.state.missed_beats == MISSED {
            let seconds = BEAT.as_secs() * u64::from(MISSED);
            let notice = format!("the kernel has not answered its heartbeat for {seconds} s");
            self.send(KernelEvent::Notice(notice)).await;
        }
        self.state.missed_beats = self.state.missed_beats.saturating_add(1);
        // A dealer stands for the usual requester, which cannot ask again before it was answered; so there is
        // an empty frame for who is to answer.
        let ping = [Bytes::new(), Bytes::from_static(b"ping")];
        self.lines.heartbeat.1.send(&ping);
        if self.lines.output.take_crowded() {
            let notice = "output came faster than it was taken for so long that some may be lost";
            self.send(KernelEvent::Notice(notice.to_owned())).await;
        }
    }

    async fn notice(&mut self, text: String) {
        if self.state.notices_left > 0 {
            self.state.notices_left -= 1;
            self.send(KernelEvent::Notice(text)).await;
        }
    }

    async fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Event(event) => {
                    let is_end =
                        matches!(event, KernelEvent::Exec { event: ExecEvent::Finished(_), .. });
                    if is_end {
                        // Whoever takes this event may command at once.
                        self.intent.busy.store(false, Ordering::SeqCst);
                        self.interrupts.turn.end_cell();
                        self.look_around();
                    }
                    self.send(event).await;
                }
                Effect::Line { parent, line } => {
                    let line = json!({"value": line, "status": "ok"});
                    self.speaker.reply(Channel::Stdin, "input_reply", parent, &line);
                }
                Effect::Comm { kind, content } => {
                    self.speaker.request(Channel::Shell, kind, &content);
                }
            }
        }
    }

    /// The kernel's own status is taken at its end.
    fn look_around(&mut self) {
        if let Some(own) = self.own.as_mut().filter(|_| !self.intent.stop.is_cancelled()) {
            own.look_around();
        }
    }

    /// Reports it, much text in pieces.
    async fn send(&mut self, event: KernelEvent) {
        if let KernelEvent::Answer { .. } = event {
            self.interrupts.turn.end_question();
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
                    if let Some(own) = &self.own {
                        kill_group(own.process.id(), Signal::KILL);
                    }
                }
            }
            () = self.intent.stop.cancelled() => {}
        }
    }

    /// A kernel that goes with something unread resets the connection: its last request had no effects.
    fn note_reset(&mut self, channel: Channel, error: &io::Error) {
        let is_reset = error.kind() == io::ErrorKind::ConnectionReset;
        // What was unread may as well be the question behind it.
        let is_last = self.state.fence.is_none();
        if channel == Channel::Shell && is_last && (is_reset || self.speaker.has_failed()) {
            self.state.unread = Unread::LastRequest;
        }
    }

    /// The rest of the output, the exit status, and the cause.
    async fn end(&mut self, end: End) -> Death {
        let mut problem = match &end {
            End::Closed(error) if error.kind() == io::ErrorKind::InvalidData => {
                Some(error.to_string())
            }
            _ => None,
        };
        if let Some(own) = &self.own {
            problem = own.leave(problem, self.intent.stop.is_cancelled()).await;
        }
        // Whoever sees the process gone finds its files gone too.
        drop(self.own.as_mut().and_then(|own| own.home.take()));
        self.rest().await;
        let effects = self.state.fold.died(self.state.unread);
        self.apply(effects).await;
        let stopped = self.intent.stop.is_cancelled();
        let forced = self.intent.forced.load(Ordering::SeqCst);
        let Some(own) = self.own.take() else {
            let cause = match (problem, end) {
                (Some(problem), _) => DeathCause::Protocol { problem },
                (None, End::Left) if forced => DeathCause::LeftAlone,
                (None, End::Left) => DeathCause::Shutdown,
                _ if forced => DeathCause::IgnoredInterrupt,
                _ => DeathCause::Unknown,
            };
            return Death { cause, ..Death::unknown() };
        };
        own.bury(problem, stopped, forced).await
    }

    /// What was sent before the end. Only the wait for more is bounded: whoever listens late still gets what
    /// is there, and a copy of the kernel that keeps the sockets open holds nothing up.
    async fn rest(&mut self) {
        if self.events.is_closed() {
            return;
        }
        while let Ok(read) = tokio::time::timeout(AFTERMATH, self.lines.shell.next()).await {
            match read {
                Ok(frames) => self.heard(Channel::Shell, &frames).await,
                Err(error) => {
                    self.note_reset(Channel::Shell, &error);
                    break;
                }
            }
        }
        while let Ok(Some(Ok(frames))) =
            tokio::time::timeout(AFTERMATH, self.lines.output.next()).await
        {
            self.heard(Channel::Iopub, &frames).await;
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
