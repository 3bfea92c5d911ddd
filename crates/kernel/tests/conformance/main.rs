//! The contract of `kernel.rs`, checked on every backend by one suite in tiers.
//!
//! A backend takes part by a `Bench` that can launch its kernels; the tests do not know which it is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod basic;
mod bench;
mod death;
mod interrupt;
mod output;
