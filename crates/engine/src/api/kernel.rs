//! The kernel verbs: what can be asked of sessions besides running code, and how they look.
//!
//! Owns the shapes. What each verb does is in `verbs.rs`.

use std::path::PathBuf;
use std::time::Duration;

use inkcell_kernel::{BackendKind, KernelInfo};
use serde::{Deserialize, Serialize};

use super::{ExecutionId, KernelName, State, Wanted};
use crate::registry::{Keep, SessionName};
use crate::session::{Loss, Note};

/// Which session is meant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRef {
    /// Its name; the one of the folder when none is given.
    #[serde(default)]
    pub session: Option<SessionName>,
    /// Its working folder.
    #[serde(with = "crate::encoding::path")]
    pub cwd: PathBuf,
    /// Its kernel, as it was asked for. What is left out means any, if only one fits.
    #[serde(default)]
    pub wanted: Wanted,
}

/// What can be done with sessions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum KernelRequest {
    /// See them all.
    List,
    /// Have a kernel ready, making the session when it is not there.
    Start(SessionRef),
    /// See one.
    Status(SessionRef),
    /// Interrupt what runs in it, and no more.
    Interrupt(SessionRef),
    /// Give it a new kernel; what runs is ended, and variables are gone.
    Restart(SessionRef),
    /// End it.
    Stop(SessionRef),
    /// Say whether it stays when nobody uses it.
    Keep {
        /// Which.
        session: SessionRef,
        /// Whether it does.
        keep: Keep,
    },
}

/// What became of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelReport {
    /// All sessions, by name and folder.
    Sessions(Vec<SessionReport>),
    /// The one that was meant, as it is now.
    Session(Box<SessionReport>),
    /// It has a kernel now, and this is what its users must know.
    Started {
        /// The session.
        session: Box<SessionReport>,
        /// In the order it happened.
        notes: Vec<Note>,
    },
    /// An interrupt was sent to the session.
    Interrupted {
        /// The session as it was before.
        session: Box<SessionReport>,
        /// The outcome for the code that ran.
        fate: InterruptFate,
    },
    /// It was ended; this is how it was before.
    Stopped(Box<SessionReport>),
}

/// The outcome of an interrupt for the code that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptFate {
    /// No code was running.
    NothingRan,
    /// The interrupt ended it.
    Interrupted,
    /// The code ended in this state, and not because of the interrupt.
    Ended(State),
    /// It had not ended after [`InterruptFate::WAIT`].
    StillRunning,
}

impl InterruptFate {
    /// How long code has to end before it counts as still running.
    pub const WAIT: Duration = Duration::from_secs(1);
}

/// One session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionReport {
    /// Its name.
    pub name: SessionName,
    /// Its working folder.
    #[serde(with = "crate::encoding::path")]
    pub cwd: PathBuf,
    /// The interpreter, when one was asked for; the one it has is told by its kernel.
    #[serde(default, with = "crate::encoding::path_option")]
    pub interpreter: Option<PathBuf>,
    /// What makes its kernels.
    pub backend: BackendKind,
    /// The installed kernel it runs, or the file of the one that ran already.
    #[serde(default)]
    pub kernel_name: Option<KernelName>,
    /// What it is doing.
    pub state: SessionPhase,
    /// Its kernel: process, version, and how it came to be.
    pub kernel: Option<KernelInfo>,
    /// What runs.
    pub running: Option<RunningReport>,
    /// Calls that wait for their turn.
    pub waiting: usize,
    /// For how long nobody has used it; none while somebody does.
    #[serde(with = "crate::encoding::seconds_option")]
    pub idle: Option<Duration>,
    /// For how long it is there.
    #[serde(default, with = "crate::encoding::seconds")]
    pub age: Duration,
    /// How many use it.
    pub owners: usize,
    /// Whether it stays when nobody uses it.
    pub keep: Keep,
    /// Why its variables are gone, as long as no call was told.
    pub lost: Option<Loss>,
}

/// What a session is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionPhase {
    /// It has no kernel; the next call starts one.
    NoKernel,
    /// A call waits for its kernel to be ready.
    Starting,
    /// Its kernel waits for code.
    Idle,
    /// A call has its turn.
    Busy,
}

impl SessionPhase {
    /// The name everybody shows.
    pub fn name(self) -> &'static str {
        match self {
            SessionPhase::NoKernel => "no kernel",
            SessionPhase::Starting => "starting",
            SessionPhase::Idle => "idle",
            SessionPhase::Busy => "busy",
        }
    }
}

/// Code that runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunningReport {
    /// The call, to ask for it or to take it back.
    pub execution: Option<ExecutionId>,
    /// The title of the cell, or the first line of its code.
    pub title: String,
    /// For how long.
    #[serde(with = "crate::encoding::seconds")]
    pub elapsed: Duration,
}
