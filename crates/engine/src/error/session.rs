//! What can go wrong between a caller and a session.

use std::time::Duration;

use inkcell_kernel::NoCopies;

use crate::api::ExecutionId;
use crate::error::Kind;
use crate::registry::{AttachError, SessionName};
use crate::session::CloseReason;

/// Why a session cannot be used as asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SessionError {
    /// There is no place for another session, or no session any more.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// Another reset of the same session is under way.
    #[error("Python session reset already in progress: {0}")]
    ResetInProgress(SessionName),
    /// The session has another kernel than the one that was asked for.
    #[error("session {name} has another kernel ({had})")]
    OtherKernel {
        /// Its name.
        name: SessionName,
        /// What it has.
        had: String,
    },
    /// The kernel was running before we came.
    #[error(
        "the kernel of session {0} was running already; it is not inkcell's to restart or reset"
    )]
    NotOurs(SessionName),
    /// Somebody else runs the same notebook.
    #[error("{path} is being run already; a notebook has one run at a time")]
    RunUnderWay {
        /// The notebook.
        path: String,
    },
    /// No session of that name.
    #[error("there is no session {name}{}", listed("sessions", .known))]
    NoSession {
        /// The name.
        name: SessionName,
        /// Those there are.
        known: Vec<String>,
    },
    /// It was let go of.
    #[error("there is no session {name} any more: {} {}; a call begins a new one", closed(*.reason), elapsed(*.ago))]
    Closed {
        /// Its name.
        name: SessionName,
        /// Why.
        reason: CloseReason,
        /// How long ago.
        ago: Duration,
    },
    /// Its kernel cannot be copied.
    #[error("the kernel cannot be copied: {0}")]
    NoCopies(NoCopies),
    /// Nobody waits for a line.
    #[error("execution {} does not wait for input now", .0.0)]
    NothingAsked(ExecutionId),
    /// No call of that id.
    #[error("no execution {}; results are kept only for a while{}", .id.0, latest(.known))]
    NoExecution {
        /// The id.
        id: ExecutionId,
        /// Some of those that are remembered.
        known: Vec<String>,
    },
    /// The call is over, and its result was dropped.
    #[error(
        "the result of execution {} is no longer stored: newer results needed the room, or results.keep has passed; \
         run the code again, or read its stored output by artifact id",
        .id.0
    )]
    LetGo {
        /// The id of that call.
        id: ExecutionId,
    },
}

impl SessionError {
    pub(super) fn kind(&self) -> Kind {
        match self {
            SessionError::Attach(AttachError::Full { .. })
            | SessionError::ResetInProgress(_)
            | SessionError::RunUnderWay { .. } => Kind::Busy,
            SessionError::NoCopies(_) => Kind::Unavailable,
            SessionError::Attach(AttachError::Ending) => Kind::Cancelled,
            SessionError::OtherKernel { .. }
            | SessionError::NotOurs(_)
            | SessionError::NothingAsked(_) => Kind::Invalid,
            SessionError::NoSession { .. }
            | SessionError::Closed { .. }
            | SessionError::NoExecution { .. }
            | SessionError::LetGo { .. } => Kind::NotFound,
        }
    }
}

fn closed(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::Asked | CloseReason::Shutdown => "it was closed",
        CloseReason::Idle => "it was closed because nobody used it",
        CloseReason::Evicted => "it was closed to make room for another",
        CloseReason::OpenFiles => "it was closed to free open files for another session",
        CloseReason::Processes => "it was closed to free processes for another session",
    }
}

fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        0..120 => format!("{} s ago", time.as_secs()),
        seconds @ 120..7200 => format!("{} min ago", seconds / 60),
        seconds => format!("{} h ago", seconds / 3600),
    }
}

fn latest(names: &[String]) -> String {
    match names {
        [] => "; no executions are known".to_owned(),
        some => format!("; the latest are {}", some.join(", ")),
    }
}

fn listed(what: &str, names: &[String]) -> String {
    match names {
        [] => format!("; there are no {what}"),
        some => format!("; there are {}", some.join(", ")),
    }
}
