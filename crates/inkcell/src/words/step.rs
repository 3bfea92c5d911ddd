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
                "allow more time with --timeout, or name another Python with --python PATH",
                "allow more time with timeout",
            ),
        })
    }

    /// How the variable that code missed gets to the kernel.
    pub(crate) fn about_missed(self, report: &PythonReport) -> Option<String> {
        let name = report.missed_variable.as_deref()?;
        let fact = format!(
            "{name} is set where inkcell was started, but inkcell does not pass it to the \
                 kernel"
        );
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
            format!("check the path, or create the notebook with 'inkcell new {path}'"),
            "check the path; an edit with create: true creates the notebook",
        ),
        NextStep::EditInstead(path) => two(
            format!("choose another name, or edit the file with 'inkcell edit {path} ...'"),
            "choose another name, or edit the file",
        ),
        NextStep::RenameToNotebook(path) => {
            two(format!("use {path}.ipynb"), format!("use {}.ipynb", visible_line(path)))
        }
        NextStep::ChooseOther => {
            two("remove -o, or choose another file for -o", "choose another file")
        }
        NextStep::ReplaceEmpty => two(
            "try again if another program is saving it now; to start over, remove the file and \
             run 'inkcell new PATH'",
            "try again if another program is saving it now; to start a notebook there, remove the \
             file first",
        ),
        NextStep::TryIfSaving => both("try again if another program is saving it now"),
        NextStep::SeeCells(path) => two(
            format!("list the cells with 'inkcell read {path} --outline'"),
            "read the outline of the notebook to see its cells",
        ),
        NextStep::MakeFolder(folder) => two(
            format!("create the folder first with 'mkdir -p {folder}'"),
            format!("create the folder {} first", visible_line(folder)),
        ),
        NextStep::ChooseState => two(
            "set INKCELL_STATE_DIR to a writable folder for locks and versions",
            "set INKCELL_STATE_DIR to a writable folder",
        ),
        NextStep::WriteText => two(
            "turn it into a notebook with 'inkcell write NEW.ipynb < PATH'",
            "write the text into a notebook instead",
        ),
        NextStep::RunScript(path) => two(
            format!("run it as code with 'inkcell py --cells - < {path}'"),
            "run its content as code",
        ),
        NextStep::LookAtJson(path) => two(
            format!(
                "a notebook is an object with an array \"cells\"; show the JSON with 'inkcell \
                 read {path}:raw'"
            ),
            "a notebook is an object with an array \"cells\"; read the path with :raw to look \
             at it",
        ),
        NextStep::LookAtCells(path) => two(
            format!(
                "a cell is an object whose cell_type is code, markdown or raw; show the JSON with \
                 'inkcell read {path}:raw'"
            ),
            "a cell is an object whose cell_type is code, markdown or raw; read the path with \
             :raw to look at them",
        ),
        NextStep::RaiseLimit => two(
            "raise the limit with INKCELL_NOTEBOOK_MAX_BYTES=BYTES",
            "raise the limit: INKCELL_NOTEBOOK_MAX_BYTES",
        ),
        NextStep::BeginWithMarker(found) => {
            let words = format!(
                "its first line is {found:?}; each cell begins with a marker, such as \"# %% [code]\""
            );
            two(words.clone(), words)
        }
        NextStep::SayDropped(0) => two("remove --drop", "remove drop"),
        NextStep::SayDropped(count) => two(
            format!("to delete them, add --drop {count}"),
            format!("to delete them, add drop: {count}"),
        ),
        NextStep::AskForAll => {
            two("to replace every match, add --all", "to replace every match, add all: true")
        }
        NextStep::ReadWhole(path) => two(
            format!(
                "read the whole text with 'inkcell read {path}', or change single cells with \
                 'inkcell edit {path} ...'"
            ),
            "read the whole text, or change single cells",
        ),
        NextStep::ReadAgain(path) => two(
            format!(
                "nothing was written; read the notebook again with 'inkcell read {path}' and \
                 repeat the edit"
            ),
            "nothing was written; read it again and repeat the edit",
        ),
        NextStep::ReadVersion(path) => two(
            format!(
                "nothing was written; read the notebook again with 'inkcell read {path}' and give \
                 the version it shows"
            ),
            "nothing was written; read it again and give the version it shows as if_hash",
        ),
        NextStep::TryLater => both("try again in a moment"),
        NextStep::NameNotebook => both("give the path of an .ipynb file"),
        NextStep::MakeWritable(path) => two(
            format!("make it writable with 'chmod u+w {path}', or write anyway with --force"),
            format!("make it writable with 'chmod u+w {}'", visible_line(path)),
        ),
        NextStep::WriteElsewhere => two(
            "write to another file with -o, run as the owner of the file, or accept the loss with \
             --force",
            "write to another file",
        ),
        NextStep::StayInside => two(
            "use a path inside one of them, or allow the folder with --root",
            "use a path inside one of them",
        ),
        NextStep::FreeSpace => both("free some disk space; the file is unchanged"),
        NextStep::CheckPermissions => {
            both("check the permissions of the file and its folder; the file is unchanged")
        }
        NextStep::InstallPython => two(
            "install Python 3.9 or newer, and check with 'inkcell doctor'",
            "install Python 3.9 or newer, or name one with INKCELL_PYTHON_INTERPRETER",
        ),
        NextStep::NameOtherPython => two(
            "check with 'inkcell doctor', or choose another Python with --python PATH",
            "name another Python with INKCELL_PYTHON_INTERPRETER",
        ),
        NextStep::ChooseCwd => two(
            "create the folder first, or choose another one with --cwd",
            "create the folder first, or give another cwd",
        ),
        NextStep::RaiseStartTimeout => {
            both("try again, or allow more time with INKCELL_PYTHON_START_TIMEOUT=SECONDS")
        }
        NextStep::RaiseOpenFiles => two(
            "close other programs, or allow more open files with 'ulimit -n 1024'",
            "end sessions you do not need, or allow more open files where the server is started, \
             with 'ulimit -n 1024'",
        ),
        NextStep::UseOtherBackend => {
            two("remove --backend, or give another one", "remove backend, or give another one")
        }
        NextStep::SeeKernels => two(
            "list the installed kernels with 'inkcell kernel specs'",
            "remove kernel, or give the name of an installed one",
        ),
        NextStep::OtherSession => two(
            "stop the session first, or use another name",
            "remove backend and kernel, stop the session first, or use another name",
        ),
        NextStep::SayPython => two(
            "for Python, use --backend runner; otherwise install that kernel, or name one with \
             --kernel NAME",
            "for Python, give backend: \"runner\"; otherwise give kernel",
        ),
        NextStep::InstallKernel => two(
            "install a Jupyter kernel for it, or name one with --kernel NAME; list them with \
             'inkcell kernel specs'",
            "ask the user to install a Jupyter kernel for it, or give kernel the name of another \
             one",
        ),
        NextStep::GiveToken => two(
            "a server prints its token when it starts, and a Hub creates one on its page \
             \"Token\"; gateway.url also takes the whole address with ?token=",
            "ask the user for the token: PI_PYTHON_GATEWAY_TOKEN, or gateway.url with ?token=",
        ),
        NextStep::RenewToken => two(
            "the server does not accept this token; servers create a new one each time they start \
             (see 'jupyter server list')",
            "the server does not accept this token; ask the user for the current one",
        ),
        NextStep::CheckGateway => two(
            "check that the gateway runs, and that gateway.url is the address a browser shows: \
             'inkcell settings gateway'",
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
            "list stored outputs with 'inkcell artifacts list'",
            "use the ID that the truncated output named",
        ),
    }
}
