//! The inkcell engine: notebooks on disk that are changed safely.
//!
//! This is the library behind the tools and the command line. It prints nothing, reads no
//! environment variable and holds no global state: what it needs to know comes in [`FilesConfig`].

mod compat;
mod error;
mod files;
mod merge;
mod notebooks;
mod ops;

pub use compat::{IdEditRequest, IdEditResult, IndexEditRequest, IndexEditResult};
pub use error::{Difference, EngineError, Fate, Kind};
pub use files::{FileNote, Force, Place, Roots, Version, is_notebook_path};
pub use inkcell_notebook as notebook;
pub use notebooks::{
    Backup, Base, FilesConfig, IfMissing, Mode, Notebooks, Opened, SaveOptions, Saved,
    not_a_notebook, random, text_error,
};
pub use ops::parse_ops;
