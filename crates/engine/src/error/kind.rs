//! What sort of failure an error is.
//!
//! Owns the kinds, and which error is of which. It must not know exit codes or protocols.

use std::io;

use inkcell_kernel::{KernelspecError, LaunchError, SetupError};
use inkcell_notebook::{EditError, OpError};
use serde::{Deserialize, Serialize};

use super::EngineError;
use super::steps::is_scarce;

/// What sort of failure it is; the only thing faces decide by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The request or the file cannot be as it is.
    Invalid,
    /// Something named does not exist.
    NotFound,
    /// Somebody else changed the same thing.
    Conflict,
    /// Something needed is not there: space, permission of the system, a program.
    Unavailable,
    /// Somebody else is using it; later it may work.
    Busy,
    /// The caller gave up.
    Cancelled,
    /// inkcell or the machine failed.
    Internal,
}

impl Kind {
    /// The kind as answers for programs name it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Invalid => "invalid",
            Kind::NotFound => "not_found",
            Kind::Conflict => "conflict",
            Kind::Unavailable => "unavailable",
            Kind::Busy => "busy",
            Kind::Cancelled => "cancelled",
            Kind::Internal => "internal",
        }
    }
}

impl EngineError {
    /// The sort of failure.
    pub fn kind(&self) -> Kind {
        match self {
            EngineError::NotFound { .. } | EngineError::Ref { .. } => Kind::NotFound,
            EngineError::Exists { .. }
            | EngineError::Conflict { .. }
            | EngineError::ConflictWhole { .. }
            | EngineError::UnknownVersion { .. }
            | EngineError::OpenOnServer { .. }
            | EngineError::KeepsChanging { .. } => Kind::Conflict,
            EngineError::Locked { .. } => Kind::Busy,
            EngineError::NoPython(_)
            | EngineError::NotPython { .. }
            | EngineError::NoKernelFor { .. }
            | EngineError::UnknownKernel { .. }
            | EngineError::NoBackend { .. } => Kind::Unavailable,
            EngineError::Kernelspec(KernelspecError::NotFound { .. }) => Kind::NotFound,
            EngineError::Lost { .. } => Kind::Internal,
            EngineError::Launch(error) => launch_kind(error),
            EngineError::Setup(error) => setup_kind(error),
            EngineError::Session(error) => error.kind(),
            EngineError::Inspect(error) => error.kind(),
            EngineError::Artifact(error) => error.kind(),
            EngineError::Edit { error: EditError::Op { problem: OpError::Ref(_), .. }, .. } => {
                Kind::NotFound
            }
            EngineError::Io { source, .. } if is_loop(source) => Kind::Invalid,
            EngineError::Io { source, .. } if is_scarce(source) => Kind::Unavailable,
            EngineError::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => Kind::NotFound,
                io::ErrorKind::PermissionDenied
                | io::ErrorKind::InvalidInput
                | io::ErrorKind::InvalidFilename
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::IsADirectory => Kind::Invalid,
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::ReadOnlyFilesystem => Kind::Unavailable,
                _ => Kind::Internal,
            },
            _ => Kind::Invalid,
        }
    }
}

fn launch_kind(error: &LaunchError) -> Kind {
    match error {
        LaunchError::NoCwd { .. } | LaunchError::CwdNotAFolder { .. } => Kind::Invalid,
        LaunchError::Cancelled => Kind::Cancelled,
        _ => Kind::Unavailable,
    }
}

fn setup_kind(error: &SetupError) -> Kind {
    match error {
        SetupError::Package { .. } => Kind::Invalid,
        SetupError::Busy { .. } => Kind::Busy,
        SetupError::Cancelled => Kind::Cancelled,
        _ => Kind::Unavailable,
    }
}

/// Links that lead to each other; the standard library has no stable name for it.
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}
