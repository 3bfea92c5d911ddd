//! The next step after an error, in terms of the command line.
//!
//! Owns the commands, flags and variables that solve an error. The engine does not know them.

use inkcell_engine::api::KernelStep;
use inkcell_engine::{EngineError, NextStep};

/// The hint for an error, if there is one.
pub(crate) fn of(error: &EngineError) -> Option<String> {
    match error {
        EngineError::Setup(error) => error.next_step(),
        error => error.next_step().map(text),
    }
}

fn text(step: NextStep<'_>) -> String {
    match step {
        NextStep::MakeFirst(path) => {
            format!("check the path, or make the notebook first: inkcell new {path}")
        }
        NextStep::EditInstead(path) => {
            format!("edit it instead (inkcell edit {path} ...), or choose another name")
        }
        NextStep::RenameToNotebook(path) => format!("use {path}.ipynb"),
        NextStep::ChooseOther => "leave -o out, or choose another file for -o".to_owned(),
        NextStep::ReplaceEmpty => {
            "if another program is saving it now, try again; to start a notebook there, remove the file \
             and use: inkcell new PATH"
                .to_owned()
        }
        NextStep::TryIfSaving => "if another program is saving it now, try again".to_owned(),
        NextStep::SeeCells(path) => format!("see the cells: inkcell read {path} --outline"),
        NextStep::MakeFolder(folder) => format!("make the folder first: mkdir -p {folder}"),
        NextStep::ChooseState => {
            "name a folder that can be written for locks and versions: INKCELL_STATE_DIR=DIR".to_owned()
        }
        NextStep::WriteText => "give it to: inkcell write PATH".to_owned(),
        NextStep::RunScript(path) => format!("run it as code: inkcell py --cells --file {path}"),
        NextStep::LookAtJson(path) => format!(
            "a notebook is an object with an array \"cells\"; look at it with: inkcell read {path}:raw"
        ),
        NextStep::LookAtCells(path) => format!(
            "cells are objects whose cell_type is code, markdown or raw; see inkcell read {path} --outline, \
             or the JSON with inkcell read {path}:raw"
        ),
        NextStep::RaiseLimit => {
            "raise the limit with INKCELL_NOTEBOOK_MAX_BYTES=<bytes>".to_owned()
        }
        NextStep::SayDropped(0) => "leave --drop out".to_owned(),
        NextStep::SayDropped(count) => {
            format!("to delete them, say how many you mean: --drop {count}")
        }
        NextStep::AskForAll => "to replace it in every place: --all".to_owned(),
        NextStep::ReadWhole(path) => {
            format!("read all of it (inkcell read {path}), or change cells (inkcell edit {path} ...)")
        }
        NextStep::ReadAgain(path) => {
            format!("nothing was written; read it again (inkcell read {path}) and repeat the edit")
        }
        NextStep::ReadVersion(path) => format!(
            "nothing was written; read it again (inkcell read {path}) and give the version it shows"
        ),
        NextStep::TryLater => "try again in a moment".to_owned(),
        NextStep::NameNotebook => "give the path of an .ipynb file".to_owned(),
        NextStep::MakeWritable(path) => {
            format!("make it writable (chmod u+w {path}), or write anyway with --force")
        }
        NextStep::WriteElsewhere => {
            "run as the owner of the file, write to another file with -o, or accept the loss with --force"
                .to_owned()
        }
        NextStep::StayInside => {
            "use a path inside one of them, or allow the folder with --root".to_owned()
        }
        NextStep::FreeSpace => "free some space; the file is as it was".to_owned(),
        NextStep::CheckPermissions => {
            "check the permissions of the file and its folder; the file is as it was".to_owned()
        }
        NextStep::InstallPython => "install python3 (3.9 or newer), or name one: --python PATH, or the setting \
                                    python.interpreter"
            .to_owned(),
        NextStep::NameOtherPython => {
            "see which Python it is and why (inkcell env), or name another one: --python PATH".to_owned()
        }
        NextStep::ChooseCwd => "make the folder first, or choose another one with --cwd".to_owned(),
        NextStep::RaiseStartTimeout => {
            "try again, or give it more time: INKCELL_PYTHON_START_TIMEOUT=SECONDS".to_owned()
        }
        NextStep::RaiseOpenFiles => {
            "close other programs, or allow more open files: ulimit -n 1024".to_owned()
        }
        NextStep::UseOtherBackend => "leave --backend out, or give another one".to_owned(),
        NextStep::SeeKernels => "see which kernels there are: inkcell kernel specs".to_owned(),
        NextStep::OtherSession => "stop the session first, or use another name".to_owned(),
        NextStep::SayPython => {
            "if it is Python: --backend runner; else install that kernel, or name one: --kernel NAME".to_owned()
        }
        NextStep::InstallKernel => {
            "install a Jupyter kernel for it, or name one that will do: --kernel NAME (see inkcell kernel specs)"
                .to_owned()
        }
        NextStep::GiveToken => {
            "a server shows its token when it starts, and a Hub makes one on its page \"Token\"; the whole address with \
             ?token= may be given as gateway.url, too"
                .to_owned()
        }
        NextStep::RenewToken => {
            "the token that is set is not accepted there; servers make a new one each time they start (see jupyter \
             server list)"
                .to_owned()
        }
        NextStep::CheckGateway => {
            "see whether it runs, and whether gateway.url is its address, as a browser shows it: inkcell settings \
             gateway"
                .to_owned()
        }
        NextStep::CloseThere => {
            "close the document there, write to another file with -o, or write anyway with --force".to_owned()
        }
        NextStep::SeeArtifacts => "see what is stored: inkcell artifacts list".to_owned(),
    }
}

/// The hint for a Python that did not start within the time limit of its code.
pub(crate) const RAISE_TIMEOUT: &str = "give it more time, see which Python it is and why (inkcell env), or name \
     another one: --python PATH";

/// The hint for a missing kernel.
pub(crate) fn of_step(step: KernelStep) -> String {
    text(match step {
        KernelStep::NameOtherPython => NextStep::NameOtherPython,
        KernelStep::ChooseCwd => NextStep::ChooseCwd,
        KernelStep::RaiseStartTimeout => NextStep::RaiseStartTimeout,
        KernelStep::ChooseState => NextStep::ChooseState,
        KernelStep::RaiseOpenFiles => NextStep::RaiseOpenFiles,
        KernelStep::TryLater => NextStep::TryLater,
        KernelStep::GiveToken => NextStep::GiveToken,
        KernelStep::RenewToken => NextStep::RenewToken,
        KernelStep::CheckGateway => NextStep::CheckGateway,
        KernelStep::RaiseTimeout => return RAISE_TIMEOUT.to_owned(),
    })
}
