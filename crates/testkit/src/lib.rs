//! Helpers shared by tests: the document laws, generated notebooks, scripted kernels, waiting, and the real
//! executable in a private environment.
//!
//! Only tests and `cargo xtask` use this crate; no part of it is shipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stderr, reason = "a skipped test says so loudly")]

pub mod console;
pub mod env;
pub mod laws;
pub mod nbformat;
pub mod need;
pub mod notebooks;
pub mod ports;
pub mod prose;
pub mod pty;
pub mod runner;
pub mod scripted;
pub mod wait;
