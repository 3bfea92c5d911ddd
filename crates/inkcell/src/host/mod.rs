//! A host: an engine that listens. Commands talk to one in another process through a Unix socket, or to one of their
//! own through a pair of sockets, and say the same to both.
//!
//! Owns the frames, what is asked and how it is answered, where hosts are found and how one is started. What code does
//! is the engine's; what is shown is for the commands.

mod answer;
mod edits;
mod frames;
mod life;
mod place;
mod python;
mod run;
mod serve;
mod silence;
mod spawn;
mod watch;

pub(crate) use edits::OtherHosts;
pub(crate) use frames::{
    Answer, Ask, Attention, Detached, FromHost, Hello, HostEvent, HostStatus, KernelOptions,
    McpAsk, PythonAsk, PythonDone, Refusal, RunAsk, ToHost,
};
pub(crate) use life::{IdleEnd, until_idle};
pub(crate) use place::{Found, HostKind, HostPlace, Hosts, PlaceError};
pub(crate) use serve::{Host, Life, listen, serve_one};
pub(crate) use silence::{LOOK, Silence, Silent};
pub(crate) use spawn::{SpawnError, spawn};
