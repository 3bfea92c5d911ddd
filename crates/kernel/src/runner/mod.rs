//! The embedded runner: a child process that speaks frames on a private channel.

mod frames;
mod launch;
mod package;
mod pump;
mod zygote;

pub use launch::{ForkServer, Prelude, RunnerBackend, RunnerConfig};
pub use zygote::ZygoteState;
