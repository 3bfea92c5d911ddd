//! Notebooks on disk, as the engine's callers see them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backup;
mod bad_files;
mod by_id;
mod by_index;
mod change;
mod keep;
mod kit;
mod locks;
mod ops;
mod paths;
mod places;
mod requests;
mod roots;
mod versions;
