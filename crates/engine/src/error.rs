//! What can go wrong in the engine, as values with a message; `kind` sorts them, `steps` says what to do next.
//!
//! Owns the errors and their words. It must not know exit codes or protocols: those are derived from the
//! kind by whoever shows the error.

use std::io;
use std::path::PathBuf;

use inkcell_kernel::{
    BackendKind, FindError, KernelspecError, LaunchError, ModuleError, SetupError,
};
use inkcell_notebook::{
    Candidate, EditError, NotebookError, Oddity, RefError, SelectorError, SubError, TextError,
};

use crate::api::KernelName;
use crate::artifact::ArtifactError;
use crate::files::Version;
use crate::inspect::InspectError;

mod kind;
mod session;
mod steps;

pub use kind::Kind;
pub use session::SessionError;
pub use steps::NextStep;

/// What differs between the version a caller knew and the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The cell as the caller knew it.
    pub cell: Candidate,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a cell that a caller named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Its kind, source or metadata are different.
    Changed,
    /// It is gone, or cannot be told from others.
    Gone,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fate = match self.fate {
            Fate::Changed => "was changed",
            Fate::Gone => "is gone",
        };
        write!(f, "{} {fate}", self.cell)
    }
}

fn named(kernel: Option<&KernelName>) -> String {
    kernel.map(|kernel| format!(" (kernel {kernel})")).unwrap_or_default()
}

fn there_are(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; installed: {}", known.join(", ")) }
}

fn joined(differences: &[Difference]) -> String {
    differences.iter().map(Difference::to_string).collect::<Vec<_>>().join(", ")
}

/// A failure of the engine. Paths are as the caller gave them.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No such notebook.
    #[error("{what} not found: {path}")]
    NotFound {
        /// `File` when reading, `Notebook` when editing.
        what: &'static str,
        /// The path.
        path: String,
    },
    /// A notebook is already there.
    #[error("{path} already exists")]
    Exists {
        /// The path.
        path: String,
    },
    /// The path of a notebook to be made does not end like one.
    #[error("{path:?} does not end in .ipynb, so nothing would open it as a notebook")]
    NotANotebookPath {
        /// The path.
        path: String,
    },
    /// What is made from a notebook would replace it.
    #[error("{path} is the notebook itself; nothing was written")]
    OntoItself {
        /// The path.
        path: String,
    },
    /// An empty text for a notebook that is not there.
    #[error("{path} is not there and the text is empty, so there is nothing to write")]
    NothingToWrite {
        /// The path.
        path: String,
    },
    /// A text that should be the JSON of a whole notebook is not.
    #[error("the text for {path} is no notebook: {problem}")]
    BadWhole {
        /// The path.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// The file is not JSON.
    #[error("Invalid JSON in notebook: {path}: {}", json_problem(.error))]
    NotJson {
        /// The path.
        path: String,
        /// Where and why.
        error: NotebookError,
    },
    /// JSON, but not a notebook.
    #[error("Invalid notebook structure ({error}): {path}")]
    Structure {
        /// The path.
        path: String,
        /// Why.
        error: NotebookError,
    },
    /// More bytes than allowed.
    #[error("{path} has {size_bytes} bytes, more than notebook.max_bytes allows ({limit_bytes})")]
    TooLarge {
        /// The path.
        path: String,
        /// Its size.
        size_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// An entry of the notebook is not a cell.
    #[error("Invalid notebook cell {index} in {path}")]
    BadCell {
        /// The path.
        path: String,
        /// Position of the entry.
        index: usize,
    },
    /// A text is not virtual text.
    #[error("Invalid notebook editable representation for {path}: {error}")]
    BadText {
        /// The path.
        path: String,
        /// Why.
        error: TextError,
    },
    /// A text leaves cells out.
    #[error("{path}: {error}")]
    LeavesOut {
        /// The path.
        path: String,
        /// Which.
        error: TextError,
    },
    /// The text is what a reader was shown of a part of the notebook.
    #[error(
        "{path}: this text is a part of the notebook, as it was read by lines, cells or pages; writing it \
         back would cut the rest off, so nothing was written"
    )]
    PartOfText {
        /// The path.
        path: String,
    },
    /// An operation was refused.
    #[error("{path}: {}{error}", in_batch(.error, *.batch))]
    Edit {
        /// The path.
        path: String,
        /// Why.
        error: EditError,
        /// How many operations there were.
        batch: usize,
    },
    /// A reference names no single cell.
    #[error("{path}: {error}")]
    Ref {
        /// The path.
        path: String,
        /// Why.
        error: RefError,
    },
    /// A text could not be replaced in the virtual text.
    #[error("{path}: {error}")]
    Sub {
        /// The path.
        path: String,
        /// Why.
        error: SubError,
    },
    /// A request of the source documents' editors was refused, in their words.
    #[error("{message}")]
    Refused {
        /// The sentence.
        message: String,
    },
    /// An argument has no meaning.
    #[error("{argument}: {problem}")]
    Argument {
        /// Which argument.
        argument: String,
        /// What is wrong and what is allowed.
        problem: String,
    },
    /// A line selector has no meaning.
    #[error(transparent)]
    Selector(#[from] SelectorError),
    /// The file was changed by somebody else, in cells this edit names.
    #[error("{path} was changed by someone else since version {yours} (it is now {current}): {}", joined(.cells))]
    Conflict {
        /// The path.
        path: String,
        /// The version the caller knew.
        yours: Version,
        /// The version the file has.
        current: Version,
        /// What differs.
        cells: Vec<Difference>,
    },
    /// The file was changed by somebody else and the change cannot be carried over.
    #[error("{path} was changed by someone else since version {yours} (it is now {current})")]
    ConflictWhole {
        /// The path.
        path: String,
        /// The version the caller knew.
        yours: Version,
        /// The version the file has.
        current: Version,
    },
    /// The caller's version is not one that was ever read here.
    #[error(
        "{path} has version {current}; version {yours} is not known here, so it cannot be told what changed"
    )]
    UnknownVersion {
        /// The path.
        path: String,
        /// The version the caller gave.
        yours: Version,
        /// The version the file has.
        current: Version,
    },
    /// The file kept changing while it was being edited.
    #[error("{path} keeps being changed by someone else; nothing was written")]
    KeepsChanging {
        /// The path.
        path: String,
    },
    /// The notebook is for a language that the backend which was asked for does not run.
    #[error("the notebook is for {language}{}, and the runner runs Python", named(.kernel.as_ref()))]
    NotPython {
        /// The language.
        language: String,
        /// The kernel it names.
        kernel: Option<KernelName>,
    },
    /// The notebook is for another language, and nothing here runs that.
    #[error("the notebook is for {language}{}, and no kernel for that is installed{}", named(.kernel.as_ref()), there_are(.known))]
    NoKernelFor {
        /// The language.
        language: String,
        /// The kernel it names.
        kernel: Option<KernelName>,
        /// The kernels that are installed.
        known: Vec<String>,
    },
    /// The notebook names a kernel that is not here, and says nothing else of what it is in.
    #[error("the notebook names the kernel {kernel}, which is not installed, and does not say its language{}", there_are(.known))]
    UnknownKernel {
        /// The kernel it names.
        kernel: KernelName,
        /// The kernels that are installed.
        known: Vec<String>,
    },
    /// There is no such kernel, or it cannot be used.
    #[error(transparent)]
    Kernelspec(#[from] KernelspecError),
    /// There is no such backend.
    #[error("the backend {} is not there", .backend.name())]
    NoBackend {
        /// Which.
        backend: BackendKind,
    },
    /// Something of ours is gone because a task of ours failed.
    #[error("{what} is lost, which is a fault of inkcell")]
    Lost {
        /// What.
        what: &'static str,
    },
    /// Another process is editing the file.
    #[error("{path} is being edited by another inkcell; waited {waited_seconds} s for it")]
    Locked {
        /// The path.
        path: String,
        /// How long.
        waited_seconds: u64,
    },
    /// Not a file that holds a notebook.
    #[error("{path} is {what}, not a regular file")]
    NotAFile {
        /// The path.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// The file may not be written.
    #[error("{path} is read-only (mode {mode:03o}); nothing was written")]
    ReadOnlyFile {
        /// The path.
        path: String,
        /// Its mode.
        mode: u32,
    },
    /// Replacing the file would change who may use it.
    #[error("{path}: {what} cannot be kept ({source}); nothing was written")]
    CannotKeep {
        /// The path.
        path: String,
        /// Owner, access list or attribute.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The path leads out of the allowed folders.
    #[error("{path} is outside the allowed folders: {}", .roots.iter().map(|r| r.display().to_string()).collect::<Vec<_>>().join(", "))]
    OutsideRoots {
        /// The path.
        path: String,
        /// The folders.
        roots: Vec<PathBuf>,
    },
    /// Others have the file open on the server that runs it.
    #[error(
        "{path} is {} on the server, and was not written: {}. What is written to the file would be lost, or mixed \
         with what they type", .open.path, .open.reason
    )]
    OpenOnServer {
        /// The path.
        path: String,
        /// What it is there.
        open: inkcell_kernel::Open,
    },
    /// There is no Python to run code with.
    #[error(transparent)]
    NoPython(#[from] FindError),
    /// A kernel did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A module that a kernel would load cannot be read.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The managed environment could not be made.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A session cannot be used as asked.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A session's names cannot be looked at as asked.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// Stored output cannot be had as asked.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The system refused.
    #[error("{path}: cannot {what}: {source}")]
    Io {
        /// The path.
        path: String,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

fn json_problem(error: &NotebookError) -> String {
    match error {
        NotebookError::Syntax { oddity: Some(oddity), .. } => match oddity {
            Oddity::ConflictMarkers { .. } => oddity.to_string(),
            // What to do about it is a next step, and first of all to wait.
            Oddity::Empty => "the file is empty".to_owned(),
            _ => format!("{error}; {oddity}"),
        },
        _ => error.to_string(),
    }
}

fn in_batch(error: &EditError, batch: usize) -> String {
    match error {
        EditError::Op { op, .. } if batch > 1 => format!("operation {op}: "),
        _ => String::new(),
    }
}

/// The error of a text, with the path and in the wording of its sort.
pub(crate) fn text_error(path: &str, error: TextError) -> EngineError {
    let path = path.to_owned();
    match error {
        TextError::FirstLine | TextError::UnknownMarker { .. } => {
            EngineError::BadText { path, error }
        }
        TextError::BadCell { index } => EngineError::BadCell { path, index },
        TextError::LeavesOut { .. } => EngineError::LeavesOut { path, error },
        TextError::Edit(error) => EngineError::Edit { path, error, batch: 1 },
    }
}

/// The error of bytes that are no notebook, with the path.
pub(crate) fn not_a_notebook(path: &str, error: NotebookError) -> EngineError {
    let path = path.to_owned();
    match error {
        NotebookError::Syntax { .. } => EngineError::NotJson { path, error },
        NotebookError::NotAnObject | NotebookError::NoCells => {
            EngineError::Structure { path, error }
        }
        NotebookError::TooLarge { size_bytes, limit_bytes } => {
            EngineError::TooLarge { path, size_bytes, limit_bytes }
        }
    }
}
