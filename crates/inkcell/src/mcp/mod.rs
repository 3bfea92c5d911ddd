//! The engine as a server of the Model Context Protocol.
//!
//! Owns the way from a client's message to a tool and back. `protocol` holds the messages, `exposure` the choice of
//! tools on offer, `table` the list of all tools, `desk` the things they work on; `tools` are our own, `compat`
//! those of the source documents.

mod compat;
pub(crate) mod desk;
pub(crate) mod exposure;
mod protocol;
mod table;
pub(crate) mod tools;

pub(crate) use protocol::{
    Calls, Client, Ends, Lines, MOST_BYTES, PATH, PipeWatch, Server, TransferCount, answer, clean,
    of_tool, offered, on_hang_up, page, routes, standard_input, standard_output,
};
pub(crate) use table::{TOOLS, find};
