//! All tools, in the order in which they are listed.
//!
//! Owns the list. Which of them an agent sees is decided by `exposure.rs`.

use super::compat;
use super::desk::ToolSpec;
use super::tools::{
    bash, eval, inspect, kernel, notebook_edit, notebook_read, notebook_run, python, result,
};

/// Every tool of every profile.
pub(crate) static TOOLS: &[&ToolSpec] = &[
    &python::SPEC,
    &notebook_read::SPEC,
    &notebook_edit::SPEC,
    &notebook_run::SPEC,
    &result::SPEC,
    &kernel::SPEC,
    &inspect::SPEC,
    &eval::SPEC,
    &compat::NOTEBOOK,
    &compat::NOTEBOOK_EDIT,
    &compat::READ,
    &compat::EDIT,
    &compat::WRITE,
    &bash::SPEC,
];

/// The tool of this name.
pub(crate) fn find(name: &str) -> Option<&'static ToolSpec> {
    TOOLS.iter().copied().find(|tool| tool.name == name)
}
