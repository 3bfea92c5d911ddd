//! The kernel verbs: requests about sessions other than running code, and the reports.
//!
//! Owns the shapes. `verbs.rs` carries the verbs out.

use std::path::PathBuf;
use std::time::Duration;

use inkcell_kernel::{BackendKind, KernelInfo};
use serde::{Deserialize, Serialize};

use super::KernelWishes;
use crate::types::{CallNote, ExecutionId, Generation, Keep, KernelName, Loss, SessionName, State};

/// A reference to a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRef {
    /// The name of the session; the default is the session of the folder.
    #[serde(default)]
    pub session: Option<SessionName>,
    /// The working folder, absolute; it is part of the session's identity.
    #[serde(with = "crate::types::encoding::path")]
    pub cwd: PathBuf,
    /// The kernel as the caller asked for it. A field that is not given matches any kernel, if only
    /// one session fits.
    #[serde(default)]
    pub wanted: KernelWishes,
}

/// A request about sessions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum KernelRequest {
    /// List all sessions of the engine.
    List,
    /// Start a kernel, and create the session if it does not exist.
    Start(SessionRef),
    /// Report on one session. No kernel is started for it.
    Status(SessionRef),
    /// Interrupt the running code. Nothing else is cancelled.
    Interrupt(SessionRef),
    /// Start a new kernel. The running code is ended, and variables are gone.
    Restart(SessionRef),
    /// Close the session: end its kernel and forget its variables.
    Stop(SessionRef),
    /// Set whether the session stays without a user.
    Keep {
        /// The session that stays or goes.
        session: SessionRef,
        /// Whether it stays when it has no user.
        keep: Keep,
    },
}

/// The result of a kernel verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelReport {
    /// All sessions, by name and folder.
    Sessions(Vec<SessionReport>),
    /// The requested session, as it is now.
    Session(Box<SessionReport>),
    /// The session has a kernel now.
    Started {
        /// The session as it is now.
        session: Box<SessionReport>,
        /// Facts that the session's users must know, in the order in which they happened.
        notes: Vec<CallNote>,
    },
    /// An interrupt was sent to the session.
    Interrupted {
        /// The session as it was before.
        session: Box<SessionReport>,
        /// The outcome for the code that ran.
        fate: InterruptFate,
    },
    /// The session was closed. The report is from before.
    Stopped(Box<SessionReport>),
}

/// The outcome of an interrupt for the code that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptFate {
    /// No code was running.
    NothingRan,
    /// The interrupt ended the code.
    Interrupted,
    /// The code ended in this state, and not because of the interrupt.
    Ended(State),
    /// The code had not ended after [`InterruptFate::WAIT`].
    StillRunning,
}

impl InterruptFate {
    /// How long code has to end before it counts as still running.
    pub const WAIT: Duration = Duration::from_secs(1);
}

/// A session, as reports show it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionReport {
    /// The name with which callers refer to it.
    pub name: SessionName,
    /// The working folder of the session's kernels.
    #[serde(with = "crate::types::encoding::path")]
    pub cwd: PathBuf,
    /// The interpreter, if the caller named one. `kernel` has the one in use.
    #[serde(default, with = "crate::types::encoding::path_option")]
    pub interpreter: Option<PathBuf>,
    /// The backend that starts the session's kernels.
    pub backend: BackendKind,
    /// The installed kernel that the session runs, or the connection file of a kernel that already
    /// ran.
    #[serde(default)]
    pub kernel_name: Option<KernelName>,
    /// Whether the session has a kernel, and whether it is at work.
    pub state: SessionPhase,
    /// The current kernel: its process, its version, and how it was started.
    pub kernel: Option<KernelInfo>,
    /// The identity of that kernel in the records of notebooks.
    #[serde(default)]
    pub generation: Option<Generation>,
    /// The running cell; none while the session is idle.
    pub running: Option<RunningReport>,
    /// The number of calls that wait for their turn.
    pub waiting: usize,
    /// How long the session has been idle; none while it is in use.
    #[serde(with = "crate::types::encoding::seconds_option")]
    pub idle: Option<Duration>,
    /// How long ago the session was created.
    #[serde(default, with = "crate::types::encoding::seconds")]
    pub age: Duration,
    /// The number of owners that use the session.
    pub owners: usize,
    /// Whether the session stays without a user.
    pub keep: Keep,
    /// Why its variables are gone, until a call reports it.
    pub lost: Option<Loss>,
}

/// Activity of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionPhase {
    /// The session has no kernel; the next call starts one.
    NoKernel,
    /// A call waits for the kernel to be ready.
    Starting,
    /// The kernel waits for code.
    Idle,
    /// A call has its turn.
    Busy,
}

impl SessionPhase {
    /// The name that every frontend shows.
    pub fn name(self) -> &'static str {
        match self {
            SessionPhase::NoKernel => "no kernel",
            SessionPhase::Starting => "starting",
            SessionPhase::Idle => "idle",
            SessionPhase::Busy => "busy",
        }
    }
}

/// The cell that a session runs now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunningReport {
    /// The id of the call, with which a caller can ask for it or cancel it.
    pub execution: Option<ExecutionId>,
    /// The title of the cell, or the first line of its code.
    pub title: String,
    /// How long the cell has been running.
    #[serde(with = "crate::types::encoding::seconds")]
    pub elapsed: Duration,
}
