//! The Jupyter kernel, over any transport: messages and their meaning, questions, our code in Python
//! kernels, and the queue of waiting output.
//!
//! A transport sends messages (`message::Speak`), reads them during the handshake (`handshake::Newcomer`)
//! and after it (`pump::Link`), and does what its handle does without the pump (`kernel::Control`).

pub(crate) mod ask;
mod content;
pub(crate) mod fold;
pub(crate) mod guest;
pub(crate) mod handshake;
pub(crate) mod home;
pub(crate) mod kernel;
pub(crate) mod message;
pub(crate) mod pieces;
pub(crate) mod pump;
pub(crate) mod spool;
pub(crate) mod start;
