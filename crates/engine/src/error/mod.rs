//! Errors of the engine, as values with a message; `kind` sorts them, `steps` has the next step for each.
//!
//! Owns the errors and their messages. It must not know exit codes or protocols: the program that shows an
//! error derives those from its kind.

use std::io;
use std::path::PathBuf;

use inkcell_kernel::{
    BackendKind, FindError, KernelspecError, LaunchError, ModuleError, SetupError,
};
use inkcell_notebook::{
    EditError, NotebookError, Oddity, RefError, SelectorError, SubError, TextError, visible_line,
};

use crate::store::ArtifactError;
use crate::types::{KernelName, Suggestion, Version};

mod conflict;
mod inspect;
mod kind;
mod session;
mod steps;

pub use conflict::{CellDifference, CellFate};
pub use inspect::InspectError;
pub use session::SessionError;
pub(crate) use session::elapsed;
pub use steps::NextStep;

/// A name that a cell needs, that a cell above it makes, and that the kernel does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MissingName {
    /// The name, as the cell spells it.
    pub name: String,
    /// The position of the cell that makes the name, from 0.
    pub maker: usize,
    /// The position of the cell that needs the name.
    pub user: usize,
}

/// How many missing names an error tells.
const MISSING: usize = 8;

/// The names that each cell lacks, with the cells that make them.
fn lacking(names: &[MissingName]) -> String {
    let told = &names[..names.len().min(MISSING)];
    let of = |one: &MissingName| format!("{} of cell {}", one.name, one.maker);
    let cells = told.chunk_by(|one, next| one.user == next.user).map(|of_cell| {
        let names: Vec<String> = of_cell.iter().map(of).collect();
        format!("cell {} needs {}", of_cell[0].user, names.join(", "))
    });
    let more = match names.len() - told.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    cells.collect::<Vec<_>>().join("; ") + &more
}

fn named(kernel: Option<&KernelName>) -> String {
    kernel.map(|kernel| format!(" (kernel {kernel})")).unwrap_or_default()
}

fn there_are(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; installed: {}", known.join(", ")) }
}

fn listed(folders: &[PathBuf]) -> String {
    let shown = |folder: &PathBuf| visible_line(&folder.to_string_lossy()).into_owned();
    folders.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// A failure of the engine. Paths are as the caller gave them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The file does not exist.
    #[error("{what} not found: {path}", path = visible_line(.path))]
    NotFound {
        /// `File` when reading, `Notebook` when editing.
        what: &'static str,
        /// The path as the caller gave it.
        path: String,
    },
    /// The file to create already exists.
    #[error("{path} already exists", path = visible_line(.path))]
    Exists {
        /// The path as the caller gave it.
        path: String,
    },
    /// The path of a notebook to create lacks the extension.
    #[error("{path:?} does not end in .ipynb, so nothing would open it as a notebook")]
    NotANotebookPath {
        /// The path as the caller gave it.
        path: String,
    },
    /// The output path is the notebook itself.
    #[error("{path} is the notebook itself; nothing was written", path = visible_line(.path))]
    OntoItself {
        /// The path as the caller gave it.
        path: String,
    },
    /// The text for a notebook that does not exist is empty.
    #[error("{path} does not exist and the text is empty, so there is nothing to write", path = visible_line(.path))]
    NothingToWrite {
        /// The path as the caller gave it.
        path: String,
    },
    /// The text should be the JSON of a whole notebook, and is not.
    #[error("the text for {path} is not a notebook: {problem}", path = visible_line(.path))]
    BadWhole {
        /// The path as the caller gave it.
        path: String,
        /// The fault in the text, with its place.
        problem: String,
    },
    /// The content of the file is not JSON.
    #[error("Invalid JSON in notebook: {path}: {}", json_problem(.error), path = visible_line(.path))]
    NotJson {
        /// The path as the caller gave it.
        path: String,
        /// The fault in the JSON, with its place.
        error: NotebookError,
    },
    /// The content of the file is JSON, but not a notebook.
    #[error("Invalid notebook structure ({error}): {path}", path = visible_line(.path))]
    Structure {
        /// The path as the caller gave it.
        path: String,
        /// The first fault that the reader of notebooks found.
        error: NotebookError,
    },
    /// The file is larger than the limit.
    #[error("{path} has {size_bytes} bytes, more than notebook.max_bytes allows ({limit_bytes})", path = visible_line(.path))]
    TooLarge {
        /// The path as the caller gave it.
        path: String,
        /// The size of the file.
        size_bytes: u64,
        /// The size that the settings allow.
        limit_bytes: u64,
    },
    /// An entry of the notebook is not a cell.
    #[error("Invalid notebook cell {index} in {path}", path = visible_line(.path))]
    BadCell {
        /// The path as the caller gave it.
        path: String,
        /// The position of the entry, from 0.
        index: usize,
    },
    /// The text does not have the form of a notebook's editable text.
    #[error("Invalid notebook editable representation for {path}: {error}", path = visible_line(.path))]
    BadText {
        /// The path as the caller gave it.
        path: String,
        /// The first fault in the text.
        error: TextError,
    },
    /// The text leaves cells out.
    #[error("{path}: {error}", path = visible_line(.path))]
    LeavesOut {
        /// The path as the caller gave it.
        path: String,
        /// The cells that are missing, and how to confirm that.
        error: TextError,
    },
    /// The text is the excerpt of a notebook that a reader got.
    #[error(
        "{path}: this text is a part of the notebook, as it was read by lines, cells or pages; writing it \
         back would cut the rest off, so nothing was written", path = visible_line(.path)
    )]
    PartOfText {
        /// The path as the caller gave it.
        path: String,
    },
    /// The edit refused an operation.
    #[error("{path}: {}{error}", in_batch(.error, *.batch), path = visible_line(.path))]
    Edit {
        /// The path as the caller gave it.
        path: String,
        /// The operation that was refused, and why.
        error: EditError,
        /// The number of operations in the batch.
        batch: usize,
    },
    /// The reference does not name exactly one cell.
    #[error("{path}: {error}", path = visible_line(.path))]
    Ref {
        /// The path as the caller gave it.
        path: String,
        /// The cells that the reference may have meant.
        error: RefError,
    },
    /// The text to replace was not found in the notebook's editable text, or was found more than once.
    #[error("{path}: {error}", path = visible_line(.path))]
    Sub {
        /// The path as the caller gave it.
        path: String,
        /// The number of matches, or the text that comes nearest.
        error: SubError,
    },
    /// An editor of the source documents (`notebook` or `NotebookEdit`) refused the request.
    #[error("{message}")]
    Refused {
        /// The reason, in the words of those documents.
        message: String,
    },
    /// The value of an argument is not valid.
    #[error("{argument}: {problem}")]
    Argument {
        /// The name of the argument, as the caller knows it.
        argument: String,
        /// The fault, and the values that are allowed.
        problem: String,
    },
    /// The line selector is not valid.
    #[error(transparent)]
    Selector(#[from] SelectorError),
    /// Another writer changed cells that this edit names.
    #[error("{path} has changed since version {yours} (it is now {current}): {}", conflict::listed(.cells), path = visible_line(.path))]
    Conflict {
        /// The path as the caller gave it.
        path: String,
        /// The version that the caller knew.
        yours: Version,
        /// The current version of the file.
        current: Version,
        /// The cells that the edit names and that differ.
        cells: Vec<CellDifference>,
    },
    /// Another writer changed the file, and the edit cannot be applied to the new content.
    #[error("{path} has changed since version {yours} (it is now {current})", path = visible_line(.path))]
    ConflictWhole {
        /// The path as the caller gave it.
        path: String,
        /// The version that the caller knew.
        yours: Version,
        /// The current version of the file.
        current: Version,
    },
    /// The caller's version was never read here.
    #[error(
        "{path} has version {current}; version {yours} is not known here, so inkcell cannot tell \
         what changed{}",
        Suggestion::words(.known), path = visible_line(.path)
    )]
    UnknownVersion {
        /// The path as the caller gave it.
        path: String,
        /// The version that the caller gave.
        yours: Version,
        /// The current version of the file.
        current: Version,
        /// Earlier versions that are known, the nearest first.
        known: Vec<Suggestion>,
    },
    /// The file kept changing while it was being edited.
    #[error("{path} keeps changing; nothing was written", path = visible_line(.path))]
    KeepsChanging {
        /// The path as the caller gave it.
        path: String,
    },
    /// The requested backend does not run the notebook's language.
    #[error("the notebook is for {language}{}, and the runner runs Python", named(.kernel.as_ref()))]
    NotPython {
        /// The language in the notebook's metadata.
        language: String,
        /// The kernel that the notebook names.
        kernel: Option<KernelName>,
    },
    /// The notebook is in another language, and no installed kernel runs it.
    #[error("the notebook is for {language}{}, and no kernel for that is installed{}", named(.kernel.as_ref()), there_are(.known))]
    NoKernelFor {
        /// The language in the notebook's metadata.
        language: String,
        /// The kernel that the notebook names.
        kernel: Option<KernelName>,
        /// The names of the installed kernels.
        known: Vec<String>,
    },
    /// The notebook names a kernel that is not installed, and does not give its language.
    #[error("the notebook names the kernel {kernel}, which is not installed, and does not name its \
         language{}", there_are(.known))]
    UnknownKernel {
        /// The kernel that the notebook names.
        kernel: KernelName,
        /// The names of the installed kernels.
        known: Vec<String>,
    },
    /// The kernelspec does not exist or cannot be used.
    #[error(transparent)]
    Kernelspec(#[from] KernelspecError),
    /// The engine does not have this backend.
    #[error("the backend {} is not available", .backend.name())]
    NoBackend {
        /// The backend that the request needs.
        backend: BackendKind,
    },
    /// An internal value is lost because a task of the engine failed.
    #[error("internal error: {what} disappeared (please report this)")]
    Lost {
        /// The lost value, in words.
        what: &'static str,
    },
    /// A task of the engine panicked while it carried out a call.
    #[error("internal error in this call (please report this)")]
    Panicked,
    /// Another process is editing the file.
    #[error("{path} is being edited by another inkcell; waited {waited_seconds} s for it", path = visible_line(.path))]
    Locked {
        /// The path as the caller gave it.
        path: String,
        /// How long this edit waited for the other one.
        waited_seconds: u64,
    },
    /// The path is not a regular file.
    #[error("{path} is {what}, not a regular file", path = visible_line(.path))]
    NotAFile {
        /// The path as the caller gave it.
        path: String,
        /// The kind of thing at the path, such as a folder.
        what: &'static str,
    },
    /// The file is read-only.
    #[error("{path} is read-only (mode {mode:03o}); nothing was written", path = visible_line(.path))]
    ReadOnlyFile {
        /// The path as the caller gave it.
        path: String,
        /// The permission bits of the file.
        mode: u32,
    },
    /// Replacing the file would change its owner or its access rights.
    #[error("{path}: {what} cannot be kept ({source}); nothing was written", path = visible_line(.path))]
    CannotKeep {
        /// The path as the caller gave it.
        path: String,
        /// Owner, access list or attribute.
        what: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The path is outside the allowed folders.
    #[error("{path} is outside the allowed folders: {}", listed(.roots), path = visible_line(.path))]
    OutsideRoots {
        /// The path as the caller gave it.
        path: String,
        /// The folders that are allowed.
        roots: Vec<PathBuf>,
    },
    /// Others have the file open on the server that runs it.
    #[error(
        "{path} is {} on the server, and was not written: {}. Changes to the file would be lost, or mixed with \
         edits made there", .open.path, .open.reason, path = visible_line(.path)
    )]
    OpenOnServer {
        /// The path as the caller gave it.
        path: String,
        /// The document as the server has it open.
        open: inkcell_kernel::Open,
    },
    /// The kernel lacks names that the chosen cells need.
    #[error("{}, which this kernel does not have; nothing was run", lacking(.names))]
    Lacks {
        /// The names, by the cell that needs them.
        names: Vec<MissingName>,
    },
    /// The kernel holds names that the chosen cells need, but another kernel has made them again since.
    #[error(
        "{}, which another kernel has run since: this kernel's variables are older than the file; nothing was run",
        lacking(.names)
    )]
    Outdated {
        /// The names, by the cell that needs them.
        names: Vec<MissingName>,
    },
    /// No Python was found to run code with.
    #[error(transparent)]
    NoPython(#[from] FindError),
    /// A kernel did not start.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A module that a kernel would load cannot be read.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The managed environment could not be created.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A session cannot be used as the caller asked.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A session's names cannot be inspected as the caller asked.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// Stored output cannot be read as the caller asked.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The system refused an operation on a file.
    #[error("{path}: cannot {what}: {source}", path = visible_line(.path))]
    Io {
        /// The path of the file in question.
        path: String,
        /// The operation, to follow "cannot".
        what: &'static str,
        /// The error of the system.
        source: io::Error,
    },
}

fn json_problem(error: &NotebookError) -> String {
    match error {
        NotebookError::Syntax { oddity: Some(oddity), .. } => match oddity {
            Oddity::ConflictMarkers { .. } => oddity.to_string(),
            // The next step covers the remedy, which is first of all to wait.
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

/// The error for a text, with its path.
pub(crate) fn text_error(path: &str, error: TextError) -> EngineError {
    let path = path.to_owned();
    match error {
        TextError::BadCell { index } => EngineError::BadCell { path, index },
        TextError::LeavesOut { .. } => EngineError::LeavesOut { path, error },
        TextError::Edit(error) => EngineError::Edit { path, error, batch: 1 },
        _ => EngineError::BadText { path, error },
    }
}

/// The error for bytes that are not a notebook, with the path.
pub(crate) fn not_a_notebook(path: &str, error: NotebookError) -> EngineError {
    let path = path.to_owned();
    match error {
        NotebookError::Syntax { .. } => EngineError::NotJson { path, error },
        NotebookError::TooLarge { size_bytes, limit_bytes } => {
            EngineError::TooLarge { path, size_bytes, limit_bytes }
        }
        _ => EngineError::Structure { path, error },
    }
}
