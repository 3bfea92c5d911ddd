//! Watches on sessions: while one exists, its session is not closed to make room for another.
//!
//! Owns the count. The events are in `feeds`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use super::{Registry, Shared};
use crate::types::SessionName;

/// Marks a session as watched until it is dropped.
pub struct Watching {
    shared: Weak<Shared>,
    key: (SessionName, PathBuf),
}

impl Registry {
    /// Marks the session of this name and folder as watched.
    pub fn watching(&self, name: &SessionName, cwd: &Path) -> Watching {
        let key = (name.clone(), cwd.to_owned());
        *self.shared.state().watched.entry(key.clone()).or_default() += 1;
        Watching { shared: Arc::downgrade(&self.shared), key }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let Some(shared) = self.shared.upgrade() else { return };
        let mut state = shared.state();
        if let Some(count) = state.watched.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                state.watched.remove(&self.key);
            }
        }
        drop(state);
        // A call may be waiting for the place of this session.
        shared.stayed.notify_waiters();
    }
}
