//! The end of an idle host.
//!
//! Owns the meaning of idle for a host: no session, and no client. Sessions end by themselves when no client uses
//! them.

use std::time::Duration;

use tokio::time::Instant;

use super::place::HostPlace;
use super::talk::Host;

/// The interval of the checks.
const LOOK: Duration = Duration::from_secs(1);

/// The interval at which the files of a host are touched.
const TOUCH: Duration = Duration::from_secs(3600);

/// The reason why a host ends without being asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IdleEnd {
    /// No client needed it.
    Idle,
    /// Its socket was removed, so that no client can find it, and no client uses it.
    Lost,
}

/// Returns when a host has been idle for this long; never without a limit. Keeps its files in use meanwhile.
pub(crate) async fn until_idle(host: &Host, place: &HostPlace, limit: Option<Duration>) -> IdleEnd {
    // Count by checks and not by the clock: time while the whole process is stopped is not idle time.
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
