//! HTTP on this machine: access control, and connections that cannot hold anything up.
//!
//! Owns the way from a socket to a route. The modules that add a route own its effect: `mcp` for agents' clients,
//! the tool bridge for code in kernels.

mod address;
mod body;
mod guard;
mod listen;
mod places;
mod routes;
mod token;
mod token_file;

pub(crate) use address::{Reach, authorities, parse as parse_address};
pub(crate) use body::{Body, BodyError, BodyLimits, respond};
pub(crate) use guard::{Guard, Policy};
pub(crate) use listen::{ConnectionLimits, serve};
pub(crate) use places::{Pass, Place, Places};
pub(crate) use routes::{Methods, Routes};
pub(crate) use token::{Caller, Token, TokenError, Tokens};
pub(crate) use token_file::{TokenFile, read as read_tokens};
