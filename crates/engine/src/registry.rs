//! The sessions there are, by what makes them different, and who uses them.
//!
//! Owns finding, making, keeping and letting go of sessions. How a session runs code is its own business.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use inkcell_kernel::BackendKind;
use tokio::sync::watch;

use crate::session::{CloseReason, Closing, Loss, Session, SessionState};

/// What a session is called.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SessionName(pub String);

impl fmt::Display for SessionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What makes two sessions different.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SessionKey {
    /// Its name.
    pub name: SessionName,
    /// Its working folder, with links followed.
    pub cwd: PathBuf,
    /// The interpreter, when one was asked for by name.
    pub interpreter: Option<PathBuf>,
    /// What makes its kernels.
    pub backend: BackendKind,
}

/// Somebody who uses sessions and may go away: a client, a job.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct OwnerId(pub u64);

/// How many sessions there may be, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// At most this many at once.
    pub sessions: usize,
    /// When one that nobody uses is closed.
    pub idle: IdleRule,
    /// How often that is looked at.
    pub sweep: Duration,
}

/// When a session that is not used is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdleRule {
    /// After this long, whoever owns it.
    Always(Duration),
    /// After this long without an owner.
    WithoutOwner(Duration),
    /// Never.
    Never,
}

/// Whether a session is let go of when nobody uses it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// As the limits say.
    WhileUsed,
    /// It stays until it is closed by name.
    Always,
}

/// Why there is no session.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AttachError {
    /// All places are taken by sessions that are at work.
    #[error("all {limit} sessions are busy: {}", names(.busy))]
    Full {
        /// How many there may be.
        limit: usize,
        /// Those that are at work.
        busy: Vec<SessionName>,
    },
    /// Everything is being ended.
    #[error("inkcell is ending")]
    Ending,
}

fn names(busy: &[SessionName]) -> String {
    busy.iter().map(|name| name.0.as_str()).collect::<Vec<_>>().join(", ")
}

/// One session, as a list shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Listed {
    /// Which.
    pub key: SessionKey,
    /// What can be seen of it.
    pub state: SessionState,
    /// How many use it.
    pub owners: usize,
    /// Whether it stays.
    pub keep: Keep,
}

/// All sessions of an engine. Clones are the same registry.
#[derive(Clone)]
pub struct Registry {
    shared: Arc<Shared>,
}

struct Shared {
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<SessionKey, Entry>,
    /// What became of sessions that their next users must be told about.
    losses: HashMap<SessionKey, Loss>,
    is_ending: bool,
    is_swept: bool,
}

struct Entry {
    session: Session,
    owners: HashSet<OwnerId>,
    keep: Keep,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registry {
    /// No sessions yet.
    pub fn new(limits: Limits) -> Registry {
        Registry { shared: Arc::new(Shared { limits, state: Mutex::default() }) }
    }

    /// The session of this key, made by `make` when there is none; callers that come at once share it. Where
    /// all places are taken, the session that was idle longest gives up its own; where all are at work, one
    /// is waited for as long as `patience`.
    pub async fn attach(
        &self,
        key: &SessionKey,
        owner: OwnerId,
        patience: Duration,
        make: impl Fn(Option<Loss>) -> Session,
    ) -> Result<Session, AttachError> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let (evict, watches) = {
                let mut state = self.shared.state();
                if state.is_ending {
                    return Err(AttachError::Ending);
                }
                state.entries.retain(|_, entry| !entry.session.state().is_over);
                if let Some(entry) = state.entries.get_mut(key) {
                    entry.owners.insert(owner);
                    return Ok(entry.session.clone());
                }
                if state.entries.len() < self.shared.limits.sessions {
                    let session = make(state.losses.remove(key));
                    let owners = HashSet::from([owner]);
                    let entry = Entry { session: session.clone(), owners, keep: Keep::WhileUsed };
                    state.entries.insert(key.clone(), entry);
                    self.start_sweeping(&mut state);
                    return Ok(session);
                }
                // From here on no change is missed.
                let watches = state.watches();
                (state.longest_idle(), watches)
            };
            if let Some((key, session)) = evict {
                self.close_idle(&key, &session, CloseReason::Evicted).await;
                continue;
            }
            let changes = watches
                .into_iter()
                .map(|mut watch| async move { drop(watch.changed().await) }.boxed());
            let change = futures_util::future::select_all(changes);
            if tokio::time::timeout_at(deadline, change).await.is_err() {
                let limit = self.shared.limits.sessions;
                let busy = self.list().into_iter().map(|listed| listed.key.name).collect();
                return Err(AttachError::Full { limit, busy });
            }
        }
    }

    /// The session of this key, if there is one.
    pub fn find(&self, key: &SessionKey) -> Option<Session> {
        self.shared.state().entries.get(key).map(|entry| entry.session.clone())
    }

    /// All sessions.
    pub fn list(&self) -> Vec<Listed> {
        let state = self.shared.state();
        let mut all: Vec<Listed> = state
            .entries
            .iter()
            .map(|(key, entry)| Listed {
                key: key.clone(),
                state: entry.session.state(),
                owners: entry.owners.len(),
                keep: entry.keep,
            })
            .collect();
        all.sort_by(|a, b| a.key.name.cmp(&b.key.name).then(a.key.cwd.cmp(&b.key.cwd)));
        all
    }

    /// Says whether a session stays when nobody uses it.
    pub fn keep(&self, key: &SessionKey, keep: Keep) {
        if let Some(entry) = self.shared.state().entries.get_mut(key) {
            entry.keep = keep;
        }
    }

    /// An owner goes away; sessions that nobody else uses end, unless they are kept.
    pub async fn detach(&self, owner: OwnerId) {
        let abandoned: Vec<Session> = {
            let mut state = self.shared.state();
            for entry in state.entries.values_mut() {
                entry.owners.remove(&owner);
            }
            let is_abandoned =
                |entry: &Entry| entry.owners.is_empty() && entry.keep == Keep::WhileUsed;
            state
                .entries
                .extract_if(|_, entry| is_abandoned(entry))
                .map(|(_, e)| e.session)
                .collect()
        };
        close_all(abandoned, CloseReason::Asked).await;
    }

    /// Ends one session by its key.
    pub async fn close(&self, key: &SessionKey) {
        let entry = self.shared.state().entries.remove(key);
        if let Some(entry) = entry {
            entry.session.close(CloseReason::Asked).await;
        }
    }

    /// Ends everything; when it returns no kernel is left.
    pub async fn shutdown(&self) {
        let all: Vec<Session> = {
            let mut state = self.shared.state();
            state.is_ending = true;
            state.entries.drain().map(|(_, entry)| entry.session).collect()
        };
        close_all(all, CloseReason::Shutdown).await;
    }

    /// Closes a session if it is still idle, and keeps the word for its next user.
    async fn close_idle(&self, key: &SessionKey, session: &Session, reason: CloseReason) {
        if session.close_if_idle(reason).await == Closing::Busy {
            return;
        }
        let mut state = self.shared.state();
        if state.entries.get(key).is_some_and(|entry| entry.session.state().is_over) {
            state.entries.remove(key);
            let at = tokio::time::Instant::now().into_std();
            state.losses.insert(key.clone(), Loss::Closed { reason, at });
        }
    }

    /// Looks for idle sessions from time to time, as long as there are any.
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
    loop {
        tokio::time::sleep(every).await;
        let Some(shared) = shared.upgrade() else { return };
        let registry = Registry { shared };
        let now = tokio::time::Instant::now().into_std();
        let idle = {
            let mut state = registry.shared.state();
            state.entries.retain(|_, entry| !entry.session.state().is_over);
            if state.entries.is_empty() {
                state.is_swept = false;
                return;
            }
            state.idle_since(now, registry.shared.limits.idle)
        };
        for (key, session) in idle {
            registry.close_idle(&key, &session, CloseReason::Idle).await;
        }
    }
}

async fn close_all(sessions: Vec<Session>, reason: CloseReason) {
    let closing = sessions.iter().map(|session| session.close(reason));
    futures_util::future::join_all(closing).await;
}

impl State {
    /// To be told of the next change of any session.
    fn watches(&self) -> Vec<watch::Receiver<SessionState>> {
        let watch = |entry: &Entry| {
            let mut watch = entry.session.watch();
            watch.mark_unchanged();
            watch
        };
        self.entries.values().map(watch).collect()
    }

    /// The session that was used last of all idle ones that are not kept.
    fn longest_idle(&self) -> Option<(SessionKey, Session)> {
        self.entries
            .iter()
            .filter(|(_, entry)| entry.keep == Keep::WhileUsed && !entry.session.state().is_busy)
            .min_by_key(|(_, entry)| entry.session.state().used)
            .map(|(key, entry)| (key.clone(), entry.session.clone()))
    }

    fn idle_since(&self, now: Instant, rule: IdleRule) -> Vec<(SessionKey, Session)> {
        let is_due = |entry: &Entry| {
            let state = entry.session.state();
            let idle = now.saturating_duration_since(state.used);
            let is_long = match rule {
                IdleRule::Always(limit) => idle >= limit,
                IdleRule::WithoutOwner(limit) => entry.owners.is_empty() && idle >= limit,
                IdleRule::Never => false,
            };
            is_long && !state.is_busy && entry.keep == Keep::WhileUsed
        };
        self.entries
            .iter()
            .filter(|(_, entry)| is_due(entry))
            .map(|(key, entry)| (key.clone(), entry.session.clone()))
            .collect()
    }
}
