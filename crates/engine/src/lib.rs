//! The inkcell engine: notebooks on disk that are changed safely.
//!
//! This is the library behind the tools and the command line. It prints nothing, reads no
//! environment variable and holds no global state: what it needs to know comes in [`FilesConfig`].

mod change;
mod clean;
mod compat;
mod error;
mod files;
mod merge;
mod notebooks;
mod ops;

pub use change::{Backup, Base, Effect, IfMissing, Mode, SaveOptions, Saved};
pub use clean::Cleaning;
pub use compat::{IdEditRequest, IdEditResult, IndexEditRequest, IndexEditResult};
pub use error::{Difference, EngineError, Fate, Kind, NextStep};
pub use files::{FileNote, Force, PathBase, Roots, Version, is_notebook_path};
pub use inkcell_notebook as notebook;
pub use notebooks::{FilesConfig, Notebooks, Opened, parse_notebook, system_random};
pub use ops::parse_ops;
