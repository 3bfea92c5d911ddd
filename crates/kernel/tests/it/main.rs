//! Tests of gateways, the managed environment and extension modules. Each concerns one kind of kernel, so it does
//! not belong in `conformance`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod gateway;
mod managed;
mod modules;
