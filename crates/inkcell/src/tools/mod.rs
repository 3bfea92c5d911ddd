//! The tools an agent calls: one table, and for each tool its arguments, its words and what it does.
//!
//! Owns the way from arguments to a reply. It must not know how a call came here: protocols, streams and
//! processes are for the faces.
#![allow(dead_code, unused_imports, reason = "the server that offers tools is being built")]

mod decode;
mod next;
mod reply;
mod spec;

pub(crate) use decode::{Alias, decode, schema};
pub(crate) use reply::{Content, ToolError, ToolReply};
pub(crate) use spec::{CallContext, Desk, Hints, Progress, ToolSpec};
