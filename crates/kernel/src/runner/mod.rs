//! The embedded runner: a child process that speaks frames on a private channel.

mod boot;
mod commands;
mod copies;
mod frames;
mod handle;
mod launch;
mod pump;
mod supply;
mod wires;
mod zygote;

pub use launch::{RunnerBackend, RunnerConfig};
pub use supply::ForkServer;
