//! Counts the bytes that a run writes: every write of the process and its threads, by target folder.
//!
//! Owns the trace. It counts bytes as they are passed to the system, so that the file system and the page cache
//! do not affect the figure. Must not know goals.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::bench::arena::{Arena, remove};

/// System calls that write bytes to a file; no contender writes through mapped files.
const CALLS: &str = "trace=write,pwrite64,writev,pwritev,pwritev2,copy_file_range,sendfile";

/// Bytes by the folder they went to; bytes to pipes, sockets and other places do not count.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WriteTotals {
    pub(super) beside: u64,
    pub(super) state: u64,
}

/// Runs a command and counts the bytes that it and its children write below its folder and the state folder.
pub(super) fn count(arena: &Arena, command: &[OsString], folder: &Path) -> Result<WriteTotals> {
    let (traces, state) = (arena.root.join("traces"), arena.state());
    remove(&traces)?;
    std::fs::create_dir_all(&traces)?;
    // One trace file for each thread, so that a call is never split by a call of another thread. A filter in
    // the kernel skips all other calls, so that the run takes about as long as without a trace.
    let mut strace = arena.command("strace", folder);
    strace.args(["-ff", "-y", "-s", "0", "--seccomp-bpf", "-e", CALLS, "-o"]);
    let said = strace.arg(traces.join("thread")).args(command).output()?;
    if !said.status.success() {
        let text = String::from_utf8_lossy(&said.stderr);
        bail!("the traced run failed: {} {}", said.status, text.trim());
    }
    let mut written = WriteTotals::default();
    for entry in std::fs::read_dir(&traces)? {
        let text = std::fs::read(entry?.path()).context("cannot read a trace")?;
        written.add(&String::from_utf8_lossy(&text), folder, &state);
    }
    remove(&traces)?;
    Ok(written)
}

impl WriteTotals {
    pub(super) fn all(&self) -> u64 {
        self.beside + self.state
    }

    /// Adds the calls of one thread, one a line, such as `write(7</folder/file>, ""..., 12) = 12`.
    fn add(&mut self, calls: &str, folder: &Path, state: &Path) {
        for call in calls.lines() {
            let Some((asked, answered)) = call.rsplit_once(" = ") else { continue };
            let Ok(bytes) = answered.trim().parse::<u64>() else { continue };
            // A copy between files names its target second.
            let is_copy = asked.starts_with("copy_file_range");
            let mut named = asked.split('<').skip(1).filter_map(|rest| rest.split_once('>'));
            let path = if is_copy { named.nth(1) } else { named.next() };
            let Some((path, _)) = path else { continue };
            if Path::new(path).starts_with(state) {
                self.state += bytes;
            } else if Path::new(path).starts_with(folder) {
                self.beside += bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reached_the_two_folders_counts() {
        let calls = "write(7</w/run/.a.tmp>, \"\"..., 100) = 100\n\
            write(8</w/state/journal>, \"\"..., 50) = 20\n\
            write(2</dev/null>, \"\"..., 9) = 9\n\
            write(9<socket:[123]>, \"\"..., 9) = 9\n\
            write(7</w/run/.a.tmp>, \"\"..., 9) = -1 ENOSPC (No space left on device)\n\
            copy_file_range(3</w/state/x>, NULL, 4</w/run/b>, NULL, 5, 0) = 5\n\
            --- SIGCHLD {si_signo=SIGCHLD} ---\n+++ exited with 0 +++\n";
        let mut written = WriteTotals::default();
        written.add(calls, Path::new("/w/run"), Path::new("/w/state"));
        assert_eq!(written, WriteTotals { beside: 105, state: 20 });
        assert_eq!(written.all(), 125);
    }
}
