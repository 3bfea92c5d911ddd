//! Our own tools: each with its arguments, its words and its effect.
//!
//! Owns the way from arguments to a reply. It must not know how a call arrived: protocols, streams and processes
//! are for the faces.

mod answer;
pub(super) mod bash;
mod decode;
mod details;
pub(super) mod eval;
mod facts;
pub(super) mod files;
pub(super) mod inspect;
pub(super) mod kernel;
mod kernel_choice;
pub(super) mod lean;
mod news;
pub(super) mod notebook_edit;
pub(super) mod notebook_read;
pub(super) mod notebook_run;
mod pictures;
pub(crate) mod portion;
mod progress;
pub(super) mod python;
pub(super) mod result;
mod running;
mod seconds;
mod session;
#[cfg(test)]
pub(crate) mod tests;

use super::desk::{
    CallContext, Content, Desk, Fault, Hints, Order, Progress, StartedCall, ToolError, ToolReply,
    ToolSpec, Turn, weight,
};

pub(crate) use decode::{Alias, decode, schema};
pub(crate) use session::NAME_CHARS;
