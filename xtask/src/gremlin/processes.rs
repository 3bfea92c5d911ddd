//! Processes of a run: those with its mark in their environment, and the resources of the server.
//!
//! Owns every signal: only a process with the mark receives one.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

/// Variable that carries the mark. Kernels and their children inherit it, as they do every locale variable.
pub(crate) const MARK: &str = "LC_INKCELL_GREMLIN";

/// The interval between two checks.
const POLL: Duration = Duration::from_millis(50);

/// Lists the processes that started with this mark in their environment, in order.
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

/// Sends a signal. A process that is already gone does not cause an error.
pub(crate) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Processes that may outlive the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SparedProcesses {
    None,
    /// Programs that a cell moved outside these process groups, which belong to kernels.
    OutsideOf(Vec<i32>),
}

/// Lists the groups of all kernels with this mark. Programs that gremlin code starts are never Python.
pub(crate) fn kernel_groups(mark: &str) -> Vec<i32> {
    let is_python = |pid: &i32| shown(*pid).contains("python");
    marked(mark).into_iter().filter(is_python).filter_map(group).collect()
}

fn group(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program name before may contain anything, and ends with the last parenthesis.
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

/// Waits until only spared processes with this mark are left, then kills them. Fails if others are left when the
/// time is over.
pub(crate) fn none_left(mark: &str, spared: &SparedProcesses, within: Duration) -> Result<()> {
    let is_spared = |pid: &i32| match spared {
        SparedProcesses::None => false,
        SparedProcesses::OutsideOf(groups) => {
            group(*pid).is_some_and(|group| !groups.contains(&group))
        }
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

/// Resources that a process uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessUsage {
    pub(crate) memory_kib: u64,
    pub(crate) descriptors: usize,
    pub(crate) threads: u64,
}

pub(crate) fn taken(pid: u32) -> Result<ProcessUsage> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .context("the server is not there to be measured")?;
    let number = |name: &str| -> Result<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let digits = line.and_then(|line| line.split_whitespace().next());
        digits.and_then(|digits| digits.parse().ok()).with_context(|| format!("no {name}"))
    };
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    Ok(ProcessUsage { memory_kib: number("VmRSS:")?, descriptors, threads: number("Threads:")? })
}
