//! The embedded runner: a child process that speaks frames on a private channel.

mod boot;
mod commands;
mod copies;
mod files;
mod frames;
mod handle;
mod launch;
mod package;
mod pump;
mod supply;
mod wires;
mod zygote;

pub(crate) use files::FILES;
pub(crate) use frames::Asked;
pub use launch::{ForkServer, RunnerBackend, RunnerConfig};
pub(crate) use package::install;
pub(crate) use pump::oom_kills;
pub use zygote::ZygoteState;
