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
    canceller: Mutex<Cancelling>,
}

#[derive(Default)]
struct Cancelling {
    canceller: Option<Canceller>,
    times: u32,
}

impl Record {
    pub(crate) fn new(report: PythonReport) -> Record {
        let (report, _) = watch::channel(report);
        let journal = Journal::new(JOURNAL_BYTES);
        Record { report, journal, canceller: Mutex::default() }
    }

    /// The call as far as it has come.
    pub(crate) fn report(&self) -> PythonReport {
        self.report.borrow().clone()
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

    fn cancelling(&self) -> MutexGuard<'_, Cancelling> {
        self.canceller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the call back; the second time by force.
    pub(crate) fn cancel(&self) {
        let mut cancelling = self.cancelling();
        cancelling.times += 1;
        if let Some(canceller) = &cancelling.canceller {
            canceller.cancel();
        }
    }

    /// The call has its turn; what was asked before is asked now.
    pub(crate) fn can_be_cancelled_by(&self, canceller: Canceller) {
        let mut cancelling = self.cancelling();
        for _ in 0..cancelling.times {
            canceller.cancel();
        }
        cancelling.canceller = Some(canceller);
    }

    pub(crate) fn was_cancelled(&self) -> bool {
        self.cancelling().times > 0
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

    /// The ids that are remembered.
    pub(crate) fn ids(&self) -> Vec<ExecutionId> {
        let mut ids: Vec<ExecutionId> = self.records().keys().cloned().collect();
        ids.sort();
        ids
    }
}
