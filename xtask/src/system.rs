//! What the system may forbid to tests: tracing the calls of a child, and mounting a file system of their own.
//!
//! Must not know the tests that need it.

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

/// Whether a test can mount a file system in a namespace of its own.
pub(crate) fn can_mount() -> bool {
    let mut probe = Command::new("unshare");
    child::succeeds(probe.args(["-Urm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]))
}
