//! One call: its turn in a session, its cells one after the other, and the reader's excerpt of each.
//!
//! Owns the order within a call and the folding of events into a report. Other modules decide which session
//! it is and how code is stopped.

mod conductor;
mod executions;
mod handle;
mod tap;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use inkcell_kernel::{
    ExecEvent, History, InputMode, InputReply, KernelEvent, LaunchError, NamesWanted,
    missed_variable,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::api::{
    CellKernel, CellReport, CellSource, EndReport, KernelStep, Problem, PythonReport, Reading,
};
use crate::call::tap::{TapState, a_while_after, closed};
use crate::error::{EngineError, SessionError};
use crate::output::{
    CallBudget, Content, Extent, ModelOutput, OutputLimits, OutputSink, Part, Spill, SpillFile,
};
use crate::session::feeds::{Feed, SessionEvent};
use crate::session::{
    CellEnd, CellRequest, NotRun, ResetEnd, RunEnd, RunOutcome, STUCK, Session, Turn, Waiting,
    weight,
};
use crate::store::{ArtifactSession, ArtifactSpec, Artifacts};
use crate::types::{CallNote, Generation, Kind, State};

pub(crate) use conductor::{CellStart, Conductor, Hindrance, Onward};
pub use executions::{CallEvent, RunningRun};
pub(crate) use executions::{Executions, Record};
pub use handle::{AnswerHandle, CallExtras, CallHandle};
pub(crate) use tap::Tap;
pub use tap::TapEvent;

/// How many events may wait between a kernel and its sink.
const EVENT_QUEUE: usize = 64;

/// How often a running call's report gets new text.
const PREVIEW: Duration = Duration::from_millis(100);

/// Inputs of a call, without its session.
pub(crate) struct Call {
    pub(crate) record: Arc<Record>,
    pub(crate) cells: Vec<CellSource>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) env: Vec<(String, Option<String>)>,
    /// Set when the call's code is made to stop.
    pub(crate) stopping: CancellationToken,
    /// Names that the parent environment has and the kernel's environment does not.
    pub(crate) withheld: BTreeSet<String>,
    pub(crate) reading: Reading,
    pub(crate) input: InputMode,
    pub(crate) limits: OutputLimits,
    pub(crate) budget_bytes: usize,
    pub(crate) artifacts: Artifacts,
    pub(crate) owner: ArtifactSession,
    /// The journal in which events are published, unless the session is private to the call.
    pub(crate) feed: Option<Feed>,
}

/// The other participants of a call.
pub(crate) struct Participants {
    /// The caller's stream of all events, as they come.
    pub(crate) tap: Option<Tap>,
    /// The run of a notebook whose cells these are.
    pub(crate) notebook: Option<Box<dyn Conductor>>,
}

impl Call {
    /// Runs the call to its end. The result is in the record.
    pub(crate) async fn run(
        &self,
        session: &Session,
        waiting: Waiting,
        beside: &mut Participants,
    ) -> State {
        let turn = tokio::select! {
            turn = waiting.granted() => turn,
            // Dropping the wait gives up the call's place in the queue.
            () = self.record.cancelled_after(0) => return State::Cancelled,
        };
        match turn {
            Ok(turn) => self.run_cells(session, turn, beside).await,
            Err(NotRun::Cancelled) => State::Cancelled,
            Err(_) => State::NeverRun,
        }
    }

    /// Shuts down the kernel of a call that had one to itself, and reads its last output.
    pub(crate) async fn close(&self, session: &Session, tap: &mut Option<Tap>) {
        let (listener, mut events) = mpsc::channel(EVENT_QUEUE);
        let times = self.record.times_cancelled();
        let last = self.cells.len().saturating_sub(1);
        let close = session.close_heard(listener);
        let mut sink = match (self.reading, self.cells.last()) {
            (Reading::Bounded(_), Some(cell)) => {
                Some(OutputSink::new(self.limits, self.spill(cell)))
            }
            _ => None,
        };
        let hear = async {
            while let Some(event) = events.recv().await {
                if let (Some(sink), KernelEvent::Exec { event, .. } | KernelEvent::Orphan(event)) =
                    (&mut sink, &event)
                {
                    sink.push(event);
                }
                if let Some(tap) = tap {
                    tap.pour((last, event), self.record.cancelled_after(times)).await;
                }
            }
        };
        // A second cancel skips the wait.
        let death = tokio::select! {
            (death, ()) = async { tokio::join!(close, hear) } => death,
            () = self.record.cancelled_after(times) => None,
        };
        session.abandon().await;
        let after = match sink {
            Some(sink) => self.finished(last, sink).await,
            None => ModelOutput::default(),
        };
        self.record.change(|report| (report.death, report.after) = (death, after));
    }

    /// Tells of a panic in the call's task: at the running or next cell, or at the last one if all are over. Returns the
    /// state of the call.
    pub(crate) fn break_off(&self) -> State {
        let is_open = |cell: &CellReport| !cell.state.is_end();
        let index = self.record.read_report(|report| report.cells.iter().position(is_open));
        let index = index.unwrap_or(self.cells.len().saturating_sub(1));
        let problem = EngineError::Panicked.problem();
        match self.record.cell(index).map(|cell| cell.state) {
            Some(State::Queued) => {
                self.end(index, State::NeverRun, Some(EndReport::NoKernel(problem)));
            }
            // A cell that failed by itself keeps its own end.
            Some(state) if state.is_end() && state != State::Done => {}
            Some(_) => {
                self.end(index, State::Error, Some(EndReport::Fault(problem)));
                self.publish_end(index);
            }
            None => {}
        }
        State::Error
    }

    /// Records that the call is over, in this state.
    pub(crate) fn finish(&self, state: State, tap: Option<Tap>) {
        let undelivered = tap.as_ref().map_or(0, Tap::undelivered_bytes);
        // Drop the tap first: listeners must receive every event before the report turns final.
        drop(tap);
        self.record.change(|report| {
            for cell in &mut report.cells {
                if !cell.state.is_end() {
                    cell.state = State::NeverRun;
                }
            }
            report.undelivered_bytes += undelivered;
            report.state = state;
        });
        self.record.journal.close();
    }

    async fn run_cells(
        &self,
        session: &Session,
        mut turn: Turn,
        beside: &mut Participants,
    ) -> State {
        self.record.can_be_cancelled_by(turn.canceller());
        if self.record.times_cancelled() > 0 {
            return State::Cancelled;
        }
        self.record.change(|report| report.state = State::Running);
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut budget = CallBudget::new(self.budget_bytes, self.cells.len());
        let mut ended = State::Done;
        for (index, source) in self.cells.iter().enumerate() {
            if source.kernel == CellKernel::Fresh && turn.reset().await == ResetEnd::Refused {
                let name = self.record.report().session;
                let problem = EngineError::from(SessionError::ResetInProgress(name)).problem();
                self.end(index, State::NeverRun, Some(EndReport::NoKernel(problem)));
                return State::Error;
            }
            let is_late = deadline.is_some_and(|deadline| deadline <= Instant::now());
            if is_late && index > 0 && beside.notebook.is_some() {
                // A run may go on after a cell that failed, but not past its own deadline.
                return State::TimedOut;
            }
            if let (0, Some(run)) = (index, &mut beside.notebook) {
                let left =
                    deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                let foresight = run.foresee(session, &mut turn, &self.record, left).await;
                if let Err(hindrance) = foresight {
                    return self.end_before(hindrance);
                }
            }
            let current = match &mut beside.notebook {
                None => source.clone(),
                Some(run) => {
                    match run
                        .begin(index, find_generation(session, index).await, &self.record)
                        .await
                    {
                        CellStart::Run(source) => source,
                        CellStart::LeftOut => {
                            self.end(index, State::NeverRun, None);
                            continue;
                        }
                    }
                }
            };
            let source = &current;
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let limit = match (source.timeout, left, self.timeout) {
                (Some(own), Some(left), Some(of_call)) if left < own => {
                    Some(Limit { left, stated: of_call })
                }
                (Some(own), _, _) => Some(Limit { left: own, stated: own }),
                (None, Some(left), Some(of_call)) => Some(Limit { left, stated: of_call }),
                _ => None,
            };
            let time = Time { limit, of_call: left };
            let state = self.run_cell((index, source), time, &mut turn, &mut budget, beside).await;
            self.record.change(|report| report.kernel = session.state().kernel);
            let onward = match &mut beside.notebook {
                Some(run) => run.end(index, session.state().generation, &self.record).await,
                None if state == State::Done => Onward::Next,
                None => Onward::Stop(state),
            };
            match onward {
                Onward::Past(state) if ended == State::Done => ended = state,
                Onward::Next | Onward::Past(_) => {}
                Onward::Stop(State::Done) => return ended,
                Onward::Stop(state) => return state,
            }
            if self.record.times_cancelled() > 0 {
                return State::Cancelled;
            }
        }
        ended
    }

    /// Ends a notebook run before its first cell. Returns the state of the call.
    fn end_before(&self, hindrance: Hindrance) -> State {
        let (state, end) = match hindrance {
            Hindrance::Kernel(end) => report_end(*end, None, self.timeout),
            Hindrance::Refusal(problem) => (State::NeverRun, Some(EndReport::NoKernel(problem))),
        };
        self.end(0, state, end);
        state
    }

    fn end(&self, index: usize, state: State, end: Option<EndReport>) {
        self.change_cell(index, |cell| (cell.state, cell.end) = (state, end));
    }

    fn change_cell(&self, index: usize, change: impl FnOnce(&mut CellReport)) {
        self.record.change(|report| {
            if let Some(cell) = report.cells.get_mut(index) {
                change(cell);
            }
        });
    }

    async fn run_cell(
        &self,
        (index, source): (usize, &CellSource),
        Time { limit: time, of_call }: Time,
        turn: &mut Turn,
        budget: &mut CallBudget,
        Participants { tap, notebook }: &mut Participants,
    ) -> State {
        self.change_cell(index, |cell| cell.state = State::Running);
        self.publish(|report| SessionEvent::Began {
            execution: report.execution.clone(),
            cell: index,
            of: report.cells.len(),
            source: source.clone(),
            notebook: report.cells.get(index).and_then(|cell| cell.notebook.clone()),
        });
        let began = Instant::now();
        let mut sink = match self.reading {
            Reading::Bounded(_) => {
                Some(OutputSink::new(budget.limits(self.limits), self.spill(source)))
            }
            Reading::Elsewhere => None,
        };
        let (listener, mut events) = mpsc::channel(EVENT_QUEUE);
        let request = CellRequest {
            code: source.code.clone(),
            history: History::Store,
            env: self.env.clone(),
            timeout: time.map(|time| time.left),
            patience: of_call,
            input: self.input,
            names: match notebook {
                Some(_) => NamesWanted::Yes,
                None => NamesWanted::No,
            },
        };
        let replier = turn.replier();
        let run = turn.run_telling(request, listener, self.stopping.clone());
        tokio::pin!(run);
        let (mut shown, mut has_news) = (began, false);
        // The time to start a kernel does not count as the code's time.
        let mut started = began;
        let mut ran: Option<RunOutcome> = None;
        // When the call was cancelled: a caller that reads nothing gets only `STUCK` more time from then on.
        let mut cancelled: Option<Instant> = None;
        let from = |moment: Instant| time.and_then(|time| moment.checked_add(time.left));
        let mut limit = from(began);
        loop {
            let event = tokio::select! {
                event = events.recv() => match event {
                    Some(event) => event,
                    // The listener is gone with the run: every event has been read.
                    None if ran.is_some() => break,
                    None => {
                        ran = Some((&mut run).await);
                        continue;
                    }
                },
                done = &mut run, if ran.is_none() => {
                    if done.end.end.had_to_stop() {
                        limit = Some(Instant::now());
                    }
                    ran = Some(done);
                    continue;
                }
                () = closed(tap.as_ref()), if self.record.waits_for_line() => {
                    self.record.reply(InputReply::Refused);
                    continue;
                }
                // Show the last text even if no event follows it.
                () = tokio::time::sleep_until(shown + PREVIEW), if has_news => {
                    (shown, has_news) = (Instant::now(), false);
                    if let Some(sink) = &sink {
                        self.show(index, sink, started.elapsed());
                    }
                    continue;
                }
            };
            has_news = sink.is_some();
            if let KernelEvent::Exec { event: ExecEvent::Started { .. }, .. } = &event {
                started = Instant::now();
                limit = from(started);
            }
            if is_question(&event) && self.input == InputMode::Ask {
                // Set the replier before the caller learns of the question: it may answer at once.
                self.record.set_replier(Some(replier.clone()));
            }
            self.take(index, &event, sink.as_mut(), notebook.as_mut());
            if let Some(tap) = tap {
                // A slow caller gets the time that is left once, and not again for every event.
                if cancelled.is_none() && self.record.times_cancelled() > 0 {
                    cancelled = Some(Instant::now());
                }
                let given_up = async {
                    tokio::select! {
                        () = a_while_after(limit) => {}
                        () = a_while_after(cancelled) => {}
                        () = self.record.cancelled_after(0), if cancelled.is_none() => {
                            tokio::time::sleep(STUCK).await;
                        }
                    }
                };
                tap.pour((index, event), given_up).await;
                if tap.state() == TapState::Gone && self.record.times_cancelled() == 0 {
                    // The caller is gone, so the code's output has no reader.
                    self.record.cancel();
                }
            }
            // During a flood of events the timer above never fires.
            if let Some(sink) = &sink
                && shown.elapsed() >= PREVIEW
            {
                (shown, has_news) = (Instant::now(), false);
                self.show(index, sink, started.elapsed());
            }
        }
        self.record.set_replier(None);
        let took = started.elapsed();
        let output = match sink {
            Some(sink) => self.finished(index, sink).await,
            None => ModelOutput::default(),
        };
        budget.spend(&output);
        let Some(RunOutcome { end: RunEnd { end, notes }, undelivered_bytes }) = ran else {
            return State::NeverRun;
        };
        let missed = match &end {
            CellEnd::PythonError(error) => missed_variable(&self.withheld, error),
            _ => None,
        };
        let (state, end) = report_end(end, time, self.timeout);
        self.change_cell(index, |cell| {
            (cell.state, cell.end, cell.output) = (state, end, output);
            cell.notes.extend(notes);
            cell.duration = took;
        });
        self.record.change(|report| {
            report.missed_variable = missed;
            report.undelivered_bytes += undelivered_bytes;
        });
        self.publish_end(index);
        state
    }

    fn publish_end(&self, index: usize) {
        self.publish(|report| SessionEvent::Ended {
            execution: report.execution.clone(),
            cell: index,
            report: Box::new(report.cells[index].clone()),
        });
    }

    /// Publishes an event to the watchers of the session.
    fn publish(&self, event: impl FnOnce(&PythonReport) -> SessionEvent) {
        if let Some(feed) = &self.feed {
            feed.publish(self.record.read_report(event));
        }
    }

    fn take(
        &self,
        index: usize,
        event: &KernelEvent,
        sink: Option<&mut OutputSink>,
        notebook: Option<&mut Box<dyn Conductor>>,
    ) {
        let event = match event {
            KernelEvent::Exec { event, .. } | KernelEvent::Orphan(event) => event,
            KernelEvent::Notice(text) => {
                let note = CallNote::Kernel(text.clone());
                return self.change_cell(index, |cell| cell.notes.push(note));
            }
            KernelEvent::Answer { .. } | KernelEvent::Died(_) => return,
        };
        // An answered request for input is not part of the output; only a refused one is.
        let is_answered =
            self.input == InputMode::Ask && matches!(event, ExecEvent::InputRequested { .. });
        if let Some(sink) = sink.filter(|_| !is_answered) {
            sink.push(event);
        }
        if let Some(notebook) = notebook {
            notebook.hear(event);
        }
        if let ExecEvent::Names(_) | ExecEvent::Widgets(_) = event {
            // These events are for the notebook alone.
            return;
        }
        if let ExecEvent::Started { count } = event {
            let count = *count;
            self.change_cell(index, |cell| cell.count = count);
        }
        let event = weight::copy_alone(event);
        let size_bytes = weight::event_bytes(&event);
        if let Some(feed) = &self.feed {
            let (execution, event) = (self.record.execution.clone(), event.clone());
            feed.publish(SessionEvent::Happened { execution, cell: index, event });
        }
        self.record.journal.push((index, event), size_bytes);
    }

    /// Makes the reader's excerpt of a cell. Pictures are decoded and scaled down here, which may take
    /// seconds. All other sessions share this thread, so another thread does that.
    async fn finished(&self, index: usize, sink: OutputSink) -> ModelOutput {
        if sink.preview().rich == 0 {
            return sink.finish();
        }
        let finished = tokio::task::spawn_blocking(move || sink.finish()).await;
        finished.unwrap_or_else(|error| {
            let note = format!("internal error: the output was lost (please report this): {error}");
            self.change_cell(index, |cell| cell.notes.push(CallNote::Kernel(note)));
            ModelOutput::default()
        })
    }

    /// Puts the end of the text so far into the report.
    fn show(&self, index: usize, sink: &OutputSink, took: Duration) {
        let preview = sink.preview();
        let shown = Extent::of(&preview.text);
        self.change_cell(index, |cell| {
            cell.duration = took;
            let output = &mut cell.output;
            output.counts.total_bytes = preview.total_bytes;
            output.counts.total_lines = preview.total_lines;
            output.counts.open_bytes = preview.open_bytes;
            (output.counts.cleared_bytes, output.counts.cleared_lines) = preview.cleared;
            (output.counts.output_bytes, output.counts.output_lines) = (shown.bytes, shown.lines());
            output.parts = vec![Part::Text(preview.text)];
            output.artifact = preview.artifact;
            output.is_truncated = preview.elided.is_some();
            output.notices = preview.elided.into_iter().collect();
        });
    }

    /// The store for output that does not fit into the report.
    fn spill(&self, source: &CellSource) -> Spill {
        let (artifacts, session) = (self.artifacts.clone(), self.owner.clone());
        let title = source.title.clone().unwrap_or_default();
        Spill::new(move |content| {
            let kind = match content {
                Content::Text => "text/plain",
                Content::Form { mime } => mime,
            };
            let spec = ArtifactSpec {
                session: session.clone(),
                kind: kind.to_owned(),
                title: title.clone(),
            };
            let writer = artifacts.create(&spec)?;
            Ok(SpillFile { id: writer.id().to_string(), file: Box::new(writer) })
        })
    }
}

/// The time limit of a cell, and the time that the call has left, within which its kernel must start.
#[derive(Clone, Copy)]
struct Time {
    limit: Option<Limit>,
    of_call: Option<Duration>,
}

/// The time limit of a cell: `left` is the time that remains, `stated` the limit as the caller gave it.
#[derive(Clone, Copy)]
struct Limit {
    left: Duration,
    stated: Duration,
}

/// The end of a run as a state, with the details for the report.
fn report_end(
    end: CellEnd,
    time: Option<Limit>,
    of_call: Option<Duration>,
) -> (State, Option<EndReport>) {
    let as_given = |after| time.map_or(after, |time| time.stated);
    match end {
        CellEnd::Ok => (State::Done, None),
        CellEnd::PythonError(error) => (State::Error, Some(EndReport::Exception(error))),
        CellEnd::TimedOut { after, fate, stopped } => {
            let end = EndReport::Stopped { after: Some(as_given(after)), fate, exception: stopped };
            (State::TimedOut, Some(end))
        }
        CellEnd::Cancelled { fate, stopped } => {
            let end = EndReport::Stopped { after: None, fate, exception: stopped };
            (State::Cancelled, Some(end))
        }
        CellEnd::InputRefused(error) => (State::InputRefused, error.map(EndReport::Exception)),
        CellEnd::KernelDied(death) => (State::KernelDied, Some(EndReport::Died(death))),
        CellEnd::TooManyRestarts { death, has_begun } => {
            (State::KernelDied, Some(EndReport::GivenUp { death, has_begun }))
        }
        CellEnd::NotRun(NotRun::Launch(LaunchError::Cancelled)) => (State::Cancelled, None),
        CellEnd::NotRun(NotRun::Launch(error)) => {
            (State::NeverRun, Some(EndReport::NoKernel(EngineError::from(error).problem())))
        }
        CellEnd::NotRun(NotRun::Late(after)) => {
            let problem = Problem {
                kind: Kind::Unavailable,
                message: format!(
                    "Python was not ready within the {} s the code was given; nothing was run",
                    of_call.unwrap_or(after).as_secs_f64()
                ),
                step: Some(KernelStep::RaiseTimeout),
            };
            (State::TimedOut, Some(EndReport::NoKernel(problem)))
        }
        CellEnd::NotRun(NotRun::Closed | NotRun::Cancelled) => (State::NeverRun, None),
    }
}

/// The generation of the session's current kernel.
async fn find_generation(session: &Session, index: usize) -> Option<Generation> {
    if index == 0 {
        // The state may still show a kernel that was just taken away.
        session.settled().await;
    }
    session.state().generation
}

fn is_question(event: &KernelEvent) -> bool {
    matches!(event, KernelEvent::Exec { event: ExecEvent::InputRequested { .. }, .. })
}
