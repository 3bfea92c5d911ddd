//! When a host ends by itself.
//!
//! Owns what being idle means for a host: no session, nobody connected. Sessions end by themselves when nobody uses them.

use std::time::Duration;

use tokio::time::Instant;

use super::place::HostPlace;
use super::serve::Host;

/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// How often the files of a host are touched.
const TOUCH: Duration = Duration::from_secs(3600);

/// Why a host ends without being asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IdleEnd {
    /// Nobody needed it.
    Idle,
    /// Its socket was removed, so that nobody can find it, and nobody uses it.
    Lost,
}

/// Returns when a host has been idle for so long; never when there is no limit. Keeps its files in use meanwhile.
pub(crate) async fn until_idle(host: &Host, place: &HostPlace, limit: Option<Duration>) -> IdleEnd {
    // Counted look by look: what passes while the whole process stands still is nobody's idleness.
    let mut idle = Duration::ZERO;
    let mut touched = Instant::now();
    loop {
        tokio::time::sleep(LOOK).await;
        if touched.elapsed() >= TOUCH {
            touched = Instant::now();
            place.touch();
        }
        if host.clients() > 0 || !host.engine.sessions().is_empty() {
            idle = Duration::ZERO;
            continue;
        }
        idle += LOOK;
        if !place.is_there() {
            return IdleEnd::Lost;
        }
        if limit.is_some_and(|limit| idle >= limit) {
            return IdleEnd::Idle;
        }
    }
}
