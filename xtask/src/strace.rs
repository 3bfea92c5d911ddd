//! Whether calls of a child can be traced here: the crash enumeration of a save stands on it.
//!
//! Must not know the tests that trace.

use std::process::Command;

use crate::child;

/// What the tests may count on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tracing {
    Works,
    /// The sentence says why, for a person.
    Missing(&'static str),
}

/// Looks for strace, installs it where that is allowed, and tries it once.
pub(crate) fn prepare() -> Tracing {
    if child::on_path("strace").is_none() {
        child::install_system_package("strace");
    }
    if child::on_path("strace").is_none() {
        return Tracing::Missing("strace is not here");
    }
    // A container may hold the program and forbid what it does.
    let mut probe = Command::new("strace");
    probe.args(["-f", "-o", "/dev/null", "-e", "trace=execve", "true"]);
    if child::succeeds(&mut probe) {
        Tracing::Works
    } else {
        Tracing::Missing("strace is here but is not allowed to trace")
    }
}
