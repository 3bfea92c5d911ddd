//! The engine as a server of the Model Context Protocol.
//!
//! Owns the protocol: the offer, the transport of answers, the identity of the client. The tools are in
//! `mcp/tools`.

mod answer;
mod arrivals;
mod cells;
mod escapes;
mod executions;
mod http;
mod instructions;
mod lines;
mod markdown;
mod offer;
mod order;
mod prompts;
mod reader;
mod resources;
mod roots;
mod server;
mod skim;
mod stdio;
mod strict;

pub(crate) use answer::{clean, of as answer};
pub(crate) use http::{Client, Ends, MOST_BYTES, PATH, routes};
pub(crate) use lines::Lines;
pub(crate) use markdown::{of_tool, page};
pub(crate) use offer::offered;
pub(crate) use reader::{PipeWatch, TransferCount, on_hang_up};
pub(crate) use server::{Calls, Server};
pub(crate) use stdio::{standard_input, standard_output};
