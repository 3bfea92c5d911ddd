//! One call: its turn in a session, its cells one after the other, and what its reader gets of each.
//!
//! Owns the order within a call and the folding of events into a report. Which session it is and how code
//! is stopped are decided elsewhere.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use inkcell_kernel::{
    ExecEvent, History, InputMode, InputReply, KernelEvent, LaunchError, NamesWanted,
    withheld_hint_for,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::api::{
    CellKernel, CellReport, CellSource, EndReport, KernelStep, Problem, PythonReport, Reading,
    State,
};
use crate::artifact::{ArtifactSession, ArtifactSpec, Artifacts};
use crate::error::{EngineError, Kind, SessionError};
use crate::executions::Record;
use crate::feeds::{Feed, SessionEvent};
use crate::output::{CallBudget, Content, ModelOutput, OutputLimits, OutputSink, Spill, SpillFile};
use crate::run::{Begun, NotebookRun, Onward, foresee};
use crate::session::{
    CellEnd, CellRequest, NotRun, Note, Ran, ResetEnd, RunEnd, STUCK, Session, Turn, Waiting,
};
use crate::staleness::Generation;
use crate::tap::{Tap, TapState, a_while_after, gone};
use crate::weight;

/// How many events may wait between a kernel and its sink.
const EVENT_QUEUE: usize = 64;

/// How often a report that is being read while its call runs gets new text.
const PREVIEW: Duration = Duration::from_millis(100);

/// What a call needs besides its session.
pub(crate) struct Call {
    pub(crate) record: Arc<Record>,
    pub(crate) cells: Vec<CellSource>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) env: Vec<(String, Option<String>)>,
    /// Set when its code is made to stop.
    pub(crate) stopping: CancellationToken,
    /// Names that the kernel's environment does not have although ours does.
    pub(crate) withheld: BTreeSet<String>,
    pub(crate) reading: Reading,
    pub(crate) input: InputMode,
    pub(crate) limits: OutputLimits,
    pub(crate) budget_bytes: usize,
    pub(crate) artifacts: Artifacts,
    pub(crate) owner: ArtifactSession,
    /// Where what happens is published, unless nobody else can see it.
    pub(crate) feed: Option<Feed>,
}

/// Who else takes part in a call.
pub(crate) struct Beside {
    /// A caller that takes everything as it comes.
    pub(crate) tap: Option<Tap>,
    /// The notebook whose cells these are.
    pub(crate) notebook: Option<NotebookRun>,
}

impl Call {
    /// Runs the call to its end, which is in the record then.
    pub(crate) async fn run(
        &self,
        session: &Session,
        waiting: Waiting,
        beside: &mut Beside,
    ) -> State {
        let turn = tokio::select! {
            turn = waiting.granted() => turn,
            // Dropped, the wait gives its place up.
            () = self.record.cancelled_after(0) => return State::Cancelled,
        };
        match turn {
            Ok(turn) => self.run_cells(session, turn, beside).await,
            Err(NotRun::Cancelled) => State::Cancelled,
            Err(_) => State::NeverRun,
        }
    }

    /// Shuts the kernel of a call that had one to itself down; what it says at its end is heard.
    pub(crate) async fn close(&self, session: &Session, tap: &mut Option<Tap>) {
        let (listener, mut events) = mpsc::channel(EVENT_QUEUE);
        let times = self.record.times_cancelled();
        let last = self.cells.len().saturating_sub(1);
        let close = session.close_heard(listener);
        let mut sink = match (self.reading, self.cells.last()) {
            (Reading::Bounded, Some(cell)) => Some(OutputSink::new(self.limits, self.spill(cell))),
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
        // Somebody who asks again does not want to wait for it.
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

    /// Says that the call is over, and how.
    pub(crate) fn finish(&self, state: State, tap: Option<Tap>) {
        let undelivered = tap.as_ref().map_or(0, Tap::undelivered_bytes);
        // Whoever listens to the end must have heard everything before the report says it is over.
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

    async fn run_cells(&self, session: &Session, mut turn: Turn, beside: &mut Beside) -> State {
        self.record.can_be_cancelled_by(turn.canceller());
        if self.record.times_cancelled() > 0 {
            return State::Cancelled;
        }
        self.record.change(|report| report.state = State::Running);
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut budget = match beside.notebook {
            Some(_) => CallBudget::for_notebook(self.budget_bytes),
            None => CallBudget::new(self.budget_bytes),
        };
        for (index, source) in self.cells.iter().enumerate() {
            if source.kernel == CellKernel::Fresh && turn.reset().await == ResetEnd::Refused {
                let name = self.record.report().session;
                let problem = EngineError::from(SessionError::ResetInProgress(name)).problem();
                self.end(index, State::NeverRun, Some(EndReport::NoKernel(problem)));
                return State::Error;
            }
            let is_late = deadline.is_some_and(|deadline| deadline <= Instant::now());
            if is_late && index > 0 && beside.notebook.is_some() {
                // Cells may fail and the run goes on, but not beyond its own time.
                return State::TimedOut;
            }
            if let (0, Some(run)) = (index, &mut beside.notebook) {
                foresee(run, session, &mut turn).await;
            }
            let current = match &mut beside.notebook {
                None => source.clone(),
                Some(run) => {
                    match run.begin(index, kernel_of(session, index).await, &self.record).await {
                        Begun::Run(source) => source,
                        Begun::LeftOut => {
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
                    Some(Limit { left, told: of_call })
                }
                (Some(own), _, _) => Some(Limit { left: own, told: own }),
                (None, Some(left), Some(of_call)) => Some(Limit { left, told: of_call }),
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
            if let Onward::Stop(state) = onward {
                return state;
            }
            if self.record.times_cancelled() > 0 {
                return State::Cancelled;
            }
        }
        State::Done
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
        Beside { tap, notebook }: &mut Beside,
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
            Reading::Bounded => {
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
        // A kernel that had to be started first is not counted as the code's time.
        let mut started = began;
        let mut ran: Option<Ran> = None;
        // When a caller that takes nothing is not waited for any more, apart from a while.
        let mut cancelled: Option<Instant> = None;
        let from = |moment: Instant| time.and_then(|time| moment.checked_add(time.left));
        let mut limit = from(began);
        loop {
            let event = tokio::select! {
                event = events.recv() => match event {
                    Some(event) => event,
                    // The listener is gone with the run: everything has been heard.
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
                () = gone(tap.as_ref()), if self.record.waits_for_line() => {
                    self.record.reply(InputReply::Refused);
                    continue;
                }
                // What came last is seen also when nothing comes after it.
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
                // Whoever is told of it may answer at once.
                self.record.set_replier(Some(replier.clone()));
            }
            self.take(index, &event, sink.as_mut(), notebook.as_mut());
            if let Some(tap) = tap {
                // One that is slow gets what there is time for, and not that time again for every event.
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
                    // Nobody hears what is said, so it need not be said.
                    self.record.cancel();
                }
            }
            // A flood leaves no moment in which nothing comes.
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
        let Some(Ran { end: RunEnd { end, notes }, undelivered_bytes }) = ran else {
            return State::NeverRun;
        };
        let hint = match &end {
            CellEnd::PythonError(error) => withheld_hint_for(&self.withheld, error),
            _ => None,
        };
        let (state, end) = told(end, time, self.timeout);
        self.change_cell(index, |cell| {
            (cell.state, cell.end, cell.output) = (state, end, output);
            cell.notes.extend(notes);
            cell.duration = took;
        });
        self.record.change(|report| {
            report.withheld_hint = hint;
            report.undelivered_bytes += undelivered_bytes;
        });
        self.publish(|report| SessionEvent::Ended {
            execution: report.execution.clone(),
            cell: index,
            report: Box::new(report.cells[index].clone()),
        });
        state
    }

    /// Tells whoever watches the session.
    fn publish(&self, event: impl FnOnce(&PythonReport) -> SessionEvent) {
        if let Some(feed) = &self.feed {
            feed.publish(self.record.look(event));
        }
    }

    fn take(
        &self,
        index: usize,
        event: &KernelEvent,
        sink: Option<&mut OutputSink>,
        notebook: Option<&mut NotebookRun>,
    ) {
        let event = match event {
            KernelEvent::Exec { event, .. } | KernelEvent::Orphan(event) => event,
            KernelEvent::Notice(text) => {
                let note = Note::Kernel(text.clone());
                return self.change_cell(index, |cell| cell.notes.push(note));
            }
            KernelEvent::Answer { .. } | KernelEvent::Died(_) => return,
        };
        // What somebody answers is no matter of the output; only a refusal is told there.
        let is_answered =
            self.input == InputMode::Ask && matches!(event, ExecEvent::InputRequested { .. });
        if let Some(sink) = sink.filter(|_| !is_answered) {
            sink.push(event);
        }
        if let Some(notebook) = notebook {
            notebook.hear(event);
        }
        if let ExecEvent::Names(_) | ExecEvent::Widgets(_) = event {
            // For the notebook alone.
            return;
        }
        if let ExecEvent::Started { count } = event {
            let count = *count;
            self.change_cell(index, |cell| cell.count = count);
        }
        let event = weight::kept(event);
        let size_bytes = weight::of_event(&event);
        if let Some(feed) = &self.feed {
            let (execution, event) = (self.record.execution.clone(), event.clone());
            feed.publish(SessionEvent::Happened { execution, cell: index, event });
        }
        self.record.journal.push((index, event), size_bytes);
    }

    /// What a reader gets of a cell. Pictures are decoded and scaled down then, which may take seconds; all
    /// other sessions share this thread, so that is done on another.
    async fn finished(&self, index: usize, sink: OutputSink) -> ModelOutput {
        if sink.preview().rich == 0 {
            return sink.finish();
        }
        let finished = tokio::task::spawn_blocking(move || sink.finish()).await;
        finished.unwrap_or_else(|error| {
            let note = format!("the output was lost, which is a fault of inkcell: {error}");
            self.change_cell(index, |cell| cell.notes.push(Note::Kernel(note)));
            ModelOutput::default()
        })
    }

    /// Puts the end of the text so far into the report.
    fn show(&self, index: usize, sink: &OutputSink, took: Duration) {
        let preview = sink.preview();
        self.change_cell(index, |cell| {
            cell.duration = took;
            cell.output.parts = vec![crate::output::Part::Text(preview.text)];
            cell.output.counts.total_bytes = preview.total_bytes;
            cell.output.counts.total_lines = preview.total_lines;
            cell.output.artifact = preview.artifact;
        });
    }

    /// Where what does not fit goes.
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

/// The time of a cell: how long it may take, and what is left of the call's, in which its kernel has to come.
#[derive(Clone, Copy)]
struct Time {
    limit: Option<Limit>,
    of_call: Option<Duration>,
}

/// How long a cell may take: of a call's time what is left, told as it was given.
#[derive(Clone, Copy)]
struct Limit {
    left: Duration,
    told: Duration,
}

/// The end of a run as a state, and what there is to say about it.
fn told(
    end: CellEnd,
    time: Option<Limit>,
    of_call: Option<Duration>,
) -> (State, Option<EndReport>) {
    let as_given = |after| time.map_or(after, |time| time.told);
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
        CellEnd::TooManyRestarts(_) => (State::KernelDied, Some(EndReport::GivenUp)),
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

/// The kernel that a session has now.
async fn kernel_of(session: &Session, index: usize) -> Option<Generation> {
    if index == 0 {
        // One that was just taken away may be shown a moment longer.
        session.settled().await;
    }
    session.state().generation
}

fn is_question(event: &KernelEvent) -> bool {
    matches!(event, KernelEvent::Exec { event: ExecEvent::InputRequested { .. }, .. })
}
