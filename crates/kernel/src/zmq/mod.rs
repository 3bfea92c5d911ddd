//! Jupyter kernels as child processes of this one, over ZeroMQ.

mod child;
mod connection;
mod control;
mod drain;
mod handshake;
mod launch;
mod lines;
mod link;
mod pool;
mod program;
mod ready;
mod sign;
mod socket;
mod starting;
mod tail;
#[cfg(test)]
mod tests;
mod wire;
mod zmtp;

pub use launch::{Transport, ZmqBackend, ZmqConfig};
pub use program::Program;
