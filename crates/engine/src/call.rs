//! One call: its turn in a session, its cells one after the other, and what its reader gets of each.
//!
//! Owns the order within a call and the folding of events into a report. Which session it is and how code
//! is stopped are decided elsewhere.

use std::sync::Arc;
use std::time::Duration;

use inkcell_kernel::{ExecEvent, History, KernelEvent};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::api::{CellKernel, CellReport, CellSource, EndReport, State};
use crate::artifact::{ArtifactSession, ArtifactSpec, Artifacts};
use crate::executions::Record;
use crate::output::{CallBudget, Content, OutputLimits, OutputSink, Spill, SpillFile};
use crate::session::{CellEnd, CellRequest, NotRun, Ran, ResetEnd, RunEnd, Session, Turn};

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
    pub(crate) limits: OutputLimits,
    pub(crate) budget_bytes: usize,
    pub(crate) artifacts: Artifacts,
    pub(crate) owner: ArtifactSession,
}

impl Call {
    /// Runs the call to its end, which is in the record then.
    pub(crate) async fn run(self, session: &Session) {
        let state = match session.turn().await {
            Ok(turn) => self.run_cells(session, turn).await,
            Err(NotRun::Closed | NotRun::Cancelled | NotRun::Launch(_)) => State::NeverRun,
        };
        self.record.change(|report| {
            for cell in &mut report.cells {
                if !cell.state.is_end() {
                    cell.state = State::NeverRun;
                }
            }
            report.state = state;
        });
        self.record.journal.close();
    }

    async fn run_cells(&self, session: &Session, mut turn: Turn) -> State {
        self.record.can_be_cancelled_by(turn.canceller());
        if self.record.was_cancelled() {
            return State::Cancelled;
        }
        self.record.change(|report| report.state = State::Running);
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut budget = CallBudget::new(self.budget_bytes);
        for (index, source) in self.cells.iter().enumerate() {
            if source.kernel == CellKernel::Fresh && turn.reset().await == ResetEnd::Refused {
                let problem = "Python session reset already in progress".to_owned();
                self.end(index, State::NeverRun, Some(EndReport::NoKernel(problem)));
                return State::Error;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = match (source.timeout, left) {
                (Some(own), Some(left)) => Some(own.min(left)),
                (own, left) => own.or(left),
            };
            let state = self.run_cell(index, source, timeout, &mut turn, &mut budget).await;
            self.record.change(|report| report.kernel = session.state().kernel);
            if state != State::Done {
                return state;
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
        index: usize,
        source: &CellSource,
        timeout: Option<Duration>,
        turn: &mut Turn,
        budget: &mut CallBudget,
    ) -> State {
        self.change_cell(index, |cell| cell.state = State::Running);
        let began = Instant::now();
        let mut sink = OutputSink::new(budget.limits(self.limits), self.spill(source));
        let (listener, mut events) = mpsc::channel(EVENT_QUEUE);
        let request = CellRequest {
            code: source.code.clone(),
            history: History::Store,
            env: self.env.clone(),
            timeout,
        };
        let run = turn.run(request, listener);
        tokio::pin!(run);
        let mut shown = began;
        let mut ran: Option<Ran> = None;
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(event) => {
                        self.take(index, event, &mut sink);
                        if shown.elapsed() >= PREVIEW {
                            shown = Instant::now();
                            self.show(index, &sink, began.elapsed());
                        }
                    }
                    // The listener is gone with the run: everything has been heard.
                    None if ran.is_some() => break,
                    None => ran = Some((&mut run).await),
                },
                done = &mut run, if ran.is_none() => ran = Some(done),
            }
        }
        let output = sink.finish();
        budget.spend(&output);
        let Some(Ran { end: RunEnd { end, notes }, .. }) = ran else { return State::NeverRun };
        let (state, end) = told(end);
        self.change_cell(index, |cell| {
            (cell.state, cell.end, cell.notes, cell.output) = (state, end, notes, output);
            cell.duration = began.elapsed();
        });
        state
    }

    fn take(&self, index: usize, event: KernelEvent, sink: &mut OutputSink) {
        let (KernelEvent::Exec { event, .. } | KernelEvent::Orphan(event)) = event else { return };
        sink.push(&event);
        if let ExecEvent::Started { count } = &event {
            let count = *count;
            self.change_cell(index, |cell| cell.count = count);
        }
        let weight = weight(&event);
        self.record.journal.push((index, event), weight);
    }

    /// Puts the end of the text so far into the report.
    fn show(&self, index: usize, sink: &OutputSink, took: Duration) {
        let preview = sink.preview();
        self.change_cell(index, |cell| {
            cell.duration = took;
            cell.output.parts = vec![crate::output::Part::Text(preview.text)];
            cell.output.counts.total_bytes = preview.total_bytes;
            cell.output.counts.total_lines = preview.total_lines;
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

/// The end of a run as a state, and what there is to say about it.
fn told(end: CellEnd) -> (State, Option<EndReport>) {
    match end {
        CellEnd::Ok => (State::Done, None),
        CellEnd::PythonError(error) => (State::Error, Some(EndReport::Exception(error))),
        CellEnd::TimedOut { after, fate, stopped } => {
            let end = EndReport::Stopped { after: Some(after), fate, exception: stopped };
            (State::TimedOut, Some(end))
        }
        CellEnd::Cancelled { fate, stopped } => {
            let end = EndReport::Stopped { after: None, fate, exception: stopped };
            (State::Cancelled, Some(end))
        }
        CellEnd::InputRefused(error) => (State::InputRefused, error.map(EndReport::Exception)),
        CellEnd::KernelDied(death) => (State::KernelDied, Some(EndReport::Died(death))),
        CellEnd::TooManyRestarts(_) => (State::KernelDied, Some(EndReport::GivenUp)),
        CellEnd::NotRun(NotRun::Launch(error)) => {
            (State::NeverRun, Some(EndReport::NoKernel(error.to_string())))
        }
        CellEnd::NotRun(NotRun::Closed | NotRun::Cancelled) => (State::NeverRun, None),
    }
}

/// About what an event weighs in a journal.
fn weight(event: &ExecEvent) -> usize {
    const SMALL: usize = 64;
    match event {
        ExecEvent::Stream { data, .. } => SMALL + data.len(),
        ExecEvent::Display { data, .. }
        | ExecEvent::UpdateDisplay { data, .. }
        | ExecEvent::Result { data, .. } => {
            SMALL + data.data.iter().map(|(_, form)| form.len_bytes()).sum::<usize>()
        }
        _ => SMALL,
    }
}
