//! Code for Jupyter kernels over any transport: messages and their meaning, questions, our code in
//! Python kernels, and the queue of waiting output.

pub(crate) mod ask;
mod content;
pub(crate) mod fold;
pub(crate) mod guest;
pub(crate) mod home;
pub(crate) mod kernel;
pub(crate) mod meet;
pub(crate) mod message;
pub(crate) mod pieces;
pub(crate) mod pump;
pub(crate) mod spool;
pub(crate) mod start;
