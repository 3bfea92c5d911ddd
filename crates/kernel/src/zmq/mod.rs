//! Jupyter kernels as child processes of this one, spoken to over ZeroMQ.

mod socket;
mod spool;
mod zmtp;
