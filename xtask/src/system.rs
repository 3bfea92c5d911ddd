//! Checks what the system may forbid to tests: tracing the calls of a child, and mounting a file system.
//!
//! Must not know the tests that need it.

use std::process::Command;

use crate::child;

/// The result of the check for strace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tracing {
    Works,
    /// The reason, as a sentence for people.
    Missing(&'static str),
}

/// Finds strace, installs it if allowed, and tries it once.
pub(crate) fn prepare() -> Tracing {
    if child::on_path("strace").is_none() {
        child::install_system_package("strace");
    }
    if child::on_path("strace").is_none() {
        return Tracing::Missing("strace is not here");
    }
    // A container may contain the program and forbid the system calls that it needs.
    let mut probe = Command::new("strace");
    probe.args(["-f", "-o", "/dev/null", "-e", "trace=execve", "true"]);
    if child::succeeds(&mut probe) {
        Tracing::Works
    } else {
        Tracing::Missing("strace is here but is not allowed to trace")
    }
}

/// True if a test can mount a file system in its own namespace.
pub(crate) fn can_mount() -> bool {
    let mut probe = Command::new("unshare");
    child::succeeds(probe.args(["-Urm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]))
}
