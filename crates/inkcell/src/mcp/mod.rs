//! The engine as a server of the Model Context Protocol.
//!
//! Owns the protocol: what is offered, how answers travel, who is asking. What a tool does is in `tools/`.

mod answer;
mod instructions;
mod offer;
mod prompts;
mod reader;
mod resources;
mod server;

pub(crate) use offer::offered;
pub(crate) use reader::Watched;
pub(crate) use server::Server;
