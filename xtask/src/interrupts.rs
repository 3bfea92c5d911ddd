//! Makes interrupts work again in a command that a shell started in the background.
//!
//! Such a shell (`cargo xtask test &` in a script) ignores SIGINT, and every program below inherits that: a test that
//! interrupts a command would wait for ever.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

/// Starts its arguments with the usual signals. Python ignores two more signals for itself; they are reset too.
const RESTORE: &str = "import os, signal, sys\n\
     for name in ('SIGINT', 'SIGQUIT', 'SIGPIPE', 'SIGXFSZ'):\n    \
         signal.signal(getattr(signal, name), signal.SIG_DFL)\n\
     os.execv(sys.argv[1], sys.argv[1:])\n";

/// Replaces this process with itself if interrupts are ignored, so that they are not.
pub(crate) fn restore(arguments: impl Iterator<Item = OsString>) -> Result<()> {
    // Only Linux tells which signals a process ignores.
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return Ok(()) };
    if !ignores_interrupts(&status) {
        return Ok(());
    }
    let program = std::env::current_exe().context("cannot find the program itself")?;
    let mut command = Command::new("python3");
    command.args(["-I", "-c", RESTORE]).arg(program).args(arguments);
    Err(command.exec()).context("cannot start python3, to restore interrupts")
}

/// Reads the mask of ignored signals, in which bit 1 is SIGINT.
fn ignores_interrupts(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 0b10 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_with_interrupts_is_recognized() {
        for (status, expected) in [
            ("SigBlk:\t0000000000000002\nSigIgn:\t0000000000001000\n", false),
            ("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001006\n", true),
            ("SigIgn:\t0000000000000004\n", false),
            ("SigIgn:\tnonsense\n", false),
            ("", false),
        ] {
            assert_eq!(ignores_interrupts(status), expected, "{status:?}");
        }
    }

    /// The command line of a script's background job, down to the mask that a child of the new process sees.
    #[test]
    fn ignored_signals_are_restored_for_the_program() {
        let started = Command::new("sh")
            .args([
                "-c",
                "trap '' INT QUIT; exec python3 -I -c \"$0\" /bin/cat /proc/self/status",
                RESTORE,
            ])
            .output()
            .unwrap();
        let status = String::from_utf8(started.stdout).unwrap();
        assert!(status.contains("SigIgn:") && !ignores_interrupts(&status), "{status}");
    }
}
