//! What a caller can do after an error, as a closed list.
//!
//! Owns which step follows from which error. It must not know commands or tools: each face has its own
//! words for a step.

use std::io;
use std::path::Path;

use inkcell_kernel::{GatewayError, LaunchError, TokenSent, Whose};
use inkcell_notebook::{EditError, NotebookError, Oddity, OpError, RefError, SubError, TextError};

use super::{EngineError, SessionError};
use crate::api::{KernelStep, Problem};
use crate::artifact::ArtifactError;

/// What a caller can do next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextStep<'a> {
    /// Check the path, or make the notebook first.
    MakeFirst(&'a str),
    /// Edit what is there, or choose another name.
    EditInstead(&'a str),
    /// Give it the extension of a notebook.
    RenameToNotebook(&'a str),
    /// Choose another file to write to.
    ChooseOther,
    /// Try again if somebody is saving it; else remove the empty file and make a notebook in its place.
    ReplaceEmpty,
    /// Try again if somebody is saving it.
    TryIfSaving,
    /// See which cells there are.
    SeeCells(&'a str),
    /// Make this folder.
    MakeFolder(&'a str),
    /// Choose another folder for locks and versions.
    ChooseState,
    /// Write the text into a notebook.
    WriteText,
    /// Run the script as code.
    RunScript(&'a str),
    /// Look at the JSON: it should be an object with an array of cells.
    LookAtJson(&'a str),
    /// Look at the cells: one is none of the three kinds.
    LookAtCells(&'a str),
    /// Raise the limit of bytes.
    RaiseLimit,
    /// Say that this many cells are dropped.
    SayDropped(usize),
    /// Ask for every match, not one.
    AskForAll,
    /// Read the whole text, or change cells.
    ReadWhole(&'a str),
    /// Read it again and repeat the edit.
    ReadAgain(&'a str),
    /// Read it again and give the version that is shown.
    ReadVersion(&'a str),
    /// Try again in a moment.
    TryLater,
    /// Name a notebook file.
    NameNotebook,
    /// Make it writable, or force the write.
    MakeWritable(&'a str),
    /// Be its owner, write elsewhere, or force the write.
    WriteElsewhere,
    /// Use a path inside the allowed folders, or allow the folder.
    StayInside,
    /// Free space.
    FreeSpace,
    /// Check permissions.
    CheckPermissions,
    /// Install a Python, or name one.
    InstallPython,
    /// See which Python is used and name another one.
    NameOtherPython,
    /// Make the folder, or choose another one to work in.
    ChooseCwd,
    /// Give a kernel more time to start.
    RaiseStartTimeout,
    /// Allow more open files.
    RaiseOpenFiles,
    /// See what is stored.
    SeeArtifacts,
    /// Do not ask for a backend that cannot do it.
    UseOtherBackend,
    /// See which kernels are installed.
    SeeKernels,
    /// Install a kernel for the notebook's language, or name one.
    InstallKernel,
    /// Say that it is Python, or name a kernel.
    SayPython,
    /// Stop the session first, or use another one.
    OtherSession,
    /// Give the token of a gateway.
    GiveToken,
    /// Give another token: the gateway does not take this one.
    RenewToken,
    /// See whether the gateway runs, and whether the address is its own.
    CheckGateway,
    /// Close the document on its server, write elsewhere, or force the write.
    CloseThere,
}

impl EngineError {
    /// As reports tell it.
    pub(crate) fn problem(&self) -> Problem {
        let step = match self.next_step() {
            Some(NextStep::NameOtherPython) => Some(KernelStep::NameOtherPython),
            Some(NextStep::ChooseCwd) => Some(KernelStep::ChooseCwd),
            Some(NextStep::RaiseStartTimeout) => Some(KernelStep::RaiseStartTimeout),
            Some(NextStep::RaiseOpenFiles) => Some(KernelStep::RaiseOpenFiles),
            Some(NextStep::ChooseState) => Some(KernelStep::ChooseState),
            Some(NextStep::TryLater) => Some(KernelStep::TryLater),
            Some(NextStep::GiveToken) => Some(KernelStep::GiveToken),
            Some(NextStep::RenewToken) => Some(KernelStep::RenewToken),
            Some(NextStep::CheckGateway) => Some(KernelStep::CheckGateway),
            _ => None,
        };
        Problem { kind: self.kind(), message: self.to_string(), step }
    }

    /// What to do next, if there is something to do.
    pub fn next_step(&self) -> Option<NextStep<'_>> {
        Some(match self {
            EngineError::NotFound { path, .. } | EngineError::NothingToWrite { path } => {
                NextStep::MakeFirst(path)
            }
            EngineError::Exists { path } => NextStep::EditInstead(path),
            EngineError::NotANotebookPath { path } => NextStep::RenameToNotebook(path),
            EngineError::OntoItself { .. } => NextStep::ChooseOther,
            EngineError::NotJson { path, error: NotebookError::Syntax { oddity, .. } } => {
                match oddity {
                    Some(Oddity::Empty) => NextStep::ReplaceEmpty,
                    Some(Oddity::CutOff) => NextStep::TryIfSaving,
                    Some(Oddity::VirtualText) => NextStep::WriteText,
                    Some(Oddity::Script) => NextStep::RunScript(path),
                    _ => return None,
                }
            }
            EngineError::Structure { path, .. } => NextStep::LookAtJson(path),
            EngineError::TooLarge { .. } => NextStep::RaiseLimit,
            EngineError::BadCell { path, .. } => NextStep::LookAtCells(path),
            EngineError::LeavesOut { error: TextError::LeavesOut { missing, .. }, .. } => {
                NextStep::SayDropped(missing.len())
            }
            EngineError::Sub { error: SubError::Many { .. }, .. } => NextStep::AskForAll,
            EngineError::Edit {
                error: EditError::Op { problem: OpError::ManyMatches { .. }, .. },
                ..
            } => NextStep::AskForAll,
            EngineError::Ref { path, error }
            | EngineError::Edit {
                path,
                error: EditError::Op { problem: OpError::Ref(error), .. },
                ..
            } => match error {
                RefError::OutOfRange { .. } | RefError::Unknown { .. } => NextStep::SeeCells(path),
                _ => return None,
            },
            EngineError::PartOfText { path } => NextStep::ReadWhole(path),
            EngineError::Conflict { path, .. } | EngineError::ConflictWhole { path, .. } => {
                NextStep::ReadAgain(path)
            }
            EngineError::UnknownVersion { path, .. } => NextStep::ReadVersion(path),
            EngineError::KeepsChanging { .. }
            | EngineError::Locked { .. }
            | EngineError::Session(
                SessionError::ResetInProgress(_) | SessionError::RunUnderWay { .. },
            ) => NextStep::TryLater,
            EngineError::NotPython { .. } | EngineError::NoBackend { .. } => {
                NextStep::UseOtherBackend
            }
            EngineError::NoKernelFor { .. } => NextStep::InstallKernel,
            EngineError::UnknownKernel { .. } => NextStep::SayPython,
            EngineError::Session(SessionError::OtherKernel { .. }) => NextStep::OtherSession,
            EngineError::Kernelspec(_) => NextStep::SeeKernels,
            EngineError::NotAFile { .. } => NextStep::NameNotebook,
            EngineError::ReadOnlyFile { path, .. } => NextStep::MakeWritable(path),
            EngineError::CannotKeep { .. } => NextStep::WriteElsewhere,
            EngineError::OutsideRoots { .. } => NextStep::StayInside,
            EngineError::OpenOnServer { .. } => NextStep::CloseThere,
            EngineError::NoPython(_) => NextStep::InstallPython,
            EngineError::Launch(error) => match error {
                LaunchError::NoCwd { .. } | LaunchError::CwdNotAFolder { .. } => {
                    NextStep::ChooseCwd
                }
                LaunchError::Spawn { source, .. }
                | LaunchError::Resources { source, .. }
                | LaunchError::StateFolder { source, .. }
                    if is_scarce(source) =>
                {
                    NextStep::RaiseOpenFiles
                }
                LaunchError::Spawn { .. } | LaunchError::EndedEarly { .. } => {
                    NextStep::NameOtherPython
                }
                LaunchError::TimedOut { .. } => NextStep::RaiseStartTimeout,
                // The reason names the file, or the package, and what is wrong with it.
                LaunchError::StateFolder { .. } => NextStep::ChooseState,
                LaunchError::Gateway(error) => gateway_step(error)?,
                LaunchError::Startup { .. }
                | LaunchError::Cancelled
                | LaunchError::Resources { .. } => return None,
            },
            EngineError::Artifact(error) => artifact_step(error)?,
            EngineError::Session(SessionError::LetGo { .. }) => NextStep::SeeArtifacts,
            // The file is fine; the process has no descriptor left.
            EngineError::Io { source, .. } if is_scarce(source) => NextStep::RaiseOpenFiles,
            EngineError::Io { what: "use the state folder", .. } => NextStep::ChooseState,
            EngineError::Io { path, what: "find the folder", source }
                if source.kind() == io::ErrorKind::NotFound =>
            {
                NextStep::MakeFolder(Path::new(path).parent()?.to_str()?)
            }
            EngineError::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => NextStep::FreeSpace,
                io::ErrorKind::PermissionDenied => NextStep::CheckPermissions,
                _ => return None,
            },
            _ => return None,
        })
    }
}

/// Of a gateway that is somebody else's; ours says itself what to do.
pub(super) fn gateway_step(error: &GatewayError) -> Option<NextStep<'static>> {
    let (GatewayError::Authentication { at, .. }
    | GatewayError::Status { at, .. }
    | GatewayError::Redirect { at, .. }
    | GatewayError::Timeout { at }
    | GatewayError::Unreachable { at, .. }
    | GatewayError::Nonsense { at, .. }
    | GatewayError::NoSuchKernel { at, .. }) = error
    else {
        return None;
    };
    match (at.whose, error) {
        (Whose::Shared, _) => None,
        (Whose::External, GatewayError::Authentication { token: TokenSent::No, .. }) => {
            Some(NextStep::GiveToken)
        }
        (Whose::External, GatewayError::Authentication { token: TokenSent::Yes, .. }) => {
            Some(NextStep::RenewToken)
        }
        (Whose::External, GatewayError::NoSuchKernel { .. }) => Some(NextStep::SeeKernels),
        (Whose::External, _) => Some(NextStep::CheckGateway),
    }
}

fn artifact_step(error: &ArtifactError) -> Option<NextStep<'static>> {
    match error {
        ArtifactError::BadId { .. } | ArtifactError::Unknown { .. } => Some(NextStep::SeeArtifacts),
        ArtifactError::Io { source, .. } if is_scarce(source) => Some(NextStep::RaiseOpenFiles),
        ArtifactError::Io { what: "use the state folder", .. } => Some(NextStep::ChooseState),
        // The others say in their own words what to do.
        _ => None,
    }
}

/// Whether the process or the system has no descriptor left.
pub(super) fn is_scarce(error: &io::Error) -> bool {
    let scarce = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    scarce.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
