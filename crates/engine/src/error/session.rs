//! Errors between a caller and a session.

use std::time::Duration;

use inkcell_kernel::NoCopies;
use inkcell_notebook::visible_line;

use crate::session::registry::AttachError;
use crate::types::{CloseReason, ExecutionId, Kind, SessionName, Suggestion};

/// Why a session cannot be used as the caller asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// All places for sessions are taken, or the engine is shutting down.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// Another reset of the same session is under way.
    #[error("Python session reset already in progress: {0}")]
    ResetInProgress(SessionName),
    /// The session has another kernel than the caller asked for.
    #[error("session {name} has another kernel ({had})")]
    OtherKernel {
        /// The session with the other kernel.
        name: SessionName,
        /// Its kernel, in words.
        had: String,
    },
    /// Another program started the kernel.
    #[error("inkcell did not start the kernel of session {0}, so it cannot restart or reset it")]
    NotOurs(SessionName),
    /// Another caller runs the same notebook.
    #[error("{path} is already running; a notebook runs once at a time", path = visible_line(.path))]
    RunUnderWay {
        /// The notebook that is being run.
        path: String,
    },
    /// No session has this name.
    #[error("no session named '{name}'{}", known_or(.known, "; no sessions are running"))]
    NoSession {
        /// The name that the caller gave.
        name: SessionName,
        /// Some of the sessions that exist, the nearest first.
        known: Vec<Suggestion>,
    },
    /// The session was closed.
    #[error("session '{name}' has ended: {} ({}); the next call starts a new one", closed(*.reason), elapsed(*.ago))]
    Closed {
        /// The name of the session.
        name: SessionName,
        /// Why it was closed.
        reason: CloseReason,
        /// The time since it was closed.
        ago: Duration,
    },
    /// The session's kernel cannot be copied.
    #[error("the kernel cannot be copied: {0}")]
    NoCopies(NoCopies),
    /// No cell of the call waits for a line.
    #[error("execution {} is not waiting for input", .0.0)]
    NothingAsked(ExecutionId),
    /// No call has this id.
    #[error(
        "no execution {}; results are kept for a limited time{}", .id.0,
        known_or(.known, "; no executions are known")
    )]
    NoExecution {
        /// The id as the caller gave it.
        id: ExecutionId,
        /// Some of the remembered calls, the nearest first.
        known: Vec<Suggestion>,
    },
    /// The call is over, and its result was dropped.
    #[error(
        "the result of execution {} is no longer stored: it is older than results.keep, or newer \
         results took its place; run the code again, or read its stored output by artifact ID",
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
        CloseReason::Idle => "it was idle for too long",
        CloseReason::Evicted => "it was closed to make room for another session",
        CloseReason::OpenFiles => "it was closed to free open files for another session",
        CloseReason::Processes => "it was closed to free processes for another session",
    }
}

/// A time that has passed, in words.
pub(crate) fn elapsed(time: Duration) -> String {
    match time.as_secs() {
        0..120 => format!("{} s ago", time.as_secs()),
        seconds @ 120..7200 => format!("{} min ago", seconds / 60),
        seconds => format!("{} h ago", seconds / 3600),
    }
}

fn known_or(known: &[Suggestion], none: &str) -> String {
    if known.is_empty() { none.to_owned() } else { Suggestion::words(known) }
}
