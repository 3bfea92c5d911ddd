//! Kernels on gateways, the managed environment, and modules that kernels load: all that is about one kind of kernel
//! and so not in `conformance`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod gateway;
mod managed;
mod modules;
