//! Notebooks on disk, and every way to change one.
//!
//! Owns the path of an edit. It must not know kernels: editing is not executing.

mod change;
mod clean;
mod compat;
mod merge;
mod notebooks;
pub mod operations;
mod ops;

pub use change::{Backup, Base, FileEffect, IfMissing, Mode, SaveOptions, SavedChange};
pub use clean::Cleaning;
pub use compat::{
    IdEditPart, IdEditRequest, IdEditResult, IdEdited, IndexEditRequest, IndexEditResult,
};
pub use notebooks::{
    FilesConfig, KernelDefaults, KernelMetadata, Notebooks, OpenNotebook, SavedBytes,
    parse_notebook,
};
pub(crate) use notebooks::{Keep, beside};
pub use ops::parse_ops;
