//! What a test needs of the machine, and what it says where that is missing.
//!
//! Owns the switches `INKCELL_TEST_QUICK`, `INKCELL_TEST_REQUIRE` and `INKCELL_TEST_NO_STRACE`.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Whether the short form of a long test is wanted.
pub fn is_quick() -> bool {
    std::env::var_os("INKCELL_TEST_QUICK").is_some()
}

/// Says that a test does not run here.
pub fn skip(test: &str, why: &str) {
    eprintln!("\n!!! SKIPPED {test}: {why} !!!\n");
}

/// Whether calls of a child can be traced. Where they must be and cannot, the test fails.
pub fn strace(test: &str) -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    let works = *WORKS.get_or_init(|| succeeds("strace", &["-f", "-o", "/dev/null", "true"]));
    if !works {
        let required = std::env::var_os("INKCELL_TEST_REQUIRE").is_some();
        let excused = std::env::var_os("INKCELL_TEST_NO_STRACE").is_some();
        assert!(!required || excused, "{test} needs strace, which does not work here");
        skip(test, "strace does not work here");
    }
    works
}

/// Whether a small file system of our own can be mounted in a namespace of our own.
pub fn private_mounts(test: &str) -> bool {
    let script = "mount -t tmpfs -o size=64k none /mnt";
    let works = succeeds("unshare", &["-Urm", "sh", "-c", script]);
    if !works {
        skip(test, "a private file system cannot be mounted here");
    }
    works
}

/// Whether a program is here and does this well.
pub fn succeeds(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
