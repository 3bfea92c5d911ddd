//! The kind of each error.
//!
//! Owns the kinds, and the kind of each error. It must not know exit codes or protocols.

use std::io;

use inkcell_kernel::{KernelspecError, LaunchError, SetupError};
use inkcell_notebook::{EditError, OpError};

use super::EngineError;
use super::steps::is_scarce;
use crate::types::Kind;

impl EngineError {
    /// The kind of the failure.
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
            EngineError::Lost { .. } | EngineError::Panicked => Kind::Internal,
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

/// A loop of symbolic links; the standard library has no stable name for it.
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}
