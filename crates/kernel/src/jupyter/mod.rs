//! What every way to a Jupyter kernel shares: messages and their meaning, questions, what is put into Python kernels,
//! kernelspecs, and where output waits.

pub(crate) mod about;
pub(crate) mod ask;
pub(crate) mod beginning;
mod content;
pub(crate) mod fold;
pub(crate) mod guest;
pub(crate) mod home;
pub(crate) mod kernelspec;
pub(crate) mod lenient;
pub(crate) mod message;
pub(crate) mod pieces;
pub(crate) mod sign;
pub(crate) mod speak;
pub(crate) mod spool;
pub(crate) mod voice;
pub(crate) mod widgets;
