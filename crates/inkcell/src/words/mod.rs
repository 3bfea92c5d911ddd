//! The sentences that people and models read, whichever face shows them.
//!
//! Owns the words, with a variant for each reader where they differ. Painters and commands decide where a sentence
//! appears. A file has the sentences of one subject. Help texts are in `args`, the texts of errors at their types.

pub(crate) mod artifact;
pub(crate) mod batch;
pub(crate) mod bridge;
pub(crate) mod call;
pub(crate) mod code;
pub(crate) mod doctor;
pub(crate) mod edit;
pub(crate) mod env;
pub(crate) mod failure;
pub(crate) mod file;
pub(crate) mod freshness;
pub(crate) mod gateway;
pub(crate) mod host;
pub(crate) mod inspection;
pub(crate) mod notebook_screen;
pub(crate) mod output;
pub(crate) mod parameters;
pub(crate) mod path;
pub(crate) mod protocol;
pub(crate) mod repl;
pub(crate) mod reply;
pub(crate) mod run;
pub(crate) mod session;
pub(crate) mod setting;
pub(crate) mod setup;
pub(crate) mod step;
#[cfg(test)]
mod tests;
pub(crate) mod token;
pub(crate) mod tool;
pub(crate) mod verify;
