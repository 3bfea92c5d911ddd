//! A Python interpreter as a stream of events.
//!
//! One contract ([`Backend`], [`Kernel`], [`KernelEvents`]) and the ways to fulfil it. This crate knows
//! processes and protocols; it must not know notebooks, sessions or the user's files.

mod error;
mod event;
mod kernel;

pub use error::LaunchError;
pub use event::{
    Death, DeathCause, DisplayId, ExecEvent, ExecId, KernelEvent, MimeBundle, MimeData, Outcome,
    PyError, StreamName,
};
pub use kernel::{
    Backend, BackendKind, CodeRequest, Gone, History, Kernel, KernelEvents, KernelInfo, KernelSpec,
    Launched,
};
