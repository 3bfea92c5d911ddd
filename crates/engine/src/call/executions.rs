//! Calls that run or have run, by their ids: a caller may go away and ask again later.
//!
//! Owns the records and how long they are kept. `call/mod.rs` fills them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inkcell_kernel::{ExecEvent, InputReply};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::{CellReport, NotebookCell, PythonReport};
use crate::session::journal::Journal;
use crate::session::{Canceller, Replier, weight};
use crate::types::{ExecutionId, SessionKey, SessionName, State};

/// An event of a call, with the index of the cell that it belongs to.
pub type CallEvent = (usize, ExecEvent);

/// A notebook run of this engine that is not over.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RunningRun {
    /// The id of the run's call, to ask for it or to cancel it.
    pub execution: ExecutionId,
    /// The running cell, unless the run waits for its turn.
    pub cell: Option<NotebookCell>,
}

/// How many bytes of a call's events are kept for late watchers.
const JOURNAL_BYTES: usize = 256 << 10;

/// The most bytes that finished calls may take together. The oldest are dropped first, even before their
/// time: output that was too large for an answer is stored and outlives them.
const KEPT_BYTES: usize = 16 << 20;

/// The bytes that a record takes in addition to its report and its journal.
const RECORD_BYTES: usize = 4 << 10;

/// The number of latest finished calls whose events are kept for late watchers. Older calls keep only
/// their report.
const WATCHED_LATE: usize = 16;

/// How many dropped calls are remembered as dropped.
const LET_GO: usize = 4096;

/// How many calls are looked at for suggestions when the requested one does not exist.
const NAMED: usize = 50;

pub(crate) struct Record {
    pub(crate) execution: ExecutionId,
    /// The session of the call, unless the call has a kernel to itself.
    session: Option<SessionKey>,
    report: watch::Sender<PythonReport>,
    pub(crate) journal: Journal<CallEvent>,
    canceller: Mutex<Option<Canceller>>,
    /// Present while a cell of the call waits for a line.
    replier: Mutex<Option<Replier>>,
    /// How often the call was cancelled.
    cancelled: watch::Sender<u32>,
}

impl Record {
    pub(crate) fn new(session: Option<SessionKey>, report: PythonReport) -> Record {
        let execution = report.execution.clone();
        let (report, _) = watch::channel(report);
        let journal = Journal::new(JOURNAL_BYTES);
        let (cancelled, _) = watch::channel(0);
        Record {
            execution,
            session,
            report,
            journal,
            canceller: Mutex::default(),
            replier: Mutex::default(),
            cancelled,
        }
    }

    /// The call in its current state.
    pub(crate) fn report(&self) -> PythonReport {
        self.report.borrow().clone()
    }

    /// Reads one part of the report without a copy of the rest.
    pub(crate) fn read_report<T>(&self, at: impl FnOnce(&PythonReport) -> T) -> T {
        at(&self.report.borrow())
    }

    /// The cell at this index, from 0.
    pub(crate) fn cell(&self, index: usize) -> Option<CellReport> {
        self.report.borrow().cells.get(index).cloned()
    }

    fn is_over(&self) -> bool {
        self.report.borrow().state.is_end()
    }

    /// The approximate memory in bytes that the record takes.
    fn weight_bytes(&self) -> usize {
        RECORD_BYTES + weight::value_bytes(&*self.report.borrow()) + self.journal.size_bytes()
    }

    /// Ends the call: it can no longer be cancelled or answered, so the handles for that are dropped.
    fn end(&self) {
        *self.canceller() = None;
        self.set_replier(None);
        if self.journal.size_bytes() > JOURNAL_BYTES {
            // One event alone is larger than the whole limit. The report has the reader's excerpt of it.
            self.journal.forget();
        }
    }

    /// Waits until one of its cells is over, and returns the cell.
    pub(crate) async fn ended(&self, index: usize) -> Option<CellReport> {
        let mut seen = self.report.subscribe();
        let is_over =
            |report: &PythonReport| report.cells.get(index).is_none_or(|cell| cell.state.is_end());
        drop(seen.wait_for(is_over).await);
        self.cell(index)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut PythonReport)) {
        self.report.send_modify(change);
    }

    /// Waits until the call is over, or for as long as `patience`.
    pub(crate) async fn settled(&self, patience: Option<Duration>) -> PythonReport {
        let mut seen = self.report.subscribe();
        let over = seen.wait_for(|report| report.state.is_end());
        match patience {
            Some(patience) => drop(tokio::time::timeout(patience, over).await),
            None => drop(over.await),
        }
        self.report()
    }

    fn canceller(&self) -> MutexGuard<'_, Option<Canceller>> {
        self.canceller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancels the call. A second cancel stops it by force.
    pub(crate) fn cancel(&self) {
        let canceller = self.canceller();
        self.cancelled.send_modify(|times| *times += 1);
        if let Some(canceller) = &*canceller {
            canceller.cancel();
        }
    }

    /// The call has its turn: earlier cancels are passed on now.
    pub(crate) fn can_be_cancelled_by(&self, canceller: Canceller) {
        let mut known = self.canceller();
        for _ in 0..self.times_cancelled() {
            canceller.cancel();
        }
        *known = Some(canceller);
    }

    fn replier(&self) -> MutexGuard<'_, Option<Replier>> {
        self.replier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the handle that answers a cell, or removes it when no cell waits for a line.
    pub(crate) fn set_replier(&self, replier: Option<Replier>) {
        *self.replier() = replier;
    }

    pub(crate) fn waits_for_line(&self) -> bool {
        self.replier().is_some()
    }

    /// Answers the cell that waits for a line, and returns whether one did. Each request is answered once.
    pub(crate) fn reply(&self, reply: InputReply) -> bool {
        let replier = self.replier().take();
        replier.map(|replier| replier.reply(reply)).is_some()
    }

    pub(crate) fn times_cancelled(&self) -> u32 {
        *self.cancelled.borrow()
    }

    /// Returns once the call was cancelled more often than `times`.
    pub(crate) async fn cancelled_after(&self, times: u32) {
        let mut cancelled = self.cancelled.subscribe();
        let more = cancelled.wait_for(|now| *now > times).await.is_ok();
        if !more {
            std::future::pending::<()>().await;
        }
    }
}

/// All calls that are remembered.
pub(crate) struct Executions {
    records: Mutex<Records>,
    keep: Duration,
    random: fn() -> u64,
}

#[derive(Default)]
struct Records {
    all: HashMap<ExecutionId, StoredCall>,
    /// The number of calls so far.
    added: u64,
    /// The calls that are over, in the order in which they ended.
    ended: VecDeque<ExecutionId>,
    /// The size in bytes of these calls together.
    ended_bytes: usize,
    /// The calls that were dropped last.
    let_go: VecDeque<ExecutionId>,
}

struct StoredCall {
    record: Arc<Record>,
    /// The number of the call in the order of arrival, from 1.
    place: u64,
    /// When the call ended, and its size in bytes at that time.
    over: Option<(Instant, usize)>,
}

impl Records {
    /// Marks a call as over; from now on its weight counts.
    fn end(&mut self, id: &ExecutionId, now: Instant) {
        let Some(kept) = self.all.get_mut(id).filter(|kept| kept.over.is_none()) else { return };
        kept.record.end();
        let weight = kept.record.weight_bytes();
        kept.over = Some((now, weight));
        self.ended.push_back(id.clone());
        self.ended_bytes += weight;
        let late = self.ended.len().checked_sub(WATCHED_LATE + 1);
        if let Some(late) = late.and_then(|late| self.ended.get(late)).cloned() {
            self.forget_events(&late);
        }
    }

    /// Keeps only the report of a call.
    fn forget_events(&mut self, id: &ExecutionId) {
        let Some(StoredCall { record, over: Some((_, weight)), .. }) = self.all.get_mut(id) else {
            return;
        };
        let bytes = record.journal.size_bytes();
        record.journal.forget();
        *weight = weight.saturating_sub(bytes);
        self.ended_bytes = self.ended_bytes.saturating_sub(bytes);
    }

    /// Drops the oldest calls until the rest fits. The last one stays, whatever its size.
    fn make_room(&mut self) {
        while self.ended_bytes > KEPT_BYTES && self.ended.len() > 1 {
            self.forget_first();
        }
    }

    /// Drops calls that ended longer than `keep` ago. The last ones stay: their callers may not
    /// have asked for them yet.
    fn forget_old(&mut self, now: Instant, keep: Duration) {
        while self.ended.len() > WATCHED_LATE {
            let first = self.ended.front().and_then(|id| self.all.get(id)).and_then(|it| it.over);
            match first {
                Some((over, _)) if now.duration_since(over) < keep => return,
                _ => self.forget_first(),
            }
        }
    }

    fn forget_first(&mut self) {
        let Some(id) = self.ended.pop_front() else { return };
        if let Some(StoredCall { over: Some((_, weight)), .. }) = self.all.remove(&id) {
            self.ended_bytes = self.ended_bytes.saturating_sub(weight);
        }
        if self.let_go.len() >= LET_GO {
            self.let_go.pop_front();
        }
        self.let_go.push_back(id);
    }
}

impl Executions {
    /// Keeps each finished call for `keep`.
    pub(crate) fn new(keep: Duration, random: fn() -> u64) -> Executions {
        Executions { records: Mutex::default(), keep, random }
    }

    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new random id. It is short, because people type it.
    pub(crate) fn new_id(&self) -> ExecutionId {
        const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let mut random = (self.random)();
        let mut id = String::from("x");
        for _ in 0..9 {
            let letter = usize::try_from(random % 32).unwrap_or(0);
            id.push(char::from(LETTERS[letter]));
            random /= 32;
        }
        ExecutionId(id)
    }

    pub(crate) fn add(&self, id: ExecutionId, record: Arc<Record>) {
        let mut records = self.records();
        records.added += 1;
        let place = records.added;
        records.all.insert(id, StoredCall { record, place, over: None });
        records.forget_old(Instant::now(), self.keep);
    }

    /// Records that a call is over, and drops older ones to make room for it.
    pub(crate) fn ended(&self, id: &ExecutionId) {
        let mut records = self.records();
        records.end(id, Instant::now());
        records.make_room();
    }

    /// The size in bytes of all calls that are over.
    pub(crate) fn size_bytes(&self) -> usize {
        self.records().ended_bytes
    }

    /// The call whose cell runs this code in a session, and the number of the cell.
    pub(crate) fn cell_in(&self, session: &SessionKey, code: &str) -> Option<(Arc<Record>, usize)> {
        let is_it = |cell: &CellReport| cell.state == State::Running && cell.source.code == code;
        self.records().all.values().find_map(|StoredCall { record, .. }| {
            if record.session.as_ref() != Some(session) {
                return None;
            }
            let index = record.read_report(|report| report.cells.iter().position(is_it))?;
            Some((Arc::clone(record), index))
        })
    }

    /// The next cell in a session that runs none: the first unfinished cell of the oldest unfinished call.
    pub(crate) fn next_in(&self, session: &SessionKey) -> Option<(Arc<Record>, usize)> {
        let records = self.records();
        let is_open = |kept: &&StoredCall| {
            kept.record.session.as_ref() == Some(session) && !kept.record.is_over()
        };
        let mut open: Vec<&StoredCall> = records.all.values().filter(is_open).collect();
        open.sort_unstable_by_key(|kept| kept.place);
        let is_next = |cell: &CellReport| !cell.state.is_end();
        open.into_iter().find_map(|StoredCall { record, .. }| {
            let index = record.read_report(|report| report.cells.iter().position(is_next))?;
            Some((Arc::clone(record), index))
        })
    }

    /// The id of the call whose cell runs this code in a session, with the cell's title.
    pub(crate) fn running_in(
        &self,
        session: &SessionKey,
        code: &str,
    ) -> Option<(ExecutionId, Option<String>)> {
        let (record, index) = self.cell_in(session, code)?;
        let title = |report: &PythonReport| report.cells.get(index)?.source.title.clone();
        Some((record.execution.clone(), record.read_report(title)))
    }

    /// The unfinished notebook run in the session of this name, if there is one.
    pub(crate) fn run_in(&self, session: &SessionName) -> Option<RunningRun> {
        self.records().all.iter().find_map(|(id, kept)| {
            let report = kept.record.report.borrow();
            let is_it = report.session == *session && report.notebook.is_some();
            let running = report.cells.iter().find(|cell| cell.state == State::Running);
            (is_it && !report.state.is_end()).then(|| RunningRun {
                execution: id.clone(),
                cell: running.and_then(|cell| cell.notebook.clone()),
            })
        })
    }

    pub(crate) fn find(&self, id: &ExecutionId) -> Option<Arc<Record>> {
        self.records().all.get(id).map(|kept| Arc::clone(&kept.record))
    }

    /// Cancels every call by force.
    pub(crate) fn cancel_all(&self) {
        for kept in self.records().all.values() {
            if !kept.record.is_over() {
                kept.record.cancel();
                kept.record.cancel();
            }
        }
    }

    /// Returns whether this call existed and was dropped.
    pub(crate) fn was_let_go(&self, id: &ExecutionId) -> bool {
        self.records().let_go.contains(id)
    }

    /// Some calls that a caller can ask for: those that run, and those that ended last.
    pub(crate) fn latest(&self) -> Vec<ExecutionId> {
        let records = self.records();
        let running = records.all.iter().filter(|(_, kept)| kept.over.is_none()).map(|(id, _)| id);
        running.chain(records.ended.iter().rev()).take(NAMED).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use inkcell_kernel::{BackendKind, StreamName};

    use super::*;
    use crate::api::{CellKernel, CellSource};
    use crate::output::ModelOutput;
    use crate::types::SessionName;

    fn key(cwd: &str) -> SessionKey {
        SessionKey {
            name: SessionName("work".to_owned()),
            cwd: cwd.into(),
            interpreter: None,
            backend: BackendKind::Runner,
            kernel: None,
        }
    }

    fn record(session: Option<SessionKey>, id: &str, state: State) -> Arc<Record> {
        let code = "step()".to_owned();
        let source = CellSource { code, title: None, timeout: None, kernel: CellKernel::Same };
        let cell = CellReport {
            source,
            state,
            count: None,
            duration: Duration::ZERO,
            output: ModelOutput::default(),
            end: None,
            notes: Vec::new(),
            notebook: None,
        };
        let report = PythonReport {
            execution: ExecutionId(id.to_owned()),
            session: SessionName("work".to_owned()),
            state,
            cells: vec![cell],
            kernel: None,
            missed_variable: None,
            death: None,
            after: ModelOutput::default(),
            undelivered_bytes: 0,
            notebook: None,
        };
        Arc::new(Record::new(session, report))
    }

    fn executions() -> Executions {
        Executions::new(Duration::from_secs(3600), || 7)
    }

    /// The same code under the same name may run in another folder, or in a kernel of its own; a cancel of the
    /// call here must not reach those.
    #[test]
    fn what_runs_in_a_session_is_not_mistaken_for_another_call() {
        let executions = executions();
        for (id, session) in [("a", Some(key("/a"))), ("b", Some(key("/b"))), ("c", None)] {
            let record = record(session, id, State::Running);
            executions.add(ExecutionId(id.to_owned()), record);
        }
        let found = |cwd| executions.running_in(&key(cwd), "step()").map(|(id, _)| id.0);
        assert_eq!(found("/a").as_deref(), Some("a"));
        assert_eq!(found("/b").as_deref(), Some("b"));
        assert_eq!(found("/c"), None);
        assert_eq!(executions.running_in(&key("/a"), "other()"), None);
    }

    fn id(n: usize) -> ExecutionId {
        ExecutionId(format!("{n:06}"))
    }

    /// Adds a finished call with this output.
    fn add_ended(executions: &Executions, n: usize, said: &Bytes) {
        let id = id(n);
        let record = record(None, &id.0, State::Done);
        let event = ExecEvent::Stream { name: StreamName::Stdout, data: said.clone() };
        record.journal.push((0, event), said.len());
        executions.add(id.clone(), record);
        executions.ended(&id);
    }

    /// The memory for finished calls has a bound, however many there are and whatever they write. The oldest go first,
    /// a running call never goes, and a dropped call is known to be dropped.
    #[test]
    fn what_is_remembered_has_a_bound() {
        let executions = executions();
        let running = ExecutionId("running".to_owned());
        executions.add(running.clone(), record(None, "running", State::Running));
        let much = Bytes::from(vec![b'x'; 300 << 10]);
        let little = Bytes::from_static(b"2");
        for n in 0..10_000 {
            add_ended(&executions, n, if n % 3 == 0 { &much } else { &little });
            assert!(executions.size_bytes() <= KEPT_BYTES, "{} after {n}", executions.size_bytes());
        }
        let weighed: usize = {
            let records = executions.records();
            records.ended.iter().map(|id| records.all[id].record.weight_bytes()).sum()
        };
        assert_eq!(executions.size_bytes(), weighed, "the sum is kept as it changes");
        assert!(executions.find(&running).is_some());
        assert!(executions.find(&id(0)).is_none() && executions.find(&id(9_999)).is_some());
        let kept = executions.records().ended.len();
        assert!(kept > 1000, "{kept} reports that say little are kept");
        assert!(executions.was_let_go(&id(9_999 - kept)) && !executions.was_let_go(&id(9_999)));
        assert!(!executions.was_let_go(&running));
        assert_eq!(executions.records().let_go.len(), LET_GO);
        assert_eq!(executions.latest()[..2], [running, id(9_999)]);
    }

    /// Only the calls that ended last keep their events. A call that is larger than the whole limit does not
    /// displace the others for good.
    #[test]
    fn what_happened_is_kept_for_the_latest() {
        let executions = executions();
        let said = Bytes::from(vec![b'x'; 1000]);
        for n in 0..=WATCHED_LATE {
            add_ended(&executions, n, &said);
        }
        let of = |n: usize| executions.find(&id(n)).map(|record| record.journal.size_bytes());
        assert_eq!((of(0), of(1)), (Some(0), Some(1000)));
        let huge = Bytes::from(vec![b'x'; 2 * KEPT_BYTES]);
        add_ended(&executions, 20, &huge);
        assert_eq!((of(20), of(2)), (Some(0), Some(1000)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_over_is_kept_for_its_time() {
        let executions = executions();
        let said = Bytes::from_static(b"1");
        for n in 0..100 {
            add_ended(&executions, n, &said);
        }
        tokio::time::advance(Duration::from_secs(3599)).await;
        executions.add(id(100), record(None, "100", State::Running));
        assert!(executions.find(&id(0)).is_some());
        tokio::time::advance(Duration::from_secs(1)).await;
        executions.add(id(101), record(None, "101", State::Running));
        assert!(executions.was_let_go(&id(0)) && executions.find(&id(99)).is_some());
        assert_eq!(executions.records().ended.len(), WATCHED_LATE);
    }
}
