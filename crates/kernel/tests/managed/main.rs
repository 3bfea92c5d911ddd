//! The managed environment, made with real and with made-up tools; never with a network.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod faults;
mod made;
mod tree;
