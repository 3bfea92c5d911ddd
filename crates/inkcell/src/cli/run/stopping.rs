//! The meaning of a signal for a run, or for several: each is cancelled, the second time by force, and then the
//! command ends.
//!
//! Owns that a stalled reader holds up nothing then: everything is saved, and the process ends. It works beside the
//! thread that shows the run.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use super::super::signals::SignalThread;
use crate::client::AskHandle;
use crate::exit::{Failure, end_by};
use crate::host::{HostAddress, LOOK, Silence};

/// How long the thread that shows the run may take after a signal. It waits for a shorter time for a stalled
/// reader, and then for the processes it started.
const LAST_WORDS: Duration = Duration::from_secs(4);

/// The place of a run, which decides its fate when our terminal closes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::cli) enum RunLife {
    Ours,
    /// In this host, where it goes on without us.
    Elsewhere(HostAddress),
}

/// The state of stopping. Clones share it.
#[derive(Clone)]
pub(in crate::cli) struct Stopping {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    handles: Vec<AskHandle>,
    heard: Option<SignalThread>,
    /// How often the user has asked for an end.
    asked: u32,
    /// The run is over, and everything is where it belongs.
    is_over: bool,
    /// All of it was shown; the main thread does the rest.
    is_shown: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stopping {
    pub(in crate::cli) fn listen(life: RunLife) -> Result<Stopping, Failure> {
        let shared = Arc::<Shared>::default();
        let stopping = Stopping { shared: Arc::clone(&shared) };
        let heard = SignalThread::listen(move |times| asked(&shared, &life, times))?;
        stopping.shared.state().heard = Some(heard);
        Ok(stopping)
    }

    /// A run has begun; earlier requests to end apply to it now.
    pub(in crate::cli) fn can_cancel(&self, handle: AskHandle) {
        let mut state = self.shared.state();
        for _ in 0..state.asked {
            handle.cancel();
        }
        state.handles.push(handle);
    }

    /// One of several runs is over.
    pub(in crate::cli) fn forget(&self, handle: &AskHandle) {
        self.shared.state().handles.retain(|known| !known.is_same(handle));
    }

    /// Cancels all runs without a signal, because their output has no reader.
    pub(in crate::cli) fn give_up(&self) {
        let mut state = self.shared.state();
        state.asked = state.asked.max(1);
        state.handles.iter().for_each(AskHandle::cancel);
    }

    pub(in crate::cli) fn is_over(&self) {
        self.shared.state().is_over = true;
        self.shared.changed.notify_all();
    }

    /// Another run begins after one that is over: a signal waits for that one, too.
    pub(in crate::cli) fn goes_on(&self) {
        self.shared.state().is_over = false;
    }

    pub(in crate::cli) fn is_shown(&self) {
        self.shared.state().is_shown = true;
    }

    /// The signal that came first.
    pub(in crate::cli) fn signal(&self) -> Option<i32> {
        self.shared.state().heard.as_ref()?.first()
    }
}

fn asked(shared: &Arc<Shared>, life: &RunLife, times: u32) {
    let signal = {
        let mut state = shared.state();
        state.asked = times;
        let signal = state.heard.as_ref().and_then(SignalThread::first);
        if matches!(life, RunLife::Elsewhere(_)) && signal == Some(Signal::HUP.as_raw()) {
            // The terminal is gone, and the run goes on in its host.
            let _ = end_by(Signal::HUP.as_raw());
        }
        state.handles.iter().for_each(AskHandle::cancel);
        signal
    };
    if times > 1 {
        if let RunLife::Elsewhere(found) = life {
            end_without(found, shared, signal);
        }
        return;
    }
    let shared = Arc::clone(shared);
    let wait = move || {
        let mut state = shared.state();
        while !state.is_over {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        std::thread::sleep(LAST_WORDS);
        if let (Some(signal), false) = (signal, shared.state().is_shown) {
            let _ = end_by(signal);
        }
    };
    // Without a thread the command ends when everything was shown.
    let _ = std::thread::Builder::new().name("stopping".to_owned()).spawn(wait);
}

/// Ends the process if the host does not report the end of the run, for example because it is stopped. Further
/// signals are ignored: two have come.
fn end_without(found: &HostAddress, shared: &Shared, signal: Option<i32>) {
    let mut silence = Silence::of(found);
    while !shared.state().is_over {
        std::thread::sleep(LOOK);
        if let (Some(signal), true) = (signal, silence.is_over()) {
            let _ = end_by(signal);
        }
    }
}
