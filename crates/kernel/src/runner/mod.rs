//! The embedded runner: a child process that speaks frames on a private channel.

mod frames;
mod launch;
mod package;
mod pump;

pub use launch::{Prelude, RunnerBackend, RunnerConfig};
