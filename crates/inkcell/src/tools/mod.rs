//! The tools an agent calls: one table, and for each tool its arguments, its words and what it does.
//!
//! Owns the way from arguments to a reply. It must not know how a call came here: protocols, streams and
//! processes are for the faces.

mod answer;
mod bash;
mod compat;
mod decode;
mod details;
mod eval;
mod files;
mod guarded;
mod inspect;
mod kernel;
mod lean;
mod next;
mod notebook_edit;
mod notebook_read;
mod notebook_run;
mod progress;
mod python;
mod reply;
mod result;
mod running;
mod seconds;
mod session;
mod spec;
mod table;
#[cfg(test)]
pub(crate) mod test_desk;
mod turns;
mod wanted;
pub(crate) mod weight;

pub(crate) use decode::{Alias, decode, schema};
pub(crate) use guarded::guarded;
pub(crate) use reply::{Content, Fault, ToolError, ToolReply};
pub(crate) use session::NAME_CHARS;
pub(crate) use spec::{CallContext, Desk, Hints, Progress, ToolSpec};
#[cfg(test)]
pub(crate) use table::TOOLS;
pub(crate) use table::find;
pub(crate) use turns::{Order, Turn, Turns};
