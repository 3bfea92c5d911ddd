//! Reads the output of a runner, in the order of events, until the runner ends.
//!
//! Owns the three streams and the exit of one runner. Frames keep their order. Output of C code and
//! children on descriptors 1 and 2 is delivered before the next display, result or end of a cell.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use rustix::net::RecvFlags;
use rustix::process::Signal;
use tokio::io::AsyncReadExt;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};

use crate::event::{
    Death, DeathCause, DisplayId, ExecEvent, ExecId, KernelEvent, MimeBundle, MimeData, Outcome,
    PyError, StreamName,
};
use crate::process::{Mark, Process, kill_group, oom_kills, watch_exit};
use crate::question::{Answer, AskId};
use crate::runner::commands::{CONTROL, SIGNAL};
use crate::runner::frames::{Decoder, Frame, FrameError, Part, Value};
use crate::runner::handle::Intent;
use crate::trace::{KernelTrace, MessageTrace};
use crate::turn::Interrupt;
use crate::widgets::TOO_LARGE;

/// The most bytes of one read.
const READ_BYTES: usize = 1 << 16;

/// A pipe holds 64 KiB unless a process enlarged it. Output from before a frame is at most that
/// much, so a writer that never stops cannot delay the frame for ever.
const DRAIN_BYTES: usize = 1 << 20;

/// The most bytes of output outside of cells to keep, to explain a death.
const TAIL_BYTES: usize = 8 << 10;

/// The time to wait for more output of a process that has ended.
const AFTERMATH: Duration = Duration::from_millis(200);

pub(crate) struct Pump {
    child: Process,
    mark: Mark,
    exit: AsyncFd<OwnedFd>,
    control: pipe::Receiver,
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    decoder: Decoder,
    /// What the decoder gave while the pump looked for the start of a cell.
    upcoming: Option<Result<(Frame, Bytes), FrameError>>,
    trace: Option<Arc<dyn KernelTrace>>,
    messages: MessageTrace,
    events: mpsc::Sender<KernelEvent>,
    intent: Intent,
    refused: mpsc::UnboundedReceiver<AskId>,
    current: Option<ExecId>,
    error: Option<PyError>,
    /// True for a cell, false for silent code.
    has_number: bool,
    tail: Vec<u8>,
    oom_kills: u64,
    scratch: Box<[u8]>,
    /// No frames have arrived since the pipes were last emptied.
    is_drained: bool,
}

/// The reason for which the pump woke.
enum Wakeup {
    Control(io::Result<usize>),
    Pipe,
    Refused(AskId),
    Exited,
}

/// Our ends of a runner's output.
pub(crate) struct RunnerOutput {
    pub(crate) control: pipe::Receiver,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    pub(crate) decoder: Decoder,
    /// The log for the death of the kernel.
    pub(crate) trace: Option<Arc<dyn KernelTrace>>,
    pub(crate) messages: MessageTrace,
}

impl Pump {
    pub(crate) fn new(
        child: Process,
        mark: Mark,
        said: RunnerOutput,
        events: mpsc::Sender<KernelEvent>,
        intent: Intent,
        refused: mpsc::UnboundedReceiver<AskId>,
    ) -> io::Result<Pump> {
        let exit = watch_exit(child.id())?;
        Ok(Pump {
            child,
            mark,
            exit,
            control: said.control,
            stdout: Some(said.stdout),
            stderr: Some(said.stderr),
            decoder: said.decoder,
            upcoming: None,
            trace: said.trace,
            messages: said.messages,
            events,
            intent,
            refused,
            current: None,
            error: None,
            has_number: false,
            tail: Vec::new(),
            oom_kills: oom_kills(),
            scratch: vec![0; READ_BYTES].into_boxed_slice(),
            is_drained: false,
        })
    }

    /// Runs until the runner has ended, and reports why.
    pub(crate) async fn run(mut self, died: watch::Sender<Option<Death>>) {
        let problem = self.pump().await;
        let death = self.end(problem).await;
        if let Some(trace) = &self.trace {
            trace.died(Some(self.child.id()), &death);
        }
        died.send_replace(Some(death.clone()));
        self.send(KernelEvent::Died(death)).await;
    }

    /// Returns the protocol error that ended it; `None` if the process ended by itself.
    async fn pump(&mut self) -> Option<String> {
        loop {
            // The decoder may still hold frames that arrived with others.
            if let Err(problem) = self.frames().await {
                return Some(problem);
            }
            let woke = tokio::select! {
                read = self.control.read_buf(self.decoder.buffer()) => Wakeup::Control(read),
                () = is_readable(self.stdout.as_ref()) => Wakeup::Pipe,
                () = is_readable(self.stderr.as_ref()) => Wakeup::Pipe,
                Some(id) = self.refused.recv() => Wakeup::Refused(id),
                () = is_over(&self.exit) => Wakeup::Exited,
            };
            match woke {
                Wakeup::Control(Ok(0) | Err(_)) | Wakeup::Exited => return None,
                Wakeup::Control(Ok(_)) => self.is_drained = false,
                Wakeup::Refused(id) => {
                    self.send(KernelEvent::Answer { id, answer: Answer::Busy }).await;
                }
                Wakeup::Pipe => {
                    // The frame that names the owner of this output was sent before the output, so it is there already.
                    self.receive();
                    self.is_drained = false;
                    if let Err(problem) = self.frames().await {
                        return Some(problem);
                    }
                    // After the end of a cell, the pipes may hold output of one whose start is not known yet.
                    if !self.is_drained {
                        self.drain().await;
                    }
                }
            }
        }
    }

    /// Takes the frames that have arrived.
    fn receive(&mut self) {
        let size = rustix::net::recv(&self.control, &mut self.scratch[..], RecvFlags::DONTWAIT);
        if let Ok((size, _)) = size {
            self.decoder.buffer().extend_from_slice(&self.scratch[..size]);
            self.is_drained = false;
        }
    }

    /// Handles all complete frames.
    async fn frames(&mut self) -> Result<(), String> {
        loop {
            let next = match self.upcoming.take() {
                Some(upcoming) => upcoming.map(Some),
                None => self.decoder.next(),
            };
            match next {
                Ok(Some((frame, payload))) => self.frame(frame, payload).await,
                Ok(None) => return Ok(()),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// Handles the start of a cell, if that is what comes next.
    async fn hear_start(&mut self) {
        if self.upcoming.is_some() {
            return;
        }
        self.receive();
        match self.decoder.next() {
            Ok(Some((Frame::Started { id, count }, _))) => self.begin_cell(id, count).await,
            next => self.upcoming = next.transpose(),
        }
    }

    async fn begin_cell(&mut self, id: u64, count: Option<u32>) {
        self.messages.received(CONTROL, "started", Some(id));
        // Before the event is sent: the session may be slow to take it.
        if self.intent.turn.begin_cell() == Interrupt::SendNow {
            self.messages.sent(SIGNAL, "interrupt", None);
            kill_group(self.child.id(), Signal::INT);
        }
        self.current = Some(ExecId(id));
        (self.error, self.has_number) = (None, count.is_some());
        self.exec(Some(id), ExecEvent::Started { count }).await;
    }

    async fn frame(&mut self, frame: Frame, payload: Bytes) {
        if let Frame::Started { id, count } = frame {
            return self.begin_cell(id, count).await;
        }
        // One drain serves all frames of one read: output from before them was in the pipes with the first. Between
        // cells no frame waits for output.
        if self.current.is_some() && !self.is_drained && !matches!(frame, Frame::Stream { .. }) {
            self.drain().await;
        }
        self.messages.received(CONTROL, frame.kind(), frame.id());
        match frame {
            Frame::Ready { .. } | Frame::Failed { .. } | Frame::Started { .. } => {}
            Frame::Stream { id, name } => {
                let name = if name == "stderr" { StreamName::Stderr } else { StreamName::Stdout };
                self.exec(id, ExecEvent::Stream { name, data: payload }).await;
            }
            Frame::Display { id, parts, metadata, display_id, update } => {
                let data = bundle(&parts, metadata, payload);
                let display = display_id.map(|id| DisplayId(Arc::from(id)));
                let event = match (display, update) {
                    (Some(id), true) => ExecEvent::UpdateDisplay { id, data },
                    (id, _) => ExecEvent::Display { id, data },
                };
                self.exec(id, event).await;
            }
            Frame::Result { id, value } => self.result(id, value, payload).await,
            Frame::Clear { id, wait } => self.exec(id, ExecEvent::ClearOutput { wait }).await,
            Frame::Input { id, prompt, password } => {
                self.exec(id, ExecEvent::InputRequested { prompt, password }).await;
            }
            Frame::Error { ename, evalue, traceback, plain, .. } => {
                self.error = Some(PyError { name: ename, value: evalue, traceback, plain });
            }
            Frame::Done { id, value, names } => {
                if let Some(value) = value {
                    self.result(id, value, payload).await;
                }
                if let Some(names) = names {
                    self.exec(Some(id), ExecEvent::Names(names)).await;
                }
                if self.has_number {
                    self.tell_widgets(id).await;
                }
                let outcome = self.error.take().map_or(Outcome::Ok, Outcome::Error);
                // Before the event is sent: its reader may ask a question at once.
                self.intent.turn.end_cell();
                self.exec(Some(id), ExecEvent::Finished(outcome)).await;
                self.current = None;
                // The reader of the event goes first.
                tokio::task::yield_now().await;
                self.child.reap_orphans();
            }
            Frame::Comm { name, parts, .. } => self.hear_widget(&name, &parts, payload),
            Frame::Answer { id, failed } => {
                let json = || Answer::Json(String::from_utf8_lossy(&payload).into_owned());
                let answer = failed.map_or_else(json, Answer::Failed);
                self.intent.turn.end_question();
                self.send(KernelEvent::Answer { id: AskId(id), answer }).await;
            }
        }
    }

    /// Applies a message of a widget, and ignores a malformed one.
    fn hear_widget(&mut self, kind: &str, parts: &[Part], mut payload: Bytes) {
        let mut pieces =
            parts.iter().map(|Part(_, _, size)| payload.split_to((*size).min(payload.len())));
        let Some(content) = pieces.next() else { return };
        let buffers: Vec<Bytes> = pieces.collect();
        let mut widgets = self.intent.widgets();
        let _ = match kind {
            // No frontend is connected, so no program waits for an answer.
            "comm_open" => widgets.open(&content, &buffers).map(drop),
            "comm_msg" => widgets.message(&content, &buffers),
            "comm_close" => widgets.close(&content),
            _ => Ok(()),
        };
    }

    async fn tell_widgets(&mut self, id: u64) {
        let changed = self.intent.widgets().changed();
        if let Some(states) = changed {
            self.exec(Some(id), ExecEvent::Widgets(Box::new(states))).await;
        }
        let overflows = self.intent.widgets().overflows();
        if overflows {
            self.send(KernelEvent::Notice(TOO_LARGE.to_owned())).await;
        }
    }

    async fn result(&mut self, id: u64, value: Value, payload: Bytes) {
        let data = bundle(&value.parts, value.metadata, payload);
        self.exec(Some(id), ExecEvent::Result { count: value.count, id: None, data }).await;
    }

    /// Delivers what the pipes hold now.
    async fn drain(&mut self) {
        self.is_drained = true;
        for name in [StreamName::Stdout, StreamName::Stderr] {
            let mut budget = DRAIN_BYTES;
            while budget > 0 {
                let slot = match name {
                    StreamName::Stdout => &mut self.stdout,
                    StreamName::Stderr => &mut self.stderr,
                };
                let Some(pipe) = slot else { break };
                match read_now(pipe, &mut self.scratch) {
                    Ok(0) => *slot = None,
                    Ok(size) => {
                        budget = budget.saturating_sub(size);
                        let data = Bytes::copy_from_slice(&self.scratch[..size]);
                        if self.current.is_none() {
                            // A cell may have started, and written this, since the last frame.
                            self.hear_start().await;
                        }
                        self.raw(name, data).await;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => *slot = None,
                }
            }
        }
    }

    /// Delivers bytes of C code or of a child.
    async fn raw(&mut self, name: StreamName, data: Bytes) {
        let channel = match name {
            StreamName::Stdout => "stdout",
            StreamName::Stderr => "stderr",
        };
        self.messages.received(channel, "bytes", self.current.map(|exec| exec.0));
        if self.current.is_none() && name == StreamName::Stderr {
            self.tail.extend_from_slice(&data);
            let extra = self.tail.len().saturating_sub(TAIL_BYTES);
            self.tail.drain(..extra);
        }
        let id = self.current.map(|exec| exec.0);
        self.exec(id, ExecEvent::Stream { name, data }).await;
    }

    async fn exec(&mut self, id: Option<u64>, event: ExecEvent) {
        let event = match id.map(ExecId) {
            Some(exec) if self.current == Some(exec) => KernelEvent::Exec { exec, event },
            // Includes a thread whose output arrived after the end of its cell.
            _ => KernelEvent::Orphan(event),
        };
        self.send(event).await;
    }

    /// Waits for room, unless the owner has stopped reading.
    async fn send(&mut self, event: KernelEvent) {
        // The queue nearly always has room.
        let event = match self.events.try_send(event) {
            Ok(()) => return,
            Err(TrySendError::Full(event) | TrySendError::Closed(event)) => event,
        };
        tokio::select! {
            biased;
            sent = self.events.send(event) => {
                if sent.is_err() {
                    self.intent.stop.cancel();
                    kill_group(self.child.id(), Signal::KILL);
                }
            }
            () = self.intent.stop.cancelled() => {}
        }
    }

    /// Delivers the rest of the output, takes the exit status and finds the cause.
    async fn end(&mut self, problem: Option<String>) -> Death {
        if problem.is_some() {
            kill_group(self.child.id(), Signal::KILL);
        }
        // The channel can close a moment before the process ends; a process that stays gets killed.
        if tokio::time::timeout(Duration::from_secs(1), self.exit.readable()).await.is_err() {
            kill_group(self.child.id(), Signal::KILL);
            let _ = tokio::time::timeout(Duration::from_secs(1), self.exit.readable()).await;
        }
        self.rest().await;
        let status = self.child.cause().await;
        // Processes that a cell started must not outlive its kernel.
        kill_group(self.child.id(), Signal::KILL);
        let strays = self.mark.end_strays().await;
        self.reap_group().await;
        let is_forced = self.intent.forced.load(Ordering::SeqCst);
        let cause = match (problem, status) {
            (Some(problem), _) => DeathCause::Protocol { problem },
            (None, _) if is_forced => DeathCause::IgnoredInterrupt,
            (None, _) if self.intent.stop.is_cancelled() => DeathCause::Shutdown,
            (None, Some(DeathCause::Signal { signal: 9 })) if oom_kills() > self.oom_kills => {
                DeathCause::OutOfMemory
            }
            (None, cause) => cause.unwrap_or(DeathCause::Unknown),
        };
        let stderr_tail = String::from_utf8_lossy(&self.tail).into_owned();
        Death { cause, stderr_tail, strays }
    }

    /// Takes the statuses of a killed group, whose members take a moment to end.
    async fn reap_group(&mut self) {
        for _ in 0..100 {
            self.child.reap_orphans();
            if !self.child.has_group() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Delivers frames and bytes from before the end. Only the wait for more is bounded: a slow reader
    /// still gets everything, and a copy of the runner that keeps the channel open delays nothing.
    async fn rest(&mut self) {
        loop {
            let read = self.control.read_buf(self.decoder.buffer());
            let Ok(Ok(1..)) = tokio::time::timeout(AFTERMATH, read).await else { break };
            self.is_drained = false;
            if self.frames().await.is_err() {
                break;
            }
        }
        self.drain().await;
    }
}

/// Waits until a pipe has something to read; a closed pipe is never ready.
async fn is_readable(pipe: Option<&pipe::Receiver>) {
    match pipe {
        // The read that follows sees an error again, and handles it.
        Some(pipe) => drop(pipe.readable().await),
        None => std::future::pending().await,
    }
}

/// Waits for the end of the process.
async fn is_over(exit: &AsyncFd<OwnedFd>) {
    // One waker that stays, where each future of `readable` would enter and leave a list.
    let _ = std::future::poll_fn(|context| exit.poll_read_ready(context)).await;
}

/// Reads without waiting. After an empty read Tokio reports the pipe as empty until its reactor has
/// checked again, so ask the system itself.
fn read_now(pipe: &pipe::Receiver, data: &mut [u8]) -> io::Result<usize> {
    match pipe.try_read(data) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Ok(rustix::io::read(pipe, data)?)
        }
        done => done,
    }
}

fn bundle(parts: &[Part], metadata: String, mut payload: Bytes) -> MimeBundle {
    let mut data = Vec::with_capacity(parts.len());
    for Part(mime, form, size) in parts {
        let raw = payload.split_to((*size).min(payload.len()));
        let text = || String::from_utf8_lossy(&raw).into_owned();
        let content = match form {
            'b' => MimeData::Binary(raw.clone()),
            'j' => MimeData::Json(text()),
            _ => MimeData::Text(text()),
        };
        data.push((mime.clone(), content));
    }
    MimeBundle { data, metadata }
}

#[cfg(test)]
mod tests;
