//! Files that are read and replaced safely: paths, locks, versions, and the save itself.
//!
//! Owns every system call that touches a notebook on disk. It must not know what the bytes mean.

mod lock;
mod open;
mod path;
mod record;
mod replace;

pub(crate) use lock::{Lock, file_key, private_folder};
pub(crate) use open::{Metadata, Still};
pub use path::{PathBase, Roots, is_notebook_path};
pub(crate) use path::{Target, make_folder_of};
pub(crate) use record::{Record, Records};
pub(crate) use replace::{Expect, Outcome, Replacement};
pub use replace::{FileNote, Force};
