//! Memory of processes, as the system accounts for it.
//!
//! Owns reading `/proc`. Where there is none, it says so and the row has no figures.

use anyhow::{Context as _, Result};

/// The proportional memory of some processes together, in MiB: a shared page counts once in all.
pub(super) fn pss_mib(pids: &[u32]) -> Result<f64> {
    let mut kib = 0.0;
    for pid in pids {
        kib += field(&format!("/proc/{pid}/smaps_rollup"), "Pss:")?;
    }
    Ok(kib / 1024.0)
}

/// What a process holds now, in MiB; pages it shares with others count in full.
pub(super) fn resident_mib(pid: u32) -> Result<f64> {
    Ok(field(&format!("/proc/{pid}/status"), "VmRSS:")? / 1024.0)
}

/// What this process holds now, in MiB.
pub(super) fn own_resident_mib() -> Result<f64> {
    Ok(field("/proc/self/status", "VmRSS:")? / 1024.0)
}

/// The most this process has held since [`forget_peak`], in MiB.
pub(super) fn own_peak_mib() -> Result<f64> {
    Ok(field("/proc/self/status", "VmHWM:")? / 1024.0)
}

/// Lets the peak of this process begin anew at what it holds now.
pub(super) fn forget_peak() -> Result<()> {
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
