//! Calls that run or have run, by their ids: a caller may go away and ask again.
//!
//! Owns the records and how long they are kept. Who fills them is in `call.rs`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use inkcell_kernel::{ExecEvent, InputReply};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::{CellReport, ExecutionId, PythonReport, State};
use crate::journal::Journal;
use crate::output::RichKind;
use crate::registry::{SessionKey, SessionName};
use crate::run::RunningRun;
use crate::session::{Canceller, Replier};

/// What a watcher of a call sees: which of its cells, and what happened in it.
pub type CallEvent = (usize, ExecEvent);

/// How much of what happened is kept for watchers that are late.
const JOURNAL_BYTES: usize = 256 << 10;

/// How much calls that are over may weigh together. The oldest are forgotten first, also before their time:
/// what was too large for an answer is stored and outlives them.
const KEPT_BYTES: usize = 64 << 20;

/// One call.
pub(crate) struct Record {
    pub(crate) execution: ExecutionId,
    /// The session it runs in, unless it has a kernel to itself.
    session: Option<SessionKey>,
    report: watch::Sender<PythonReport>,
    pub(crate) journal: Journal<CallEvent>,
    canceller: Mutex<Option<Canceller>>,
    /// There while one of its cells waits for a line.
    replier: Mutex<Option<Replier>>,
    /// How often it was taken back.
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

    /// The call as far as it has come.
    pub(crate) fn report(&self) -> PythonReport {
        self.report.borrow().clone()
    }

    /// What somebody wants to know of it, without a copy of the rest.
    pub(crate) fn look<T>(&self, at: impl FnOnce(&PythonReport) -> T) -> T {
        at(&self.report.borrow())
    }

    /// One of its cells.
    pub(crate) fn cell(&self, index: usize) -> Option<CellReport> {
        self.report.borrow().cells.get(index).cloned()
    }

    fn is_over(&self) -> bool {
        self.report.borrow().state.is_end()
    }

    /// About how much it takes to remember it.
    fn weight_bytes(&self) -> usize {
        let rich = |kind: &RichKind| match kind {
            RichKind::Image(image) => image.data.as_ref().map_or(0, |data| data.len()),
            RichKind::Json(json) => json.shown.len(),
            RichKind::Status(json) => json.len(),
            RichKind::Digest { .. } => 0,
        };
        let cell = |cell: &CellReport| {
            let text = usize::try_from(cell.output.counts.output_bytes).unwrap_or(usize::MAX);
            let rich = cell.output.rich.iter().map(|item| rich(&item.kind));
            cell.source.code.len().saturating_add(text).saturating_add(rich.sum())
        };
        let cells = self.report.borrow().cells.iter().map(cell).fold(0, usize::saturating_add);
        cells.saturating_add(self.journal.size_bytes())
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

    /// Takes the call back; the second time by force.
    pub(crate) fn cancel(&self) {
        let canceller = self.canceller();
        self.cancelled.send_modify(|times| *times += 1);
        if let Some(canceller) = &*canceller {
            canceller.cancel();
        }
    }

    /// The call has its turn; what was asked before is asked now.
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

    /// One of its cells waits for a line, or none does any more.
    pub(crate) fn set_replier(&self, replier: Option<Replier>) {
        *self.replier() = replier;
    }

    pub(crate) fn waits_for_line(&self) -> bool {
        self.replier().is_some()
    }

    /// Answers the cell that waits for a line; says whether one did. Each is answered once.
    pub(crate) fn reply(&self, reply: InputReply) -> bool {
        let replier = self.replier().take();
        replier.map(|replier| replier.reply(reply)).is_some()
    }

    pub(crate) fn times_cancelled(&self) -> u32 {
        *self.cancelled.borrow()
    }

    /// Returns once it was taken back more often than `times`.
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
    records: Mutex<HashMap<ExecutionId, Kept>>,
    added: AtomicU32,
    keep: Duration,
    random: fn() -> u64,
}

/// After how many new calls the old ones are looked through.
const SWEEP_EVERY: u32 = 16;

struct Kept {
    record: Arc<Record>,
    /// When it was seen to be over, and what it weighs since.
    over: Option<(Instant, usize)>,
}

impl Executions {
    /// Keeps what is over for so long.
    pub(crate) fn new(keep: Duration, random: fn() -> u64) -> Executions {
        Executions { records: Mutex::default(), added: AtomicU32::new(0), keep, random }
    }

    fn records(&self) -> MutexGuard<'_, HashMap<ExecutionId, Kept>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name nobody has; short, because people type it.
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
        records.insert(id, Kept { record, over: None });
        // Looking through all of them takes longer than a short cell.
        if !self.added.fetch_add(1, Ordering::Relaxed).is_multiple_of(SWEEP_EVERY) {
            return;
        }
        let now = Instant::now();
        records.retain(|_, kept| {
            if kept.over.is_none() && kept.record.is_over() {
                kept.over = Some((now, kept.record.weight_bytes()));
            }
            kept.over.is_none_or(|(over, _)| now.duration_since(over) < self.keep)
        });
        forget_oldest(&mut records);
    }

    /// The call whose cell runs this code in a session, and the cell's title.
    pub(crate) fn running_in(
        &self,
        session: &SessionKey,
        code: &str,
    ) -> Option<(ExecutionId, Option<String>)> {
        let is_it = |cell: &&CellReport| cell.state == State::Running && cell.source.code == code;
        self.records().iter().find_map(|(id, kept)| {
            let record = &kept.record;
            if record.session.as_ref() != Some(session) {
                return None;
            }
            let report = record.report.borrow();
            let cell = report.cells.iter().find(is_it)?;
            Some((id.clone(), cell.source.title.clone()))
        })
    }

    /// The run of a notebook in the session of this name, if one is not over.
    pub(crate) fn run_in(&self, session: &SessionName) -> Option<RunningRun> {
        self.records().iter().find_map(|(id, kept)| {
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
        self.records().get(id).map(|kept| Arc::clone(&kept.record))
    }

    /// Takes every call back, by force.
    pub(crate) fn cancel_all(&self) {
        for kept in self.records().values() {
            if !kept.record.is_over() {
                kept.record.cancel();
                kept.record.cancel();
            }
        }
    }

    /// The ids that are remembered.
    pub(crate) fn ids(&self) -> Vec<ExecutionId> {
        let mut ids: Vec<ExecutionId> = self.records().keys().cloned().collect();
        ids.sort();
        ids
    }
}

/// Lets go of calls that are over until the rest is not too much.
fn forget_oldest(records: &mut HashMap<ExecutionId, Kept>) {
    let mut total: usize =
        records.values().filter_map(|kept| kept.over).map(|(_, weight)| weight).sum();
    if total <= KEPT_BYTES {
        return;
    }
    let ended = records.iter().filter_map(|(id, kept)| Some((kept.over?, id.clone())));
    let mut ended: Vec<((Instant, usize), ExecutionId)> = ended.collect();
    ended.sort();
    for ((_, weight), id) in ended {
        if total <= KEPT_BYTES {
            break;
        }
        records.remove(&id);
        total -= weight;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use inkcell_kernel::{BackendKind, StreamName};

    use super::*;
    use crate::api::{CellKernel, CellSource};
    use crate::output::ModelOutput;
    use crate::registry::SessionName;

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
            withheld_hint: None,
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

    /// The same code under the same name may run in another folder, or in a kernel of its own; whoever takes
    /// back what runs here must not take that back.
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

    /// Calls that said much are forgotten before their time, the oldest first, and one that runs never is.
    #[test]
    fn what_is_remembered_has_a_bound() {
        let executions = executions();
        executions.add(ExecutionId("running".to_owned()), record(None, "running", State::Running));
        let most = KEPT_BYTES / JOURNAL_BYTES;
        let data = Bytes::from(vec![b'x'; JOURNAL_BYTES]);
        let said = ExecEvent::Stream { name: StreamName::Stdout, data };
        let all = most + 2 * SWEEP_EVERY as usize;
        for n in 0..all {
            let id = format!("{n:06}");
            let record = record(None, &id, State::Done);
            record.journal.push((0, said.clone()), JOURNAL_BYTES);
            executions.add(ExecutionId(id), record);
        }
        let ids = executions.ids();
        let bound = most + 2 + SWEEP_EVERY as usize;
        assert!(ids.len() <= bound, "{} of {most}", ids.len());
        assert!(executions.find(&ExecutionId("running".to_owned())).is_some());
        assert!(executions.find(&ExecutionId("000000".to_owned())).is_none());
        let last = format!("{:06}", all - 1);
        assert!(executions.find(&ExecutionId(last)).is_some());
    }
}
