//! What the messages of a kernel mean: the events of one execution after the other. Pure.
//!
//! Owns the join of the two ends of an execution, its reply and the word that the kernel is idle, which come
//! on different channels and so in any order. It has no clock: it says what it waits for, and is told when
//! that took too long.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::event::{ExecEvent, ExecId, KernelEvent, Outcome, PyError, StreamName};
use crate::input::{InputMode, InputReply};
use crate::jupyter::beginning::Beginning;
use crate::jupyter::content::{self, Reply, ReplyStatus};
use crate::jupyter::guest::{self, Guest};
use crate::jupyter::message::Message;
use crate::jupyter::widgets::{TOO_LARGE, Widgets};
use crate::kernel::{CodeRequest, History};

/// What IPython's kernel raises where code wants input that nobody can give.
const NO_INPUT: &str = "StdinNotImplementedError";

/// The messages that a widget can capture.
const OUTPUT: [&str; 5] = ["stream", "display_data", "execute_result", "error", "clear_output"];

/// What carries a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Channel {
    Shell,
    Iopub,
    Stdin,
    Control,
}

impl Channel {
    /// The name Jupyter uses.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Channel::Shell => "shell",
            Channel::Iopub => "iopub",
            Channel::Stdin => "stdin",
            Channel::Control => "control",
        }
    }
}

/// What follows from a message.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Effect {
    /// This is to be reported.
    Event(KernelEvent),
    /// The code waits for a line and must get this one, as an answer to the message with this header.
    Line {
        /// Of the request.
        parent: Bytes,
        /// The line.
        line: String,
    },
    /// The kernel must be told this about a channel that it opened.
    Comm {
        /// The type of the message.
        kind: &'static str,
        /// The content of the message.
        content: Value,
    },
}

/// What is missing of an execution that has begun to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// The word that the kernel is idle, behind which nothing is left to come.
    Idle,
    /// The reply.
    Reply,
    /// Nothing; but this kernel has been late before.
    Late,
}

impl Wait {
    /// How long it may take after the last sign of life.
    pub(crate) fn limit(self) -> Duration {
        match self {
            Wait::Idle => Duration::from_secs(3),
            Wait::Reply => Duration::from_secs(5),
            Wait::Late => Duration::from_millis(300),
        }
    }
}

/// Whether a kernel that is gone had read all that was sent to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unread {
    /// The last request was not read, so it had no effects.
    LastRequest,
    /// It was read, or that cannot be told.
    Nothing,
}

/// Folds messages into events.
pub(crate) struct Fold {
    /// Our own name: what answers others is not for us.
    session: String,
    /// What is said in it belongs to no cell and to nobody.
    beginning: Beginning,
    running: Option<Running>,
    /// The execution before.
    last: Option<String>,
    /// This kernel said that it is idle before it had shown everything.
    is_late: bool,
    widgets: Widgets,
    effects: Vec<Effect>,
}

struct Running {
    exec: ExecId,
    request: String,
    history: History,
    is_started: bool,
    /// The kernel has said that it is busy with it.
    is_busy: bool,
    /// A caller was told that the kernel has taken the cell up.
    is_taken_up: bool,
    is_idle: bool,
    has_asked: bool,
    input: InputMode,
    /// The header of a request for a line that is not answered yet.
    waiting: Option<Bytes>,
    /// Questions that overtook the word that the cell has begun.
    early: Vec<ExecEvent>,
    reply: Option<Reply>,
    error: Option<PyError>,
}

impl Fold {
    /// Of a kernel that may still have to say something of its start.
    pub(crate) fn new(session: String, beginning: Beginning) -> Fold {
        let (widgets, effects) = (Widgets::default(), Vec::new());
        Fold { session, beginning, running: None, last: None, is_late: false, widgets, effects }
    }

    /// The request of this name was sent. At most one is open at a time.
    pub(crate) fn begin(&mut self, request: &CodeRequest, sent: String) {
        self.running = Some(Running {
            exec: request.exec,
            request: sent,
            history: request.history,
            is_started: false,
            is_busy: false,
            is_taken_up: false,
            is_idle: false,
            has_asked: false,
            input: request.input,
            waiting: None,
            early: Vec::new(),
            reply: None,
            error: None,
        });
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether the kernel is known to have taken the cell up since the last call, so that an interrupt hits it. In a
    /// Python kernel, our own code waits for interrupts of a cell from just before the kernel repeats its source.
    /// Other kernels say no more than that they are busy.
    pub(crate) fn takes_up_cell(&mut self, guest: Guest) -> bool {
        let Some(running) = &mut self.running else { return false };
        let is_there = running.is_started || (running.is_busy && guest == Guest::Absent);
        is_there && !std::mem::replace(&mut running.is_taken_up, true)
    }

    /// What follows from a message.
    pub(crate) fn heard(&mut self, channel: Channel, message: &Message) -> Vec<Effect> {
        let read = match channel {
            Channel::Iopub => self.published(message),
            Channel::Shell => self.replied(message),
            Channel::Stdin => self.asked(message),
            Channel::Control => Ok(()),
        };
        if let Err(problem) = read {
            let kind = &message.header.msg_type;
            let notice = format!("the kernel sent a {kind} that cannot be read: {problem}");
            self.effects.push(Effect::Event(KernelEvent::Notice(notice)));
        }
        if self.wait().is_none() {
            self.finish();
        } else if self.running.is_none() {
            self.send_captured();
        }
        std::mem::take(&mut self.effects)
    }

    /// What is still to come before the execution is over; none also while it is in the middle.
    pub(crate) fn awaited(&self) -> Option<Wait> {
        self.wait().flatten()
    }

    /// Whether what runs is known to have failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.error.is_some())
    }

    /// The outer one: whether it is not over; the inner one: whether its end is under way.
    fn wait(&self) -> Option<Option<Wait>> {
        let Some(running) = &self.running else { return Some(None) };
        match (running.reply.is_some(), running.is_idle) {
            (true, true) if self.is_late => Some(Some(Wait::Late)),
            (true, true) => None,
            (true, false) => Some(Some(Wait::Idle)),
            (false, true) => Some(Some(Wait::Reply)),
            (false, false) => Some(None),
        }
    }

    /// What was awaited has not come in time: the execution is over without it.
    pub(crate) fn gave_up(&mut self) -> Vec<Effect> {
        let missing = match self.awaited() {
            Some(Wait::Idle) => Some("say that it was idle; output may be missing"),
            Some(Wait::Reply) => Some("reply to the cell; it said that it was idle"),
            Some(Wait::Late) | None => None,
        };
        if let Some(missing) = missing {
            let notice = format!("the kernel did not {missing}");
            self.effects.push(Effect::Event(KernelEvent::Notice(notice)));
        }
        self.finish();
        std::mem::take(&mut self.effects)
    }

    /// The name of the request that runs.
    pub(crate) fn running(&self) -> Option<&str> {
        self.running.as_ref().map(|running| running.request.as_str())
    }

    /// The kernel has answered a request that was sent after the execution, so that is over; if there is no
    /// reply, an interrupt took it away.
    pub(crate) fn passed(&mut self) -> Vec<Effect> {
        self.passed_with("KeyboardInterrupt", "")
    }

    /// The same where the reply was lost on its way: whether the code succeeded cannot be told.
    pub(crate) fn lost(&mut self, why: &str) -> Vec<Effect> {
        self.passed_with("OutcomeUnknown", why)
    }

    fn passed_with(&mut self, name: &str, value: &str) -> Vec<Effect> {
        if let Some(running) = self.running.as_mut().filter(|running| running.reply.is_none()) {
            let traceback = vec![format!("{name}: {value}")];
            let (name, plain) = (name.to_owned(), traceback.clone());
            let error = PyError { name, value: value.to_owned(), traceback, plain };
            let status = ReplyStatus::Error(error);
            running.reply = Some(Reply { status, count: None, pages: Vec::new() });
        }
        if self.wait().is_none() {
            self.finish();
        }
        std::mem::take(&mut self.effects)
    }

    /// The kernel is gone. A request that it has read may have had effects, whatever it had time to say.
    pub(crate) fn died(&mut self, unread: Unread) -> Vec<Effect> {
        if unread == Unread::Nothing {
            self.start(None);
        }
        self.running = None;
        std::mem::take(&mut self.effects)
    }

    fn published(&mut self, message: &Message) -> content::Read<()> {
        let content = &message.content;
        let kind = message.header.msg_type.as_str();
        let is_current = self.running.as_ref().is_some_and(|it| message.is_of(&it.request));
        let is_ours = message.parent.as_ref().is_none_or(|it| it.session == self.session);
        if !is_current && !is_ours {
            return Ok(());
        }
        self.beginning.heard(Channel::Iopub, message);
        if is_current {
            // All of the start was published before.
            self.beginning = Beginning::Over;
        }
        if self.last.as_ref().is_some_and(|last| message.is_of(last))
            && matches!(kind, "execute_result" | "error")
        {
            // Threads may speak when they like; these two only come from the cell itself.
            self.is_late = true;
        }
        if let Some(parent) = message.parent.as_ref().filter(|it| self.widgets.takes(&it.msg_id))
            && OUTPUT.contains(&kind)
        {
            if is_current {
                self.start(None);
            }
            return self.widgets.take(&parent.msg_id, kind, content);
        }
        match kind {
            "status" if is_current => {
                let state = content::state(content)?;
                self.is_in(&state);
            }
            "execute_input" if is_current => self.start(content::count(content)?),
            "stream" => {
                let (name, data) = content::stream(content)?;
                self.output(is_current, ExecEvent::Stream { name, data });
            }
            "display_data" => {
                let shown = content::shown(content)?;
                self.output(is_current, ExecEvent::Display { id: shown.id, data: shown.data });
            }
            "update_display_data" => {
                let shown = content::shown(content)?;
                if let Some(id) = shown.id {
                    self.output(is_current, ExecEvent::UpdateDisplay { id, data: shown.data });
                }
            }
            "execute_result" => {
                let shown = content::shown(content)?;
                let event = match shown.count.filter(|_| is_current) {
                    Some(count) => ExecEvent::Result { count, id: shown.id, data: shown.data },
                    None => ExecEvent::Display { id: shown.id, data: shown.data },
                };
                self.output(is_current, event);
            }
            "clear_output" => {
                let wait = content::wait(content)?;
                self.output(is_current, ExecEvent::ClearOutput { wait });
            }
            "error" => self.failed(is_current, content::error(content)?),
            "comm_open" => {
                if let Some(id) = self.widgets.open(content, &message.buffers)? {
                    let content = json!({"comm_id": id, "data": {}});
                    self.effects.push(Effect::Comm { kind: "comm_close", content });
                }
            }
            "comm_msg" => self.widgets.message(content, &message.buffers)?,
            "comm_close" => self.widgets.close(content)?,
            guest::INPUT_REFUSED if is_current => self.refused(content),
            // Messages of debuggers, and of protocols to come.
            _ => {}
        }
        Ok(())
    }

    fn is_in(&mut self, state: &str) {
        let Some(running) = &mut self.running else { return };
        match state {
            "idle" => running.is_idle = true,
            "busy" => {
                running.is_busy = true;
                // Silent code has no number to wait for.
                if running.history == History::Silent {
                    self.start(None);
                }
            }
            _ => {}
        }
    }

    fn failed(&mut self, is_current: bool, error: PyError) {
        match &mut self.running {
            Some(running) if is_current => {
                // A cell can show an exception that it caught, and go on.
                let before = running.error.replace(error);
                self.start(None);
                self.show_caught(before);
            }
            _ => self.output(is_current, as_text(&error)),
        }
    }

    fn show_caught(&mut self, error: Option<PyError>) {
        if let Some(error) = error {
            self.output(true, as_text(&error));
        }
    }

    fn replied(&mut self, message: &Message) -> content::Read<()> {
        let Some(running) = &mut self.running else { return Ok(()) };
        if message.header.msg_type != "execute_reply" || !message.is_of(&running.request) {
            return Ok(());
        }
        running.reply = Some(content::reply(&message.content)?);
        Ok(())
    }

    fn asked(&mut self, message: &Message) -> content::Read<()> {
        if message.header.msg_type != "input_request" {
            return Ok(());
        }
        let is_current = self.running.as_ref().is_some_and(|it| message.is_of(&it.request));
        let parent = message.raw_header.clone();
        match self.running.as_mut().filter(|it| is_current && it.input == InputMode::Ask) {
            Some(running) => running.waiting = Some(parent),
            // Whoever asked waits: there is an answer in any case.
            None => self.effects.push(Effect::Line { parent, line: String::new() }),
        }
        let (prompt, password) = content::prompt(&message.content).unwrap_or_default();
        if let Some(running) = self.running.as_mut().filter(|_| is_current) {
            running.has_asked = true;
            let event = ExecEvent::InputRequested { prompt, password };
            if running.is_started {
                self.exec(event);
            } else {
                running.early.push(event);
            }
        }
        Ok(())
    }

    /// Code asked for a line and was refused at once. It may have gone on without one.
    fn refused(&mut self, content: &[u8]) {
        let (prompt, password) = content::prompt(content).unwrap_or_default();
        self.start(None);
        if let Some(running) = &mut self.running {
            running.has_asked = true;
        }
        self.exec(ExecEvent::InputRequested { prompt, password });
    }

    /// Tells the kernel what its widgets have captured.
    fn send_captured(&mut self) {
        for content in self.widgets.unsent() {
            self.effects.push(Effect::Comm { kind: "comm_msg", content });
        }
    }

    /// The answer to what was asked last, if that still waits.
    pub(crate) fn reply_input(&mut self, exec: ExecId, reply: InputReply) -> Option<Effect> {
        let running = self.running.as_mut().filter(|running| running.exec == exec)?;
        let parent = running.waiting.take()?;
        let line = match reply {
            InputReply::Line(line) => line,
            // There is no word for it in the protocol; this is what IPython's kernel takes for it.
            InputReply::End | InputReply::Refused => "\u{4}".to_owned(),
        };
        Some(Effect::Line { parent, line })
    }

    /// From here on the code may have had effects.
    fn start(&mut self, count: Option<u32>) {
        if let Some(running) = self.running.as_mut().filter(|running| !running.is_started) {
            running.is_started = true;
            let early = std::mem::take(&mut running.early);
            self.exec(ExecEvent::Started { count });
            for event in early {
                self.exec(event);
            }
        }
    }

    fn output(&mut self, is_current: bool, event: ExecEvent) {
        if is_current {
            self.start(None);
            self.exec(event);
        } else if self.beginning.is_over() {
            self.effects.push(Effect::Event(KernelEvent::Orphan(event)));
        }
    }

    fn exec(&mut self, event: ExecEvent) {
        if let Some(running) = &self.running {
            let exec = running.exec;
            self.effects.push(Effect::Event(KernelEvent::Exec { exec, event }));
        }
    }

    fn finish(&mut self) {
        let Some(running) = &mut self.running else { return };
        let (reply, error, has_asked) =
            (running.reply.take(), running.error.take(), running.has_asked);
        let history = running.history;
        let outcome = match reply {
            Some(Reply { status: ReplyStatus::Aborted, .. }) => Outcome::Aborted,
            Some(Reply { status, count, pages }) => {
                self.start(count.filter(|_| history == History::Store));
                for data in pages {
                    self.exec(ExecEvent::Display { id: None, data });
                }
                match status {
                    // What was shown on the way is laid out better than in the reply.
                    ReplyStatus::Error(in_reply) => Outcome::Error(error.unwrap_or(in_reply)),
                    _ => {
                        self.show_caught(error);
                        Outcome::Ok
                    }
                }
            }
            None => {
                self.start(None);
                error.map_or(Outcome::Ok, Outcome::Error)
            }
        };
        if let Outcome::Error(error) = &outcome
            && error.name == NO_INPUT
            && !has_asked
        {
            // It knew that nobody would answer and did not ask; to whoever reads this it is the same.
            self.exec(ExecEvent::InputRequested { prompt: String::new(), password: false });
        }
        self.send_captured();
        if history == History::Store
            && let Some(states) = self.widgets.changed()
        {
            self.exec(ExecEvent::Widgets(Box::new(states)));
        }
        if self.widgets.overflows() {
            self.effects.push(Effect::Event(KernelEvent::Notice(TOO_LARGE.to_owned())));
        }
        self.exec(ExecEvent::Finished(outcome));
        self.last = self.running.take().map(|running| running.request);
    }
}

/// An exception that ended nothing.
fn as_text(error: &PyError) -> ExecEvent {
    let mut text = error.traceback.join("\n");
    text.push('\n');
    ExecEvent::Stream { name: StreamName::Stderr, data: Bytes::from(text) }
}

#[cfg(test)]
mod tests;
