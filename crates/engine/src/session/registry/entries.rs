//! The sessions of a registry, which of them may be closed, and the reasons that the next user of a closed one gets.
//!
//! Owns the choice. It closes no session and waits for nothing, because it is used under a lock.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Instant;

use tokio::sync::watch;

use super::IdleRule;
use crate::session::{Session, SessionState};
use crate::types::{CloseReason, Keep, OwnerId, SessionKey, SessionName};

/// The number of closed sessions whose reason is remembered. Most names are never used again.
const LOSSES: usize = 256;

#[derive(Default)]
pub(super) struct State {
    pub(super) entries: HashMap<SessionKey, Entry>,
    /// Reasons for closed sessions that their next users must be told.
    pub(super) losses: HashMap<SessionKey, (CloseReason, Instant)>,
    /// The number of watchers of a session, by its name and folder, whichever kernel it has.
    pub(super) watched: HashMap<(SessionName, PathBuf), usize>,
    pub(super) is_ending: bool,
    pub(super) is_swept: bool,
    /// When this process was last resumed after a suspension. Earlier time does not count as idle time.
    pub(super) awake: Option<Instant>,
}

pub(super) struct Entry {
    pub(super) session: Session,
    pub(super) since: Instant,
    pub(super) owners: HashSet<OwnerId>,
    pub(super) keep: Keep,
    /// Why the session is being closed. It keeps its place until its kernel is gone.
    pub(super) closing: Option<CloseReason>,
}

/// The clock of the timers, as sessions use it.
pub(super) fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

impl Entry {
    /// Marks the session as being closed, and returns it for the close.
    pub(super) fn close(&mut self, reason: CloseReason) -> Session {
        self.closing.get_or_insert(reason);
        self.session.clone()
    }
}

impl State {
    /// Removes sessions that are over. For those that were not closed on request, it keeps the reason for the next
    /// user.
    pub(super) fn tidy(&mut self) {
        let over = self.entries.extract_if(|_, entry| entry.session.state().is_over);
        for (key, entry) in over.collect::<Vec<_>>() {
            match entry.closing {
                None | Some(CloseReason::Asked | CloseReason::Shutdown) => {}
                Some(reason) => self.note_loss(key, reason, now()),
            }
        }
    }

    /// Keeps a reason for the next user of a session. The oldest reason is dropped if there are too many.
    fn note_loss(&mut self, key: SessionKey, reason: CloseReason, at: Instant) {
        self.losses.insert(key, (reason, at));
        if self.losses.len() > LOSSES
            && let Some((oldest, _)) = self.losses.iter().min_by_key(|(_, (_, at))| *at)
        {
            let oldest = oldest.clone();
            self.losses.remove(&oldest);
        }
    }

    pub(super) fn begin_closing(&mut self, these: &[(SessionKey, Session)], reason: CloseReason) {
        for (key, _) in these {
            if let Some(entry) = self.entries.get_mut(key) {
                entry.close(reason);
            }
        }
    }

    /// Returns receivers of the next change of each session.
    pub(super) fn watches(&self) -> Vec<watch::Receiver<SessionState>> {
        let watch = |entry: &Entry| {
            let mut watch = entry.session.watch();
            watch.mark_unchanged();
            watch
        };
        self.entries.values().map(watch).collect()
    }

    /// The session that may be closed and was idle longest. A session without a kernel goes first, since it has
    /// nothing to lose.
    pub(super) fn longest_idle(&self) -> Option<(SessionKey, Session)> {
        let oldest =
            self.disposable().min_by_key(|(.., state)| (state.kernel.is_some(), state.used))?;
        Some((oldest.0.clone(), oldest.1.session.clone()))
    }

    /// The sessions that this rule closes now.
    pub(super) fn idle_since(&self, now: Instant, rule: IdleRule) -> Vec<(SessionKey, Session)> {
        self.those(|entry, state| {
            let since = self.awake.map_or(state.used, |awake| awake.max(state.used));
            let idle = now.saturating_duration_since(since);
            match rule {
                IdleRule::Always(limit) => idle >= limit,
                IdleRule::WithoutOwner(limit) => entry.owners.is_empty() && idle >= limit,
                IdleRule::Never => false,
            }
        })
    }

    /// The session that has been idle longest, among those that may be closed, have a kernel and belong to this owner
    /// alone.
    pub(super) fn longest_idle_of(&self, owner: OwnerId) -> Option<(SessionKey, Session)> {
        let is_theirs = |entry: &Entry| entry.owners.iter().all(|user| *user == owner);
        let oldest = self
            .disposable()
            .filter(|(_, entry, state)| is_theirs(entry) && state.kernel.is_some())
            .min_by_key(|(.., state)| state.used)?;
        Some((oldest.0.clone(), oldest.1.session.clone()))
    }

    fn those(&self, picks: impl Fn(&Entry, &SessionState) -> bool) -> Vec<(SessionKey, Session)> {
        self.disposable()
            .filter(|(_, entry, state)| picks(entry, state))
            .map(|(key, entry, _)| (key.clone(), entry.session.clone()))
            .collect()
    }

    fn is_watched(&self, key: &SessionKey) -> bool {
        self.watched.keys().any(|(name, cwd)| *name == key.name && *cwd == key.cwd)
    }

    /// Sessions that are idle, not watched, not kept and not being closed already.
    fn disposable(&self) -> impl Iterator<Item = (&SessionKey, &Entry, SessionState)> {
        self.entries
            .iter()
            .filter(|(key, entry)| {
                entry.keep == Keep::WhileUsed && entry.closing.is_none() && !self.is_watched(key)
            })
            .map(|(key, entry)| (key, entry, entry.session.state()))
            .filter(|(.., state)| !state.is_busy)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use inkcell_kernel::BackendKind;

    use super::*;

    /// Names that are never used again must not fill the memory of a host that runs for weeks.
    #[test]
    fn what_became_of_sessions_is_remembered_for_the_latest_ones() {
        let key = |n: usize| SessionKey {
            name: SessionName(n.to_string()),
            cwd: "/".into(),
            interpreter: None,
            backend: BackendKind::Runner,
            kernel: None,
        };
        let (mut state, began) = (State::default(), Instant::now());
        for n in 0..LOSSES + 10 {
            let at = began + Duration::from_secs(n as u64);
            state.note_loss(key(n), CloseReason::Evicted, at);
        }
        assert_eq!(state.losses.len(), LOSSES);
        assert!(!state.losses.contains_key(&key(9)) && state.losses.contains_key(&key(10)));
        assert!(state.losses.contains_key(&key(LOSSES + 9)));
    }
}
