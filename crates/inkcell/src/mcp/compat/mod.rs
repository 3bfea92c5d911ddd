//! The tools of the source documents, under their names and in their shapes.
//!
//! Owns their arguments and answers. The engine owns the rules, which are the same for every face.

mod by_id;
mod edit;
mod notebook;
mod read;
mod write;

pub(super) use by_id::SPEC as NOTEBOOK_EDIT;
pub(super) use edit::SPEC as EDIT;
pub(super) use notebook::SPEC as NOTEBOOK;
pub(super) use read::SPEC as READ;
pub(super) use write::SPEC as WRITE;

#[cfg(test)]
mod tests;
