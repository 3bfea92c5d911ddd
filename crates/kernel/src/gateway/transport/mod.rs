//! The transport to a gateway: addresses, connections, requests and websockets.
//!
//! Owns the limits and errors of the transport. It must not know the meaning of messages.

pub(crate) mod dial;
pub(crate) mod frame;
pub(crate) mod lanes;
pub(crate) mod path;
pub(crate) mod queue;
pub(crate) mod rest;
pub(crate) mod socket;
pub(crate) mod url;
pub(crate) mod websocket;
pub(crate) mod wire;

pub use path::ContentsPath;
pub use rest::{RemoteKernel, RemoteKernels};
pub use url::{GatewayUrl, PlainHttp, Token, TokenFileError, UrlError};
