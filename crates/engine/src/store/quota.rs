//! Room for more bytes, and the decision to make room.
//!
//! Owns the account of a process. Measuring the store costs a call for every file, so it happens once for a portion of
//! bytes and not for every artifact. It must not know which artifact goes: `sweep.rs` decides that.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::entry::Entry;
use super::error::ArtifactError;
use super::folder::{Folder, IfAbsent};
use super::id::ArtifactSession;
use super::record::Cause;
use super::{Artifacts, Scope};

/// Bytes that one process writes before it measures the store again. Each process can exceed the limits by at most this
/// amount.
const PORTION: u64 = 32 << 20;
/// The part of it that one writer takes at once.
const SHARE: u64 = 1 << 20;

/// Bytes that may be written without measuring again: in all, and by each session.
#[derive(Debug, Default)]
pub(super) struct Account {
    inner: Mutex<QuotaRest>,
}

#[derive(Debug, Default)]
struct QuotaRest {
    total: u64,
    sessions: HashMap<ArtifactSession, u64>,
}

impl Artifacts {
    /// Takes a share of the room. If none is left, the oldest artifacts are removed until there is
    /// some: the newest output is the one a reader wants.
    pub(super) fn take_room(&self, session: &ArtifactSession) -> Result<u64, Cause> {
        let mut left = self.account.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut of_session = left.sessions.get(session).copied().unwrap_or(0);
        if of_session.min(left.total) == 0 {
            (of_session, left.total) = self.look_for_room(session)?;
        }
        let share = of_session.min(left.total).min(SHARE);
        left.total -= share;
        left.sessions.insert(session.clone(), of_session - share);
        Ok(share)
    }

    /// Returns room that a writer did not use, in bytes.
    pub(super) fn return_room(&self, session: &ArtifactSession, bytes: u64) {
        let mut left = self.account.inner.lock().unwrap_or_else(PoisonError::into_inner);
        left.total += bytes;
        if let Some(of_session) = left.sessions.get_mut(session) {
            *of_session += bytes;
        }
    }

    /// Measures the store and makes room if none is left: first for the session, then in all.
    fn look_for_room(&self, session: &ArtifactSession) -> Result<(u64, u64), Cause> {
        let failed = |error: ArtifactError| match &error {
            ArtifactError::Io { source, .. } => Cause::from(source),
            other => Cause::Failed(other.to_string()),
        };
        let root = self.root(IfAbsent::Leave).map_err(failed)?.ok_or(Cause::Gone)?;
        self.clean_up_if_due();
        let limits = self.config.limits;
        let quotas = [(Some(session), limits.session_bytes), (None, limits.total_bytes)];
        let mut room = [0; 2];
        for (room, (whose, limit)) in room.iter_mut().zip(quotas) {
            let mut used = used(&root, whose).map_err(failed)?;
            if used >= limit {
                let wanted = PORTION.min(limit / 4);
                self.make_room(&root, whose, limit - wanted).map_err(failed)?;
                used = self::used(&root, whose).map_err(failed)?;
            }
            *room = limit.saturating_sub(used).min(PORTION);
            if *room == 0 {
                let limit_bytes = limit;
                return Err(match whose {
                    Some(_) => Cause::SessionQuota { limit_bytes },
                    None => Cause::TotalQuota { limit_bytes },
                });
            }
        }
        Ok((room[0], room[1]))
    }
}

/// The room that artifacts take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreUsage {
    /// Number of artifacts, complete or not.
    pub artifacts: u64,
    /// Size of their files including records, in bytes: this counts against the limits.
    pub bytes: u64,
}

impl Artifacts {
    /// Number and size of the artifacts of all sessions together.
    pub fn kept(&self) -> Result<StoreUsage, ArtifactError> {
        let mut kept = StoreUsage::default();
        for folder in self.folders(Scope::All)? {
            for entry in Entry::list(&folder)? {
                kept.artifacts += u64::from(matches!(entry.open(&folder), Ok(Some(_))));
                kept.bytes += entry.size(&folder);
            }
        }
        Ok(kept)
    }
}

/// Size in bytes of the artifacts of one session, or of all sessions.
fn used(root: &Folder, session: Option<&ArtifactSession>) -> Result<u64, ArtifactError> {
    let folders = match session {
        Some(session) => root.below(session.folder(), IfAbsent::Leave)?.into_iter().collect(),
        None => root.sessions()?,
    };
    let mut used = 0;
    for folder in &folders {
        used += Entry::list(folder)?.iter().map(|entry| entry.size(folder)).sum::<u64>();
    }
    Ok(used)
}
