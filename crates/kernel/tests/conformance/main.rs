//! The contract of `kernel.rs`, checked on every backend by one suite in tiers.
//!
//! A backend takes part by a `Bench` that can launch its kernels; the tests do not know which it is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

/// Makes tests of functions that take a `Start`, one for each way to a kernel.
macro_rules! on_every_backend {
    ($($name:ident),* $(,)?) => {
        mod direct {
            $(#[tokio::test] async fn $name() { super::$name(crate::bench::Start::Direct).await; })*
        }
        mod forked {
            $(#[tokio::test] async fn $name() { super::$name(crate::bench::Start::Forked).await; })*
        }
    };
}
pub(crate) use on_every_backend;

mod basic;
mod bench;
mod death;
mod fork_server;
mod interrupt;
mod output;
