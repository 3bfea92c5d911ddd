//! The next step after an error, in words for a model.
//!
//! Owns the words. They name arguments, never tools: the mode decides which tools exist.

use inkcell_engine::api::KernelStep;
use inkcell_engine::notebook::visible_line;
use inkcell_engine::{EngineError, NextStep};

/// The step for an error, if there is one.
pub(crate) fn of(error: &EngineError) -> Option<String> {
    match error {
        EngineError::Setup(error) => error.next_step(),
        error => error.next_step().map(of_step),
    }
}

/// The words for a step.
pub(crate) fn of_step(step: NextStep<'_>) -> String {
    match step {
        NextStep::MakeFirst(_) => "check the path; an edit with create: true makes the notebook",
        NextStep::EditInstead(_) => "edit it instead, or choose another name",
        NextStep::RenameToNotebook(path) => return format!("use {}.ipynb", visible_line(path)),
        NextStep::ChooseOther => "choose another file",
        NextStep::ReplaceEmpty => {
            "if another program is saving it now, try again; to start a notebook there, remove the file first"
        }
        NextStep::TryIfSaving => "if another program is saving it now, try again",
        NextStep::SeeCells(_) => "read the outline of the notebook to see its cells",
        NextStep::MakeFolder(folder) => return format!("make the folder {} first", visible_line(folder)),
        NextStep::ChooseState => "set INKCELL_STATE_DIR to a folder that can be written",
        NextStep::WriteText => "write the text into a notebook instead",
        NextStep::RunScript(_) => "run its content as code",
        NextStep::LookAtJson(_) => {
            "a notebook is an object with an array \"cells\"; read the path with :raw to look at it"
        }
        NextStep::LookAtCells(_) => {
            "cells are objects whose cell_type is code, markdown or raw; read the path with :raw to look at them"
        }
        NextStep::RaiseLimit => "raise the limit: INKCELL_NOTEBOOK_MAX_BYTES",
        NextStep::SayDropped(0) => "leave drop out",
        NextStep::SayDropped(count) => {
            return format!("to delete them, say how many you mean: drop: {count}");
        }
        NextStep::AskForAll => "to replace it in every place: all: true",
        NextStep::ReadWhole(_) => "read all of it, or change single cells",
        NextStep::ReadAgain(_) => "nothing was written; read it again and repeat the edit",
        NextStep::ReadVersion(_) => {
            "nothing was written; read it again and give the version it shows as if_hash"
        }
        NextStep::TryLater => "try again in a moment",
        NextStep::NameNotebook => "give the path of an .ipynb file",
        NextStep::MakeWritable(path) => return format!("make it writable: chmod u+w {}", visible_line(path)),
        NextStep::WriteElsewhere => "write to another file",
        NextStep::StayInside => "use a path inside one of them",
        NextStep::FreeSpace => "free some space; the file is as it was",
        NextStep::CheckPermissions => {
            "check the permissions of the file and its folder; the file is as it was"
        }
        NextStep::InstallPython => {
            "install python3 (3.9 or newer), or name one: INKCELL_PYTHON_INTERPRETER"
        }
        NextStep::NameOtherPython => "name another Python: INKCELL_PYTHON_INTERPRETER",
        NextStep::ChooseCwd => "make the folder first, or give another cwd",
        NextStep::RaiseStartTimeout => {
            "try again, or give it more time: INKCELL_PYTHON_START_TIMEOUT=SECONDS"
        }
        NextStep::RaiseOpenFiles => {
            "end sessions you do not need, or allow more open files where the server is started: ulimit -n 1024"
        }
        NextStep::UseOtherBackend => "leave backend out, or give another one",
        NextStep::SeeKernels => "leave kernel out, or see which there are: inkcell kernel specs",
        NextStep::OtherSession => "leave backend and kernel out, stop the session first, or use another name",
        NextStep::SayPython => "if it is Python: backend: \"runner\"; else give kernel",
        NextStep::InstallKernel => {
            "tell the user to install a Jupyter kernel for it, or give one that will do as kernel"
        }
        NextStep::GiveToken => "ask the user for the token: PI_PYTHON_GATEWAY_TOKEN, or gateway.url with ?token=",
        NextStep::RenewToken => "the token that is set is not accepted there; ask the user for the one of today",
        NextStep::CheckGateway => "ask the user whether the gateway runs, and whether gateway.url is its address",
        NextStep::CloseThere => "ask the user to close the document there, or write to another file",
        NextStep::SeeArtifacts => "use the id that the truncated output named",
    }
    .to_owned()
}

/// The step for a missing kernel.
pub(crate) fn of_kernel(step: KernelStep) -> String {
    match step {
        KernelStep::NameOtherPython => of_step(NextStep::NameOtherPython),
        KernelStep::ChooseCwd => of_step(NextStep::ChooseCwd),
        KernelStep::RaiseStartTimeout => of_step(NextStep::RaiseStartTimeout),
        KernelStep::ChooseState => of_step(NextStep::ChooseState),
        KernelStep::RaiseOpenFiles => of_step(NextStep::RaiseOpenFiles),
        KernelStep::TryLater => of_step(NextStep::TryLater),
        KernelStep::GiveToken => of_step(NextStep::GiveToken),
        KernelStep::RenewToken => of_step(NextStep::RenewToken),
        KernelStep::CheckGateway => of_step(NextStep::CheckGateway),
        KernelStep::RaiseTimeout => "give it more time with timeout".to_owned(),
    }
}
