//! Calls that run or have run, by their ids: a caller may go away and ask again.
//!
//! Owns the records and how long they are kept. Who fills them is in `call.rs`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::{ExecutionId, PythonReport};
use crate::journal::Journal;
use crate::session::Canceller;
use inkcell_kernel::ExecEvent;

/// What a watcher of a call sees: which of its cells, and what happened in it.
pub type CallEvent = (usize, ExecEvent);

/// How much of what happened is kept for watchers that are late.
const JOURNAL_BYTES: usize = 256 << 10;

/// One call.
pub(crate) struct Record {
    report: watch::Sender<PythonReport>,
    pub(crate) journal: Journal<CallEvent>,
    canceller: Mutex<Option<Canceller>>,
    /// How often it was taken back.
    cancelled: watch::Sender<u32>,
}

impl Record {
    pub(crate) fn new(report: PythonReport) -> Record {
        let (report, _) = watch::channel(report);
        let journal = Journal::new(JOURNAL_BYTES);
        let (cancelled, _) = watch::channel(0);
        Record { report, journal, canceller: Mutex::default(), cancelled }
    }

    /// The call as far as it has come.
    pub(crate) fn report(&self) -> PythonReport {
        self.report.borrow().clone()
    }

    /// Looks at it without a copy.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&PythonReport) -> T) -> T {
        look(&self.report.borrow())
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
    keep: Duration,
    random: fn() -> u64,
}

struct Kept {
    record: Arc<Record>,
    /// When it was seen to be over.
    over: Option<Instant>,
}

impl Executions {
    /// Keeps what is over for so long.
    pub(crate) fn new(keep: Duration, random: fn() -> u64) -> Executions {
        Executions { records: Mutex::default(), keep, random }
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
        let now = Instant::now();
        records.retain(|_, kept| {
            if kept.over.is_none() && kept.record.report.borrow().state.is_end() {
                kept.over = Some(now);
            }
            kept.over.is_none_or(|over| now.duration_since(over) < self.keep)
        });
        records.insert(id, Kept { record, over: None });
    }

    pub(crate) fn find(&self, id: &ExecutionId) -> Option<Arc<Record>> {
        self.records().get(id).map(|kept| Arc::clone(&kept.record))
    }

    /// Takes every call back, by force.
    pub(crate) fn cancel_all(&self) {
        for kept in self.records().values() {
            if !kept.record.report.borrow().state.is_end() {
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
