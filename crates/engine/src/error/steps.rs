//! The next step for a caller after an error, as a closed list.
//!
//! Owns which step follows from which error. It must not know commands or tools: each frontend words
//! the steps in its own way.

use std::io;
use std::path::Path;

use inkcell_kernel::{FindError, GatewayError, LaunchError, Reason, SkipReason, TokenSent, Whose};
use inkcell_notebook::{EditError, NotebookError, Oddity, OpError, RefError, SubError, TextError};

use super::{EngineError, SessionError};
use crate::api::{KernelStep, Problem};
use crate::store::ArtifactError;

/// A step for the caller to take after an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextStep<'a> {
    /// Check the path, or create the notebook first.
    MakeFirst(&'a str),
    /// Edit the existing notebook, or choose another name.
    EditInstead(&'a str),
    /// Give the file the extension of a notebook.
    RenameToNotebook(&'a str),
    /// Choose another file to write to.
    ChooseOther,
    /// Try again if another program is saving it; otherwise remove the empty file and create a notebook
    /// in its place.
    ReplaceEmpty,
    /// Try again if another program is saving it.
    TryIfSaving,
    /// List the cells of the notebook.
    SeeCells(&'a str),
    /// Create the folder, or correct the path.
    MakeFolder(&'a str),
    /// Choose another folder for locks and versions.
    ChooseState,
    /// Write the text into a notebook.
    WriteText,
    /// Run the script as code.
    RunScript(&'a str),
    /// Check the JSON: it should be an object with an array of cells.
    LookAtJson(&'a str),
    /// Check the cells: one of them does not have any of the three kinds.
    LookAtCells(&'a str),
    /// Raise the limit of bytes.
    RaiseLimit,
    /// Begin the text with a marker; this is its first line.
    BeginWithMarker(&'a str),
    /// Confirm that this many cells are dropped.
    SayDropped(usize),
    /// Ask for every match instead of one.
    AskForAll,
    /// Read the whole text, or change cells.
    ReadWhole(&'a str),
    /// Read the notebook again and repeat the edit.
    ReadAgain(&'a str),
    /// Read the notebook again and give the version that the answer has.
    ReadVersion(&'a str),
    /// Try again in a moment.
    TryLater,
    /// Name a notebook file.
    NameNotebook,
    /// Make the file writable, or force the write.
    MakeWritable(&'a str),
    /// Work as the owner of the file, write elsewhere, or force the write.
    WriteElsewhere,
    /// Use a path inside the allowed folders, or allow the folder.
    StayInside,
    /// Free space on the disk, or write to another one.
    FreeSpace,
    /// Check the permissions of the file and of its folder.
    CheckPermissions,
    /// Install a Python, or name one.
    InstallPython,
    /// Check which Python is used, and name another one.
    NameOtherPython,
    /// Create the folder, or choose another working folder.
    ChooseCwd,
    /// Give a kernel more time to start.
    RaiseStartTimeout,
    /// Allow more open files.
    RaiseOpenFiles,
    /// List the stored outputs.
    SeeArtifacts,
    /// Choose a backend that can run this.
    UseOtherBackend,
    /// List the installed kernels.
    SeeKernels,
    /// Install a kernel for the notebook's language, or name one.
    InstallKernel,
    /// State that the language is Python, or name a kernel.
    SayPython,
    /// Stop the session first, or use another one.
    OtherSession,
    /// Give the token of a gateway.
    GiveToken,
    /// Give another token: the gateway does not accept this one.
    RenewToken,
    /// Check that the gateway runs and that the address is right.
    CheckGateway,
    /// Close the document on its server, write elsewhere, or force the write.
    CloseThere,
    /// Run the cells first that make what is missing, or run without them.
    RunNeeded,
}

impl EngineError {
    /// The error as reports carry it.
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
            Some(NextStep::RunNeeded) => Some(KernelStep::RunNeeded),
            _ => None,
        };
        Problem { kind: self.kind(), message: self.to_string(), step }
    }

    /// The next step, if there is one.
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
            EngineError::BadText { error: TextError::FirstLine { found }, .. } => {
                NextStep::BeginWithMarker(found)
            }
            EngineError::LeavesOut { error: TextError::LeavesOut { missing, .. }, .. } => {
                NextStep::SayDropped(missing.len())
            }
            EngineError::Sub { error: SubError::Many { .. }, .. } => NextStep::AskForAll,
            EngineError::Edit {
                error:
                    EditError::Op {
                        problem: OpError::ManyMatches { .. } | OpError::ManyMatchesAnywhere { .. },
                        ..
                    },
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
            EngineError::Lacks { .. } | EngineError::Outdated { .. } => NextStep::RunNeeded,
            EngineError::NoPython(error) if is_short_of_files(error) => NextStep::RaiseOpenFiles,
            EngineError::NoPython(error) if is_of_setting(error) => NextStep::NameOtherPython,
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
                // The reason names the file or the package, and its fault.
                LaunchError::StateFolder { .. } => NextStep::ChooseState,
                LaunchError::Gateway(error) => gateway_step(error)?,
                LaunchError::Startup { .. }
                | LaunchError::Cancelled
                | LaunchError::Resources { .. } => return None,
            },
            EngineError::Artifact(error) => artifact_step(error)?,
            EngineError::Session(SessionError::LetGo { .. }) => NextStep::SeeArtifacts,
            // The file is fine; the process has no free descriptor.
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

/// The step for an external gateway. The errors of the shared gateway name their own remedy.
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
        // The messages of the other errors name the remedy.
        _ => None,
    }
}

/// Like [`is_scarce`], for a Python that could not be started. Only the text of the system's error is
/// left.
fn is_short_of_files(error: &FindError) -> bool {
    let FindError::NoneWorks { tried } = error else { return false };
    let scarce = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE].map(io::Error::from);
    tried.iter().any(|skipped| match &skipped.why {
        SkipReason::CannotStart { problem } => {
            scarce.iter().any(|error| *problem == error.to_string())
        }
        _ => false,
    })
}

/// Returns whether the user named the Python that does not work.
fn is_of_setting(error: &FindError) -> bool {
    let FindError::NoneWorks { tried } = error else { return false };
    tried.iter().any(|skipped| skipped.reason == Reason::Setting)
}

/// Returns whether the process or the system has no free descriptor.
pub(super) fn is_scarce(error: &io::Error) -> bool {
    let scarce = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE];
    scarce.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
