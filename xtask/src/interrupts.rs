//! Makes signals work again that the starter of this command ignores.
//!
//! A shell that starts a command in the background (`cargo xtask test &` in a script) ignores SIGINT, and `nohup`
//! ignores SIGHUP. Every program below inherits that: a test that sends such a signal would wait for ever.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

/// Starts its arguments with the usual signals, of which the first argument names some more. Python ignores two
/// signals for itself; they are reset too.
const RESTORE: &str = "import os, signal, sys\n\
     for name in ['SIGINT', 'SIGQUIT', 'SIGPIPE', 'SIGXFSZ'] + sys.argv[1].split():\n    \
         signal.signal(getattr(signal, name), signal.SIG_DFL)\n\
     os.execv(sys.argv[2], sys.argv[2:])\n";

/// The bits of these signals in a mask of ignored ones.
const HANGUP: u64 = 1;
const INTERRUPT: u64 = 1 << 1;

/// Replaces this process with itself if interrupts are ignored, so that they are not.
pub(crate) fn restore(arguments: impl Iterator<Item = OsString>) -> Result<()> {
    if !ignores(INTERRUPT, &status()) {
        return Ok(());
    }
    let program = std::env::current_exe().context("cannot find the program itself")?;
    Err(restored(&program, "").args(arguments).exec())
        .context("cannot start python3, to restore interrupts")
}

/// A command for this program with the usual signals, also SIGHUP. This process itself keeps ignoring it, as the user
/// wants.
pub(crate) fn with_usual_signals(program: &Path) -> Command {
    match ignores(HANGUP, &status()) {
        true => restored(program, "SIGHUP"),
        false => Command::new(program),
    }
}

fn restored(program: &Path, more: &str) -> Command {
    let mut command = Command::new("python3");
    command.args(["-I", "-c", RESTORE, more]).arg(program);
    command
}

/// The state of this process. Only Linux tells which signals a process ignores.
fn status() -> String {
    fs::read_to_string("/proc/self/status").unwrap_or_default()
}

fn ignores(signal: u64, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & signal != 0)
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
            assert_eq!(ignores(INTERRUPT, status), expected, "{status:?}");
        }
    }

    /// The command line of a script's background job, down to the mask that a child of the new process sees.
    #[test]
    fn ignored_signals_are_restored_for_the_program() {
        for (more, is_ignored) in [("", true), ("SIGHUP", false)] {
            let command = restored(Path::new("/bin/cat"), more);
            let started = Command::new("sh")
                .args(["-c", "trap '' HUP INT QUIT; exec python3 \"$@\" /proc/self/status", "sh"])
                .args(command.get_args())
                .output()
                .unwrap();
            let status = String::from_utf8(started.stdout).unwrap();
            assert!(status.contains("SigIgn:") && !ignores(INTERRUPT, &status), "{status}");
            assert_eq!(ignores(HANGUP, &status), is_ignored, "{status}");
        }
    }
}
