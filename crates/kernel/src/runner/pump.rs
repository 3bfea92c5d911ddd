//! Reading what a runner says, in the order it happened, until it is gone.
//!
//! Owns the three streams and the exit of one runner. Frames keep their order; what C code and children
//! wrote to descriptors 1 and 2 is delivered before the next display, result or end of a cell.

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
use crate::jupyter::widgets::TOO_LARGE;
use crate::process::{Mark, Process, kill_group, watch_exit};
use crate::question::{Answer, AskId};
use crate::runner::commands::{CONTROL, SIGNAL};
use crate::runner::frames::{Decoder, Frame, Part, Value};
use crate::runner::handle::Intent;
use crate::trace::{MessageTrace, Trace};
use crate::turn::Interrupt;

/// What one read may bring.
const READ_BYTES: usize = 1 << 16;

/// A pipe holds 64 KiB unless someone made it larger; what was written before a frame is at most that
/// much, so a writer that never stops cannot hold the frame up.
const DRAIN_BYTES: usize = 1 << 20;

/// How much of what a runner wrote outside of cells is kept to explain its death.
const TAIL_BYTES: usize = 8 << 10;

/// How long output may still come from a process that is gone.
const AFTERMATH: Duration = Duration::from_millis(200);

pub(crate) struct Pump {
    child: Process,
    mark: Mark,
    exit: AsyncFd<OwnedFd>,
    control: pipe::Receiver,
    stdout: Option<pipe::Receiver>,
    stderr: Option<pipe::Receiver>,
    decoder: Decoder,
    trace: Option<Arc<dyn Trace>>,
    messages: MessageTrace,
    events: mpsc::Sender<KernelEvent>,
    intent: Intent,
    refused: mpsc::UnboundedReceiver<AskId>,
    current: Option<ExecId>,
    error: Option<PyError>,
    /// Whether a cell runs, and not silent code.
    has_number: bool,
    tail: Vec<u8>,
    oom_kills: u64,
    scratch: Box<[u8]>,
    /// The pipes were emptied since the last frames came.
    is_drained: bool,
}

/// What woke the pump.
enum Woke {
    Control(io::Result<usize>),
    Pipe,
    Refused(AskId),
    Exited,
}

/// Our ends of what a runner says.
pub(crate) struct Said {
    pub(crate) control: pipe::Receiver,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    pub(crate) decoder: Decoder,
    /// Who is told about it.
    pub(crate) trace: Option<Arc<dyn Trace>>,
    pub(crate) messages: MessageTrace,
}

impl Pump {
    pub(crate) fn new(
        child: Process,
        mark: Mark,
        said: Said,
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

    /// Runs until the runner is gone, and says why.
    pub(crate) async fn run(mut self, died: watch::Sender<Option<Death>>) {
        let problem = self.pump().await;
        let death = self.end(problem).await;
        if let Some(trace) = &self.trace {
            trace.died(Some(self.child.id()), &death);
        }
        died.send_replace(Some(death.clone()));
        self.send(KernelEvent::Died(death)).await;
    }

    /// The problem that ended it, when it is ours and not the process's own end.
    async fn pump(&mut self) -> Option<String> {
        loop {
            // Frames that came with others are still in the decoder.
            if let Err(problem) = self.frames().await {
                return Some(problem);
            }
            let woke = tokio::select! {
                read = self.control.read_buf(self.decoder.buffer()) => Woke::Control(read),
                () = is_readable(self.stdout.as_ref()) => Woke::Pipe,
                () = is_readable(self.stderr.as_ref()) => Woke::Pipe,
                Some(id) = self.refused.recv() => Woke::Refused(id),
                () = is_over(&self.exit) => Woke::Exited,
            };
            match woke {
                Woke::Control(Ok(0) | Err(_)) | Woke::Exited => return None,
                Woke::Control(Ok(_)) => self.is_drained = false,
                Woke::Refused(id) => {
                    self.send(KernelEvent::Answer { id, answer: Answer::Busy }).await;
                }
                Woke::Pipe => {
                    // The frame that says whose output it is was sent before the output: it is there.
                    let size = rustix::net::recv(
                        &self.control,
                        &mut self.scratch[..],
                        RecvFlags::DONTWAIT,
                    );
                    if let Ok((size, _)) = size {
                        self.decoder.buffer().extend_from_slice(&self.scratch[..size]);
                        self.is_drained = false;
                    }
                    if let Err(problem) = self.frames().await {
                        return Some(problem);
                    }
                    self.drain().await;
                }
            }
        }
    }

    /// Passes on the frames that are whole.
    async fn frames(&mut self) -> Result<(), String> {
        loop {
            match self.decoder.next() {
                Ok(Some((frame, payload))) => self.frame(frame, payload).await,
                Ok(None) => return Ok(()),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    async fn frame(&mut self, frame: Frame, payload: Bytes) {
        // What was written before the frames that came together was there when the first of them was.
        if !self.is_drained && !matches!(frame, Frame::Started { .. } | Frame::Stream { .. }) {
            self.drain().await;
        }
        self.messages.received(CONTROL, frame.kind(), frame.id());
        match frame {
            Frame::Ready { .. } | Frame::Failed { .. } => {}
            Frame::Started { id, count } => {
                // At once: nobody may be there to take the event.
                if self.intent.turn.begin_cell() == Interrupt::SendNow {
                    self.messages.sent(SIGNAL, "interrupt", None);
                    kill_group(self.child.id(), Signal::INT);
                }
                self.current = Some(ExecId(id));
                (self.error, self.has_number) = (None, count.is_some());
                self.exec(Some(id), ExecEvent::Started { count }).await;
            }
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
                // Whoever takes this event may ask at once.
                self.intent.turn.end_cell();
                self.exec(Some(id), ExecEvent::Finished(outcome)).await;
                self.current = None;
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

    /// Takes a message of a widget; one that cannot be read is ignored.
    fn hear_widget(&mut self, kind: &str, parts: &[Part], mut payload: Bytes) {
        let mut pieces =
            parts.iter().map(|Part(_, _, size)| payload.split_to((*size).min(payload.len())));
        let Some(content) = pieces.next() else { return };
        let buffers: Vec<Bytes> = pieces.collect();
        let mut widgets = self.intent.widgets();
        let _ = match kind {
            // Nobody else is there to speak to, and nobody waits for an answer.
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

    /// Delivers what is in the pipes now.
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
                        self.raw(name, data).await;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => *slot = None,
                }
            }
        }
    }

    /// Bytes of C code or of a child.
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
            // Also of a thread whose words were overtaken by the end of its cell.
            _ => KernelEvent::Orphan(event),
        };
        self.send(event).await;
    }

    /// Waits for room, unless nobody listens any more.
    async fn send(&mut self, event: KernelEvent) {
        // There nearly always is room.
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

    /// The rest of the output, the exit status, and the cause.
    async fn end(&mut self, problem: Option<String>) -> Death {
        if problem.is_some() {
            kill_group(self.child.id(), Signal::KILL);
        }
        // The channel can end a moment before the process does; one that stays is ended.
        if tokio::time::timeout(Duration::from_secs(1), self.exit.readable()).await.is_err() {
            kill_group(self.child.id(), Signal::KILL);
            let _ = tokio::time::timeout(Duration::from_secs(1), self.exit.readable()).await;
        }
        self.rest().await;
        let status = self.child.cause().await;
        // What the cell started must not outlive its kernel.
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

    /// Takes the statuses of a group that was killed; its members take a moment to end.
    async fn reap_group(&mut self) {
        for _ in 0..100 {
            self.child.reap_orphans();
            if !self.child.has_group() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Frames and bytes that were sent before the end. Only the wait for more is bounded: whoever listens
    /// late still gets what is there, and a copy of the runner that keeps the channel open holds nothing up.
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

/// Waits until there is something to read; a pipe that was closed is never ready.
async fn is_readable(pipe: Option<&pipe::Receiver>) {
    match pipe {
        // An error is seen again, and dealt with, by the read that follows.
        Some(pipe) => drop(pipe.readable().await),
        None => std::future::pending().await,
    }
}

/// Waits for the end of the process.
async fn is_over(exit: &AsyncFd<OwnedFd>) {
    // One waker that stays, where a future of `readable` would be put on a list and taken off every time.
    let _ = std::future::poll_fn(|context| exit.poll_read_ready(context)).await;
}

/// Reads without waiting. Tokio believes a pipe empty until its reactor has looked again, so the system has
/// the last word.
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

/// How often the system has ended a process because memory ran out: one of our own group of processes where
/// that can be told, else any.
pub(crate) fn oom_kills() -> u64 {
    let count = |text: String, name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    let group = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = group.lines().find_map(|line| line.strip_prefix("0::/"));
    let own = group.and_then(|group| {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{group}/memory.events")).ok()
    });
    own.and_then(|text| count(text, "oom_kill "))
        .or_else(|| count(std::fs::read_to_string("/proc/vmstat").ok()?, "oom_kill "))
        .unwrap_or(0)
}
