//! What a signal means to a run, or to several: each is taken back, the second time by force, and then the command ends.
//!
//! Owns that somebody who does not read what is shown holds up nothing then: everything is saved, and the process ends.
//! It works beside the thread that shows.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Signal;

use super::super::heard::Heard;
use crate::client::AskHandle;
use crate::exit::{Failure, end_by};
use crate::host::{Found, LOOK, Silence};

/// How long the thread that shows the run may take after a signal. It waits for a shorter time for a reader that does
/// not read, and then for the processes it started.
const LAST_WORDS: Duration = Duration::from_secs(4);

/// Where a run is, which decides what becomes of it when our terminal does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::cli) enum RunLife {
    /// In this process.
    Ours,
    /// In this host, where it goes on while nobody watches.
    Elsewhere(Found),
}

/// Clones are the same.
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
    /// What runs now.
    handles: Vec<AskHandle>,
    heard: Option<Heard>,
    /// How often somebody has asked for an end.
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
        let heard = Heard::listen(move |times| asked(&shared, &life, times))?;
        stopping.shared.state().heard = Some(heard);
        Ok(stopping)
    }

    /// A run has begun; what was asked before is asked now.
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

    pub(in crate::cli) fn is_over(&self) {
        self.shared.state().is_over = true;
        self.shared.changed.notify_all();
    }

    /// Another run begins after one that is over: a signal waits for that again.
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
        let signal = state.heard.as_ref().and_then(Heard::first);
        if matches!(life, RunLife::Elsewhere(_)) && signal == Some(Signal::HUP.as_raw()) {
            // Nobody watches any more, and the run goes on.
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

/// Ends the process if the host does not say that the run is over, for example because it is stopped. Further signals
/// are ignored: two have come.
fn end_without(found: &Found, shared: &Shared, signal: Option<i32>) {
    let mut silence = Silence::of(found);
    while !shared.state().is_over {
        std::thread::sleep(LOOK);
        if let (Some(signal), true) = (signal, silence.is_over()) {
            let _ = end_by(signal);
        }
    }
}
