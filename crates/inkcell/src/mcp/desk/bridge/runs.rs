//! The runs whose code may call tools now.
//!
//! Owns the registered runs and the tokens. A run is identified by `session:run` and by its token; one without the
//! other is worthless. It must not know requests.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inkcell_engine::registry::OwnerId;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::super::Desk;
use crate::http::{Caller, Guard, Token};

/// How many calls of one run are under way at once; further calls wait.
const AT_ONCE: usize = 16;

/// How many tokens of finished runs stay known, so that code which outlives its run gets a clear error. These
/// tokens grant nothing.
const REMEMBERED: usize = 64;

pub(super) struct Run {
    caller: Caller,
    pub(super) desk: Desk,
    pub(super) owner: OwnerId,
    /// Set when its code is made to stop.
    pub(super) stopping: CancellationToken,
    /// Set when the run is over.
    pub(super) over: CancellationToken,
    pub(super) places: Semaphore,
}

/// All registered runs. Clones share them.
#[derive(Clone)]
pub(super) struct Runs {
    shared: Arc<Shared>,
}

struct Shared {
    guard: Arc<Guard>,
    next: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    live: HashMap<String, Arc<Run>>,
    ended: VecDeque<Caller>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runs {
    /// An empty list, whose tokens come from this guard.
    pub(super) fn new(guard: Arc<Guard>) -> Runs {
        let (next, state) = (AtomicU64::new(0), Mutex::default());
        Runs { shared: Arc::new(Shared { guard, next, state }) }
    }

    /// Registers a run. The run is over when the returned value is dropped.
    pub(super) fn begin(
        &self,
        key: String,
        token: &Token,
        desk: Desk,
        owner: OwnerId,
        stopping: CancellationToken,
    ) -> Registration {
        let caller = Caller(self.shared.next.fetch_add(1, Ordering::Relaxed));
        let (over, places) = (CancellationToken::new(), Semaphore::new(AT_ONCE));
        let run = Arc::new(Run { caller, desk, owner, stopping, over, places });
        self.shared.guard.tokens().admit(token, caller);
        self.shared.state().live.insert(key.clone(), run);
        Registration { runs: self.clone(), key }
    }

    /// The run of this key, if the caller is its code.
    pub(super) fn find(&self, key: &str, caller: Caller) -> Option<Arc<Run>> {
        self.shared.state().live.get(key).filter(|run| run.caller == caller).cloned()
    }

    fn end(&self, key: &str) {
        let forgotten = {
            let mut state = self.shared.state();
            let Some(run) = state.live.remove(key) else { return };
            run.over.cancel();
            state.ended.push_back(run.caller);
            if state.ended.len() > REMEMBERED { state.ended.pop_front() } else { None }
        };
        if let Some(caller) = forgotten {
            self.shared.guard.tokens().dismiss(caller);
        }
    }
}

/// A run in progress; dropping it ends the run.
pub(super) struct Registration {
    runs: Runs,
    key: String,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.runs.end(&self.key);
    }
}
