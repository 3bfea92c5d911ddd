//! The rows of a batch: begun as the schedule says, followed to their ends, recorded.
//!
//! Owns the kernels' host for as long as the batch lasts, and one thread for each running row. A stalled reader of
//! the output holds nothing up here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime};

use inkcell_engine::api::{CellReport, PythonReport, RunStart, State};
use inkcell_engine::{Kind, Notebooks};

use super::super::stopping::Stopping;
use super::super::{missing_module, unsaved};
use super::files::{RecordFile, Reports, write_report};
use super::prefix::Prefix;
use crate::batch::{
    Again, BatchReport, Fate, Note, OnFailure, Past, Retries, Row, RowEnd, RowId, RowKey,
    RowReport, Schedule, StopReason, Task, Trouble, Try, junit, source,
};
use crate::client::{self, AskHandle, Client, Exchange, Step};
use crate::exit::{Exit, Failure};
use crate::host::{Answer, Ask, HostEvent, Refusal, RunAsk};
use crate::log;
use crate::view::ending::status;
use crate::view::run::{trouble, trouble_of};
use crate::words;
use crate::words::run::{missing, notes_beside_errors, said_beside};

/// The interval at which signals are checked.
const TICK: Duration = Duration::from_millis(100);

/// A message for the thread that shows the batch.
pub(super) enum News {
    Began(RowId),
    Event(RowId, Box<HostEvent>),
    /// A row has ended, and is tried again or not.
    Tried {
        row: RowId,
        tried: Box<Try>,
        again: Again,
    },
    /// A row need not be run.
    Unchanged(RowId),
    Said(String),
    /// All is over, and the reports are written or failed.
    Over {
        report: Box<BatchReport>,
        kept: Result<(), Failure>,
    },
}

/// The options of the whole batch.
pub(super) struct Rules {
    pub(super) width: usize,
    pub(super) on_failure: OnFailure,
    pub(super) retries: Retries,
    pub(super) start: RunStart,
    pub(super) reports: Reports,
    pub(super) notes: Vec<String>,
    /// The folders with programs.
    pub(super) search_path: Vec<PathBuf>,
}

/// A message of a thread that follows a row.
struct RowEvent {
    task: Task,
    what: What,
}

enum What {
    Event(Box<HostEvent>),
    Done(Box<Result<PythonReport, Refusal>>),
}

pub(super) struct Conductor {
    rows: Vec<Row>,
    keys: Vec<RowKey>,
    asks: Vec<RunAsk>,
    client: Client,
    record: RecordFile,
    rules: Rules,
    stopping: Stopping,
    notebooks: Notebooks,
    news: Sender<News>,
    /// The tries of each row so far.
    tries: Vec<Vec<Try>>,
    fates: Vec<Fate>,
    running: HashMap<Task, Running>,
    prefixes: Vec<Prefix>,
}

/// A row that runs now.
struct Running {
    handle: AskHandle,
    began: Instant,
    /// The cells of its notebook when it began.
    source: Option<String>,
    kernel: OfRow,
}

/// The kernel of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OfRow {
    /// A kernel of its own, from the first cell on.
    Own,
    /// A copy of the kernel that has run the beginning.
    Copy,
}

impl Conductor {
    pub(super) fn new(
        (rows, keys, asks): (Vec<Row>, Vec<RowKey>, Vec<RunAsk>),
        (client, record): (Client, RecordFile),
        rules: Rules,
        stopping: Stopping,
        (notebooks, news): (Notebooks, Sender<News>),
    ) -> Conductor {
        let (tries, fates) = (vec![Vec::new(); rows.len()], vec![Fate::NotRun; rows.len()]);
        let (running, prefixes) = (HashMap::new(), Vec::new());
        Conductor {
            rows,
            keys,
            asks,
            client,
            record,
            rules,
            stopping,
            notebooks,
            news,
            tries,
            fates,
            running,
            prefixes,
        }
    }

    /// The same batch, with beginnings that rows share.
    pub(super) fn sharing(mut self, prefixes: Vec<Prefix>) -> Conductor {
        self.prefixes = prefixes;
        self
    }

    /// Runs all rows, and writes the reports.
    pub(super) fn run(mut self) {
        let began = (Instant::now(), log::time(SystemTime::now()));
        let left = self.left();
        let Rules { width, on_failure, retries, .. } = self.rules;
        let groups: Vec<Vec<RowId>> =
            self.prefixes.iter().map(|prefix| prefix.rows.clone()).collect();
        let mut schedule = Schedule::new(left, &groups, width, on_failure, retries);
        let (tell, heard) = mpsc::channel();
        self.follow(&mut schedule, &tell, &heard);
        let stopped = match (self.stopping.signal(), schedule.is_stopped()) {
            (Some(_), _) => Some(StopReason::BySignal),
            (None, true) => Some(StopReason::ByFailure),
            (None, false) => None,
        };
        let Conductor { rows, fates, tries, client, rules, stopping, news, prefixes, .. } = self;
        // No kernel is left when the end is reported.
        drop((client, prefixes));
        let rows = rows.into_iter().zip(fates).zip(tries);
        let rows = rows.map(|((row, fate), tries)| RowReport { row, fate, tries }).collect();
        let (took, began) = (began.0.elapsed(), began.1);
        let (jobs, notes, reports) = (rules.width, rules.notes, rules.reports);
        let report = BatchReport { rows, took, began, jobs, stopped, notes };
        let kept = keep(reports.junit.as_deref(), || junit(&report));
        let kept = kept.and(keep(reports.json.as_deref(), || {
            serde_json::to_string_pretty(&report.to_json()).unwrap_or_default() + "\n"
        }));
        let _ = news.send(News::Over { report: Box::new(report), kept });
        stopping.is_over();
    }

    /// The rows to run: without those that an earlier batch has finished, if it is resumed.
    fn left(&mut self) -> Vec<RowId> {
        let past = match self.rules.start {
            RunStart::Resume => self.record.past(),
            RunStart::First | RunStart::Copied => Past::default(),
        };
        if self.rules.start == RunStart::First {
            self.record.clear();
        } else if past.is_empty() {
            self.tell(News::Said(words::batch::NOTHING_DONE.into()));
        }
        let mut known: HashMap<String, Option<String>> = HashMap::new();
        let mut left = Vec::new();
        for at in 0..self.rows.len() {
            let row = &self.rows[at];
            let written = row.output.as_ref().unwrap_or(&row.input);
            let is_done = !past.is_empty() && self.notebooks.exists(written) && {
                let source = known.entry(row.input.clone());
                let source = source.or_insert_with(|| held(&self.notebooks, &row.input));
                source.as_ref().is_some_and(|source| past.has(&self.keys[at], source))
            };
            if is_done {
                self.fates[at] = Fate::Unchanged;
                self.tell(News::Unchanged(RowId(at)));
            } else {
                left.push(RowId(at));
            }
        }
        left
    }

    fn follow(
        &mut self,
        schedule: &mut Schedule,
        tell: &Sender<RowEvent>,
        heard: &Receiver<RowEvent>,
    ) {
        loop {
            if self.stopping.signal().is_some() {
                schedule.stop();
            }
            while let Some(task) = schedule.next() {
                match task {
                    Task::Row(row) => self.begin(row, schedule, tell),
                    Task::Prefix(group) => self.begin_prefix(group, schedule, tell),
                }
            }
            if schedule.is_over() {
                return;
            }
            match heard.recv_timeout(TICK) {
                Ok(RowEvent { task: Task::Row(row), what: What::Event(event) }) => {
                    self.tell(News::Event(row, event));
                }
                Ok(RowEvent { task: Task::Row(row), what: What::Done(done) }) => {
                    self.done(row, &done, (schedule, tell));
                    self.let_go(row, schedule);
                }
                Ok(RowEvent { task: Task::Prefix(group), what: What::Done(done) }) => {
                    self.prefix_done(group, &done, schedule);
                }
                Ok(RowEvent { what: What::Event(_), .. }) | Err(_) => {}
            }
        }
    }

    fn begin(&mut self, row: RowId, schedule: &mut Schedule, tell: &Sender<RowEvent>) {
        self.tell(News::Began(row));
        let of_row = |prefix: &Prefix| prefix.is_there && prefix.rows.contains(&row);
        let kernel = if self.prefixes.iter().any(of_row) { OfRow::Copy } else { OfRow::Own };
        self.begin_in(kernel, row, Instant::now(), (schedule, tell));
    }

    fn begin_in(
        &mut self,
        kernel: OfRow,
        row: RowId,
        began: Instant,
        (schedule, tell): (&mut Schedule, &Sender<RowEvent>),
    ) {
        let source = held(&self.notebooks, &self.rows[row.0].input);
        let ask = &self.asks[row.0];
        let shared = self.prefixes.iter().find(|prefix| prefix.rows.contains(&row));
        let ask = match (kernel, shared) {
            (OfRow::Copy, Some(prefix)) => prefix.rest(ask),
            _ => ask.clone(),
        };
        match self.ask(ask, Task::Row(row), tell) {
            Ok(handle) => {
                self.running.insert(Task::Row(row), Running { handle, began, source, kernel });
            }
            Err(failure) => {
                let tried = refused(&failure.into(), began.elapsed());
                self.ended(row, tried, RowEnd::Failed, schedule);
            }
        }
    }

    /// Asks, and starts a thread that receives the answer.
    fn ask(&self, ask: RunAsk, task: Task, tell: &Sender<RowEvent>) -> Result<AskHandle, Failure> {
        let asked = self.client.ask(Ask::Run(Box::new(ask)))?;
        let handle = asked.handle();
        let tell = tell.clone();
        let reading = std::thread::Builder::new().name("reader".to_owned());
        let reading = reading.spawn(move || read(asked, task, &tell));
        reading.map_err(Failure::of_thread)?;
        self.stopping.can_cancel(handle.clone());
        Ok(handle)
    }

    /// Runs the common beginning of some rows.
    fn begin_prefix(&mut self, group: usize, schedule: &mut Schedule, tell: &Sender<RowEvent>) {
        let asked = self.prefixes.get(group).and_then(|prefix| {
            let first = prefix.rows.first()?;
            Some(prefix.ask(self.asks.get(first.0)?))
        });
        let Some(ask) = asked else { return schedule.prefix_ended(group) };
        let began = Instant::now();
        match self.ask(ask, Task::Prefix(group), tell) {
            Ok(handle) => {
                let running = Running { handle, began, source: None, kernel: OfRow::Own };
                self.running.insert(Task::Prefix(group), running);
            }
            Err(failure) => self.not_shared(group, &Refusal::from(failure).message, schedule),
        }
    }

    /// The common beginning is over. It is shared if it ended well and its kernel can be copied.
    fn prefix_done(
        &mut self,
        group: usize,
        done: &Result<PythonReport, Refusal>,
        schedule: &mut Schedule,
    ) {
        if let Some(running) = self.running.remove(&Task::Prefix(group)) {
            self.stopping.forget(&running.handle);
        }
        let Some(prefix) = self.prefixes.get_mut(group) else { return };
        let is_exit =
            |report: &PythonReport| report.cells.iter().any(|cell| cell.exit_status().is_some());
        let shared = match done {
            // The rows end there, too, and not one cell later.
            Ok(report) if is_exit(report) => {
                let message = words::batch::ENDS_RUN.to_owned();
                Err(Refusal { message, ..Refusal::from(Failure::Pipe) })
            }
            // A failed cell is reported by each row.
            Ok(report)
                if report.state == State::Done
                    && unsaved(report).is_none()
                    && !report.cells.iter().any(|cell| is_unforeseen(&cell)) =>
            {
                self.client.answer(prefix.copies()).map(drop).map_err(Refusal::from)
            }
            Ok(report) => {
                let failed = || report.cells.iter().find(is_unforeseen).map(trouble_of);
                let trouble = trouble(report).or_else(failed);
                let why = trouble.map_or(words::batch::ENDED_BADLY.to_owned(), |it| it.message);
                Err(Refusal { message: why, ..Refusal::from(Failure::Pipe) })
            }
            Err(refusal) => Err(refusal.clone()),
        };
        match shared {
            Ok(()) => {
                prefix.is_there = true;
                schedule.prefix_ended(group);
            }
            Err(refusal) => self.not_shared(group, &refusal.message, schedule),
        }
    }

    /// Lets every row run the beginning by itself, which is slower and has the same result.
    fn not_shared(&mut self, group: usize, why: &str, schedule: &mut Schedule) {
        if let Some(prefix) = self.prefixes.get(group)
            && self.stopping.signal().is_none()
        {
            let (note, end) = (not_shared(&prefix.input, why), prefix.end());
            self.note(note);
            let _ = self.client.answer(end);
        }
        schedule.prefix_ended(group);
    }

    /// Ends the kernel of a beginning when no row needs it any more.
    fn let_go(&mut self, row: RowId, schedule: &Schedule) {
        let of_row = |prefix: &&mut Prefix| prefix.is_there && prefix.rows.contains(&row);
        let Some(prefix) = self.prefixes.iter_mut().find(of_row) else { return };
        if !prefix.rows.iter().any(|row| schedule.needs(*row)) {
            prefix.is_there = false;
            let _ = self.client.answer(prefix.end());
        }
    }

    fn done(
        &mut self,
        row: RowId,
        done: &Result<PythonReport, Refusal>,
        (schedule, tell): (&mut Schedule, &Sender<RowEvent>),
    ) {
        let Some(running) = self.running.remove(&Task::Row(row)) else { return };
        self.stopping.forget(&running.handle);
        if let (OfRow::Copy, Some(why), None) =
            (running.kernel, no_kernel(done), self.stopping.signal())
        {
            // No cell of the row was run, so all of them can be run in a new kernel.
            let note = not_copied(&self.rows[row.0].name(), &why);
            self.note(note);
            return self.begin_in(OfRow::Own, row, running.began, (schedule, tell));
        }
        let took = running.began.elapsed();
        let (tried, end) = match done {
            Ok(report) => {
                let (mut tried, end) = ended(report, took);
                let text = missing_module::advice(report, &self.rules.search_path);
                tried.notes.extend(text.map(|text| Note { text, is_loss: false }));
                (tried, end)
            }
            Err(refusal) => {
                let end = match refusal.kind {
                    Kind::Invalid | Kind::NotFound | Kind::Conflict => RowEnd::Hopeless,
                    _ => RowEnd::Failed,
                };
                (refused(refusal, took), end)
            }
        };
        // A row with failed cells runs again with --resume: what it would report is not in the record.
        if let (RowEnd::Well, Some(source), 0) = (end, &running.source, tried.failed_cells) {
            self.record.note(&self.keys[row.0], source);
        }
        self.ended(row, tried, end, schedule);
    }

    fn ended(&mut self, row: RowId, tried: Try, end: RowEnd, schedule: &mut Schedule) {
        // A row that the user stopped has not failed.
        let is_stopped = self.stopping.signal().is_some() && tried.status == CANCELLED;
        let end = if is_stopped { RowEnd::Hopeless } else { end };
        self.fates[row.0] = match end {
            RowEnd::Well if tried.failed_cells > 0 => Fate::FailedCells,
            RowEnd::Well => Fate::Ok,
            _ if is_stopped => Fate::Cancelled,
            _ => Fate::Failed,
        };
        self.tries[row.0].push(tried.clone());
        let again = schedule.ended(row, end);
        self.tell(News::Tried { row, tried: Box::new(tried), again });
    }

    /// Notes something once, in the output and in the reports.
    fn note(&mut self, note: String) {
        if !self.rules.notes.contains(&note) {
            self.tell(News::Said(format!("note: {note}")));
            self.rules.notes.push(note);
        }
    }

    /// Sends a message. A receiver that is gone does not stop the batch.
    fn tell(&self, news: News) {
        let _ = self.news.send(news);
    }
}

const CANCELLED: &str = "cancelled";

/// The status of a run that went on although cells failed, in the word of [`Fate::FailedCells`].
const FAILED_CELLS: &str = "failed_cells";

/// A digest of a notebook's cells as they are now; none for a notebook that cannot be read. The values that a run
/// inserts are recorded by the batch itself.
fn held(notebooks: &Notebooks, path: &str) -> Option<String> {
    let opened = notebooks.read(path).ok()?;
    let values = opened.notebook.injected_cell();
    let cells =
        opened.notebook.cells().filter(|cell| Some(cell.index()) != values).map(|cell| {
            (cell.kind_name().into_owned(), cell.source().text.into_owned(), cell.tags())
        });
    let cells: Vec<(String, String, Vec<String>)> = cells.collect();
    Some(source(cells.iter().map(|(kind, text, tags)| (&**kind, &**text, &**tags))))
}

/// The note about a notebook whose rows share nothing.
pub(super) fn not_shared(input: &str, why: &str) -> String {
    words::batch::not_shared(input, why)
}

/// The note about a row for which no copy could be made.
fn not_copied(row: &str, why: &str) -> String {
    words::batch::not_copied(row, why)
}

/// The reason why a run never had a kernel.
fn no_kernel(done: &Result<PythonReport, Refusal>) -> Option<String> {
    match done {
        Ok(report) => client::not_begun(report).map(|failure| Refusal::from(failure).message),
        // An error in a file or in a value occurs with any kernel.
        Err(refusal) => match refusal.kind {
            Kind::Invalid | Kind::Conflict | Kind::Cancelled => None,
            // The kernel that was to be copied may be gone.
            Kind::NotFound | Kind::Unavailable | Kind::Busy | Kind::Internal => {
                Some(refusal.message.clone())
            }
        },
    }
}

fn read(mut asked: Exchange, task: Task, tell: &Sender<RowEvent>) {
    loop {
        let done = match asked.next(None) {
            Step::Nothing => continue,
            Step::Event(event) => {
                let _ = tell.send(RowEvent { task, what: What::Event(event) });
                continue;
            }
            Step::Done(Ok(Answer::Python(done))) => Ok(done.report),
            Step::Done(Ok(_)) => Err(Refusal::from(Failure::Pipe)),
            Step::Done(Err(refusal)) => Err(refusal),
        };
        let _ = tell.send(RowEvent { task, what: What::Done(Box::new(done)) });
        return;
    }
}

/// The try of a run that came to an end.
fn ended(report: &PythonReport, took: Duration) -> (Try, RowEnd) {
    if let Some(failure) = client::not_begun(report) {
        return (refused(&failure.into(), took), RowEnd::Failed);
    }
    let cells = report.cells.iter().filter(|cell| cell.count.is_some()).count();
    let lost = unsaved(report).map(|(problem, hint)| Trouble {
        kind: "unsaved".to_owned(),
        message: words::file::not_in_file(problem),
        cell: None,
        details: hint.to_owned(),
    });
    let exit = match unsaved(report) {
        Some((problem, _)) if report.state == State::Done => Exit::of_kind(problem.kind),
        _ => Exit::of_state(report.state),
    };
    let mut failed: Vec<&CellReport> = report.cells.iter().filter(is_unforeseen).collect();
    let failed_cells = failed.len();
    let is_well = exit == Exit::Ok;
    let stopped = trouble(report).or(lost);
    let stopped_at = stopped.as_ref().and_then(|trouble| trouble.cell);
    failed.retain(|cell| stopped_at.is_none_or(|at| position(cell) != Some(at)));
    let error = match (allowed(&failed), stopped) {
        (Some(before), Some(stopped)) => {
            let details = format!("{}\n\n{}", before.details, stopped.details);
            Some(Trouble { details, ..stopped })
        }
        (before, stopped) => stopped.or(before),
    };
    let status = if is_well && failed_cells > 0 { FAILED_CELLS } else { status(report.state) };
    let end = if is_well { RowEnd::Well } else { RowEnd::Failed };
    (Try { status, exit, took, cells, failed_cells, error, notes: notes(report) }, end)
}

/// The remarks about a run, beside its error.
fn notes(report: &PythonReport) -> Vec<Note> {
    let losses: Vec<String> = missing(report).into_iter().chain(said_beside(report)).collect();
    // The error of a row has room for one reason, which is what failed first.
    let unsaved = unsaved(report).filter(|_| report.state != State::Done);
    let unsaved = unsaved.map(|(problem, hint)| Note {
        text: format!("{}; {hint}", words::file::not_in_file(problem)),
        is_loss: true,
    });
    let said = notes_beside_errors(report).into_iter();
    unsaved
        .into_iter()
        .chain(said.map(|text| Note { is_loss: losses.contains(&text), text }))
        .collect()
}

fn position(cell: &CellReport) -> Option<usize> {
    cell.notebook.as_ref().map(|cell| cell.index)
}

/// Cells that failed in a run that went on, as one trouble.
fn allowed(failed: &[&CellReport]) -> Option<Trouble> {
    let mut troubles = failed.iter().map(|cell| trouble_of(cell));
    let mut all = troubles.next()?;
    for trouble in troubles {
        all.details = format!("{}\n\n{}", all.details, trouble.details);
    }
    if failed.len() > 1 {
        all.message = format!("{} (and {} more)", all.message, failed.len() - 1);
    }
    Some(all)
}

/// Returns whether a cell failed that is not tagged as one that may fail.
fn is_unforeseen(cell: &&CellReport) -> bool {
    let may_fail = cell.notebook.as_ref().is_some_and(|cell| cell.may_fail);
    let has_failed = matches!(cell.state, State::Error | State::TimedOut | State::InputRefused);
    has_failed && !may_fail && cell.exit_status() != Some("")
}

/// The try of a run that was refused.
fn refused(refusal: &Refusal, took: Duration) -> Try {
    let Refusal { exit, kind, message, hint } = refusal;
    let details = match hint {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message.clone(),
    };
    let first = message.lines().next().unwrap_or_default().to_owned();
    let is_cancelled = *kind == Kind::Cancelled;
    Try {
        status: if is_cancelled { CANCELLED } else { "never_run" },
        exit: *exit,
        took,
        cells: 0,
        failed_cells: 0,
        error: Some(Trouble { kind: kind.name().to_owned(), message: first, cell: None, details }),
        notes: Vec::new(),
    }
}

/// Writes a report, if its file is named.
fn keep(file: Option<&Path>, text: impl FnOnce() -> String) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    write_report(file, &text()).map_err(|error| {
        Failure::new(
            Kind::Unavailable,
            words::batch::report_not_written(&file.display(), &error),
            Some(words::batch::WRITE_REPORT_AGAIN.to_owned()),
        )
    })
}
