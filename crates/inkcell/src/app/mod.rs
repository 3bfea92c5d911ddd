//! The objects that commands and servers work with, built from the settings: backends of kernels, engines and desks
//! for tools.
//!
//! Owns which settings and arguments decide how these are built. It must not know their users.

mod backends;
mod desk;
pub(crate) mod gateways;
pub(crate) mod python;

pub(crate) use backends::{backends, backends_for_many, backends_on, needed};
pub(crate) use desk::{desk, desk_with, exposure};
