//! A notebook beside the call that runs its cells: the source of each cell when its turn comes, the outputs that are
//! kept, and whether the run goes on after it.
//!
//! Owns the order of a run. The call owns how code runs and what its reader receives; `file.rs` owns the file.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use inkcell_kernel::{CodeNames, ExecEvent, Outcome, WidgetStates};
use inkcell_notebook::{CellView, NbOutput, Notebook};

use super::RunClock;
use super::cell_identity::KnownCell;
use super::cell_records::can_run;
use super::displays::{Displays, named};
use super::file::{RunFile, SavedRun, Urgency};
use super::foresee::{Foresight, foresee};
use super::journal::CellOutputs;
use super::plan::PlannedCell;
use super::record::{RanCell, RecordPlace};
use super::stamps::{CellStamps, Span};
use super::trail::{EndedCell, Trail};
use crate::api::{
    CellReport, CellSource, EndReport, NotebookCell, NotebookReport, OnError, PythonReport,
    RunNote, Stamps, WriteBack,
};
use crate::call::{CellStart, Conductor, Hindrance, Onward, Record};
use crate::edit::Keep;
use crate::error::EngineError;
use crate::output::{ExecutionOutputs, OutputRecorder, SizePolicy};
use crate::session::{Session, Turn};
use crate::types::{Freshness, Generation, StaleReason, State};

/// State of one notebook run.
pub(crate) struct NotebookRun {
    /// Taken out while a task on another thread works with the file.
    file: Option<Box<RunFile>>,
    cells: Vec<PlannedCell>,
    report: NotebookReport,
    rules: RunRules,
    began: SystemTime,
    now: Option<Now>,
    displays: Displays,
    failed: Option<(KnownCell, Option<u32>)>,
    /// Cells whose outputs another program removed from the file, by number in the run.
    put_again: BTreeSet<usize>,
    /// Written to the record when the first cell begins.
    opening: Option<Opening>,
    /// The cell with the caller's values, by number in the run, and the names that no later cell has overwritten.
    values: Option<(usize, Vec<String>)>,
    trail: Trail,
    /// All widgets of the kernel, if a cell of this run changed one.
    widgets: Option<Box<WidgetStates>>,
}

/// Settings that hold for the whole run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunRules {
    pub(crate) on_error: OnError,
    pub(crate) foresight: Foresight,
    pub(crate) cell_timeout: Option<Duration>,
    pub(crate) outputs: SizePolicy,
    pub(crate) stamps: Stamps,
    pub(crate) clock: RunClock,
}

/// The cell that is running.
struct Now {
    cell: KnownCell,
    /// When its code began; `None` until a kernel runs it.
    started: Option<SystemTime>,
    count: Option<u32>,
    recorder: OutputRecorder,
    names: Option<Box<CodeNames>>,
}

/// The state of the records when a run begins.
pub(crate) struct Opening {
    /// Records of earlier runs about the cells of the notebook.
    pub(crate) known: Vec<RanCell>,
    /// Whether the record file holds these cells at the positions given in `known`.
    pub(crate) noted: RecordPlace,
    /// Cells that this run need not repeat.
    pub(crate) done: Vec<RanCell>,
}

impl NotebookRun {
    pub(crate) fn new(
        file: RunFile,
        cells: Vec<PlannedCell>,
        report: NotebookReport,
        rules: RunRules,
        (opening, trail): (Opening, Trail),
    ) -> NotebookRun {
        let began = (rules.clock)();
        let displays = Displays::new(&cells, opening.known.clone());
        let opening = Some(opening);
        let (file, now, failed) = (Some(Box::new(file)), None, None);
        let put_again = BTreeSet::new();
        NotebookRun {
            file,
            cells,
            report,
            rules,
            began,
            now,
            displays,
            failed,
            put_again,
            opening,
            values: None,
            trail,
            widgets: None,
        }
    }

    /// Makes the run report later cells that overwrite these names. The cell at this position sets them.
    pub(crate) fn with_values(self, index: usize, names: Vec<String>) -> NotebookRun {
        let number = self.cells.iter().position(|planned| planned.cell.index == index);
        NotebookRun { values: number.map(|number| (number, names)), ..self }
    }

    /// The cells in the form that a call reports them.
    pub(crate) fn sources(&self) -> Vec<CellSource> {
        self.cells.iter().map(|planned| self.source(planned, &planned.cell)).collect()
    }

    fn source(&self, planned: &PlannedCell, cell: &KnownCell) -> CellSource {
        let name = match &cell.id {
            Some(id) => format!("cell {} ({id})", cell.index),
            None => format!("cell {}", cell.index),
        };
        CellSource {
            code: cell.source.clone(),
            title: Some(name),
            timeout: self.rules.cell_timeout.or(planned.timeout),
            kernel: crate::api::CellKernel::Same,
        }
    }

    /// Returns sources that will run and whose names are unknown. Empty unless the run chooses stale cells.
    pub(super) async fn unforeseen(&mut self) -> Vec<String> {
        let trail = std::mem::take(&mut self.trail);
        let looked = self.with_file(move |file| {
            let sources = file.notebook().map(|notebook| trail.unforeseen(notebook));
            Ok((trail, sources.unwrap_or_default()))
        });
        let Ok((trail, sources)) = looked.await else { return Vec::new() };
        self.trail = trail;
        sources
    }

    /// What the run asks the kernel for before its first cell.
    pub(super) fn foresight(&self) -> Foresight {
        self.rules.foresight
    }

    /// The cells of the run, by position, with their sources.
    pub(super) fn planned_sources(&self) -> Vec<(usize, String)> {
        let cells = self.cells.iter().map(|planned| &planned.cell);
        cells.map(|cell| (cell.index, cell.source.clone())).collect()
    }

    /// The cells above this position that can run and are not of this run, with their sources.
    pub(super) async fn other_sources(&mut self, below: usize) -> Vec<(usize, String)> {
        let planned: BTreeSet<usize> =
            self.cells.iter().map(|planned| planned.cell.index).collect();
        let looked = self.with_file(move |file| {
            let cells = file.notebook().into_iter().flat_map(Notebook::cells).filter(can_run);
            let others =
                cells.filter(|cell| cell.index() < below && !planned.contains(&cell.index()));
            let with_source = |cell: CellView<'_>| (cell.index(), cell.source().text.into_owned());
            Ok(others.map(with_source).collect())
        });
        looked.await.unwrap_or_default()
    }

    /// Returns true if this kernel ran the cell at a position, and another kernel ran it later.
    pub(super) fn is_outdated(&self, index: usize, kernel: &Generation) -> bool {
        self.trail.is_outdated(index, kernel)
    }

    /// Records the kernel's answer about a source that will run.
    pub(super) fn learn_names(&mut self, source: &str, names: Option<CodeNames>) {
        self.trail.foresee(source, names);
    }

    /// Decides again which cells run, if the last decision no longer holds.
    async fn decide(&mut self, number: usize, record: &Record) {
        if !self.trail.must_decide(number) {
            return;
        }
        let planned: Vec<KnownCell> = self.cells.iter().map(|one| one.cell.clone()).collect();
        let mut trail = std::mem::take(&mut self.trail);
        let decided = self.with_file(move |file| {
            // If the file cannot be read at the moment, the earlier decision stays.
            let _ = file.decide(&mut trail, number, &planned);
            Ok(trail)
        });
        if let Ok(trail) = decided.await {
            self.trail = trail;
        }
        record.change(|report| {
            for (number, cell) in report.cells.iter_mut().enumerate().skip(number) {
                if let Some(cell) = &mut cell.notebook {
                    cell.why = self.trail.why(number).cloned();
                }
            }
            let cells = report.cells.iter().filter_map(|cell| cell.notebook.as_ref());
            let is_fresh = Some(StaleReason::Marked(Freshness::Fresh));
            let fresh = cells.filter(|cell| cell.why == is_fresh).map(|cell| cell.index);
            self.report.fresh = fresh.collect();
            report.notebook = Some(self.report.clone());
        });
    }

    /// Starts a cell as it stands in the file now.
    async fn begin_cell(
        &mut self,
        number: usize,
        kernel: Option<Generation>,
        record: &Record,
    ) -> CellStart {
        self.trail.in_kernel(kernel);
        self.decide(number, record).await;
        let why = self.trail.why(number).cloned();
        if why.as_ref().is_some_and(|why| !why.runs()) {
            return CellStart::LeftOut;
        }
        let Some(planned) = self.cells.get(number).cloned() else { return CellStart::LeftOut };
        let known = planned.cell.clone();
        let opening = self.opening.take();
        let found = self.with_file(move |file| {
            // A failure here only leaves a later command with less knowledge of this run.
            let _ =
                opening.map(|Opening { known, noted, done }| file.begin((noted, &known), &done));
            file.cell(&known)
        });
        let found = found.await;
        let cell = match found {
            Ok(Some(cell)) => cell,
            Ok(None) => {
                tell(record, number, |cell| cell.written = WriteBack::Gone);
                return CellStart::LeftOut;
            }
            // If the file cannot be read at the moment, the planned cell runs.
            Err(_) => planned.cell.clone(),
        };
        let source = self.source(&planned, &cell);
        record.change(|report| {
            if let Some(told) = report.cells.get_mut(number) {
                told.source.code.clone_from(&cell.source);
                told.notebook = Some(NotebookCell { why, ..in_notebook(&cell, &planned) });
            }
        });
        // A cell without an id is found again by its current content.
        self.cells[number].cell.clone_from(&cell);
        let recorder = OutputRecorder::new(self.rules.outputs);
        self.now = Some(Now { cell, started: None, count: None, recorder, names: None });
        CellStart::Run(source)
    }

    /// Takes an event of the cell that is running.
    fn take(&mut self, event: &ExecEvent) {
        let Some(now) = &mut self.now else { return };
        if let ExecEvent::Started { count } = event {
            (now.started, now.count) = (Some((self.rules.clock)()), *count);
        }
        if let ExecEvent::Names(names) = event {
            now.names = Some(names.clone());
        }
        if let ExecEvent::Widgets(states) = event {
            self.widgets = Some(states.clone());
        }
        now.recorder.push(event);
    }

    /// Ends a cell: secures its outputs and decides whether the run goes on.
    async fn end_cell(
        &mut self,
        number: usize,
        kernel: Option<Generation>,
        record: &Record,
    ) -> Onward {
        let Some(mut now) = self.now.take() else { return Onward::Next };
        let Some(report) = record.cell(number) else { return Onward::Stop(State::NeverRun) };
        let report = &report;
        let onward = self.onward(number, report);
        if !matches!(onward, Onward::Next | Onward::Stop(State::Done)) {
            self.failed.get_or_insert((now.cell.clone(), now.count));
        }
        let ended = (self.rules.clock)();
        let died = report.state == State::KernelDied && !report.never_began();
        let died = died.then_some(ended);
        let Some(began) = now.started.or(died) else {
            // None of its code ran, so it keeps its outputs.
            return onward;
        };
        let span = Span { began, ended, state: report.state };
        // The report says how a cell ended; no event does.
        if let Some(
            EndReport::Exception(error) | EndReport::Stopped { exception: Some(error), .. },
        ) = &report.end
        {
            now.recorder.push(&ExecEvent::Finished(Outcome::Error(error.clone())));
        }
        let mut recorded = now.recorder.finish();
        recorded.outputs.extend(last_words(report));
        self.find_displays(&recorded).await;
        let mut ran = RanCell::new(&now.cell, report);
        ran.displays = named(&recorded.displays);
        ran.is_twin = self.file.as_ref().is_some_and(|file| file.is_twin(&now.cell));
        self.trail.in_kernel(kernel);
        let names = now.names.as_deref();
        self.note_overwritten((number, now.cell.index), names);
        self.trail.end(&mut ran, EndedCell { number, names, at: ended });
        let outputs = self.displays.fold(number, (now.cell, now.count), recorded);
        let urgency = match onward {
            Onward::Next | Onward::Past(_) => Urgency::WhenCheap,
            Onward::Stop(_) => Urgency::Now,
        };
        let stamps = match self.rules.stamps {
            Stamps::Inkcell => CellStamps::record(&ran),
            stamps => CellStamps::of(stamps, span),
        };
        let shown = outputs.last().map_or(0, |(_, own)| own.outputs.len());
        tell(record, number, |cell| cell.outputs = shown);
        let taken = self
            .with_file(move |file| {
                let stamped = |(changed, outputs): (usize, CellOutputs)| {
                    let own =
                        if changed == number { stamps.clone() } else { CellStamps::default() };
                    (changed, outputs, own)
                };
                let outputs = outputs.into_iter().map(stamped).collect();
                let saved = file.take(outputs, Some(&ran), urgency);
                Ok((saved, file.output_change(number)))
            })
            .await;
        let (saved, change) = taken.unwrap_or_else(|error| (Err(error), None));
        tell(record, number, |cell| cell.change = change);
        // Report outputs as safe only once they are.
        if self.file.as_ref().is_some_and(|file| file.is_kept()) {
            tell(record, number, |cell| cell.written = WriteBack::Kept);
        }
        self.tell_saved(record, saved);
        onward
    }

    /// Looks up displays of earlier runs in the file when this cell has changed them.
    async fn find_displays(&mut self, recorded: &ExecutionOutputs) {
        for ran in self.displays.wanted(recorded) {
            let looked_up = ran.clone();
            let found = self.with_file(move |file| file.outputs_of(&looked_up)).await;
            // If the cell cannot be read or its source has changed, the display is gone.
            if let Ok(Some(outputs)) = found {
                self.displays.add(&ran, outputs);
            }
        }
    }

    fn onward(&mut self, number: usize, report: &CellReport) -> Onward {
        if let Some(status) = report.exit_status() {
            let index = report.notebook.as_ref().map_or(number, |cell| cell.index);
            self.report.notes.push(RunNote::Exited { index, status: status.to_owned() });
            return Onward::Stop(if status.is_empty() { State::Done } else { State::Error });
        }
        let may_fail = self.rules.on_error == OnError::GoOn
            || self.cells.get(number).is_some_and(|planned| planned.on_error == OnError::GoOn);
        let can_go_on = match report.state {
            State::Done => return Onward::Next,
            State::Error | State::InputRefused => true,
            // A kernel that had to be ended has lost the state that the next cells need.
            State::TimedOut => kept_its_kernel(report),
            _ => false,
        };
        if can_go_on && may_fail {
            Onward::Next
        } else if can_go_on && self.rules.on_error == OnError::Usual && self.trail.is_of_stale() {
            self.trail.fail(number);
            Onward::Past(report.state)
        } else {
            Onward::Stop(report.state)
        }
    }

    /// Notes the parameters that this cell replaces or deletes. A cell that reads a parameter first has used the
    /// caller's value.
    fn note_overwritten(&mut self, (number, index): (usize, usize), names: Option<&CodeNames>) {
        let (Some((values, given)), Some(names)) = (&mut self.values, names) else { return };
        if number > *values {
            let overwritten = self.trail.overwritten(names);
            let lost = given.extract_if(.., |name| overwritten.contains(name.as_str()));
            let note = |name| RunNote::Overwritten { name, index };
            self.report.notes.extend(lost.map(note));
        }
    }

    /// Ends the run: writes everything to the file.
    async fn save(&mut self, state: State, record: &Record) {
        let (stamps, began, ended) = (self.rules.stamps, self.began, (self.rules.clock)());
        let (input, output) = (self.report.path.clone(), self.report.written.clone());
        let (failed, widgets) = (self.failed.take(), self.widgets.take());
        let has_begun = self.opening.is_none();
        let saved = self
            .with_file(move |file| {
                if has_begun {
                    file.note_end();
                }
                let mut saved = file.save(Keep::Record)?;
                let span = Span { began, ended, state };
                // Outputs are saved even if widgets or notes cannot be stored.
                let stored = widgets.map(|states| file.store_widgets(&states)).transpose();
                let noted = file.note_run(stamps, (&input, &output), span, failed.as_ref());
                let mut notes = Vec::new();
                for version in [stored, noted] {
                    match (version, &mut saved) {
                        (Ok(Some(version)), Some(saved)) => saved.version = version,
                        (Ok(_), _) => {}
                        (Err(error), _) => notes.push(RunNote::NotStored(error.problem())),
                    }
                }
                Ok((saved, notes))
            })
            .await;
        let (saved, notes) = match saved {
            Ok((saved, notes)) => (Ok(saved), notes),
            Err(error) => (Err(error), Vec::new()),
        };
        self.report.notes.extend(notes);
        self.tell_saved(record, saved);
        self.tell_places(record).await;
        // Release the notebook before the caller learns that the run is over.
        self.file = None;
    }

    fn tell_saved(&mut self, record: &Record, saved: Result<Option<SavedRun>, EngineError>) {
        let mut fates = Vec::new();
        match saved {
            Ok(None) => {}
            Ok(Some(SavedRun { version, cells, put_again })) => {
                self.report.version = Some(version.to_string());
                self.report.notes.retain(|note| note.unsaved().is_none());
                self.tell_put_again(put_again);
                fates = cells;
            }
            Err(error) => {
                self.report.notes.retain(|note| note.unsaved().is_none());
                let is_kept = self.file.as_ref().is_some_and(|file| file.is_kept());
                let note = if is_kept { RunNote::NotSaved } else { RunNote::NotKept };
                self.report.notes.push(note(error.problem()));
            }
        }
        record.change(|report| {
            for (number, fate) in fates {
                let cell = report.cells.get_mut(number).and_then(|cell| cell.notebook.as_mut());
                if let Some(cell) = cell {
                    cell.written = fate;
                }
            }
            report.notebook = Some(self.report.clone());
        });
    }

    /// Reports removed outputs once, however often another program removes them.
    fn tell_put_again(&mut self, numbers: Vec<usize>) {
        self.put_again.extend(numbers);
        let cells = self.put_again.len();
        if cells > 0 {
            self.report.notes.retain(|note| !matches!(note, RunNote::PutAgain { .. }));
            self.report.notes.push(RunNote::PutAgain { cells });
        }
    }

    /// Reports the final positions of the cells: other programs may have moved or removed some.
    async fn tell_places(&mut self, record: &Record) {
        let known: Vec<KnownCell> = self.cells.iter().map(|planned| planned.cell.clone()).collect();
        // If the file cannot be read, the positions reported before stay.
        let Ok(places) = self.with_file(move |file| file.places(&known)).await else { return };
        record.change(|report| {
            let cells = report.cells.iter_mut().filter_map(|cell| cell.notebook.as_mut());
            for (cell, place) in cells.zip(places) {
                match place {
                    Some(index) => cell.index = index,
                    None => cell.written = WriteBack::Gone,
                }
            }
        });
    }

    /// Works with the file on a thread that may block on disks.
    async fn with_file<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut RunFile) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let gone = || EngineError::Lost { what: "the notebook of this run" };
        let mut file = self.file.take().ok_or_else(gone)?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work(&mut file);
            (file, done)
        });
        // After a panic the file is lost to this run; the journal holds everything unsaved.
        let (file, done) = done.await.map_err(|_| gone())?;
        self.file = Some(file);
        done
    }
}

impl Conductor for NotebookRun {
    fn announce(&self, report: &mut PythonReport) {
        report.notebook = Some(self.report.clone());
        for (cell, planned) in report.cells.iter_mut().zip(&self.cells) {
            cell.notebook = Some(in_notebook(&planned.cell, planned));
        }
    }

    fn foresee<'a>(
        &'a mut self,
        session: &'a Session,
        turn: &'a mut Turn,
        record: &'a Record,
        left: Option<Duration>,
    ) -> BoxFuture<'a, Result<(), Hindrance>> {
        foresee(self, session, turn, (record, left)).boxed()
    }

    fn begin<'a>(
        &'a mut self,
        number: usize,
        kernel: Option<Generation>,
        record: &'a Record,
    ) -> BoxFuture<'a, CellStart> {
        self.begin_cell(number, kernel, record).boxed()
    }

    fn hear(&mut self, event: &ExecEvent) {
        self.take(event);
    }

    fn end<'a>(
        &'a mut self,
        number: usize,
        kernel: Option<Generation>,
        record: &'a Record,
    ) -> BoxFuture<'a, Onward> {
        self.end_cell(number, kernel, record).boxed()
    }

    fn close<'a>(&'a mut self, state: State, record: &'a Record) -> BoxFuture<'a, ()> {
        self.save(state, record).boxed()
    }
}

fn tell(record: &Record, number: usize, tell: impl FnOnce(&mut NotebookCell)) {
    record.change(|report| {
        let cell = report.cells.get_mut(number).and_then(|cell| cell.notebook.as_mut());
        if let Some(cell) = cell {
            tell(cell);
        }
    });
}

fn in_notebook(cell: &KnownCell, planned: &PlannedCell) -> NotebookCell {
    NotebookCell {
        index: cell.index,
        id: cell.id.clone(),
        outputs: 0,
        written: WriteBack::NotYet,
        may_fail: planned.may_fail,
        last_took: planned.last_took,
        why: None,
        change: None,
    }
}

fn kept_its_kernel(report: &CellReport) -> bool {
    use crate::types::KernelFate;
    matches!(report.end, Some(EndReport::Stopped { fate: KernelFate::Kept, .. }))
}

/// Makes an error output for a kernel that died or was ended and could not report it itself.
fn last_words(report: &CellReport) -> Option<NbOutput> {
    let (name, value) = match (&report.state, &report.end) {
        (State::KernelDied, Some(EndReport::Died(death))) => {
            ("DeadKernelError", death.cause.to_string())
        }
        (State::KernelDied, _) => ("DeadKernelError", "kernels died again and again".to_owned()),
        (State::TimedOut, Some(EndReport::Stopped { exception: None, after, .. })) => {
            let after = after.map_or(0.0, |after| after.as_secs_f64());
            let stopped =
                if kept_its_kernel(report) { "was stopped" } else { "could not be stopped" };
            let value = format!("the cell did not end within {after} s and {stopped}");
            ("CellTimeoutError", value)
        }
        // Without this output, partial output of a stopped cell would look complete.
        (State::Cancelled, Some(EndReport::Stopped { exception: None, .. }) | None)
            if report.count.is_some() =>
        {
            ("KeyboardInterrupt", "the cell was stopped".to_owned())
        }
        _ => return None,
    };
    let output = serde_json::json!({
        "ename": name, "evalue": value, "output_type": "error",
        "traceback": [format!("{name}: {value}")],
    });
    NbOutput::from_json(&output.to_string()).ok()
}
