//! Events of sessions and their kernels, as values in reports.
//!
//! Owns the causes. The frontends choose the wording.

use std::time::Duration;

use inkcell_kernel::{Death, DeathCause, Rung};
use serde::{Deserialize, Serialize};

use super::SessionName;

/// The lifetime of a session without a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The session stays while it is in use, and after that as the limits say.
    WhileUsed,
    /// The session stays until it is closed by name.
    Always,
}

/// Why a session ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// A caller closed it.
    Asked,
    /// It had no user for too long.
    Idle,
    /// Another session needed its place.
    Evicted,
    /// Another session needed its descriptors: the system had no more.
    OpenFiles,
    /// Another session needed its processes: the system had no more.
    Processes,
    /// The engine is shutting down, and ends every session.
    Shutdown,
}

/// Why a session's variables are gone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The kernel ended by itself, or was killed from outside.
    Died(Death),
    /// The kernel was ended because its code had to stop and ignored the interrupt.
    Killed {
        /// The last rung climbed.
        by: Rung,
    },
    /// The earlier session was closed, and the current one replaced it.
    Closed {
        /// Why the session was closed.
        reason: CloseReason,
        /// The time between the close and the new session.
        #[serde(with = "super::encoding::seconds")]
        ago: Duration,
    },
}

/// A fact that a reader of a run must know in addition to its end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallNote {
    /// The kernel is new, and the state of earlier calls is gone.
    StateLost(Loss),
    /// The kernel died in it once, and the code was run again from the start.
    RanTwice(Death),
    /// A message from the kernel itself.
    Kernel(String),
    /// An interrupt of the session ended the code; its own caller had not cancelled it.
    Interrupted,
    /// An idle session was closed to make room for this one.
    MadeRoom {
        /// The session that was closed.
        session: SessionName,
        /// The limit that made it necessary.
        reason: CloseReason,
    },
}

/// The fate of the kernel when code had to be stopped.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelFate {
    /// The code had not begun, or reacted to the interrupt: the kernel keeps its variables.
    Kept,
    /// A reset or the end of the session took the kernel away.
    TakenAway,
    /// The kernel was ended at this rung of the ladder.
    Ended {
        /// The last rung climbed.
        by: Rung,
        /// The kernel's death, if it was observed in time.
        death: Option<Death>,
    },
}

/// The cause of a kernel's end, phrased to follow "the kernel" in a sentence. A cause by itself reads as a
/// heading.
pub fn what_it_did(cause: &DeathCause) -> String {
    match cause {
        DeathCause::Signal { .. } | DeathCause::OutOfMemory | DeathCause::IgnoredInterrupt => {
            format!("was {cause}")
        }
        _ => cause.to_string(),
    }
}
