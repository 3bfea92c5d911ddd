//! The sessions of an engine, by their keys, and the owners that use them.
//!
//! Owns finding, creating, keeping and closing sessions. It must not know how a session runs code.

mod entries;
mod scarce;
mod watching;

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::sync::Notify;

use crate::session::{Closing, Session, SessionState};
use crate::types::{CallNote, CloseReason, Loss};
use entries::{Entry, State, now};

pub use crate::types::{Keep, OwnerId, SessionKey, SessionName};
pub use watching::Watching;

/// The least time to wait for a session that is being closed; its kernel is gone by then.
const ENDING: Duration = Duration::from_secs(5);

/// How many sessions may exist, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The most sessions at once.
    pub sessions: usize,
    /// When a session without a user is closed.
    pub idle: IdleRule,
    /// The time between two checks for idle sessions.
    pub sweep: Duration,
}

/// When an idle session is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdleRule {
    /// After this long, with or without an owner.
    Always(Duration),
    /// After this long without an owner.
    WithoutOwner(Duration),
    /// Idle sessions stay until they are closed or their place is needed.
    Never,
}

/// Why a session could not be attached.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// All places are taken by sessions that are busy, attached or kept.
    #[error("all {limit} sessions are {}: {}", taken(*.is_watched), names(.busy))]
    Full {
        /// The most sessions that may exist.
        limit: usize,
        /// The sessions that have the places.
        busy: Vec<SessionName>,
        /// At least one session is watched.
        is_watched: bool,
    },
    /// The engine is shutting down.
    #[error("inkcell is ending")]
    Ending,
}

fn taken(is_watched: bool) -> &'static str {
    if is_watched { "busy or attached" } else { "busy" }
}

fn names(busy: &[SessionName]) -> String {
    busy.iter().map(|name| name.0.as_str()).collect::<Vec<_>>().join(", ")
}

/// A session that was found or created.
#[derive(Debug)]
pub struct Attachment<T> {
    /// The value that the caller took from the session.
    pub taken: T,
    /// The sessions that were closed to make room; the caller must report them.
    pub notes: Vec<CallNote>,
}

/// One session, as a list shows it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct SessionEntry {
    /// What tells the session from others.
    pub key: SessionKey,
    /// The session's state when the list was made.
    pub state: SessionState,
    /// When the session was created.
    pub since: Instant,
    /// The number of owners that use the session.
    pub owners: usize,
    /// Whether the session stays without a user.
    pub keep: Keep,
}

/// All sessions of an engine. Clones share the registry.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

struct Shared {
    limits: Limits,
    state: Mutex<State>,
    /// Notified when a session that was to be closed stays, or when one is no longer watched.
    stayed: Notify,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    /// Creates a registry without sessions.
    pub fn new(limits: Limits) -> Registry {
        let (state, stayed) = (Mutex::default(), Notify::new());
        Registry { shared: Arc::new(Shared { limits, state, stayed }) }
    }

    /// Returns the session of this key, and creates it with `make` if there is none. Concurrent callers share
    /// it. If all places are taken, the session that was idle longest is closed; if all are at work, this
    /// waits for one as long as `patience`.
    pub async fn attach(
        &self,
        key: &SessionKey,
        owner: OwnerId,
        patience: Duration,
        make: impl Fn(Option<Loss>) -> Session,
    ) -> Result<Session, AttachError> {
        let attached = self.attach_with(key, owner, patience, make, Session::clone).await?;
        Ok(attached.taken)
    }

    /// Like [`Registry::attach`], but applies `take` to the session before another caller can find it idle
    /// and close it.
    pub async fn attach_with<T>(
        &self,
        key: &SessionKey,
        owner: OwnerId,
        patience: Duration,
        make: impl Fn(Option<Loss>) -> Session,
        take: impl Fn(&Session) -> T,
    ) -> Result<Attachment<T>, AttachError> {
        let began = tokio::time::Instant::now();
        let mut notes = Vec::new();
        loop {
            let mut stayed = Box::pin(self.shared.stayed.notified());
            // Register before looking, so that a change in between is not missed.
            stayed.as_mut().enable();
            let mut patience = patience;
            let (evict, watches) = {
                let mut state = self.shared.state();
                if state.is_ending {
                    return Err(AttachError::Ending);
                }
                state.tidy();
                // From here on no change is missed.
                let watches = state.watches();
                if let Some(entry) = state.entries.get_mut(key) {
                    if entry.closing.is_none() {
                        entry.owners.insert(owner);
                        return Ok(Attachment { taken: take(&entry.session), notes });
                    }
                    // The new session must wait until the old one's kernel is gone, which is soon.
                    patience = patience.max(ENDING);
                    (None, watches)
                } else if state.entries.len() < self.shared.limits.sessions {
                    let lost = state.losses.remove(key);
                    let session = make(lost.map(|(reason, at)| Loss::Closed {
                        reason,
                        ago: now().saturating_duration_since(at),
                    }));
                    let owners = HashSet::from([owner]);
                    let (taken, keep) = (take(&session), Keep::WhileUsed);
                    let entry = Entry { session, since: now(), owners, keep, closing: None };
                    state.entries.insert(key.clone(), entry);
                    self.start_sweeping(&mut state);
                    return Ok(Attachment { taken, notes });
                } else {
                    let evict = state.longest_idle();
                    state.begin_closing(evict.as_slice(), CloseReason::Evicted);
                    (evict, watches)
                }
            };
            if let Some((key, session)) = evict {
                let (name, reason) = (key.name.clone(), CloseReason::Evicted);
                if self.close_idle(key, session, reason).await == Closing::Closed {
                    notes.push(CallNote::MadeRoom { session: name, reason });
                }
                continue;
            }
            let changes = watches
                .into_iter()
                .map(|mut watch| async move { drop(watch.changed().await) }.boxed())
                .chain([stayed.boxed()]);
            let change = futures_util::future::select_all(changes);
            if tokio::time::timeout_at(began + patience, change).await.is_err() {
                let limit = self.shared.limits.sessions;
                let busy = self.list().into_iter().map(|listed| listed.key.name).collect();
                let is_watched = !self.shared.state().watched.is_empty();
                return Err(AttachError::Full { limit, busy, is_watched });
            }
        }
    }

    /// Returns whether the engine is shutting down, or has shut down.
    pub(crate) fn is_ending(&self) -> bool {
        self.shared.state().is_ending
    }

    /// The session of this key, if it exists.
    pub fn find(&self, key: &SessionKey) -> Option<Session> {
        self.shared.state().entries.get(key).map(|entry| entry.session.clone())
    }

    /// The reason and the age of a session's close, until its next user is told.
    pub fn closed(&self, key: &SessionKey) -> Option<(CloseReason, Duration)> {
        let lost = self.shared.state().losses.get(key).copied();
        lost.map(|(reason, at)| (reason, now().saturating_duration_since(at)))
    }

    /// The session of this name and folder that was closed last, whatever kernel it had.
    pub(crate) fn lost(&self, name: &SessionName, cwd: &Path) -> Option<SessionKey> {
        let state = self.shared.state();
        let same = state.losses.iter().filter(|(key, _)| key.name == *name && key.cwd == *cwd);
        same.max_by_key(|(_, (_, at))| *at).map(|(key, _)| key.clone())
    }

    /// Lists the sessions, sorted by name and folder.
    pub fn list(&self) -> Vec<SessionEntry> {
        let state = self.shared.state();
        let mut all: Vec<SessionEntry> = state
            .entries
            .iter()
            .map(|(key, entry)| SessionEntry {
                key: key.clone(),
                state: entry.session.state(),
                since: entry.since,
                owners: entry.owners.len(),
                keep: entry.keep,
            })
            .collect();
        all.sort_by(|a, b| a.key.name.cmp(&b.key.name).then(a.key.cwd.cmp(&b.key.cwd)));
        all
    }

    /// Sets whether a session stays without a user.
    pub fn keep(&self, key: &SessionKey, keep: Keep) {
        if let Some(entry) = self.shared.state().entries.get_mut(key) {
            entry.keep = keep;
        }
    }

    /// Removes an owner. Its sessions without another user are closed, unless they are kept.
    pub async fn detach(&self, owner: OwnerId) {
        let abandoned: Vec<Session> = {
            let mut state = self.shared.state();
            for entry in state.entries.values_mut() {
                entry.owners.remove(&owner);
            }
            let is_abandoned =
                |entry: &&mut Entry| entry.owners.is_empty() && entry.keep == Keep::WhileUsed;
            let abandoned = state.entries.values_mut().filter(is_abandoned);
            abandoned.map(|entry| entry.close(CloseReason::Asked)).collect()
        };
        close_all(abandoned, CloseReason::Asked).await;
        self.shared.state().tidy();
    }

    /// Removes an owner and leaves its sessions to the limits.
    pub fn release(&self, owner: OwnerId) {
        for entry in self.shared.state().entries.values_mut() {
            entry.owners.remove(&owner);
        }
    }

    /// Closes one session by its key.
    pub async fn close(&self, key: &SessionKey) {
        let closing = {
            let mut state = self.shared.state();
            state.entries.get_mut(key).map(|entry| entry.close(CloseReason::Asked))
        };
        if let Some(session) = closing {
            session.close(CloseReason::Asked).await;
            self.shared.state().tidy();
        }
    }

    /// Closes all sessions. When it returns, no kernel is left.
    pub async fn shutdown(&self) {
        let all: Vec<Session> = {
            let mut state = self.shared.state();
            state.is_ending = true;
            state.entries.values_mut().map(|entry| entry.close(CloseReason::Shutdown)).collect()
        };
        close_all(all, CloseReason::Shutdown).await;
        self.shared.state().tidy();
    }

    /// Closes a session that is marked so, if it is still idle; its next user is told. The close goes on even
    /// if the caller stops waiting for it.
    async fn close_idle(&self, key: SessionKey, session: Session, reason: CloseReason) -> Closing {
        let shared = Arc::clone(&self.shared);
        let closing = tokio::spawn(async move {
            let closing = session.close_if_idle(reason).await;
            let mut state = shared.state();
            match state.entries.get_mut(&key) {
                Some(entry) if closing == Closing::Busy => entry.closing = None,
                _ => state.tidy(),
            }
            drop(state);
            shared.stayed.notify_waiters();
            closing
        });
        closing.await.unwrap_or(Closing::Busy)
    }

    /// Checks for idle sessions from time to time, as long as there are any.
    fn start_sweeping(&self, state: &mut State) {
        if self.shared.limits.idle == IdleRule::Never
            || std::mem::replace(&mut state.is_swept, true)
        {
            return;
        }
        let (shared, every) = (Arc::downgrade(&self.shared), self.shared.limits.sweep);
        tokio::spawn(sweep(shared, every));
    }
}

async fn sweep(shared: Weak<Shared>, every: Duration) {
    let mut looked = now();
    loop {
        tokio::time::sleep(every).await;
        let Some(shared) = shared.upgrade() else { return };
        let registry = Registry { shared };
        let before = std::mem::replace(&mut looked, now());
        let idle = {
            let mut state = registry.shared.state();
            state.tidy();
            if state.entries.is_empty() {
                state.is_swept = false;
                return;
            }
            // The sleep took more than twice its time, so the whole process was suspended.
            if looked.saturating_duration_since(before) > 2 * every {
                state.awake = Some(looked);
            }
            let idle = state.idle_since(looked, registry.shared.limits.idle);
            state.begin_closing(&idle, CloseReason::Idle);
            idle
        };
        for (key, session) in idle {
            registry.close_idle(key, session, CloseReason::Idle).await;
        }
    }
}

async fn close_all(sessions: Vec<Session>, reason: CloseReason) {
    let closing = sessions.iter().map(|session| session.close(reason));
    futures_util::future::join_all(closing).await;
}
