//! Kernels elsewhere: on a Jupyter gateway or server, by requests and a websocket.

mod contents;
mod end;
mod gc;
mod handshake;
mod identity;
mod kernel_env;
mod launch;
mod lifecycle;
mod link;
mod local_process;
mod location;
mod record;
mod talk;
mod transport;

pub use contents::{Collaboration, ContentsError, Open, Overwrite, ServerContents, ServerNotebook};
pub use gc::{LeftBehind, left_behind};
pub use kernel_env::{kernel_environment, user_of};
pub use launch::{GatewayBackend, GatewayConfig};
pub use lifecycle::{
    LocalConfig, LocalGatewayBackend, SharedConfig, SharedGateway, SharedStatus, Sharing,
};
pub use location::GatewayLocation;
pub use transport::{
    ContentsPath, GatewayUrl, PlainHttp, RemoteKernel, RemoteKernels, Token, TokenFileError,
    UrlError,
};
