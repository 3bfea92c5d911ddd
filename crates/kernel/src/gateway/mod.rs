//! Kernels elsewhere: on a Jupyter gateway or server, by requests and a websocket.

mod dial;
mod end;
mod error;
mod guest;
mod handle;
mod launch;
mod loss;
mod meet;
mod pump;
mod queue;
mod record;
mod rest;
mod socket;
mod talk;
mod url;
mod wire;

pub use error::{GatewayError, Refused, Whose};
pub use guest::Place;
pub use launch::{GatewayBackend, GatewayConfig};
pub use url::{GatewayUrl, PlainHttp, Token, UrlError};
