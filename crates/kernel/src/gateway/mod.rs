//! Kernels elsewhere: on a Jupyter gateway or server, by requests and a websocket.

mod dial;
mod end;
mod error;
mod fence;
mod guest;
mod handle;
mod http;
mod launch;
mod local;
mod loss;
mod meet;
mod near;
mod pump;
mod queue;
mod record;
mod rest;
mod shared;
mod socket;
mod talk;
mod url;
mod websocket;
mod wire;

pub use error::{GatewayError, Refused, Whose};
pub use guest::Place;
pub use launch::{GatewayBackend, GatewayConfig};
pub use local::{LocalConfig, LocalGatewayBackend, Sharing};
pub use shared::{SharedConfig, SharedGateway, SharedStatus};
pub use url::{GatewayUrl, PlainHttp, Token, UrlError};
