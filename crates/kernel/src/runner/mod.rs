//! The embedded runner: a child process that speaks frames on a private channel.

mod commands;
mod frames;
mod handle;
mod launch;
mod package;
mod pump;
mod supply;
mod wires;
mod zygote;

pub use launch::{ForkServer, RunnerBackend, RunnerConfig};
pub use zygote::ZygoteState;
