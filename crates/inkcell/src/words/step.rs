//! The next step after an error: one table, with the words for people beside those for models.
//!
//! Owns the commands, flags, variables and arguments that solve an error, which the engine does not know. The words for
//! a model name arguments, never tools: the mode decides which tools exist.

use std::borrow::Cow;

use inkcell_engine::api::{KernelStep, PythonReport};
use inkcell_engine::notebook::visible_line;
use inkcell_engine::{EngineError, NextStep};

/// For whom the words are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Audience {
    /// A user of the command line.
    Person,
    Model,
}

impl Audience {
    /// The step after an error, if there is one.
    pub(crate) fn step_after(self, error: &EngineError) -> Option<String> {
        match error {
            // Only a command sets an environment up.
            EngineError::Setup(error) => error.next_step().filter(|_| self == Audience::Person),
            error => error.next_step().map(|step| self.step(step)),
        }
    }

    /// The words for a step.
    pub(crate) fn step(self, step: NextStep<'_>) -> String {
        self.choose(words(step))
    }

    /// The step for a missing kernel.
    pub(crate) fn kernel_step(self, step: KernelStep) -> String {
        self.choose(match step {
            KernelStep::NameOtherPython => words(NextStep::NameOtherPython),
            KernelStep::ChooseCwd => words(NextStep::ChooseCwd),
            KernelStep::RaiseStartTimeout => words(NextStep::RaiseStartTimeout),
            KernelStep::ChooseState => words(NextStep::ChooseState),
            KernelStep::RaiseOpenFiles => words(NextStep::RaiseOpenFiles),
            KernelStep::TryLater => words(NextStep::TryLater),
            KernelStep::GiveToken => words(NextStep::GiveToken),
            KernelStep::RenewToken => words(NextStep::RenewToken),
            KernelStep::CheckGateway => words(NextStep::CheckGateway),
            KernelStep::RunNeeded => words(NextStep::RunNeeded),
            KernelStep::RaiseTimeout => two(
                "give it more time, see which Python it is and why (inkcell env), or name another \
                 one: --python PATH",
                "give it more time with timeout",
            ),
        })
    }

    /// How the variable that code missed gets to the kernel.
    pub(crate) fn about_missed(self, report: &PythonReport) -> Option<String> {
        let name = report.missed_variable.as_deref()?;
        let fact =
            format!("{name} is set where inkcell was started, but the kernel does not get it");
        Some(self.choose(two(
            format!(
                "{fact}. Pass it with `--env {name}`, or list it in `env.pass` of your user settings."
            ),
            format!("{fact}. Ask the user to list it in `env.pass` of the user settings."),
        )))
    }

    fn choose(self, Words { person, model }: Words) -> String {
        match self {
            Audience::Person => person.into_owned(),
            Audience::Model => model.into_owned(),
        }
    }
}

/// One step, in both forms.
struct Words {
    person: Cow<'static, str>,
    model: Cow<'static, str>,
}

fn two(person: impl Into<Cow<'static, str>>, model: impl Into<Cow<'static, str>>) -> Words {
    Words { person: person.into(), model: model.into() }
}

fn both(words: &'static str) -> Words {
    two(words, words)
}

fn words(step: NextStep<'_>) -> Words {
    match step {
        NextStep::MakeFirst(path) => two(
            format!("check the path, or make the notebook first: inkcell new {path}"),
            "check the path; an edit with create: true makes the notebook",
        ),
        NextStep::EditInstead(path) => two(
            format!("edit it instead (inkcell edit {path} ...), or choose another name"),
            "edit it instead, or choose another name",
        ),
        NextStep::RenameToNotebook(path) => {
            two(format!("use {path}.ipynb"), format!("use {}.ipynb", visible_line(path)))
        }
        NextStep::ChooseOther => {
            two("leave -o out, or choose another file for -o", "choose another file")
        }
        NextStep::ReplaceEmpty => two(
            "if another program is saving it now, try again; to start a notebook there, remove the \
             file and use: inkcell new PATH",
            "if another program is saving it now, try again; to start a notebook there, remove the \
             file first",
        ),
        NextStep::TryIfSaving => both("if another program is saving it now, try again"),
        NextStep::SeeCells(path) => two(
            format!("see the cells: inkcell read {path} --outline"),
            "read the outline of the notebook to see its cells",
        ),
        NextStep::MakeFolder(folder) => two(
            format!("make the folder first: mkdir -p {folder}"),
            format!("make the folder {} first", visible_line(folder)),
        ),
        NextStep::ChooseState => two(
            "name a folder that can be written for locks and versions: INKCELL_STATE_DIR=DIR",
            "set INKCELL_STATE_DIR to a folder that can be written",
        ),
        NextStep::WriteText => {
            two("give it to: inkcell write PATH", "write the text into a notebook instead")
        }
        NextStep::RunScript(path) => two(
            format!("run it as code: inkcell py --cells --file {path}"),
            "run its content as code",
        ),
        NextStep::LookAtJson(path) => two(
            format!(
                "a notebook is an object with an array \"cells\"; look at it with: inkcell read \
                 {path}:raw"
            ),
            "a notebook is an object with an array \"cells\"; read the path with :raw to look \
             at it",
        ),
        NextStep::LookAtCells(path) => two(
            format!(
                "cells are objects whose cell_type is code, markdown or raw; see inkcell read \
                 {path} --outline, or the JSON with inkcell read {path}:raw"
            ),
            "cells are objects whose cell_type is code, markdown or raw; read the path with \
             :raw to look at them",
        ),
        NextStep::RaiseLimit => two(
            "raise the limit with INKCELL_NOTEBOOK_MAX_BYTES=<bytes>",
            "raise the limit: INKCELL_NOTEBOOK_MAX_BYTES",
        ),
        NextStep::BeginWithMarker(found) => {
            let words = format!(
                "its first line is {found:?}; each cell begins with a marker, such as \"# %% [code]\""
            );
            two(words.clone(), words)
        }
        NextStep::SayDropped(0) => two("leave --drop out", "leave drop out"),
        NextStep::SayDropped(count) => two(
            format!("to delete them, say how many you mean: --drop {count}"),
            format!("to delete them, say how many you mean: drop: {count}"),
        ),
        NextStep::AskForAll => {
            two("to replace it in every place: --all", "to replace it in every place: all: true")
        }
        NextStep::ReadWhole(path) => two(
            format!(
                "read all of it (inkcell read {path}), or change cells (inkcell edit {path} ...)"
            ),
            "read all of it, or change single cells",
        ),
        NextStep::ReadAgain(path) => two(
            format!("nothing was written; read it again (inkcell read {path}) and repeat the edit"),
            "nothing was written; read it again and repeat the edit",
        ),
        NextStep::ReadVersion(path) => two(
            format!(
                "nothing was written; read it again (inkcell read {path}) and give the \
                 version it shows"
            ),
            "nothing was written; read it again and give the version it shows as if_hash",
        ),
        NextStep::TryLater => both("try again in a moment"),
        NextStep::NameNotebook => both("give the path of an .ipynb file"),
        NextStep::MakeWritable(path) => two(
            format!("make it writable (chmod u+w {path}), or write anyway with --force"),
            format!("make it writable: chmod u+w {}", visible_line(path)),
        ),
        NextStep::WriteElsewhere => two(
            "run as the owner of the file, write to another file with -o, or accept the loss with \
             --force",
            "write to another file",
        ),
        NextStep::StayInside => two(
            "use a path inside one of them, or allow the folder with --root",
            "use a path inside one of them",
        ),
        NextStep::FreeSpace => both("free some space; the file is as it was"),
        NextStep::CheckPermissions => {
            both("check the permissions of the file and its folder; the file is as it was")
        }
        NextStep::InstallPython => two(
            "install Python 3.9 or newer, and check with 'inkcell doctor'",
            "install python3 (3.9 or newer), or name one: INKCELL_PYTHON_INTERPRETER",
        ),
        NextStep::NameOtherPython => two(
            "check with 'inkcell doctor', or choose another Python with --python PATH",
            "name another Python: INKCELL_PYTHON_INTERPRETER",
        ),
        NextStep::ChooseCwd => two(
            "make the folder first, or choose another one with --cwd",
            "make the folder first, or give another cwd",
        ),
        NextStep::RaiseStartTimeout => {
            both("try again, or give it more time: INKCELL_PYTHON_START_TIMEOUT=SECONDS")
        }
        NextStep::RaiseOpenFiles => two(
            "close other programs, or allow more open files: ulimit -n 1024",
            "end sessions you do not need, or allow more open files where the server is started: \
             ulimit -n 1024",
        ),
        NextStep::UseOtherBackend => two(
            "leave --backend out, or give another one",
            "leave backend out, or give another one",
        ),
        NextStep::SeeKernels => two(
            "see which kernels there are: inkcell kernel specs",
            "leave kernel out, or give the name of an installed one",
        ),
        NextStep::OtherSession => two(
            "stop the session first, or use another name",
            "leave backend and kernel out, stop the session first, or use another name",
        ),
        NextStep::SayPython => two(
            "if it is Python: --backend runner; else install that kernel, or name one: \
             --kernel NAME",
            "if it is Python: backend: \"runner\"; else give kernel",
        ),
        NextStep::InstallKernel => two(
            "install a Jupyter kernel for it, or name one that will do: --kernel NAME (see inkcell \
             kernel specs)",
            "tell the user to install a Jupyter kernel for it, or give one that will do as kernel",
        ),
        NextStep::GiveToken => two(
            "a server shows its token when it starts, and a Hub makes one on its page \"Token\"; \
             the whole address with ?token= may be given as gateway.url, too",
            "ask the user for the token: PI_PYTHON_GATEWAY_TOKEN, or gateway.url with ?token=",
        ),
        NextStep::RenewToken => two(
            "the token that is set is not accepted there; servers make a new one each time they \
             start (see jupyter server list)",
            "the token that is set is not accepted there; ask the user for the one of today",
        ),
        NextStep::CheckGateway => two(
            "see whether it runs, and whether gateway.url is its address, as a browser shows it: \
             inkcell settings gateway",
            "ask the user whether the gateway runs, and whether gateway.url is its address",
        ),
        NextStep::CloseThere => two(
            "close the document there, write to another file with -o, or write anyway with --force",
            "ask the user to close the document there, or write to another file",
        ),
        NextStep::RunNeeded => two(
            "run those cells first with --with-needed, or run without them with --without-needed",
            "with_needed: true runs those cells first, with_needed: false runs without them",
        ),
        NextStep::SeeArtifacts => two(
            "see what is stored: inkcell artifacts list",
            "use the id that the truncated output named",
        ),
    }
}
