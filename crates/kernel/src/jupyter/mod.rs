//! What every way to a Jupyter kernel shares: messages, signatures, their meaning, and kernelspecs.

pub(crate) mod lenient;
pub(crate) mod message;
pub(crate) mod sign;
