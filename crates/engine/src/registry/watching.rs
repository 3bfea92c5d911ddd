//! Somebody who watches a session: as long as that lasts, it is not closed to make room for another.
//!
//! Owns the count. What is watched is in `feeds`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use super::{Registry, SessionName, Shared};

/// Somebody watches a session; dropped, no more.
pub struct Watching {
    shared: Weak<Shared>,
    key: (SessionName, PathBuf),
}

impl Registry {
    /// Somebody watches the session of this name and folder, from here on.
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
        // Somebody may wait for its place.
        shared.stayed.notify_waiters();
    }
}
