//! What every way to a Jupyter kernel shares: messages, signatures, their meaning, and kernelspecs.

mod content;
pub(crate) mod fold;
pub(crate) mod kernelspec;
pub(crate) mod lenient;
pub(crate) mod message;
pub(crate) mod pieces;
pub(crate) mod sign;
pub(crate) mod speak;
