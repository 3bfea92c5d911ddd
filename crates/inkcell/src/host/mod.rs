//! A host: an engine that listens. Commands talk to one in another process through a Unix socket, or to one of
//! their own through a pair of sockets, and send both the same messages.
//!
//! Owns the frames, the requests and their answers, how hosts are found and how one is started. The engine owns
//! what code does; the commands own what is shown.

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
mod talk;
mod watch;

pub(crate) use edits::tell_other_hosts;
pub(crate) use frames::{
    Answer, Ask, Attention, Detachment, FromHost, Hello, HostEvent, HostStatus, KernelOptions,
    McpAsk, PythonAsk, PythonDone, Refusal, RunAsk, ToHost,
};
pub(crate) use life::{IdleEnd, until_idle};
pub(crate) use place::{HostAddress, HostKind, HostPlace, Hosts, PlaceError};
pub(crate) use serve::{listen, serve_one};
pub(crate) use silence::{LOOK, Silence, Silent};
pub(crate) use spawn::{SpawnError, spawn};
pub(crate) use talk::{Host, Life};
