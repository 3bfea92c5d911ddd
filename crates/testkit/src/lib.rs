//! What tests share: the document laws, notebooks made to order, kernels that follow a script, waiting, and
//! the real executable run in a private environment.
//!
//! Only tests and chores use this crate; nothing here is shipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stderr, reason = "a skipped test says so loudly")]

pub mod env;
pub mod laws;
pub mod need;
pub mod notebooks;
pub mod ports;
pub mod pty;
pub mod runner;
pub mod scripted;
pub mod wait;
