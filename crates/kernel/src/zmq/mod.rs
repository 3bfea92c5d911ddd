//! Jupyter kernels as child processes of this one, spoken to over ZeroMQ.

mod ask;
mod connection;
mod guest;
mod handle;
mod launch;
mod lines;
mod meet;
mod pump;
mod socket;
mod spool;
mod tail;
mod zmtp;

pub use launch::{Program, Transport, ZmqBackend, ZmqConfig};
