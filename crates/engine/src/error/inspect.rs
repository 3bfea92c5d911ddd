//! Errors of an inspection.
//!
//! Owns the failures and their messages. `engine/inspect.rs` asks the session.

use std::time::Duration;

use inkcell_kernel::Death;

use crate::api::RunningReport;
use crate::types::{Kind, Loss, SessionName, what_it_did};

/// Why a session's names cannot be inspected.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The kernel runs code.
    #[error("session {session} is running {}; try again when it has ended, or interrupt it", what(.running.as_ref()))]
    Busy {
        /// The session that was asked.
        session: SessionName,
        /// The cell that keeps it busy, if that is known.
        running: Option<RunningReport>,
    },
    /// The kernel is still starting, or is ending.
    #[error("the kernel of session {session} is not ready yet; try again in a moment")]
    NotReady {
        /// The session that was asked.
        session: SessionName,
    },
    /// The session has no kernel, and an inspection does not start one.
    #[error("session {session} has no kernel yet, so there is nothing to see; run a cell first")]
    NoKernel {
        /// The session that was asked.
        session: SessionName,
    },
    /// The session lost its kernel.
    #[error("session {session} lost its kernel and its variables: {}; run the cells again", why(.loss))]
    Lost {
        /// The session that was asked.
        session: SessionName,
        /// Why its variables are gone.
        loss: Loss,
    },
    /// The kernel ended during the inspection.
    #[error("the kernel of session {session} ended while it was asked: it {}", .death.as_ref().map_or("was restarted or stopped".to_owned(), |death| what_it_did(&death.cause)))]
    Ended {
        /// The session that was asked.
        session: SessionName,
        /// The kernel's death, unless the end was requested.
        death: Option<Death>,
    },
    /// The inspection took longer than its limit.
    #[error("the kernel did not answer within {} s, and the question was interrupted", .limit.as_secs_f64())]
    TimedOut {
        /// The limit that was exceeded.
        limit: Duration,
    },
    /// The name is not defined.
    #[error("{problem}{}", nearest_name(.nearest.as_deref()))]
    Undefined {
        /// The message of the kernel.
        problem: String,
        /// The defined name that is closest to it.
        nearest: Option<String>,
    },
    /// The value exists, but cannot be inspected.
    #[error("{problem}")]
    Unseen {
        /// The message of the kernel.
        problem: String,
    },
    /// The kernel's answer is malformed.
    #[error("the kernel's answer was not understood: {problem}")]
    BadAnswer {
        /// The fault in the answer.
        problem: String,
    },
}

impl InspectError {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            InspectError::Busy { .. } | InspectError::NotReady { .. } => Kind::Busy,
            InspectError::NoKernel { .. }
            | InspectError::Lost { .. }
            | InspectError::Undefined { .. } => Kind::NotFound,
            InspectError::Ended { .. } | InspectError::TimedOut { .. } => Kind::Unavailable,
            InspectError::Unseen { .. } => Kind::Invalid,
            InspectError::BadAnswer { .. } => Kind::Internal,
        }
    }
}

fn what(running: Option<&RunningReport>) -> String {
    let Some(RunningReport { execution, title, elapsed }) = running else {
        return "something else".to_owned();
    };
    let id = execution.as_ref().map(|id| format!("{}, ", id.0)).unwrap_or_default();
    format!("`{title}` ({id}for {} s)", elapsed.as_secs())
}

fn why(loss: &Loss) -> String {
    match loss {
        Loss::Died(death) => format!("it {}", what_it_did(&death.cause)),
        Loss::Killed { .. } => "it did not listen when code had to be stopped".to_owned(),
        Loss::Closed { .. } => "the session was closed".to_owned(),
    }
}

fn nearest_name(name: Option<&str>) -> String {
    name.map(|name| format!(" The nearest is {name}.")).unwrap_or_default()
}
