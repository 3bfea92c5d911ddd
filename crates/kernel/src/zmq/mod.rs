//! Jupyter kernels as child processes of this one, spoken to over ZeroMQ.

mod connection;
mod drain;
mod handle;
mod interrupts;
mod launch;
mod lines;
mod meet;
mod own;
mod pool;
mod pump;
mod ready;
mod socket;
mod starting;
mod tail;
#[cfg(test)]
mod traces;
mod zmtp;

pub use launch::{Program, Transport, ZmqBackend, ZmqConfig};
