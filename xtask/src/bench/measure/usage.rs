//! Memory and processor time of processes, from the system's accounts.
//!
//! Owns reading `/proc`. On a system without it, this fails and the row has no figures.

use anyhow::{Context as _, Result};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;

/// Processor time of this process, in milliseconds; other load on the machine hardly affects it.
pub(in crate::bench) fn own_cpu_ms() -> Result<f64> {
    Ok(cpu_ms(&getrusage(UsageWho::RUSAGE_SELF)?))
}

/// Processor time of all ended children, in milliseconds, and the largest peak memory of one of them, in MiB.
pub(in crate::bench) fn cost_of_children() -> Result<(f64, f64)> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    // Linux counts in KiB, macOS in bytes.
    let unit = if cfg!(target_os = "macos") { 1024.0 * 1024.0 } else { 1024.0 };
    Ok((cpu_ms(&usage), usage.max_rss() as f64 / unit))
}

fn cpu_ms(usage: &Usage) -> f64 {
    (usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as f64 / 1e3
}

/// The number of threads of this process.
pub(in crate::bench) fn own_threads() -> Result<f64> {
    field("/proc/self/status", "Threads:")
}

/// The proportional memory of several processes together, in MiB: a shared page counts once in total.
pub(in crate::bench) fn pss_mib(pids: &[u32]) -> Result<f64> {
    let mut kib = 0.0;
    for pid in pids {
        kib += field(&format!("/proc/{pid}/smaps_rollup"), "Pss:")?;
    }
    Ok(kib / 1024.0)
}

/// Resident memory of a process now, in MiB; a shared page counts in full.
pub(in crate::bench) fn resident_mib(pid: u32) -> Result<f64> {
    Ok(field(&format!("/proc/{pid}/status"), "VmRSS:")? / 1024.0)
}

/// Resident memory of this process now, in MiB.
pub(in crate::bench) fn own_resident_mib() -> Result<f64> {
    Ok(field("/proc/self/status", "VmRSS:")? / 1024.0)
}

/// Peak memory of this process since [`forget_peak`], in MiB.
pub(in crate::bench) fn own_peak_mib() -> Result<f64> {
    Ok(field("/proc/self/status", "VmHWM:")? / 1024.0)
}

/// Resets the peak memory of this process to its current memory.
pub(in crate::bench) fn forget_peak() -> Result<()> {
    std::fs::write("/proc/self/clear_refs", "5").context("cannot reset the peak of this process")
}

fn field(path: &str, name: &str) -> Result<f64> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    let value = value.and_then(|rest| rest.split_whitespace().next());
    value.and_then(|kib| kib.parse().ok()).with_context(|| format!("{path} has no {name}"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_no_less_than_what_is_held_and_can_be_forgotten() {
        let block = vec![1u8; 64 << 20];
        let held = own_resident_mib().unwrap();
        assert!(own_peak_mib().unwrap() >= 64.0, "{held}");
        drop(block);
        forget_peak().unwrap();
        let growth = own_peak_mib().unwrap() - own_resident_mib().unwrap();
        assert!(growth < 32.0, "{growth}");
    }

    #[test]
    fn a_process_has_proportional_memory() {
        let own = std::process::id();
        let (one, two) = (pss_mib(&[own]).unwrap(), pss_mib(&[own, own]).unwrap());
        assert!(one > 0.0 && two > one, "{one} {two}");
        assert!(resident_mib(own).unwrap() > 0.0);
    }
}
