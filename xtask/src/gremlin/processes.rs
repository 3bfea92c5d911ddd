//! Processes of a run: those that carry its mark in their environment, and what the server takes.
//!
//! Owns every signal: only a process with the mark gets one.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// Passed on to kernels and to what they start, as every locale variable is.
pub(crate) const MARK: &str = "LC_INKCELL_GREMLIN";

/// How often something is looked at again.
const POLL: Duration = Duration::from_millis(50);

/// The processes whose environment began with this mark, in order.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut found: Vec<i32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes())
        })
        .collect();
    found.sort_unstable();
    found
}

/// Sends a signal. That the process is gone by now is no fault.
pub(crate) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Which processes may be there after the end of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spared {
    None,
    /// Programs that a cell put outside of these groups, which are those of kernels.
    OutsideOf(Vec<i32>),
}

/// The groups of all kernels with this mark. Programs that code started are never Python here.
pub(crate) fn kernel_groups(mark: &str) -> Vec<i32> {
    let is_python = |pid: &i32| shown(*pid).contains("python");
    marked(mark).into_iter().filter(is_python).filter_map(group).collect()
}

fn group(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything, and ends with the last parenthesis.
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

/// Waits until no process with this mark is left but those that are spared; then ends all there are, and fails if
/// some should have been gone.
pub(crate) fn none_left(mark: &str, spared: &Spared, within: Duration) -> Result<()> {
    let is_spared = |pid: &i32| match spared {
        Spared::None => false,
        Spared::OutsideOf(groups) => group(*pid).is_some_and(|group| !groups.contains(&group)),
    };
    let began = Instant::now();
    loop {
        let all = marked(mark);
        let left: Vec<String> =
            all.iter().filter(|pid| !is_spared(pid)).map(|pid| shown(*pid)).collect();
        let is_late = began.elapsed() > within;
        if left.is_empty() || is_late {
            all.iter().for_each(|pid| signal(*pid, Signal::KILL));
        }
        if left.is_empty() {
            return Ok(());
        }
        if is_late {
            bail!("processes are left {within:?} after the end: {}", left.join("; "));
        }
        std::thread::sleep(POLL);
    }
}

fn shown(pid: i32) -> String {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    format!("{pid} {}", command.trim_end().chars().take(80).collect::<String>())
}

/// What a process takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) memory_kib: u64,
    pub(crate) descriptors: usize,
    pub(crate) threads: u64,
}

pub(crate) fn taken(pid: u32) -> Result<Taken> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .context("the server is not there to be measured")?;
    let number = |name: &str| -> Result<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let digits = line.and_then(|line| line.split_whitespace().next());
        digits.and_then(|digits| digits.parse().ok()).with_context(|| format!("no {name}"))
    };
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    Ok(Taken { memory_kib: number("VmRSS:")?, descriptors, threads: number("Threads:")? })
}
