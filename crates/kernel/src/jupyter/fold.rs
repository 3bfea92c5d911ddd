//! The meaning of a kernel's messages: the events of one execution after the other. Pure.
//!
//! Owns the join of the two ends of an execution, its reply and the kernel's idle status. They come
//! on different channels and so in any order. The fold has no clock: it says what it waits for, and
//! the caller says when that took too long.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::event::{CodeNames, ExecEvent, ExecId, KernelEvent, Outcome, PyError, StreamName};
use crate::jupyter::content::{self, Reply, ReplyStatus};
use crate::jupyter::guest::{self, Guest};
use crate::jupyter::handshake::StartPhase;
use crate::jupyter::message::{Channel, Message};
use crate::kernel::{CodeRequest, History, InputMode, InputReply};
use crate::lenient::ContentResult;
use crate::widgets::{TOO_LARGE, Widgets};

/// Exception of IPython's kernel for code that asks for input where input is not allowed.
const NO_INPUT: &str = "StdinNotImplementedError";

/// Messages that a widget can capture.
const OUTPUT: [&str; 5] = ["stream", "display_data", "execute_result", "error", "clear_output"];

/// Consequence of a message.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Effect {
    /// Report this event to the session.
    Event(KernelEvent),
    /// Send this line as the reply to the input request with this header.
    Line {
        /// Header of the input request.
        parent: Bytes,
        /// The line, without a line break at its end.
        line: String,
    },
    /// Send this message on a comm channel that the kernel opened.
    Comm {
        /// Type of the message, such as `comm_msg`.
        kind: &'static str,
        /// Content of the message.
        content: Value,
    },
}

/// Missing part of an execution that has begun to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// The idle status, after which no output follows.
    Idle,
    /// The reply to the execution.
    Reply,
    /// Both have come, but this kernel has sent output after its idle status before.
    Late,
}

impl Wait {
    /// Longest wait for the missing part after the last sign of life.
    pub(crate) fn limit(self) -> Duration {
        match self {
            Wait::Idle => Duration::from_secs(3),
            Wait::Reply => Duration::from_secs(5),
            Wait::Late => Duration::from_millis(300),
        }
    }
}

/// Says if a dead kernel had read all requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unread {
    /// The last request was not read, so it had no effects.
    LastRequest,
    /// The last request was read, or that is unknown.
    Nothing,
}

/// Folds messages into events.
pub(crate) struct Fold {
    /// Our session id. Replies to other clients are ignored.
    session: String,
    /// The start of the kernel. Output during the start is dropped.
    start_phase: StartPhase,
    running: Option<Running>,
    /// Message id of the previous execution.
    last: Option<String>,
    /// Set once the kernel has sent output of a cell after its idle status.
    is_late: bool,
    widgets: Widgets,
    /// Names that the running cell uses and makes.
    names: Option<Box<CodeNames>>,
    effects: Vec<Effect>,
}

struct Running {
    exec: ExecId,
    request: String,
    history: History,
    is_started: bool,
    /// The kernel has reported that it is busy with this request.
    is_busy: bool,
    /// The caller knows that the kernel has begun the cell.
    is_taken_up: bool,
    is_idle: bool,
    has_asked: bool,
    input: InputMode,
    /// Header of an unanswered input request.
    waiting: Option<Bytes>,
    /// Input requests that arrived before the kernel's notice that the cell has begun.
    early: Vec<ExecEvent>,
    reply: Option<Reply>,
    error: Option<PyError>,
}

impl Fold {
    /// Creates a fold for a kernel that may still send output of its start.
    pub(crate) fn new(session: String, start_phase: StartPhase) -> Fold {
        let (widgets, effects, is_late) = (Widgets::default(), Vec::new(), false);
        let (running, last, names) = (None, None, None);
        Fold { session, start_phase, running, last, is_late, widgets, names, effects }
    }

    /// Begins an execution whose request was sent with the message id `sent`. At most one is open
    /// at a time.
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

    /// Returns `true` once for each cell, as soon as an interrupt is known to hit it.
    ///
    /// In a Python kernel, our own code waits for interrupts of a cell from just before the kernel
    /// repeats its source. Of other kernels only the busy status is known.
    pub(crate) fn takes_up_cell(&mut self, guest: Guest) -> bool {
        let Some(running) = &mut self.running else { return false };
        let is_there = running.is_started || (running.is_busy && guest == Guest::Absent);
        is_there && !std::mem::replace(&mut running.is_taken_up, true)
    }

    /// Returns the effects of a message.
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

    /// Returns what an ending execution still waits for, or `None` if its end has not begun.
    pub(crate) fn awaited(&self) -> Option<Wait> {
        self.wait().flatten()
    }

    /// Returns `true` if the running cell is known to have failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.error.is_some())
    }

    /// Outer `None`: the execution is over. Inner `None`: its end has not begun.
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

    /// Ends an execution whose missing part has not come in time.
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

    /// Returns the message id of the running request.
    pub(crate) fn running(&self) -> Option<&str> {
        self.running.as_ref().map(|running| running.request.as_str())
    }

    /// Ends the execution because a later request was answered. If the reply is missing, an
    /// interrupt took it away.
    pub(crate) fn passed(&mut self) -> Vec<Effect> {
        self.passed_with("KeyboardInterrupt", "")
    }

    /// Ends an execution whose reply was lost on the way: its success is unknown.
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

    /// Ends the execution because the kernel has died. A request that the kernel has read may have
    /// had effects, even if the kernel reported none.
    pub(crate) fn died(&mut self, unread: Unread) -> Vec<Effect> {
        if unread == Unread::Nothing {
            self.start(None);
        }
        self.running = None;
        std::mem::take(&mut self.effects)
    }

    fn published(&mut self, message: &Message) -> ContentResult<()> {
        let content = &message.content;
        let kind = message.header.msg_type.as_str();
        let is_current = self.running.as_ref().is_some_and(|it| message.is_of(&it.request));
        let is_ours = message.parent.as_ref().is_none_or(|it| it.session == self.session);
        if !is_current && !is_ours {
            return Ok(());
        }
        self.start_phase.note(Channel::Iopub, message);
        if is_current {
            // All output of the start was published before this message.
            self.start_phase = StartPhase::Over;
        }
        if self.last.as_ref().is_some_and(|last| message.is_of(last))
            && matches!(kind, "execute_result" | "error")
        {
            // Threads may write at any time, but these two messages only come from the cell itself.
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
                let shown = content::read_display(content)?;
                self.output(is_current, ExecEvent::Display { id: shown.id, data: shown.data });
            }
            "update_display_data" => {
                let shown = content::read_display(content)?;
                if let Some(id) = shown.id {
                    self.output(is_current, ExecEvent::UpdateDisplay { id, data: shown.data });
                }
            }
            "execute_result" => {
                let shown = content::read_display(content)?;
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
            guest::NAMES if is_current => self.names = Some(content::names(content)?),
            guest::TRACEBACK_SHOWN if is_current => {
                let shown = self.running.as_mut().and_then(|running| running.error.take());
                self.show_caught(shown);
            }
            // Messages of debuggers, and of future protocols.
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
                // Silent code gets no execution count that announces its start.
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

    fn replied(&mut self, message: &Message) -> ContentResult<()> {
        let Some(running) = &mut self.running else { return Ok(()) };
        if message.header.msg_type != "execute_reply" || !message.is_of(&running.request) {
            return Ok(());
        }
        running.reply = Some(content::reply(&message.content)?);
        Ok(())
    }

    fn asked(&mut self, message: &Message) -> ContentResult<()> {
        if message.header.msg_type != "input_request" {
            return Ok(());
        }
        let is_current = self.running.as_ref().is_some_and(|it| message.is_of(&it.request));
        let parent = message.raw_header.clone();
        match self.running.as_mut().filter(|it| is_current && it.input == InputMode::Ask) {
            Some(running) => running.waiting = Some(parent),
            // The asking code waits, so answer in any case.
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

    /// Reports that code asked for a line and was refused at once. The code may have gone on.
    fn refused(&mut self, content: &[u8]) {
        let (prompt, password) = content::prompt(content).unwrap_or_default();
        self.start(None);
        if let Some(running) = &mut self.running {
            running.has_asked = true;
        }
        self.exec(ExecEvent::InputRequested { prompt, password });
    }

    /// Sends the kernel what its widgets have captured.
    fn send_captured(&mut self) {
        for content in self.widgets.unsent() {
            self.effects.push(Effect::Comm { kind: "comm_msg", content });
        }
    }

    /// Returns the reply to the last input request, if that still waits.
    pub(crate) fn reply_input(&mut self, exec: ExecId, reply: InputReply) -> Option<Effect> {
        let running = self.running.as_mut().filter(|running| running.exec == exec)?;
        let parent = running.waiting.take()?;
        let line = match reply {
            InputReply::Line(line) => line,
            // The protocol has no message for this; IPython's kernel takes this character as the
            // end of input.
            InputReply::End | InputReply::Refused => "\u{4}".to_owned(),
        };
        Some(Effect::Line { parent, line })
    }

    /// Marks the cell as started: from here on the code may have had effects.
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
        } else if self.start_phase.is_over() {
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
                    // The traceback that the cell has shown is laid out better than the one in the
                    // reply.
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
            // The code knew that input was not allowed and did not ask. Report it as the same
            // refusal.
            self.exec(ExecEvent::InputRequested { prompt: String::new(), password: false });
        }
        self.send_captured();
        if history == History::Store
            && let Some(states) = self.widgets.changed()
        {
            self.exec(ExecEvent::Widgets(Box::new(states)));
        }
        if let Some(names) = self.names.take() {
            self.exec(ExecEvent::Names(names));
        }
        if self.widgets.overflows() {
            self.effects.push(Effect::Event(KernelEvent::Notice(TOO_LARGE.to_owned())));
        }
        self.exec(ExecEvent::Finished(outcome));
        self.last = self.running.take().map(|running| running.request);
    }
}

/// Returns an exception that did not end the cell as text.
fn as_text(error: &PyError) -> ExecEvent {
    let mut text = error.traceback.join("\n");
    text.push('\n');
    ExecEvent::Stream { name: StreamName::Stderr, data: Bytes::from(text) }
}

#[cfg(test)]
mod tests;
