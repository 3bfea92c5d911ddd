//! The gateway that hosts of this machine share: found, started, used by all, ended.
//!
//! Owns its process and its files. Kernels on it are those of any gateway.

mod listener;
mod local;
mod shared;
mod site;

pub use local::{LocalConfig, LocalGatewayBackend, Sharing};
pub use shared::{SharedConfig, SharedGateway};
pub use site::SharedStatus;
