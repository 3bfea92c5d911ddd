//! Jupyter kernels as child processes of this one, spoken to over ZeroMQ.

pub(crate) mod ask;
pub(crate) mod connection;
mod drain;
pub(crate) mod guest;
mod handle;
mod launch;
mod lines;
pub(crate) mod meet;
mod own;
mod pool;
mod pump;
mod ready;
mod socket;
pub(crate) mod spool;
mod starting;
mod tail;
#[cfg(test)]
mod traces;
mod zmtp;

pub use launch::{Program, Transport, ZmqBackend, ZmqConfig};
